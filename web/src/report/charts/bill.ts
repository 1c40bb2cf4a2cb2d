// Bills of CPU per request as bars: who used the machine, and in which services an arm's CPU was spent.

import type { Arm, Bill, BillLine, ServiceCpu } from "../../analysis";
import type { BillForm, BillView } from "../../document";
import type { Field } from "../../figure/csv";
import { isFigure } from "../../figure/format";
import { colour } from "../../figure/palette";
import type { ArmMark } from "./arms";
import { extent } from "./extent";

/** A line of the bill with its look. */
export interface Entry {
  item: string;
  name: string;
  colour: string;
}

/** A line that this page does not know is grey. */
const COLOURS: Readonly<Record<string, string>> = {
  service: colour.service,
  agent: colour.agent,
  generator: colour.generator,
  windage: colour.windage,
  kernel_threads: colour.kernel,
  remainder: colour.remainder,
  agent_outside_windows: "var(--agent-outside)",
  service_outside_windows: colour.exporter,
};

/** The lines of a load's bills with their looks, in order. */
export function entriesOf({ lines }: Pick<BillView, "lines">): Entry[] {
  return lines.map(({ item, name }) => ({ item, name, colour: COLOURS[item] ?? colour.soft }));
}

/** In the plan's order; further services are grey, and known by the names in their bars. */
const OF_SERVICES = [
  ...Array.from({ length: 6 }, (_, i) => `var(--series-${i})`),
  colour.service,
  "var(--agent-outside)",
  colour.remainder,
];

/** Services with colours that have no meaning elsewhere in a bill. */
export function servicesOf({ lines }: Pick<BillView, "lines">): Entry[] {
  return lines.map(({ item, name }, i) => ({ item, name, colour: OF_SERVICES[i] ?? colour.soft }));
}

/** What the bars of an arm are made of. */
export type Parts = Omit<Bill, "machine">;

/** The services of an arm as the lines of a bill; null without several. */
export function billOfServices({ services }: Arm): Parts | null {
  if (!services) return null;
  const line = ({ service, cpu }: ServiceCpu) => ({
    item: service,
    baseline_us_per_request: cpu.baseline,
    arm_us_per_request: cpu.arm,
    difference_us_per_request: cpu.difference?.estimate ?? null,
    interval: cpu.difference,
  });
  const unknown = { baseline_us_per_request: null, arm_us_per_request: null, difference_us_per_request: null, interval: null };
  return { lines: services.map(line), agent_outside_windows: null, service_outside_windows: null, with_deferred: unknown };
}

/** Whether bars show the machine's total, or the difference from the baseline. */
export type Of = "whole" | "difference";

/** A part of a bar, from one end to the other, in microseconds, with its figure. */
export interface Segment {
  entry: Entry;
  us: number;
  text: string;
  from: number;
  to: number;
}

/** An arm's bar. */
export interface Bar {
  mark: ArmMark;
  segments: Segment[];
  /** The machine's total in words, and its short form next to a name. */
  figures: string;
  short: string;
  /** The interval of the total on the axis. */
  ends: { estimate: number; low: number; high: number } | null;
}

/** The bars of these arms, without those that have no bill; differences have no bar for the baseline. */
export function barsOf(
  arms: readonly { arm: Arm; mark: ArmMark }[],
  entries: readonly Entry[],
  of: Of,
  form: BillForm,
  billOf: (arm: Arm) => Parts | null = ({ bill }) => bill,
): Bar[] {
  return arms.flatMap(({ arm, mark }) => {
    const { id, role } = arm;
    const bill = billOf(arm);
    const bar = form.bars.find((each) => each.arm === id);
    if (!bill || !bar || (of === "difference" && role === "baseline")) return [];
    const lines = entries.map((entry, i) => ({ entry, line: lineOf(bill, entry.item), text: bar.parts[i] ?? "" }));
    const segments = stacked(lines, of);
    return segments.length > 0 ? [{ mark, segments, figures: bar.figures, short: bar.short, ends: endsOf(bill, of) }] : [];
  });
}

