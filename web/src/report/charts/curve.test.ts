import { describe, expect, it } from "vitest";

import type { Curve } from "../../analysis";
import type { CurveWords } from "../../document";
import { axesOf, curveInWords, curvePicture, curveTable } from "./curve";
import { interval } from "./fixture";

const CURVE: Curve = {
  factor: "rate",
  of: "otel",
  metric: "cpu_per_request",
  scale: "unit",
  unit: "us",
  points: [
    { arm: "a", level: 0, attempted: 0, delivered: 0, overhead: interval(0), beyond_drop_limit: false },
    { arm: "b", level: 1, attempted: 0.01, delivered: 0.01, overhead: interval(4), beyond_drop_limit: false },
    { arm: "c", level: 50, attempted: 0.5, delivered: null, overhead: interval(40), beyond_drop_limit: false },
    { arm: "d", level: 400, attempted: 4, delivered: 0.6, overhead: interval(60), beyond_drop_limit: true },
  ],
  fits: [
    {
      against: "attempted",
      confidence_band: [{ x: 0, y: 1, low: 0, high: 2 }],
      held_out: [{ arm: "b", x: 1, predicted: interval(9), inside: false }],
    },
  ],
};

const WORDS: CurveWords = {
  title: "CPU per request by rate",
  scale: { divisor: 1, unit: "µs" },
  attempted: "rate",
  points: [],
  delivered: "spans delivered a request",
  fits: [{ against: "attempted", is_rejected: true, sentences: ["Curve: fixed.", "Does not fit."] }],
  sentences: ["Drop limit: telemetry is dropped above a rate of 50 to 400."],
};

describe("a curve", () => {
  it("has a point for each level, marks those beyond the drop limit, and offers a logarithmic axis for wide ranges", () => {
    const picture = curvePicture(CURVE, WORDS, "attempted");
    expect(picture?.points.map((point) => [point.x, point.isBeyondDropLimit])).toEqual([[0, false], [1, false], [50, false], [400, true]]);
    expect(picture?.heldOut).toEqual([{ x: 1, predicted: 9, isInside: false }]);
    expect(picture?.isWide).toBe(true);
    expect([picture?.title, picture?.xLabel, picture?.isRejected]).toEqual(["CPU per request by rate", "rate", true]);
    const delivered = curvePicture(CURVE, WORDS, "delivered");
    expect([delivered?.xLabel, delivered?.isRejected]).toEqual(["spans delivered a request", false]);
  });

  it("has the binary's words for the fit that is shown", () => {
    expect(curveInWords(WORDS, "attempted")).toEqual(["Curve: fixed.", "Does not fit.", "Drop limit: telemetry is dropped above a rate of 50 to 400."]);
    expect(curveInWords(WORDS, "delivered")).toEqual(WORDS.sentences);
  });

  it("is offered over delivered telemetry only if that was fitted", () => {
    expect(axesOf(CURVE)).toEqual(["attempted"]);
    const fit = CURVE.fits.map((own) => ({ ...own, against: "delivered" as const }));
    expect(axesOf({ ...CURVE, fits: [...CURVE.fits, ...fit] })).toEqual(["attempted", "delivered"]);
  });

  it("has its points in a table", () => {
    expect(curveTable(CURVE, WORDS)[2]).toEqual(["b", 1, 0.01, 0.01, 4, 3, 5, "false", 9, "false"]);
  });

  it("needs points", () => {
    const empty: Curve = { ...CURVE, points: [], fits: [] };
    expect(curvePicture(empty, WORDS, "attempted")).toBeNull();
    expect(curveTable(empty, WORDS)).toHaveLength(1);
  });
});
