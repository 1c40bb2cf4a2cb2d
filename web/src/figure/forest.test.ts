import { expect, test } from "vitest";

import type { Arm, Interval, Metric, Role, UnderLoad } from "../analysis";
import { atAGlance, description, extent, forestOf, isCut, metricsWithIntervals, plotted } from "./forest";
import { armNames, shortened } from "./names";

const interval = (low: number, estimate: number, high: number): Interval => ({ low, estimate, high, confidence: 0.95, method: "test" });

const metric = (relative: Interval | null, more: Partial<Metric> = {}): Metric => ({
  unit: "us", direction: "lower", baseline: 100, arm: 110, difference: interval(8, 10, 12), relative,
  exceeds_nil: true, verdict: "costs", smallest_visible: null, needs_s: null, scatter: null,
  within_launch_half_width: null, windows: 4, rounds: 2, ...more,
});

const arm = (id: string, role: Role, metrics: Record<string, Metric>, name = id): Arm => ({
  id, name, role, levels: {}, metrics, bill: null, fidelity: null,
});

const under = (...arms: Arm[]): UnderLoad => ({
  regime: null, primary: "cpu_per_request", curves: [], arms,
  design: { order: "mirrored", load: "open", rate: 100, rounds: 2, rounds_planned: 2, blocks: 2, measured_s: 1, interest: 0.005 },
});

test("the control stands first, the baseline not at all, and what is missing says why", () => {
  const of = under(
    arm("off", "baseline", { cpu_per_request: metric(null, { verdict: null }) }),
    arm("b", "treatment", { cpu_per_request: metric(interval(0.08, 0.1, 0.12)) }, "same"),
    arm("control", "control", { cpu_per_request: metric(interval(-0.01, 0, 0.01), { verdict: "inconclusive", exceeds_nil: false }) }),
    arm("c", "treatment", { cpu_per_request: metric(null, { difference: null, missing: { code: "not_measured", text: "No window." } }) }, "same"),
    arm("d", "treatment", {}),
  );
  const forest = forestOf(of, "cpu_per_request");
  expect(forest?.rows.map(({ name, point, range, verdict, word }) => [name, point, range, verdict, word])).toEqual([
    ["control", "0.0 %", "−1.0 to +1.0", null, "control"],
    ["same (b)", "+10.0 %", "+8.0 to +12.0", "costs", "costs"],
    ["same (c)", "", "", null, "not measured: No window."],
    ["d", "", "", null, "not measured for this arm"],
  ]);
  expect(forest && description(forest)).toContain("same (b): +10.0 % (+8.0 to +12.0), costs.");
  expect(forestOf(of, "throughput")).toBeNull();
});

test("a control that differs says so, in the colour of its verdict", () => {
  const of = (exceeds_nil: boolean | null) =>
    forestOf(under(arm("control", "control", { cpu_per_request: metric(interval(0.01, 0.015, 0.02), { exceeds_nil }) })), "cpu_per_request")?.rows[0];
  expect([of(true)?.word, of(true)?.verdict]).toEqual(["control: differs", "costs"]);
  expect([of(false)?.word, of(false)?.verdict]).toEqual(["control", null]);
  expect([of(null)?.word, of(null)?.verdict]).toEqual(["control", null]);
});

test("differences without a ratio are shown in their unit, and more is better the other way round", () => {
  const idle = metric(null, { unit: "cores", verdict: null, exceeds_nil: true });
  const rate = metric(interval(-0.02, -0.01, 0), { unit: "1/s", direction: "higher" });
  const of = under(arm("a", "treatment", { cpu_idle: idle, throughput: rate }));
  expect(forestOf(of, "cpu_idle")).toMatchObject({ isRelative: false, interest: null, sides: ["saves", "costs"], rows: [{ point: "+10.0 cores", word: "more than sampling" }] });
  expect(forestOf(of, "throughput")).toMatchObject({ isRelative: true, interest: 0.005, sides: ["costs", "saves"] });
});

