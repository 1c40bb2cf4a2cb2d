// Where the scatter of the primary metric comes from.

import type { Arm, Metric, Scatter } from "../../analysis";
import type { Words } from "../../document";
import type { Field } from "../../figure/csv";
import { isEnds, isFigure, percentTwo } from "../../figure/format";
import { capitalised } from "../../figure/names";
import type { ArmMark } from "./arms";

/** What an arm's log ratios scatter by, as shares. */
export interface ArmScatter {
  mark: ArmMark;
  sources: { source: Source; sd: number | null }[];
  /**
   * Half the width of the interval on the scale of log ratios, as a share: as it is, and as variation
   * within launches alone would make it.
   */
  halfWidth: number | null;
  withinLaunches: number | null;
  advice: string | null;
}

/** A source of scatter. */
export type Source = "launches" | "blocks" | "windows";

/** The sources from the outermost to the innermost. */
export const SOURCES: readonly Source[] = ["launches", "blocks", "windows"];

const KEYS: Record<Source, "launch_sd" | "block_sd" | "window_sd"> = {
  launches: "launch_sd",
  blocks: "block_sd",
  windows: "window_sd",
};

/** The arms whose scatter in this metric is known. */
export function scattersOf(arms: readonly { arm: Arm; mark: ArmMark }[], metric: string, advice: Words["advice"] = []): ArmScatter[] {
  return arms.flatMap(({ arm, mark }) => {
    const own = arm.metrics[metric];
    return own?.scatter && SOURCES.some((source) => isFigure(own.scatter?.[KEYS[source]])) ? [scatterOf(own, own.scatter, mark, advice.find((of) => of.arm === arm.id)?.text ?? null)] : [];
  });
}

function scatterOf(metric: Metric, scatter: Scatter, mark: ArmMark, advice: string | null): ArmScatter {
  return {
    mark,
    sources: SOURCES.map((source) => ({ source, sd: isFigure(scatter[KEYS[source]]) ? scatter[KEYS[source]] : null })),
    halfWidth: halfWidthOf(metric),
    withinLaunches: isFigure(metric.within_launch_half_width) ? metric.within_launch_half_width : null,
    advice,
  };
}

/**
 * By which factor, less 1, the interval's ends lie from its middle: on the scale of log ratios, as
 * `within_launch_half_width` is. In points of the baseline it would grow with the overhead itself.
 */
function halfWidthOf({ relative }: Metric): number | null {
  if (!isEnds(relative) || relative.low <= -1) return null;
  return Math.sqrt((1 + relative.high) / (1 + relative.low)) - 1;
}

/** "interval ± 5.5 %; within launches alone it would be ± 5.3 %" */
export function widthsInWords(of: ArmScatter): string {
  const whole = of.halfWidth === null ? "" : `interval ± ${percentTwo(of.halfWidth)}`;
  const within = of.withinLaunches === null ? "" : `within launches alone ± ${percentTwo(of.withinLaunches)}`;
  return [whole, within].filter(Boolean).join("; ");
}

/** Each advice with the treatments that it is for. */
export function advices(scatters: readonly ArmScatter[]): string[] {
  const byAdvice = new Map<string, string[]>();
  for (const { advice, mark } of scatters) {
    if (advice !== null && mark.role === "treatment") byAdvice.set(advice, [...(byAdvice.get(advice) ?? []), mark.label]);
  }
  const isOne = byAdvice.size === 1;
  return [...byAdvice].map(([advice, labels]) => (isOne ? `${capitalised(advice)}.` : `${labels.join(", ")}: ${advice}.`));
}

/** The bars in words, for those who can't see them. */
export function scatterInWords(scatters: readonly ArmScatter[]): string {
  const sentences = scatters.map((of) => {
    const sources = of.sources.map(({ source, sd }) => `${source} ${sd === null ? "unknown" : percentTwo(sd)}`);
    const widths = widthsInWords(of);
    return `${of.mark.label}: ${sources.join(", ")}${widths ? `; ${widths}` : ""}.`;
  });
  return `Standard deviations of log ratios by their source. ${sentences.join(" ")}`;
}

/** Everything about the scatter of every arm. */
export function scatterTable(arms: readonly Arm[], metric: string): Field[][] {
  const rows = arms.flatMap((arm): Field[][] => {
    const own = arm.metrics[metric];
    if (!own?.scatter) return [];
    const { launch_sd, block_sd, window_sd, advice } = own.scatter;
    return [[arm.id, launch_sd, block_sd, window_sd, halfWidthOf(own), own.within_launch_half_width ?? null, advice]];
  });
  return [["arm", "launch_sd", "block_sd", "window_sd", "half_width", "within_launch_half_width", "advice"], ...rows];
}
