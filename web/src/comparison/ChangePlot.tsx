import * as Plot from "@observablehq/plot";
import { useCallback, useState } from "preact/hooks";

import type { Change, Changes, ComparedLoad } from "../comparison";
import type { Field } from "../figure/csv";
import { Figure } from "../figure/Figure";
import type { KeyEntry } from "../figure/Key";
import { PERCENT, tickText } from "../figure/format";
import { HALO, NAMES, OF_NAME } from "../figure/letters";
import { MetricChoice } from "../figure/MetricChoice";
import { shortened } from "../figure/names";
import { colour } from "../figure/palette";

/** The overhead of every arm in both runs, and its change next to it. */
export function ChangePlot({ load: { changes }, prefix }: { load: ComparedLoad; prefix: string }) {
  const [chosen, choose] = useState<string | null>(null);
  const of = changes.find((each) => each.metric === chosen) ?? changes[0];
  const draw = useCallback((width: number) => (of ? picture(of, width) : null), [of]);
  if (!of) return null;
  return (
    <Figure
      title={of.title}
      name={`${prefix}change-${of.metric}`}
      description={[of.about, ...of.rows.map(({ name, text }) => `${name}: ${text}.`)].join(" ")}
      draw={draw}
      csv={() => csv(of.rows)}
      entries={KEY}
      height={TOP + ROW * of.rows.length}
      controls={changes.length > 1 && <MetricChoice of={changes} chosen={of.metric} choose={choose} />}
    >
      {of.notes.map((note) => <p key={note} class="note">{note}</p>)}
    </Figure>
  );
}

const ROW = 52;
const TOP = 64;
/** In narrower places the two panels are stacked. */
const SIDE_BY_SIDE = 720;
const A = "var(--series-0)";
const B = "var(--series-1)";
const KEY: KeyEntry[] = [
  { label: "overhead in A", colour: A, shape: "disc" },
  { label: "overhead in B", colour: B, shape: "square" },
  { label: "change, B − A", colour: colour.ink, shape: "diamond" },
  { label: "too small to matter", colour: colour.margin, shape: "band" },
];

function picture(of: Changes, width: number): Element {
  const isWide = width >= SIDE_BY_SIDE;
  const longest = Math.max(...of.rows.map(({ name }) => [...name].length));
  const left = isWide ? Math.min(Math.ceil(longest * OF_NAME) + 16, Math.floor(width * 0.2)) : SIDE;
  const right = isWide ? Math.max(...of.rows.map(({ point, range }) => Math.max(point.length, range.length + 2))) * OF_NAME + 16 : SIDE;
  const room = isWide ? Math.floor((width - left - right - 2 * SIDE) / 2) : width - 2 * SIDE;
  const place = document.createElement("div");
  place.className = isWide ? "beside" : "below";
  if (isWide) place.style.gridTemplateColumns = "max-content max-content";
  place.append(
    overheads({ of, isWide, left, right: SIDE, room, letters: isWide ? 0 : 18 }),
    differences({ of, isWide, left: SIDE, right, room, letters: isWide ? 0 : 31 }),
  );
  return place;
}

/** The content of a panel, and the widths of its margins and columns, in pixels. */
interface Panel {
  of: Changes;
  isWide: boolean;
  left: number;
  right: number;
  room: number;
  /** The upper part of a row that holds text for which there is no margin, in pixels. */
  letters: number;
}

/** The minimal side margin, in pixels. */
const SIDE = 14;

function overheads(panel: Panel): Element {
  const { of: { rows, direction }, isWide, left } = panel;
  const middle = isWide ? 0 : 10;
  const sides = rows.flatMap((change) => [
    { ...change.a, at: change.arm, dy: middle - 6, run: "A", colour: A, symbol: "circle" },
    { ...change.b, at: change.arm, dy: middle + 6, run: "B", colour: B, symbol: "square" },
  ]);
  return Plot.plot({
    ...frame(panel, `overhead, % of the baseline ${direction}`),
    marks: [
      ...ground(panel),
      ...sides.flatMap((side) => [
        Plot.ruleY([side], { y: "at", x1: "low", x2: "high", stroke: side.colour, strokeWidth: 3, strokeLinecap: "round", dy: side.dy }),
        Plot.dot([side], { y: "at", x: "estimate", fill: side.colour, symbol: side.symbol, r: 4.5, dy: side.dy }),
      ]),
      isWide ? namesBeside(rows, left) : namesAbove(rows, -17),
    ],
  });
}