test("a verdict that does not hold in its family is marked as in the tables", () => {
  const table: [holds_in_family: boolean | null, word: string][] = [[true, "costs"], [false, "costs ‡"], [null, "costs"]];
  for (const [holds_in_family, word] of table) {
    const of = under(arm("a", "treatment", { cpu_per_request: metric(interval(0.01, 0.1, 0.2), { holds_in_family }) }));
    expect(forestOf(of, "cpu_per_request")?.rows[0]?.word).toBe(word);
  }
});

test("what is plotted is known without plotting it", () => {
  const [share, difference, neither] = [metric(interval(0, 0.1, 0.2)), metric(null), metric(null, { difference: null })];
  const table: [metrics: Metric[], expected: string[], why: string][] = [
    [[share, difference, neither], ["a0"], "shares, where there is one"],
    [[difference, neither], ["a0"], "differences else"],
    [[neither], [], "nothing"],
  ];
  for (const [metrics, expected, why] of table) {
    const of = under(arm("off", "baseline", { pss: share }), ...metrics.map((pss, i) => arm(`a${i}`, "treatment", { pss })));
    expect(plotted(of, "pss").map((each) => each.id), why).toEqual(expected);
    const drawn = forestOf(of, "pss")?.rows.filter((each) => each.ends).map((each) => each.id);
    expect(drawn ?? [], why).toEqual(expected);
  }
});

test("the axis holds all but what is far wider than the rest", () => {
  const of = (...intervals: Interval[]) => forestOf(under(...intervals.map((each, i) => arm(`a${i}`, "treatment", { cpu_per_request: metric(each) }))), "cpu_per_request");
  const near = of(interval(-0.01, 0.01, 0.03), interval(0.1, 0.2, 0.3));
  const far = of(interval(-0.01, 0, 0.01), interval(-0.02, 0, 0.02), interval(-5, 0.01, 5));
  expect(near && extent(near)[0]).toBeLessThan(-0.01);
  expect(near && extent(near)[1]).toBeGreaterThan(0.3);
  expect(far && extent(far)[1]).toBeLessThan(0.2);
  expect([near && isCut(near), far && isCut(far)]).toEqual([false, true]);
  const nil = of(interval(0, 0, 0));
  expect(nil && extent(nil).every(Number.isFinite)).toBe(true);
});

test("the answer's metric comes first, and only those with intervals", () => {
  const of = under(arm("a", "treatment", {
    rss_steady: metric(interval(0, 0.1, 0.2)), response_time_p50: metric(interval(0, 0.1, 0.2)), later: metric(interval(0, 0.1, 0.2)),
    cpu_per_request: metric(interval(0, 0.1, 0.2)), pss: metric(null, { difference: null }),
  }));
  expect(metricsWithIntervals(of, ["response_time_p50", "rss_steady", "pss", "cpu_per_request"])).toEqual(["cpu_per_request", "response_time_p50", "rss_steady", "later"]);
  expect(atAGlance(of)).toEqual(["cpu_per_request", "response_time_p50", "rss_steady"]);
});

test("at a glance, memory is that of agents where treatments have none of their own", () => {
  const of = under(
    arm("control", "control", { cpu_per_request: metric(interval(0, 0, 0)), rss_steady: metric(interval(0, 0, 0)) }),
    ...["a", "b"].map((id) => arm(id, "treatment", {
      cpu_per_request: metric(interval(0, 0.1, 0.2)), rss_steady: metric(null, { difference: null }), agent_rss_steady: metric(null, { unit: "bytes" }),
    })),
    arm("bystander", "treatment", { rss_steady: metric(interval(0, 0, 0)) }),
  );
  expect(atAGlance(of)).toEqual(["cpu_per_request", "agent_rss_steady"]);
});

test("equal names get their ids, and long ones keep both ends", () => {
  const names = armNames([{ id: "a", name: "x" }, { id: "b", name: "x" }, { id: "c", name: "y" }]);
  expect([...names.values()]).toEqual(["x (a)", "x (b)", "y"]);
  expect(shortened("otel, sampling 0.1", 11)).toBe("otel,…g 0.1");
  expect(shortened("short", 5)).toBe("short");
});
