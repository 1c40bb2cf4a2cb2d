// What a forest plot shows: one interval for each arm about the line of no difference.

import type { Arm, Metric, Role, UnderLoad, Verdict } from "../analysis";
import { type Ends, isEnds, fitting, PERCENT, percentShort, type Scale, writtenEnds } from "./format";
import { words } from "./metrics";
import { armNames } from "./names";

/** One arm. */
export interface ForestRow {
  id: string;
  name: string;
  role: Role;
  /** In the unit of analysis.json, or as a share; null where there is no interval. */
  ends: Ends | null;
  point: string;
  range: string;
  /** The control has one only where it differs, which it should not. */
  verdict: Verdict | null;
  /** What is said of it, in a word or two; why there is no figure where there is none. */
  word: string;
}

/** One metric of all arms. */
export interface Forest {
  metric: string;
  /** How figures are written and by what they are divided. */
  scale: Scale;
  /** Whether they are shares of the baseline. */
  isRelative: boolean;
  /** Shares within ± this do not matter; null where differences are no shares. */
  interest: number | null;
  /** What lies left and right of nil. */
  sides: [left: string, right: string];
  /** The control first: it shows how far nil is from nil on this machine. */
  rows: ForestRow[];
}

/** Marks what holds on its own, and not when all comparisons of its family have to; as in the tables. */
export const ON_ITS_OWN = "‡";

/** What the mark means. */
export const ON_ITS_OWN_MEANS = `${ON_ITS_OWN} holds on its own, but not when all comparisons of its family have to.`;

/** The plot of a metric; null where no arm has an interval. */
export function forestOf(under: UnderLoad, metric: string): Forest | null {
  const names = armNames(under.arms);
  const arms = compared(under.arms);
  const results = arms.map((arm) => arm.metrics[metric]);
  const known = results.filter((result) => result !== undefined);
  const isRelative = known.some((result) => isEnds(result.relative));
  const endsOf = (result: Metric | undefined) => (isRelative ? result?.relative : result?.difference) ?? null;
  const ends = results.map((result) => endsOf(result)).map((of) => (isEnds(of) ? of : null));
  if (ends.every((of) => of === null)) return null;

  const of = words(metric, known[0]);
  const scale = isRelative ? PERCENT : fitting(of.unit, ends.map((e) => e?.estimate));
  const rows = arms.map((arm, i) => row(arm, names.get(arm.id) ?? arm.name, results[i], ends[i] ?? null, scale));
  return {
    metric,
    scale,
    isRelative,
    interest: isRelative && Number.isFinite(under.design.interest) ? under.design.interest : null,
    sides: of.direction === "higher" ? ["costs", "saves"] : ["saves", "costs"],
    rows,
  };
}

/** The metrics of which some arm has an interval, the one that answers first, then as in reports. */
export function metricsWithIntervals(under: UnderLoad, order: readonly string[]): string[] {
  const found = new Set(compared(under.arms).flatMap((arm) => Object.keys(arm.metrics)));
  const known = order.filter((metric) => found.has(metric));
  const others = [...found].filter((metric) => !order.includes(metric)).sort();
  const all = [under.primary, ...[...known, ...others].filter((metric) => metric !== under.primary)];
  return all.filter((metric) => plotted(under, metric).length > 0);
}

/** The arms that have an interval in a metric's plot. */
export function plotted(under: Pick<UnderLoad, "arms">, metric: string): Arm[] {
  const arms = under.arms.filter((arm) => arm.role !== "baseline");
  const ofRatios = arms.filter((arm) => isEnds(arm.metrics[metric]?.relative));
  return ofRatios.length > 0 ? ofRatios : arms.filter((arm) => isEnds(arm.metrics[metric]?.difference));
}

/** What those who use the service would feel, by kind of load, the best known first. */
const FELT: Record<string, string[]> = {
  batch: ["wall_per_iteration"],
  closed: ["throughput", "response_time_p99", "service_time_p99"],
  open: ["response_time_p99", "service_time_p99", "response_time_p50", "service_time_p50"],
};

