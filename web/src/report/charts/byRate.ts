// The delivered share of telemetry by rate.

import type { FidelityPoint } from "../../analysis";
import type { Field } from "../../figure/csv";
import { isFigure } from "../../figure/format";

/** The delivery under one load. */
export interface RatePoint {
  estimate: number;
  low: number;
  high: number;
  rate: number;
  /** A closed loop has only an achieved rate. */
  isClosed: boolean;
}

/** An arm over the rates. */
export interface RateLine {
  arm: string;
  points: RatePoint[];
}

/** A line for each arm with at least two known loads, by rising rate. */
export function rateLines(curve: readonly FidelityPoint[]): RateLine[] {
  const ids = [...new Set(curve.map((of) => of.arm))];
  const lines = ids.map((id) => {
    const points = curve.filter((of) => of.arm === id).flatMap(pointOf);
    return { arm: id, points: points.sort((a, b) => a.rate - b.rate) };
  });
  return lines.filter((line) => line.points.length > 1);
}

function pointOf(of: FidelityPoint): RatePoint[] {
  const rate = of.rate_per_s ?? of.achieved_per_s;
  if (!isFigure(rate) || rate <= 0 || !of.lost_share) return [];
  const { estimate, low, high } = of.lost_share;
  return [{ rate, estimate: 1 - estimate, low: 1 - high, high: 1 - low, isClosed: of.rate_per_s === null }];
}

/** Every point of the curve. */
export function rateTable(curve: readonly FidelityPoint[]): Field[][] {
  const rows = curve.map((of): Field[] => [
    of.arm,
    of.regime,
    of.rate_per_s,
    of.achieved_per_s,
    of.expected,
    of.delivered,
    of.lost_share?.estimate ?? null,
    of.lost_share?.low ?? null,
    of.lost_share?.high ?? null,
  ]);
  return [["arm", "regime", "rate_per_s", "achieved_per_s", "expected", "delivered", "lost_share", "low", "high"], ...rows];
}