/** CPU used in windows, and CPU used outside them. */
const OUTSIDE = ["agent_outside_windows", "service_outside_windows"] as const;

function lineOf(bill: Parts, item: string): BillLine | null {
  const outside = OUTSIDE.find((name) => name === item);
  return outside ? bill[outside] : (bill.lines.find((line) => line.item === item) ?? null);
}

function figureOf(line: BillLine, of: Of): number | null {
  return of === "difference" ? line.difference_us_per_request : line.arm_us_per_request;
}

/** Positive parts are stacked to the right of zero, negative ones to the left. */
function stacked(lines: readonly { entry: Entry; line: BillLine | null; text: string }[], of: Of): Segment[] {
  let [left, right] = [0, 0];
  return lines.flatMap(({ entry, line, text }) => {
    const us = line && figureOf(line, of);
    if (!isFigure(us) || us === 0) return [];
    const from = us < 0 ? left : right;
    const to = from + us;
    if (us < 0) left = to;
    else right = to;
    return [{ entry, us, text, from, to }];
  });
}

function endsOf({ with_deferred: { interval, baseline_us_per_request: baseline } }: Parts, of: Of): Bar["ends"] {
  const from = of === "difference" ? 0 : baseline;
  if (!interval || !isFigure(from)) return null;
  return { estimate: from + interval.estimate, low: from + interval.low, high: from + interval.high };
}

/** The range of zero and everything drawn. */
export function extentOf(bars: readonly Bar[]): [number, number] {
  const reached = bars.flatMap((bar) => [
    ...bar.segments.flatMap((segment) => [segment.from, segment.to]),
    ...(bar.ends ? [bar.ends.low, bar.ends.high] : []),
  ]);
  const [low, high] = extent([0, ...reached]);
  // A small margin, so that no end is at the very edge.
  const more = (high - low) * 0.02;
  return low < high ? [low < 0 ? low - more : 0, high + more] : [0, 1];
}

/** The entries that are drawn, in the order of the bill. */
export function drawnOf(entries: readonly Entry[], bars: readonly Bar[]): Entry[] {
  const drawn = new Set(bars.flatMap((bar) => bar.segments.map((segment) => segment.entry)));
  return entries.filter((entry) => drawn.has(entry));
}

/** The bars in words, for those who can't see them. */
export function billInWords(bars: readonly Bar[], { title, scale }: BillForm): string {
  const sentences = bars.map((bar) => {
    const parts = bar.segments.map(({ entry, text }) => `${entry.name} ${text} ${scale.unit}`);
    return `${bar.mark.label}: ${bar.figures}; ${parts.join(", ")}.`;
  });
  return `${title}. ${sentences.join(" ")}`;
}

const HEADINGS: Field[] = ["arm", "item", "baseline_us_per_request", "arm_us_per_request", "difference_us_per_request", "low", "high"];

function row({ id }: Arm, item: string, line: BillLine | null | undefined): Field[] {
  return [
    id,
    item,
    line?.baseline_us_per_request ?? null,
    line?.arm_us_per_request ?? null,
    line?.difference_us_per_request ?? null,
    line?.interval?.low ?? null,
    line?.interval?.high ?? null,
  ];
}

/** Every line of every bill. */
export function billTable(arms: readonly Arm[]): Field[][] {
  const rows = arms.flatMap((arm) => {
    const { bill } = arm;
    if (!bill) return [];
    const parts = bill.lines.map((line) => row(arm, line.item, line));
    const outside = OUTSIDE.flatMap((item) => (bill[item] ? [row(arm, item, bill[item])] : []));
    return [...parts, ...outside, row(arm, "machine", bill.machine), row(arm, "with_deferred", bill.with_deferred)];
  });
  return [HEADINGS, ...rows];
}

/** Every service of every arm. */
export function servicesTable(arms: readonly Arm[]): Field[][] {
  return [HEADINGS, ...arms.flatMap((arm) => (billOfServices(arm)?.lines ?? []).map((line) => row(arm, line.item, line)))];
}