/** What is worth a look before all else: the answer, what is felt, memory. */
export function atAGlance(under: UnderLoad): string[] {
  const has = (metric: string) => plotted(under, metric).length > 0;
  const felt = (FELT[under.design.load] ?? []).filter(has).slice(0, 2);
  // Agents that observe from outside have memory of their own, and their arms' services none to compare.
  const told = (metric: string) => plotted(under, metric).filter((arm) => arm.role === "treatment").length;
  const memory = ["rss_steady", "rss_peak", "pss", "agent_rss_steady"].filter(has).sort((a, b) => told(b) - told(a)).slice(0, 1);
  const whole = ["machine_cpu_per_request", "startup_time"].filter(has).slice(0, 1);
  return [...new Set([under.primary, ...felt, ...memory, ...whole])].filter(has);
}

/** From where to where the axis goes: over all estimates, nil and the margin, and over all intervals but those much wider than most. */
export function extent(forest: Forest): [low: number, high: number] {
  const ends = forest.rows.flatMap((each) => (each.ends ? [each.ends] : []));
  const reach = (e: Ends) => Math.max(Math.abs(e.low), Math.abs(e.high));
  const reaches = ends.map(reach).sort((a, b) => a - b);
  const usual = reaches[Math.floor((reaches.length - 1) / 2)] ?? 0;
  const estimates = ends.map((e) => Math.abs(e.estimate));
  const margin = forest.interest ?? 0;
  const limit = Math.max(4 * usual, 1.5 * Math.max(0, ...estimates), margin);
  const low = Math.min(-margin, 0, ...ends.map((e) => Math.max(e.low, -limit)));
  const high = Math.max(margin, 0, ...ends.map((e) => Math.min(e.high, limit)));
  const pad = (high - low || Math.abs(high) || 1) * 0.04;
  return [low - pad, high + pad];
}

/** Whether an interval goes on beyond the axis. */
export function isCut(forest: Forest): boolean {
  const [low, high] = extent(forest);
  return forest.rows.some(({ ends }) => ends && (ends.low < low || ends.high > high));
}

/** The picture in words: each arm's figure, of many arms the first. */
export function description(forest: Forest): string {
  const SPOKEN = 40;
  const margin = forest.interest === null ? "" : ` The margin of ±${percentShort(forest.interest)} is shaded.`;
  const arms = forest.rows
    .slice(0, SPOKEN)
    .map((each) => (each.ends ? `${each.name}: ${each.point} (${each.range}), ${each.word}.` : `${each.name}: ${each.word}.`));
  const more = forest.rows.length > SPOKEN ? ` The other ${forest.rows.length - SPOKEN} arms stand in the table.` : "";
  return `Differences from the baseline with their intervals.${margin} ${arms.join(" ")}${more}`;
}

function compared(arms: Arm[]): Arm[] {
  return [...arms.filter((arm) => arm.role === "control"), ...arms.filter((arm) => arm.role === "treatment")];
}

function row(arm: Arm, name: string, result: Metric | undefined, ends: Ends | null, scale: Scale): ForestRow {
  const shown = writtenEnds(scale, ends);
  return {
    id: arm.id,
    name,
    role: arm.role,
    ends,
    point: shown?.point ?? "",
    range: shown?.range ?? "",
    verdict: !shown || (arm.role === "control" && !result?.exceeds_nil) ? null : (result?.verdict ?? null),
    word: shown ? said(arm, result) : unmeasured(result),
  };
}

function unmeasured(result: Metric | undefined): string {
  if (!result) return "not measured for this arm";
  const why = result.missing?.text ?? "it is not said why";
  return isEnds(result.difference) ? `no ratio: ${why}` : `not measured: ${why}`;
}

function said(arm: Arm, result: Metric | undefined): string {
  if (!result) return "";
  const verdict = result.verdict ?? (result.exceeds_nil ? "more than sampling" : "can’t tell");
  const control = result.exceeds_nil ? "control: differs" : "control";
  const own = arm.role === "control" ? control : verdict + (result.holds_in_family === false ? ` ${ON_ITS_OWN}` : "");
  return result.validity?.verdict === "void" ? `${own}, void` : own;
}
