import { expect, test } from "vitest";

import { ONE, PERCENT, count, digitsOf, tickText, timeText } from "./format";

test("ticks are as short as possible, or as long as their neighbours", () => {
  const ms = { divisor: 1e3, unit: "ms" };
  const table: [written: string, expected: string][] = [
    [tickText(PERCENT, 0.1), "10"],
    [tickText(ms, -2500, true), "−2.5"],
    [tickText(PERCENT, 0.30000000000000004, true), "+30"],
    [tickText(PERCENT, 0.05, true, digitsOf(PERCENT, 0.005)), "+5.0"],
    [tickText(PERCENT, 1e-18, true, digitsOf(PERCENT, 0.05)), "0"],
    [tickText(ONE, 0.002, false, digitsOf(ONE, 0.001)), "0.002"],
    [tickText(ONE, -20, true, digitsOf(ONE, 10)), "−20"],
  ];
  for (const [written, expected] of table) expect(written).toBe(expected);
});

test("times have their own unit, and counts are grouped", () => {
  expect([200, 2000, 3e6].map(timeText)).toEqual(["200 µs", "2 ms", "3 s"]);
  expect([7, 3000, 1_234_567].map(count)).toEqual(["7", "3,000", "1,234,567"]);
});
