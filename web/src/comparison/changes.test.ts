import { describe, expect, it } from "vitest";

import type { ComparedArm, ComparedLoad, ComparedMetric, Side } from "../comparison";
import { changes, comparedMetrics } from "./changes";

const interval = (estimate: number) => ({ estimate, low: estimate - 0.01, high: estimate + 0.01, confidence: 0.95, method: "made up" });

function side(relative: number | null): Side {
  return { baseline: 1, arm: 1, difference: null, relative: relative === null ? null : interval(relative), verdict: null };
}

function metric(a: number | null, b: number | null): ComparedMetric {
  const change = a === null || b === null ? null : { relative: interval(b - a), absolute: interval(1) };
  return { unit: "us", direction: "lower", a: side(a), b: side(b), change, interest: 0.005, verdict: change && "dearer", holds_in_family: true, in_family: null };
}

const arm = (id: string, name: string, metrics: Record<string, ComparedMetric>): ComparedArm => ({ id, name, role: "treatment", metrics });

const load = (arms: ComparedArm[]): ComparedLoad => ({
  regime: null,
  comparable: "yes",
  primary: "cpu_per_request",
  interest: 0.005,
  arms,
  only_in_a: [],
  only_in_b: [],
});

describe("changes", () => {
  it("leave out arms without a figure in one of the runs", () => {
    const arms = [
      arm("off", "off", { cpu_per_request: metric(null, null) }),
      arm("x", "same name", { cpu_per_request: metric(0.1, 0.2) }),
      arm("y", "same name", { cpu_per_request: metric(0.1, null) }),
      arm("z", "other", {}),
    ];
    const found = changes(load(arms), "cpu_per_request");
    expect(found.map((change) => [change.id, change.label])).toEqual([["x", "same name (x)"]]);
    expect(found[0]?.change.estimate).toBeCloseTo(0.1);
    expect(found[0]?.isOnItsOwn).toBe(false);
  });

  it.each([[true, false], [null, false], [false, true]])("that hold in their family (%s) need no mark", (holds_in_family, expected) => {
    const arms = [arm("x", "x", { cpu_per_request: { ...metric(0.1, 0.2), holds_in_family } })];
    expect(changes(load(arms), "cpu_per_request")[0]?.isOnItsOwn).toBe(expected);
  });

  it("have the primary metric first, and none that can't be drawn", () => {
    const arms = [arm("x", "x", { throughput: metric(0, 0), cpu_per_request: metric(0.1, 0.2), pss: metric(0, null) })];
    expect(comparedMetrics(load(arms))).toEqual(["cpu_per_request", "throughput"]);
    expect(comparedMetrics(load([]))).toEqual([]);
  });
});
