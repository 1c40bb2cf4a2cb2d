import * as Plot from "@observablehq/plot";
import { useCallback, useMemo, useState } from "preact/hooks";

import type { ChangeVerdict, ComparedLoad } from "../comparison";
import { Figure } from "../figure/Figure";
import type { KeyEntry } from "../figure/Key";
import { PERCENT, percentEnds, percentShort, tickText, writtenEnds } from "../figure/format";
import { ON_ITS_OWN, ON_ITS_OWN_MEANS } from "../figure/forest";
import { HALO, NAMES, OF_NAME } from "../figure/letters";
import { MetricChoice } from "../figure/MetricChoice";
import { headline, words } from "../figure/metrics";
import { shortened } from "../figure/names";
import { colour } from "../figure/palette";
import { type Change, changes, comparedMetrics } from "./changes";

/** The overhead of every arm in both runs, and beside it how it changed. */
export function ChangePlot({ load, prefix }: { load: ComparedLoad; prefix: string }) {
  const metrics = useMemo(() => comparedMetrics(load), [load]);
  const interest = load.interest ?? 0;
  const [chosen, choose] = useState<string | null>(null);
  const metric = chosen !== null && metrics.includes(chosen) ? chosen : (metrics[0] ?? load.primary);
  const drawn = useMemo(() => changes(load, metric), [load, metric]);
  const draw = useCallback((width: number) => picture(drawn, interest, metric, width), [drawn, interest, metric]);
  if (metrics.length === 0) return null;
  return (
    <Figure
      title={`${headline(metric)}: overhead in both runs, and its change`}
      name={`${prefix}change-${metric}`}
      description={description(drawn, interest)}
      draw={draw}
      csv={() => csv(drawn)}
      entries={KEY}
      height={TOP + ROW * drawn.length}
      controls={metrics.length > 1 && <MetricChoice metrics={metrics} chosen={metric} choose={choose} />}
    >
      {drawn.some((change) => change.isOnItsOwn) && <p class="note">{ON_ITS_OWN_MEANS}</p>}
    </Figure>
  );
}

const ROW = 52;
const TOP = 64;
/** Narrower places have the two panels one below the other. */
const SIDE_BY_SIDE = 720;
const A = "var(--series-0)";
const B = "var(--series-1)";
const KEY: KeyEntry[] = [
  { label: "overhead in A", colour: A, shape: "disc" },
  { label: "overhead in B", colour: B, shape: "square" },
  { label: "change, B − A", colour: colour.ink, shape: "diamond" },
  { label: "too small to matter", colour: colour.interest, shape: "band" },
];

function picture(drawn: Change[], interest: number, metric: string, width: number): Element | null {
  if (drawn.length === 0) return null;
  const isWide = width >= SIDE_BY_SIDE;
  const longest = Math.max(...drawn.map((change) => [...nameOf(change)].length));
  const left = isWide ? Math.min(Math.ceil(longest * OF_NAME) + 16, Math.floor(width * 0.2)) : SIDE;
  const right = isWide ? Math.max(...drawn.flatMap((change) => figures(change).map((line) => line.length))) * OF_NAME + 16 : SIDE;
  const room = isWide ? Math.floor((width - left - right - 2 * SIDE) / 2) : width - 2 * SIDE;
  const place = document.createElement("div");
  place.className = isWide ? "beside" : "below";
  if (isWide) place.style.gridTemplateColumns = "max-content max-content";
  place.append(
    overheads({ drawn, interest, metric, isWide, left, right: SIDE, room, letters: isWide ? 0 : 18 }),
    differences({ drawn, interest, metric, isWide, left: SIDE, right, room, letters: isWide ? 0 : 31 }),
  );
  return place;
}

/** What a panel shows, and the widths of its margins and of what lies between them, in pixels. */
interface Panel {
  drawn: Change[];
  interest: number;
  metric: string;
  isWide: boolean;
  left: number;
  right: number;
  room: number;
  /** The part of a row, from above, in which letters stand for which there is no margin, in pixels. */
  letters: number;
}

/** The least margin at a side, in pixels. */
const SIDE = 14;

function overheads(panel: Panel): Element {
  const { drawn, metric, isWide, left } = panel;
  const middle = isWide ? 0 : 10;
  const sides = drawn.flatMap((change) => [
    { ...change.a, at: change.label, dy: middle - 6, run: "A", colour: A, symbol: "circle" },
    { ...change.b, at: change.label, dy: middle + 6, run: "B", colour: B, symbol: "square" },
  ]);
  return Plot.plot({
    ...frame(panel, `overhead, % of the baseline ${arrow(metric)}`),
    marks: [
      ...ground(panel),
      ...sides.flatMap((side) => [
        Plot.ruleY([side], { y: "at", x1: "low", x2: "high", stroke: side.colour, strokeWidth: 3, strokeLinecap: "round", dy: side.dy }),
        Plot.dot([side], { y: "at", x: "estimate", fill: side.colour, symbol: side.symbol, r: 4.5, dy: side.dy }),
      ]),
      isWide ? namesBeside(drawn, left) : namesAbove(drawn, -17),
    ],
  });
}

