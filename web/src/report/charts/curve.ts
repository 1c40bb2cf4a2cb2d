// A metric's overhead over a swept factor: the picture and its words.

import type { Curve, CurveFit, Interval } from "../../analysis";
import type { CurveWords } from "../../document";
import { type Scale, isFigure } from "../../figure/format";
import type { Field } from "../../figure/csv";

/** The quantity on the axis: the level as set, or as delivered. */
export type Against = CurveFit["against"];

/** A level with its overhead. */
export interface Point {
  arm: string;
  level: number;
  x: number;
  overhead: Interval;
  isBeyondDropLimit: boolean;
}

/** One picture of a curve. */
export interface CurvePicture {
  title: string;
  xLabel: string;
  scale: Scale;
  points: Point[];
  confidence_band: CurveFit["confidence_band"];
  /** Whether the fit is rejected: the scatter exceeds the points' own errors. */
  isRejected: boolean;
  /** Predictions of held-out points by the curve through all others. */
  heldOut: { x: number; predicted: number; isInside: boolean }[];
  /** Whether the levels span enough for a logarithmic axis. */
  isWide: boolean;
}

/** From this ratio of the largest level to the smallest above zero on, a logarithmic axis is offered. */
const WIDE = 100;

/** The possible x axes of this curve: those with points and, for delivered telemetry, a fit of its own. */
export function axesOf(curve: Curve): Against[] {
  const isDelivered = curve.fits.some((fit) => fit.against === "delivered") && pointsOf(curve, "delivered").length > 1;
  return isDelivered ? ["attempted", "delivered"] : ["attempted"];
}

/** The picture; null if no point is known. */
export function curvePicture(curve: Curve, words: CurveWords, against: Against): CurvePicture | null {
  const points = pointsOf(curve, against);
  if (points.length === 0) return null;
  const fit = fitOf(curve, against);
  const confidence_band = (fit?.confidence_band ?? []).filter((of) => [of.x, of.y, of.low, of.high].every(isFigure));
  const xs = points.map((point) => point.x).filter((x) => x > 0);
  return {
    title: words.title,
    xLabel: words[against],
    scale: words.scale,
    points,
    confidence_band,
    isRejected: words.fits.some((of) => of.against === against && of.is_rejected),
    heldOut: (fit?.held_out ?? [])
      .filter((of) => isFigure(of.x) && isFigure(of.predicted?.estimate))
      .map((of) => ({ x: of.x, predicted: of.predicted.estimate, isInside: of.inside })),
    isWide: xs.length > 1 && Math.max(...xs) / Math.min(...xs) > WIDE,
  };
}

function pointsOf(curve: Curve, against: Against): Point[] {
  return curve.points.flatMap((point) => {
    const x = against === "attempted" ? point.level : point.delivered;
    if (!isFigure(x) || !point.overhead || !isFigure(point.overhead.low + point.overhead.high)) return [];
    return [{ arm: point.arm, level: point.level, x, overhead: point.overhead, isBeyondDropLimit: point.beyond_drop_limit }];
  });
}

function fitOf(curve: Curve, against: Against): CurveFit | undefined {
  return curve.fits.find((fit) => fit.against === against);
}

/** The sentences about the fit that is shown, and about the curve. */
export function curveInWords(words: CurveWords, against: Against): string[] {
  const fit = words.fits.find((of) => of.against === against);
  return [...(fit?.sentences ?? []), ...words.sentences];
}

/** Every point of a curve with its prediction by the fits. */
export function curveTable(curve: Curve, { attempted: factor }: CurveWords): Field[][] {
  const predicted = (arm: string, against: Against) => fitOf(curve, against)?.held_out.find((of) => of.arm === arm);
  const rows = curve.points.map((point): Field[] => {
    const held = predicted(point.arm, "attempted");
    return [
      point.arm,
      point.level,
      point.attempted,
      point.delivered,
      point.overhead?.estimate ?? null,
      point.overhead?.low ?? null,
      point.overhead?.high ?? null,
      String(point.beyond_drop_limit),
      held?.predicted?.estimate ?? null,
      held ? String(held.inside) : null,
    ];
  });
  return [
    ["arm", factor, "attempted", "delivered", `overhead_${curve.unit}`, "low", "high", "beyond_drop_limit", "predicted", "inside"],
    ...rows,
  ];
}
