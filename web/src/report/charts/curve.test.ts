import { describe, expect, it } from "vitest";

import type { Curve } from "../../analysis";
import type { CurveWords } from "../../document";
import { axesOf, curveInWords, curvePicture, curveTable, pointsInWords, scaleOf } from "./curve";
import { interval } from "./fixture";

const CURVE: Curve = {
  factor: "rate",
  of: "otel",
  metric: "cpu_per_request",
  scale: "unit",
  unit: "us",
  points: [
    { arm: "a", level: 0, attempted: 0, delivered: 0, overhead: interval(0), beyond_cap: false },
    { arm: "b", level: 1, attempted: 0.01, delivered: 0.01, overhead: interval(4), beyond_cap: false },
    { arm: "c", level: 50, attempted: 0.5, delivered: null, overhead: interval(40), beyond_cap: false },
    { arm: "d", level: 400, attempted: 4, delivered: 0.6, overhead: interval(60), beyond_cap: true },
  ],
  fits: [
    {
      against: "attempted",
      terms: [
        { kind: "fixed", coefficient: interval(1.2, 0.3), half_at: null },
        { kind: "proportional", coefficient: interval(0.071, 0.003), half_at: null },
      ],
      lack_of_fit: { f: 9.13, points_df: 5, error_df: 30, p: 0.0021 },
      ribbon: [{ x: 0, y: 1, low: 0, high: 2 }],
      held_out: [{ arm: "b", x: 1, measured: 4, predicted: interval(9), inside: false }],
    },
  ],
  cap: { above: 50, below: 400, delivered_per_s: 6980.4 },
};

const WORDS: CurveWords = {
  title: "CPU a request by rate",
  delivered: "spans delivered a request",
  fits: [{ against: "attempted", is_rejected: true, sentences: ["Curve: fixed.", "Does not fit."] }],
  sentences: ["Cap: from between 50 and 400."],
};

describe("a curve", () => {
  it("has a point for each level, those beyond the cap marked, and an axis to choose where levels span much", () => {
    const picture = curvePicture(CURVE, WORDS, "attempted");
    expect(picture?.points.map((point) => [point.x, point.isBeyondCap])).toEqual([[0, false], [1, false], [50, false], [400, true]]);
    expect(picture?.heldOut).toEqual([{ x: 1, predicted: 9, isInside: false }]);
    expect(picture?.isWide).toBe(true);
    expect([picture?.title, picture?.xLabel, picture?.isRejected]).toEqual(["CPU a request by rate", "rate", true]);
    const delivered = curvePicture(CURVE, WORDS, "delivered");
    expect([delivered?.xLabel, delivered?.isRejected]).toEqual(["spans delivered a request", false]);
  });

  it.each([
    ["us", "unit", -2000, { divisor: 1e3, unit: "ms" }],
    ["1/s", "unit", -2000, { divisor: 1, unit: "/s" }],
    ["bytes", "unit", 3e6, { divisor: 1e6, unit: "MB" }],
    ["1/s", "share", -0.02, { divisor: 0.01, unit: "%" }],
  ] as const)("in %s, by %s, has that unit", (unit, scale, estimate, expected) => {
    const points = CURVE.points.map((point) => ({ ...point, overhead: interval(estimate) }));
    expect(scaleOf({ ...CURVE, unit, scale, points })).toEqual(expected);
  });

  it("is told as the binary words it, by the fit that is shown", () => {
    expect(curveInWords(WORDS, "attempted")).toEqual(["Curve: fixed.", "Does not fit.", "Cap: from between 50 and 400."]);
    expect(curveInWords(WORDS, "delivered")).toEqual(WORDS.sentences);
  });

  it("is offered against what arrived only where that was fitted", () => {
    expect(axesOf(CURVE)).toEqual(["attempted"]);
    const fit = CURVE.fits.map((own) => ({ ...own, against: "delivered" as const }));
    expect(axesOf({ ...CURVE, fits: [...CURVE.fits, ...fit] })).toEqual(["attempted", "delivered"]);
  });

  it("tells its points in words and as a table", () => {
    const picture = curvePicture(CURVE, WORDS, "attempted");
    expect(picture && pointsInWords(picture)).toContain("400: +60.0 µs (+59.0 to +61.0), beyond the cap and not fitted");
    expect(curveTable(CURVE)[2]).toEqual(["b", 1, 0.01, 0.01, 4, 3, 5, "false", 9, "false"]);
  });

  it("without points is none", () => {
    const empty: Curve = { ...CURVE, points: [], fits: [], cap: null };
    expect(curvePicture(empty, WORDS, "attempted")).toBeNull();
    expect(curveTable(empty)).toHaveLength(1);
  });
});