function differences(panel: Panel): Element {
  const { drawn, metric, isWide } = panel;
  const rows = drawn.map((change) => ({ ...change.change, at: change.label }));
  const dy = isWide ? 0 : 16;
  return Plot.plot({
    ...frame(panel, `change, percentage points ${arrow(metric)}`),
    marks: [
      ...ground(panel),
      Plot.ruleY(rows, { y: "at", x1: "low", x2: "high", stroke: colour.ink, strokeWidth: 3, strokeLinecap: "round", dy }),
      Plot.dot(rows, { y: "at", x: "estimate", fill: colour.ink, symbol: "diamond", r: 5.5, dy }),
      ...(isWide ? figuresBeside(drawn) : [namesAbove(drawn, -19), figuresBelow(drawn)]),
    ],
  });
}

function frame({ drawn, left, right, room }: Panel, label: string): Plot.PlotOptions {
  return {
    width: left + room + right,
    height: TOP + ROW * drawn.length,
    marginLeft: left,
    marginRight: right,
    marginTop: 8,
    marginBottom: 46,
    x: { label, labelArrow: "none", tickFormat: (share: number) => tickText(PERCENT, share, true), ticks: Math.max(3, Math.floor(room / 90)), nice: true },
    y: { axis: null, domain: drawn.map((change) => change.label), type: "band", padding: 0 },
    style: { background: "transparent", color: colour.ink, fontSize: "12px", overflow: "visible" },
  };
}

/** The lines begin below what is written in a row. */
function ground({ drawn, interest, letters }: Panel): Plot.Markish[] {
  return [
    Plot.rectX([{}], { x1: -interest, x2: interest, fill: colour.interest }),
    Plot.gridX({ stroke: colour.line, strokeOpacity: 1 }),
    Plot.tickX(drawn, { x: () => 0, y: "label", insetTop: letters, stroke: colour.soft, strokeWidth: 1.5 }),
  ];
}

function nameOf(change: Change): string {
  return change.label + (change.isControl && change.label !== "control" ? " (control)" : "");
}

function namesBeside(drawn: Change[], room: number): Plot.Markish {
  const text = (change: Change) => shortened(nameOf(change), Math.max(6, Math.floor((room - 14) / OF_NAME)));
  return Plot.text(drawn, { y: "label", frameAnchor: "left", textAnchor: "end", dx: -12, text, fill: colour.ink, fontSize: NAMES });
}

function namesAbove(drawn: Change[], dy: number): Plot.Markish {
  const text = (change: Change) => shortened(nameOf(change), 42);
  return Plot.text(drawn, { y: "label", frameAnchor: "left", textAnchor: "start", dx: -8, dy, text, fill: colour.ink, fontSize: NAMES, ...HALO });
}

/** The change with its verdict, and beneath it the interval. */
function figures(change: Change): [string, string] {
  const { point, range } = writtenEnds(PERCENT, change.change) ?? { point: "", range: "" };
  return [`${point.replace(" %", " points")}${verdictOf(change)}`, range === "" ? "" : `(${range})`];
}

function figuresBeside(drawn: Change[]): Plot.Markish[] {
  const at = { y: "label", frameAnchor: "right", textAnchor: "start", dx: 12, fontSize: 12, fontVariant: "tabular-nums" } as const;
  return [
    Plot.text(drawn, { ...at, dy: -8, text: (change: Change) => figures(change)[0], fill: colour.ink, fontWeight: 600 }),
    Plot.text(drawn, { ...at, dy: 8, text: (change: Change) => figures(change)[1], fill: colour.soft }),
  ];
}

function figuresBelow(drawn: Change[]): Plot.Markish {
  const text = (change: Change) => `${points(change)}${verdictOf(change)}`;
  return Plot.text(drawn, { y: "label", frameAnchor: "left", textAnchor: "start", dx: -8, dy: -3, text, fill: colour.ink, fontSize: 12, ...HALO });
}

function arrow(metric: string): string {
  return words(metric).direction === "lower" ? "(more is dearer →)" : "(← less is dearer)";
}

const VERDICTS: Record<ChangeVerdict, string> = {
  dearer: "dearer",
  cheaper: "cheaper",
  same: "the same",
  inconclusive: "inconclusive",
};

function verdictOf(change: Change): string {
  const mark = change.isOnItsOwn ? ` ${ON_ITS_OWN}` : "";
  return change.verdict ? `, ${VERDICTS[change.verdict]}${mark}` : "";
}

/** A change in percentage points with its interval. */
function points({ change }: Change): string {
  return percentEnds(change).replace(" %", " points");
}

function description(drawn: Change[], interest: number): string {
  const told = drawn.map(
    (change) => `${change.label}: ${percentEnds(change.a)} in A, ${percentEnds(change.b)} in B, change ${points(change)}${verdictOf(change)}.`,
  );
  return `Overheads with intervals; ±${percentShort(interest)} is shaded. ${told.join(" ")}`;
}

function csv(drawn: Change[]): (string | number | null)[][] {
  const ends = (what: string) => [what, `${what}_low`, `${what}_high`];
  const heading = ["arm", "name", ...ends("a"), ...ends("b"), ...ends("change"), "verdict"];
  const bands = (change: Change) => [change.a, change.b, change.change].flatMap((band) => [band.estimate, band.low, band.high]);
  return [heading, ...drawn.map((change) => [change.id, change.label, ...bands(change), change.verdict])];
}
