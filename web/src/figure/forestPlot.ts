// The drawing of a forest plot. Names are left of their intervals and figures right of them; on a narrow page
// both are above.

import * as Plot from "@observablehq/plot";

import type { Forest, ForestRow } from "../document";
import { extent } from "./forest";
import { digitsOf, tickText } from "./format";
import { HALO, NAMES, OF_NAME } from "./letters";
import { shortened } from "./names";
import { colour, ofMark } from "./palette";

const AXIS = 46;

/** The range of the axis. */
type Domain = [low: number, high: number];

/** The rows of one drawing with its own axis: no more fit on a sheet of paper. */
const SHEET = 40;

/** The height of a plot of that many rows. */
export function forestHeight(rows: number, width: number): number {
  return rows * rowHeight(rows, width) + Math.max(1, Math.ceil(rows / SHEET)) * AXIS;
}

/** All rows, at the given width. */
export function forestPlot(forest: Forest, width: number): Element {
  if (forest.rows.length <= SHEET) return sheet(forest, forest.rows, width);
  const all = document.createElement("div");
  for (let from = 0; from < forest.rows.length; from += SHEET) {
    all.append(sheet(forest, forest.rows.slice(from, from + SHEET), width));
  }
  return all;
}

/** Some of the rows, laid out as if all were there, so that sheets align. */
function sheet(whole: Forest, rows: ForestRow[], width: number): Element {
  const narrow = isNarrow(width);
  const longest = Math.max(0, ...whole.rows.map((row) => [...row.name].length));
  const left = narrow ? 8 : Math.min(Math.ceil(longest * OF_NAME) + 16, Math.floor(width * 0.3));
  const figures = Math.max(0, ...whole.rows.map((row) => (row.ends ? `${row.point} (${row.range})`.length : 0)));
  const right = narrow ? 8 : Math.min(Math.ceil((figures + wordLength(whole)) * OF_NAME) + 14, Math.floor(width * 0.44));
  const names = narrow ? named(rows, width * 0.55) : named(rows, left - 12);
  const shown = { ...whole, rows };
  const domain = extent(whole);
  return Plot.plot({
    ...frame(shown, domain, width, rows.length * rowHeight(whole.rows.length, width) + AXIS),
    marginLeft: left,
    marginRight: right,
    marginTop: 2,
    marginBottom: AXIS - 2,
    marks: [
      ...ground(shown, domain, width - left - right),
      ...intervals(shown, domain, narrow ? 9 : 0, 5),
      ...sides(shown),
      ...(narrow ? above(shown, names) : beside(shown, names, right)),
    ],
  });
}

/** The characters of the longest word after a figure, including the gap. */
function wordLength({ rows }: Forest): number {
  return Math.max(15, ...rows.map((row) => (row.ends ? row.word.length + 2 : 0)));
}

/** The small version: names, intervals and an axis. */
export function smallForest(forest: Forest, width: number): Element {
  const left = Math.floor(Math.min(150, width * 0.46));
  const domain = extent(forest);
  return Plot.plot({
    ...frame(forest, domain, width, forest.rows.length * 18 + 34),
    marginLeft: left,
    marginRight: 10,
    marginTop: 2,
    marginBottom: 32,
    marks: [
      ...ground(forest, domain, width - left),
      ...intervals(forest, domain, 0, 3.6),
      Plot.text(forest.rows, {
        y: "arm", text: named(forest.rows, (left - 8) * 1.09), frameAnchor: "left", textAnchor: "end", dx: -8, fill: colour.ink, fontSize: 11.5,
      }),
      Plot.text(forest.rows.filter((row) => !row.ends), {
        y: "arm", text: () => "not measured", frameAnchor: "left", dx: 4, fill: colour.soft, fontSize: 11, ...HALO,
      }),
    ],
  });
}

function frame(forest: Forest, domain: Domain, width: number, height: number): Plot.PlotOptions {
  return {
    width,
    height,
    style: { fontSize: `${NAMES}px`, fontFamily: "inherit", overflow: "visible" },
    x: { domain, axis: null },
    y: { type: "band", domain: forest.rows.map((row) => row.arm), padding: 0, axis: null },
  };
}

/** Margin, grid, axis and the line of no difference. */
function ground(forest: Forest, [low, high]: Domain, room: number): Plot.Markish[] {
  const ticks = Math.max(3, Math.min(8, Math.floor(room / 80)));
  const { margin, scale } = forest;
  const step = tickStep(low / scale.divisor, high / scale.divisor, ticks) * scale.divisor;
  const digits = digitsOf(scale, step);
  const written = (v: number) => {
    const text = tickText(scale, v, true, digits);
    return text === "0" ? text : `${text}${["", "/s", "/h"].includes(scale.unit) ? "" : " "}${scale.unit}`;
  };
  const marked = multiples(low, high, step);
  return [
    ...(margin ? [Plot.rect([margin], { x1: -margin, x2: margin, fill: colour.margin })] : []),
    Plot.ruleX(marked, { stroke: colour.line }),
    Plot.ruleX([0], { stroke: colour.soft, strokeWidth: 1.5 }),
    Plot.axisX(marked, { tickFormat: written, label: null, tickSize: 0, color: colour.soft, fontSize: 12 }),
  ];
}

/** The meaning of left and right of zero, under the axis. */
function sides({ sides: [left, right] }: Forest): Plot.Markish[] {
  const at = { fill: colour.soft, dy: 34, fontSize: 12, lineAnchor: "bottom" } as const;
  return [
    Plot.text([left], { ...at, frameAnchor: "bottom-left" }),
    Plot.text([right], { ...at, frameAnchor: "bottom-right" }),
  ];
}

