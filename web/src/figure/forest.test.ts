import { expect, test } from "vitest";

import { forest, interval } from "../report/charts/fixture";
import { description, extent, isCut } from "./forest";
import { shortened } from "./names";

test("the axis leaves out intervals far wider than the rest", () => {
  const near = forest(interval(0.01, 0.02), interval(0.2, 0.1));
  const far = forest(interval(0, 0.01), interval(0, 0.02), interval(0.01, 5));
  expect(extent(near)[0]).toBeLessThan(-0.01);
  expect(extent(near)[1]).toBeGreaterThan(0.3);
  expect(extent(far)[1]).toBeLessThan(0.2);
  expect([isCut(near), isCut(far)]).toEqual([false, true]);
  expect(extent(forest(interval(0, 0))).every(Number.isFinite)).toBe(true);
});

test("each arm is described by its figure, or by the reason why it has none", () => {
  expect(description(forest(interval(0.1), null))).toBe("Differences. arm 0: p (r), costs. arm 1: why.");
  expect(description(forest(...Array.from({ length: 41 }, () => null)))).toContain("The other 1 arms are in the table.");
});

test("long names keep both ends", () => {
  expect(shortened("otel, sampling 0.1", 11)).toBe("otel,…g 0.1");
  expect(shortened("short", 5)).toBe("short");
});
