// Times by percentile on HdrHistogram's axis, 1 / (1 − quantile), and the differences between arms.

import type { Band, Latency } from "../../document";
import type { Field } from "../../figure/csv";
import { isFigure } from "../../figure/format";
import { LETTER } from "../../figure/letters";
import { extent } from "./extent";

/** A time at a quantile, with its position on the axis. */
export interface Step {
  x: number;
  quantile: number;
  us: number;
}

/** The quantiles that the axis names. */
const NAMED = [0, 0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999999];

/** The position of a quantile on the axis. */
export function placeOf(quantile: number): number {
  return 1 / (1 - quantile);
}

/** The ticks of an axis up to this position that fit into `room` pixels: positions and labels. */
export interface Ticks {
  places: number[];
  text: (place: number) => string;
}

/** Ticks at round percentiles. */
export function ticksTo(highest: number, room: number): Ticks {
  return { places: fittingPlaces(namedPlaces(highest), highest, room), text: percentile };
}

/** Ticks at round percentiles, and at the end. */
export function ticksWithEnd(highest: number, room: number): Ticks {
  const end = Math.round(highest * 1000) / 1000;
  const before = namedPlaces(highest).filter((place) => place < end && apart(place, end, highest, room));
  return { places: [...fittingPlaces(before, highest, room), end], text: percentile };
}

function percentile(place: number): string {
  return `${Number((100 - 100 / place).toPrecision(8))}`;
}

function namedPlaces(highest: number): number[] {
  // A position is a quotient: rounding errors next to whole numbers are removed.
  return NAMED.map((quantile) => Math.round(placeOf(quantile))).filter((place) => place <= highest * 1.001);
}

function fittingPlaces(places: readonly number[], highest: number, room: number): number[] {
  const kept: number[] = [];
  for (const place of places) {
    const last = kept.at(-1);
    if (last === undefined || apart(last, place, highest, room)) kept.push(place);
  }
  return kept;
}

/** Whether the labels at two positions do not touch. */
function apart(low: number, high: number, highest: number, room: number): boolean {
  const pixels = (room * Math.log(high / low)) / Math.log(highest);
  return pixels > ((percentile(low).length + percentile(high).length) / 2) * LETTER + 6;
}

/** An arm's times; the longest, whose quantile is 1, is placed at the quantile of one in `count`. */
export function stepsOf(arm: Latency["arms"][number]): Step[] {
  let furthest = 1;
  return arm.quantiles.flatMap((quantile, i) => {
    const us = arm.us[i];
    if (!isFigure(quantile) || !isFigure(us) || us <= 0 || quantile < 0 || quantile > 1) return [];
    const x = quantile < 1 ? placeOf(quantile) : Math.max(furthest, arm.count);
    furthest = Math.max(furthest, x);
    return [{ x, quantile, us }];
  });
}

/** The first time at or beyond a quantile. */
export function timeAt(steps: readonly Step[], quantile: number): Step | undefined {
  return steps.find((step) => step.quantile >= quantile - 1e-9);
}

/** The steps at which the axis has a tick, for marks on the lines. */
export function namedSteps(steps: readonly Step[]): Step[] {
  const last = steps.at(-1);
  const named = NAMED.slice(1).flatMap((quantile) => {
    const step = timeAt(steps, quantile);
    return step && step.quantile < 1 ? [step] : [];
  });
  return [...new Set(last ? [...named, last] : named)];
}

/** An arm's difference from the baseline at a quantile. */
export interface DifferencePoint extends Band {
  x: number;
  quantile: number;
}

/** The differences of an arm, as shares or in microseconds. */
export function differencesOf(of: Latency["differences"][number], as: "relative" | "us"): DifferencePoint[] {
  return of.points.flatMap((point) => {
    const ends = point[as];
    if (!ends || ![ends.estimate, ends.low, ends.high].every(isFigure) || !(point.quantile < 1)) return [];
    return [{ ...ends, quantile: point.quantile, x: placeOf(point.quantile) }];
  });
}

/**
 * The vertical range of a panel with these: zero and every estimate, and the bands up to four times the
 * largest estimate, so that very uncertain points do not hide the others.
 */
export function heightsOf(points: readonly DifferencePoint[]): [number, number] {
  const largest = extent(points.map((point) => Math.abs(point.estimate)))[1];
  const narrowest = extent(points.map((point) => point.high - point.low))[0];
  const limit = Math.max(4 * largest, narrowest);
  const low = Math.max(extent([0, ...points.map((point) => point.low)])[0], -limit);
  const high = Math.min(extent([0, ...points.map((point) => point.high)])[1], limit);
  return low < high ? [low, high] : [-1, 1];
}

/** Whether a band extends beyond this range. */
export function isCut(points: readonly DifferencePoint[], [low, high]: [number, number]): boolean {
  return points.some((point) => point.low < low || point.high > high);
}

/** How far beyond the picture something may be drawn, in heights of the picture. */
const REACH = 10;

/**
 * The points with ends that can be drawn. Bands of few launches may reach 1e30: what is cut off is not seen, but
 * tools that measure the page, such as those for accessibility, go over all of it and never end.
 */
export function drawable(points: readonly DifferencePoint[], [low, high]: [number, number]): DifferencePoint[] {
  const reach = REACH * (high - low);
  const near = (figure: number) => Math.max(low - reach, Math.min(high + reach, figure));
  return points.map((point) => ({ ...point, estimate: near(point.estimate), low: near(point.low), high: near(point.high) }));
}

/** Every time of every arm. */
export function latencyTable(latency: Latency): Field[][] {
  const rows = latency.arms.flatMap((arm) => arm.quantiles.map((quantile, i): Field[] => [arm.arm, quantile, arm.us[i] ?? null]));
  return [["arm", "quantile", `${latency.timing}_us`], ...rows];
}

/** Every difference of every arm. */
export function differencesTable(latency: Latency): Field[][] {
  const rows = latency.differences.flatMap((of) =>
    of.points.map((point): Field[] => [
      of.arm,
      point.quantile,
      point.relative?.estimate ?? null,
      point.relative?.low ?? null,
      point.relative?.high ?? null,
      point.us?.estimate ?? null,
      point.us?.low ?? null,
      point.us?.high ?? null,
    ]),
  );
  return [["arm", "quantile", "relative", "relative_low", "relative_high", "us", "us_low", "us_high"], ...rows];
}