function intervals(forest: Forest, [low, high]: Domain, dy: number, r: number): Plot.Markish[] {
  const drawn = forest.rows.filter((row) => row.ends !== null);
  const at = (row: ForestRow, of: "low" | "high" | "estimate") => row.ends?.[of] ?? 0;
  const stroke = (row: ForestRow) => ofMark(row.mark);
  const isControl = (row: ForestRow) => row.mark === "control" || row.mark === "differs";
  const isHollow = (row: ForestRow) => row.mark === "unjudged" || row.mark === "inconclusive";
  const common = { y: "arm", dy } as const;
  const dots = (rows: ForestRow[], options: Plot.DotOptions) =>
    Plot.dot(rows, { ...common, x: (row: ForestRow) => at(row, "estimate"), r, ...options });
  return [
    Plot.ruleY(drawn, {
      ...common,
      x1: (row: ForestRow) => Math.max(at(row, "low"), low),
      x2: (row: ForestRow) => Math.min(at(row, "high"), high),
      stroke: { value: stroke, scale: null } as unknown as Plot.ChannelValueSpec,
      strokeWidth: r > 4 ? 3 : 2,
    }),
    // An arrow where the interval extends beyond the picture.
    ends(drawn.filter((row) => at(row, "low") < low), low, "‹", dy),
    ends(drawn.filter((row) => at(row, "high") > high), high, "›", dy),
    dots(drawn.filter(isControl), {
      symbol: "diamond", fill: { value: stroke, scale: null } as unknown as Plot.ChannelValueSpec, r: r + 1,
    }),
    dots(drawn.filter((row) => !isControl(row) && !isHollow(row)), {
      fill: { value: stroke, scale: null } as unknown as Plot.ChannelValueSpec,
    }),
    dots(drawn.filter(isHollow), {
      fill: colour.paper,
      stroke: { value: stroke, scale: null } as unknown as Plot.ChannelValueSpec,
      strokeWidth: 2.2,
    }),
  ];
}

function ends(rows: ForestRow[], x: number, sign: string, dy: number): Plot.Markish {
  return Plot.text(rows, { x: () => x, y: "arm", dy: dy - 1, text: () => sign, fill: colour.soft, fontSize: 18, fontWeight: 700 });
}

function beside(forest: Forest, names: string[], right: number): Plot.Markish[] {
  const known = forest.rows.filter((row) => row.ends);
  const room = right - 14;
  const full = (row: ForestRow) => `${row.point} (${row.range})`;
  const fits = known.every((row) => (full(row).length + wordLength(forest)) * OF_NAME <= room + 30);
  return [
    Plot.text(forest.rows, { y: "arm", text: names, frameAnchor: "left", textAnchor: "end", dx: -12, fill: colour.ink }),
    Plot.text(known, {
      y: "arm", text: (row: ForestRow) => (fits ? full(row) : row.point), frameAnchor: "right", textAnchor: "start", dx: 14, fill: colour.ink, fontVariant: "tabular-nums",
    }),
    Plot.text(known, {
      y: "arm", text: "word", frameAnchor: "right", textAnchor: "end", dx: right - 2, fill: colour.ink, fontWeight: 600,
    }),
    unmeasured(forest, 0, Math.floor((right + 200) / OF_NAME)),
  ];
}

function above(forest: Forest, names: string[]): Plot.Markish[] {
  const known = forest.rows.filter((row) => row.ends);
  return [
    Plot.text(forest.rows, { y: "arm", text: names, frameAnchor: "left", dx: -6, dy: -11, fill: colour.ink, ...HALO }),
    Plot.text(known, {
      y: "arm", text: (row: ForestRow) => `${row.point} ${row.word}`, frameAnchor: "right", dx: 6, dy: -11, fill: colour.ink, fontWeight: 600, ...HALO,
    }),
    unmeasured(forest, 9, 44),
  ];
}

function unmeasured(forest: Forest, dy: number, characters: number): Plot.Markish {
  return Plot.text(forest.rows.filter((row) => !row.ends), {
    y: "arm", text: (row: ForestRow) => shortened(row.word, characters), frameAnchor: "left", dx: 4, dy, fill: colour.soft, ...HALO,
  });
}

function named(rows: ForestRow[], room: number): string[] {
  return rows.map((row) => shortened(row.name, Math.max(6, Math.floor(room / OF_NAME))));
}

/** Denser if there are many rows. */
function rowHeight(rows: number, width: number): number {
  if (isNarrow(width)) return 46;
  return rows > 24 ? 20 : 27;
}

function isNarrow(width: number): boolean {
  return width < 600;
}

/** A step of 1, 2 or 5 times a power of ten that makes about that many ticks, and at least one other than zero. */
function tickStep(low: number, high: number, about: number): number {
  const rough = (high - low) / about;
  const power = 10 ** Math.floor(Math.log10(rough));
  const steps = [10, 5, 2, 1, 0.5, 0.2].map((factor) => factor * power);
  const fine = steps.filter((step) => step >= rough).at(-1) ?? power;
  return steps.find((step) => step <= fine && multiples(low, high, step).length > 1) ?? fine;
}

function multiples(low: number, high: number, step: number): number[] {
  const [first, last] = [Math.ceil(low / step - 1e-9), Math.floor(high / step + 1e-9)];
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, i) => (first + i) * step);
}