function differences(panel: Panel): Element {
  const { of: { rows, direction }, isWide } = panel;
  const changes = rows.map((change) => ({ ...change.change, at: change.arm }));
  const dy = isWide ? 0 : 16;
  return Plot.plot({
    ...frame(panel, `change, percentage points ${direction}`),
    marks: [
      ...ground(panel),
      Plot.ruleY(changes, { y: "at", x1: "low", x2: "high", stroke: colour.ink, strokeWidth: 3, strokeLinecap: "round", dy }),
      Plot.dot(changes, { y: "at", x: "estimate", fill: colour.ink, symbol: "diamond", r: 5.5, dy }),
      ...(isWide ? figuresBeside(rows) : [namesAbove(rows, -19), figuresBelow(rows)]),
    ],
  });
}

function frame({ of: { rows }, left, right, room }: Panel, label: string): Plot.PlotOptions {
  return {
    width: left + room + right,
    height: TOP + ROW * rows.length,
    marginLeft: left,
    marginRight: right,
    marginTop: 8,
    marginBottom: 46,
    x: { label, labelArrow: "none", tickFormat: (share: number) => tickText(PERCENT, share, true), ticks: Math.max(3, Math.floor(room / 90)), nice: true },
    y: { axis: null, domain: rows.map((change) => change.arm), type: "band", padding: 0 },
    style: { background: "transparent", color: colour.ink, fontSize: "12px", overflow: "visible" },
  };
}

/** Lines begin below the text of a row. */
function ground({ of: { rows, margin }, letters }: Panel): Plot.Markish[] {
  return [
    Plot.rectX([{}], { x1: -margin, x2: margin, fill: colour.margin }),
    Plot.gridX({ stroke: colour.line, strokeOpacity: 1 }),
    Plot.tickX(rows, { x: () => 0, y: "arm", insetTop: letters, stroke: colour.soft, strokeWidth: 1.5 }),
  ];
}

function namesBeside(drawn: Change[], room: number): Plot.Markish {
  const text = (change: Change) => shortened(change.name, Math.max(6, Math.floor((room - 14) / OF_NAME)));
  return Plot.text(drawn, { y: "arm", frameAnchor: "left", textAnchor: "end", dx: -12, text, fill: colour.ink, fontSize: NAMES });
}

function namesAbove(drawn: Change[], dy: number): Plot.Markish {
  const text = (change: Change) => shortened(change.name, 42);
  return Plot.text(drawn, { y: "arm", frameAnchor: "left", textAnchor: "start", dx: -8, dy, text, fill: colour.ink, fontSize: NAMES, ...HALO });
}

function figuresBeside(drawn: Change[]): Plot.Markish[] {
  const at = { y: "arm", frameAnchor: "right", textAnchor: "start", dx: 12, fontSize: 12, fontVariant: "tabular-nums" } as const;
  return [
    Plot.text(drawn, { ...at, dy: -8, text: "point", fill: colour.ink, fontWeight: 600 }),
    Plot.text(drawn, { ...at, dy: 8, text: (change: Change) => `(${change.range})`, fill: colour.soft }),
  ];
}

function figuresBelow(drawn: Change[]): Plot.Markish {
  const text = (change: Change) => `${change.point} (${change.range})`;
  return Plot.text(drawn, { y: "arm", frameAnchor: "left", textAnchor: "start", dx: -8, dy: -3, text, fill: colour.ink, fontSize: 12, ...HALO });
}

function csv(rows: readonly Change[]): Field[][] {
  const ends = (what: string) => [what, `${what}_low`, `${what}_high`];
  const heading = ["arm", "name", ...ends("a"), ...ends("b"), ...ends("change"), "verdict"];
  const bands = (change: Change) => [change.a, change.b, change.change].flatMap((band) => [band.estimate, band.low, band.high]);
  return [heading, ...rows.map((change) => [change.arm, change.name, ...bands(change), change.verdict])];
}
