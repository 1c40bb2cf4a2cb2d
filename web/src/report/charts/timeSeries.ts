// The run over time: the use of each arm, the state of the machine, and the first windows one by one.

import type { Quantity, Series } from "../../document";
import type { Field } from "../../figure/csv";
import { type Scale, isFigure } from "../../figure/format";
import { type ArmMark, type ArmMarks, having, markOf } from "./arms";
import { extent } from "./extent";

/** A quantity with the lines of the arms for which it is known. */
export interface Drawn extends Quantity {
  lines: ArmLine[];
}

/** A point in time; `stretch` changes from round to round, so that no line crosses the gap. */
export interface Moment {
  at: number;
  value: number;
  stretch: number;
}

/** An arm's points. */
export interface ArmLine {
  mark: ArmMark;
  moments: Moment[];
}

/** The unit of the time axis, which keeps a run's length short. */
export function timeScale(lastsS: number): Scale {
  if (lastsS > 3 * 3600) return { divisor: 3600, unit: "h" };
  return lastsS > 300 ? { divisor: 60, unit: "min" } : { divisor: 1, unit: "s" };
}

/** The quantities that are known for any of these arms. */
export function drawnOf(series: Series, arms: readonly ArmMark[]): Drawn[] {
  const drawn = series.quantities.map((quantity) => ({ ...quantity, lines: linesOf(series, quantity.column, arms) }));
  return drawn.filter(({ lines }) => lines.length > 0);
}

function linesOf(series: Series, column: Quantity["column"], arms: readonly ArmMark[]): ArmLine[] {
  return having(arms, series.arms).flatMap(({ mark, own }) => {
    const moments = momentsOf(series, own.at_s, own[column] ?? []);
    return moments.length > 0 ? [{ mark, moments }] : [];
  });
}

/** The known points of one column; times rise as rounds do. */
export function momentsOf({ rounds, bin_s }: Series, at: readonly number[], values: readonly (number | null)[]): Moment[] {
  // The middle of a stretch in which a round begins may be before the round.
  const half = (bin_s ?? 0) / 2 + 1e-6;
  let stretch = -1;
  return at.flatMap((time, i) => {
    while ((rounds[stretch + 1]?.from_s ?? Infinity) <= time + half) stretch += 1;
    const value = values[i];
    return isFigure(time) && isFigure(value) ? [{ at: time, value, stretch }] : [];
  });
}

/**
 * The vertical range of a panel: the middle 98 % of the values and a quarter more at both ends, within the
 * range of the values. Otherwise a single outlier would flatten everything else.
 */
export function heightsOf(lines: readonly { moments: readonly Moment[] }[]): [number, number] {
  const values = lines.flatMap((line) => line.moments.map((moment) => moment.value)).sort((a, b) => a - b);
  const [least, most] = extent(values);
  const at = (share: number) => values[Math.min(values.length - 1, Math.floor(share * values.length))] ?? 0;
  const [low, high] = [at(0.01), at(0.99)];
  const more = (high - low) * 0.25 || Math.abs(high) * 0.02 || 1;
  return [Math.max(low - more, Math.min(least, low) - more * 0.2), Math.min(high + more, Math.max(most, high) + more * 0.2)];
}

/** Whether any value is beyond this range. */
export function isCut(lines: readonly { moments: readonly Moment[] }[], [low, high]: [number, number]): boolean {
  return lines.some((line) => line.moments.some(({ value }) => value < low || value > high));
}

/** A window in its lane. */
export interface LaneWindow {
  lane: number;
  mark: ArmMark;
  from: number;
  to: number;
  verdict: Series["windows"][number]["verdict"];
}

/** The first windows in lanes: one per shown arm among them, and one for all others. */
export interface Lanes {
  labels: string[];
  windows: LaneWindow[];
}

/** The first windows, at most `most`, in lanes for the `shown` arms. `order` has the ids as in the analysis. */
export function lanesOf(series: Series, order: readonly string[], marks: ArmMarks, shown: readonly ArmMark[], most: number): Lanes {
  const first = series.windows.filter((window) => isFigure(window.from_s) && isFigure(window.to_s)).slice(0, most);
  const lanes = shown.filter((mark) => first.some((window) => order[window.arm] === mark.id));
  const laneOf = new Map(lanes.map((mark, lane) => [mark.id, lane]));
  const windows = first.map((window): LaneWindow => {
    const mark = markOf(marks, order[window.arm] ?? `arm ${window.arm}`);
    return { lane: laneOf.get(mark.id) ?? lanes.length, mark, from: window.from_s, to: window.to_s, verdict: window.verdict };
  });
  const hasOthers = windows.some((window) => window.lane === lanes.length);
  return { labels: [...lanes.map((mark) => mark.label), ...(hasOthers ? ["other arms"] : [])], windows };
}

/** Every figure over time: a row per arm and moment, then the machine's. */
export function seriesTable(series: Series): Field[][] {
  const arms = series.arms.flatMap((arm) =>
    arm.at_s.map((at, i): Field[] => [
      arm.arm,
      at,
      arm.cpu_us_per_request[i] ?? null,
      arm.rate_per_s[i] ?? null,
      arm.rss_bytes[i] ?? null,
      arm.agent_cores?.[i] ?? null,
      arm.agent_rss_bytes?.[i] ?? null,
      null,
      null,
      null,
    ]),
  );
  const { at_s, steal, pressure, busy_cores } = series.machine;
  const machine = at_s.map((at, i): Field[] => [null, at, null, null, null, null, null, steal[i] ?? null, pressure[i] ?? null, busy_cores[i] ?? null]);
  return [["arm", "at_s", "cpu_us_per_request", "rate_per_s", "rss_bytes", "agent_cores", "agent_rss_bytes", "steal", "pressure", "busy_cores"], ...arms, ...machine];
}

/** The first windows one by one. */
export function windowsTable(series: Series, order: readonly string[]): Field[][] {
  const rows = series.windows.map((window): Field[] => [order[window.arm] ?? window.arm, window.from_s, window.to_s, window.verdict]);
  return [["arm", "from_s", "to_s", "verdict"], ...rows];
}
