import { describe, expect, it } from "vitest";

import type { Latency } from "../../document";
import {
  differencesOf,
  differencesTable,
  drawable,
  heightsOf,
  isCut,
  latencyTable,
  namedSteps,
  placeOf,
  stepsOf,
  ticksTo,
  ticksWithEnd,
  timeAt,
} from "./latency";

const ARM = { arm: "a", count: 1000, quantiles: [0, 0.5, 0.9, 0.99, 1], us: [100, 200, 400, 900, 5000], text: "" };
const LATENCY: Latency = { timing: "service_time", label: "", title: "", difference_title: "", scale: { divisor: 1, unit: "µs" }, arms: [ARM], differences: [] };

describe("the axis of percentiles", () => {
  it.each([
    [0, 1],
    [0.5, 2],
    [0.75, 4],
  ])("has %d at %d", (quantile, place) => expect(placeOf(quantile)).toBeCloseTo(place));

  it("names its percentiles", () => {
    const { places, text } = ticksTo(9000, 900);
    expect(places.map(text)).toEqual(["0", "50", "90", "99", "99.9"]);
    expect(ticksTo(1e6, 900).places.map(text)).toContain("99.9999");
  });

  it.each([
    ["all fit", 1e6, 900, ["0", "50", "90", "99", "99.9", "99.99", "99.999", "99.9999"]],
    ["narrow: long ones are left out", 1e6, 220, ["0", "90", "99", "99.9", "99.99", "99.9999"]],
    ["nothing fits beside the first", 1e6, 10, ["0"]],
  ])("leaves out what would touch: %s", (_, highest, room, expected) => {
    const { places, text } = ticksTo(highest, room);
    expect(places.map(text)).toEqual(expected);
  });

  it.each([
    ["between round ones", 20, 300, ["0", "50", "90", "95"]],
    ["a round one itself", 100, 300, ["0", "50", "90", "99"]],
    ["rather than a round one next to it", 20, 70, ["0", "50", "95"]],
  ])("ends with the last percentile: %s", (_, highest, room, expected) => {
    const { places, text } = ticksWithEnd(highest, room);
    expect(places.map(text)).toEqual(expected);
  });
});

describe("times", () => {
  it("end with the longest, at the quantile of one in all", () => {
    expect(stepsOf(ARM).at(-1)).toEqual({ x: 1000, quantile: 1, us: 5000 });
    expect(stepsOf({ ...ARM, count: 3 }).at(-1)?.x).toBeCloseTo(100);
  });

  it("that are missing are left out", () => {
    expect(stepsOf({ ...ARM, us: [100] })).toHaveLength(1);
    expect(stepsOf({ ...ARM, count: 0, quantiles: [], us: [] })).toEqual([]);
    expect(timeAt([], 0.5)).toBeUndefined();
    expect(namedSteps([])).toEqual([]);
  });

  it("are a table", () => {
    expect(latencyTable(LATENCY).slice(0, 2)).toEqual([["arm", "quantile", "service_time_us"], ["a", 0, 100]]);
  });
});

describe("differences of percentiles", () => {
  const band = { estimate: 0.1, low: 0.05, high: 0.15 };
  const of: Latency["differences"][number] = {
    arm: "a",
    scale: LATENCY.scale,
    relative_text: "",
    us_text: "",
    points: [
      { quantile: 0.5, relative: band, us: null },
      { quantile: 0.99, relative: { estimate: 0.2, low: -9, high: 9 }, us: { estimate: 20, low: 10, high: 30 } },
    ],
  };

  it("in microseconds are those with a known time", () => {
    expect(differencesOf(of, "relative")).toHaveLength(2);
    expect(differencesOf(of, "us").map((point) => point.quantile)).toEqual([0.99]);
    expect(differencesOf({ ...of, points: [] }, "us")).toEqual([]);
  });

  it("have a range that a single wide band does not fill", () => {
    expect(heightsOf(differencesOf(of, "relative"))).toEqual([-0.8, 0.8]);
    expect(heightsOf([])).toEqual([-1, 1]);
    expect(isCut(differencesOf(of, "relative"), [-0.8, 0.8])).toBe(true);
    expect(isCut(differencesOf(of, "us"), heightsOf(differencesOf(of, "us")))).toBe(false);
  });

  it("are drawn no further than a few heights of the picture", () => {
    const wide = [{ quantile: 0.5, x: 2, estimate: 0.5, low: -1e30, high: 0.9 }];
    expect(drawable(wide, [-1, 1])).toEqual([{ quantile: 0.5, x: 2, estimate: 0.5, low: -21, high: 0.9 }]);
  });

  it("are a table", () => {
    expect(differencesTable({ ...LATENCY, differences: [of] })[1]).toEqual(["a", 0.5, 0.1, 0.05, 0.15, null, null, null]);
  });
});
