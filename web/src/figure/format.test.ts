import { describe, expect, it } from "vitest";

import written from "../../../crates/windage-report/src/number/written.json";
import {
  PERCENT,
  type Unit,
  count,
  fitting,
  percentEnds,
  percentShort,
  percentTwo,
  plain,
  short,
  signedEnds,
  signedPoint,
  tick,
  tickText,
} from "./format";

type Figure = number | null;
type Row<Input extends unknown[]> = [...Input, expected: string, why: string];

/** The columns of crates/windage-report/src/number/written.json, to which the terminal is held as well. */
const table = written as unknown as {
  short: Row<[Unit, Figure]>[];
  signed_point: Row<[Unit, Figure]>[];
  percent: Row<[Figure, Figure, Figure]>[];
  difference_beside_61_us: Row<[Figure, Figure, Figure]>[];
} & Record<"percent_short" | "percent_two" | "count" | "plain", Row<[Figure]>[]>;

const ends = (estimate: Figure, low: Figure, high: Figure) => ({ estimate: estimate ?? NaN, low: low ?? NaN, high: high ?? NaN });

describe("figures are written as in the terminal", () => {
  it.each(table.short)("%s %d: %s, %s", (unit, figure, expected) => expect(short(unit, figure)).toBe(expected));

  it.each(table.signed_point)("difference %s %d: %s, %s", (unit, figure, expected) =>
    expect(signedPoint(fitting(unit, [figure]), figure)).toBe(expected));

  it.each(table.percent)("share %d, %d to %d: %s, %s", (estimate, low, high, expected) =>
    expect(percentEnds(ends(estimate, low, high))).toBe(expected));

  it.each(table.difference_beside_61_us)("difference %d, %d to %d: %s, %s", (estimate, low, high, expected) =>
    expect(signedEnds(fitting("us", [61.2]), ends(estimate, low, high))).toBe(expected));

  describe.each([
    ["percent_short", percentShort],
    ["percent_two", percentTwo],
    ["count", count],
    ["plain", plain],
  ] as const)("%s", (column, write) => {
    it.each(table[column])("%d: %s, %s", (figure, expected) => {
      expect(write(figure)).toBe(expected);
      if (figure === null) expect([NaN, Infinity, undefined].map(write)).toEqual([expected, expected, expected]);
    });
  });
});

describe("figures on axes", () => {
  it("have the sign of a difference, and n/a for what is not there", () => {
    expect(signedPoint(PERCENT, undefined)).toBe("n/a");
    expect(percentEnds(null)).toBe("n/a");
  });

  it("are no longer than they must be", () => {
    expect(tickText(PERCENT, 0.1)).toBe("10");
    expect(tickText(fitting("us", [9000]), -2500, true)).toBe("−2.5");
    expect(tickText(PERCENT, 0.30000000000000004, true)).toBe("+30");
    expect(tick(PERCENT, 0.05, 0.005, true)).toBe("+5.0");
    expect(tick(PERCENT, 1e-18, 0.05)).toBe("0");
  });
});
