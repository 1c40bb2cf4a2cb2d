// Bills, fidelity, scatter and delivery by rate: what their bars and lines are made of.

import { describe, expect, it } from "vitest";

import type { Bill, BillLine, Fidelity, FidelityPoint } from "../../analysis";
import { armMarks, markOf } from "./arms";
import { barsOf, billInWords, billTable, drawnOf, entriesOf, extentOf, scaleOf } from "./bill";
import { rateLines, rateTable, ratesInWords } from "./byRate";
import { deliveriesInWords, deliveriesOf, fidelityTable } from "./fidelity";
import { arm, interval, metric, under, words } from "./fixture";
import { advices, scatterInWords, scatterTable, scattersOf } from "./scatter";

function line(baseline: number | null, own: number | null): BillLine {
  const difference = baseline !== null && own !== null ? own - baseline : null;
  return {
    baseline_us_per_request: baseline,
    arm_us_per_request: own,
    difference_us_per_request: difference,
    interval: difference === null ? null : interval(difference),
  };
}

const BILL: Bill = {
  machine: line(100, 150),
  lines: [
    { item: "service", ...line(80, 110) },
    { item: "agent", ...line(0, 45) },
    { item: "remainder", ...line(20, -5) },
    { item: "of a later version", ...line(null, null) },
  ],
  agent_outside_windows: null,
  service_outside_windows: line(0, 3),
  with_deferred: line(100, 153),
  rounds: 2,
};

const ENTRIES = entriesOf(words({
  bill: [
    { item: "service", name: "service" },
    { item: "agent", name: "agent" },
    { item: "remainder", name: "remainder" },
    { item: "of a later version", name: "something" },
    { item: "agent_outside_windows", name: "agent, outside windows" },
    { item: "service_outside_windows", name: "service, outside windows" },
  ],
}));

function shown(arms: ReturnType<typeof arm>[]) {
  const marks = armMarks(under(arms));
  return arms.map((own) => ({ arm: own, mark: markOf(marks, own.id) }));
}

describe("bills", () => {
  const arms = [
    arm("off", { role: "baseline", bill: { ...BILL, with_deferred: { ...line(100, 100), difference_us_per_request: null, interval: null } } }),
    arm("a", { bill: BILL }),
    arm("none"),
  ];

  it("stack what is above nil to the right, what is below to the left, and leave out what is unknown", () => {
    const [, bar] = barsOf(shown(arms), ENTRIES, "whole");
    expect(bar?.segments.map(({ entry, from, to }) => [entry.item, from, to])).toEqual([
      ["service", 0, 110],
      ["agent", 110, 155],
      ["remainder", 0, -5],
      ["service_outside_windows", 155, 158],
    ]);
    expect(bar?.ends).toMatchObject({ estimate: 153, low: 152, high: 154 });
    expect(bar && extentOf([bar])[0]).toBeLessThan(-5);
  });

  it("as differences leave the baseline out", () => {
    const bars = barsOf(shown(arms), ENTRIES, "difference");
    expect(bars.map((bar) => [bar.mark.id, bar.sum])).toEqual([["a", 53]]);
    expect(drawnOf(ENTRIES, bars).map((entry) => entry.name)).toEqual(["service", "agent", "remainder", "service, outside windows"]);
  });

  it("are told in words and as a table, sums last", () => {
    const bars = barsOf(shown(arms), ENTRIES, "whole");
    expect(billInWords(bars, "whole", scaleOf(bars))).toContain("a: 153 µs, +53.0 µs (+52.0 to +54.0) against the baseline; service 110 µs");
    expect(billTable(arms).at(-1)).toEqual(["a", "with_deferred", 100, 153, 53, 52, 54]);
  });

  it("of which nothing is known are no bars", () => {
    const nothing: Bill = { ...BILL, lines: [], service_outside_windows: null };
    expect(barsOf(shown([arm("a", { bill: nothing })]), ENTRIES, "whole")).toEqual([]);
    expect(extentOf([])).toEqual([0, 1]);
    expect(billTable([])).toHaveLength(1);
  });
});

describe("fidelity", () => {
  const fidelity: Fidelity = {
    of: "traces",
    expected: 14_922,
    delivered: 14_778,
    lost: 144,
    beyond_sampling: true,
    backend: "ok",
    bytes_per_span: 381.6,
    wire_bytes_per_span: null,
    by_reason: [
      { code: "refused", reason: "refused by the backend", lost: 100, of: "spans" },
      { code: "told", reason: "queue\nfull", lost: 44, of: "items" },
    ],
    told_beyond_lost: null,
  };

  it("names what arrived, what was lost and why", () => {
    const [of] = deliveriesOf(shown([arm("a", { fidelity })]));
    expect(of?.figures).toBe("14,778 of 14,922 traces, 99 %");
    expect(of?.reasons).toBe("100 spans lost (refused by the backend) and 44 items lost (queue full)");
    expect(of && deliveriesInWords([of])).toContain("382 B a span");
  });

  it.each([
    ["nothing expected", { expected: null, lost: null, beyond_sampling: null, by_reason: [] }, null, "14,778 traces, none expected", null],
    ["nil expected", { expected: 0, by_reason: [], beyond_sampling: false }, null, "14,778 traces, none expected", null],
    ["nearly all", { delivered: 14_921, by_reason: [], beyond_sampling: false }, 14_921 / 14_922, "14,921 of 14,922 traces, 99.99 %", null],
    ["all of what a sampler is expected to leave", { expected: 257.2, delivered: 257, lost: 0, by_reason: [], beyond_sampling: false }, 1, "257 of 257 traces, 100 %", null],
    ["nobody knows why", { delivered: 0, lost: 14_922, by_reason: [] }, 0, "0 of 14,922 traces, 0 %", "14,922 traces lost, and nothing is known of why"],
  ])("with %s", (_, own, share, figures, reasons) => {
    const [of] = deliveriesOf(shown([arm("a", { fidelity: { ...fidelity, ...own } })]));
    expect([of?.share, of?.figures, of?.reasons]).toEqual([share, figures, reasons]);
  });

  it("of arms without telemetry is left out", () => {
    expect(deliveriesOf(shown([arm("a")]))).toEqual([]);
    expect(fidelityTable([arm("a")])).toHaveLength(1);
  });
});

describe("delivery by rate", () => {
  const point = (id: string, rate: number | null, lost: number | null): FidelityPoint => ({
    arm: id,
    regime: null,
    rate_per_s: rate,
    achieved_per_s: 9000,
    expected: 10,
    delivered: 9,
    lost_share: lost === null ? null : interval(lost, 0.01),
  });

  it("has a line for each arm with two loads, by rising rate, a closed loop at what it achieved", () => {
    const curve = [point("a", null, 0.5), point("a", 1000, 0.1), point("b", 1000, 0), point("b", 2000, null)];
    const lines = rateLines(curve, armMarks(under([])));
    expect(lines.map(({ mark, points }) => [mark.id, points.map((of) => [of.rate, of.estimate, of.isClosed])])).toEqual([
      ["a", [[1000, 0.9, false], [9000, 0.5, true]]],
    ]);
    expect(ratesInWords(lines)).toContain("a: 90 % at 1000/s, 50 % at 9000/s.");
    expect(rateTable(curve)).toHaveLength(5);
  });

  it("of nothing is nothing", () => expect(rateLines([], armMarks(under([])))).toEqual([]));
});

describe("scatter", () => {
  const scatter = { launch_sd: null, block_sd: 0.02, window_sd: 0.0123, advice: "more_rounds" as const, advised_blocks_per_round: 1 };
  const own = metric({ scatter, relative: interval(0.1, 0.03), within_launch_half_width: 0.011 });

  it("says where it comes from, and what would help", () => {
    const advice = [{ arm: "a", text: "more rounds, with about 1 block each, would narrow the interval most" }];
    const all = scattersOf(shown([arm("a", { metrics: { cpu_per_request: own } })]), "cpu_per_request", advice);
    expect(scatterInWords(all)).toContain("a: launches unknown, blocks 2 %, windows 1.2 %; interval ± 2.8 %; within launches alone ± 1.1 %.");
    expect(advices(all)).toEqual(["More rounds, with about 1 block each, would narrow the interval most."]);
  });

  it.each([
    ["as wide as within launches alone, however much the arm costs", 3.42, 0.42, 0.1],
    ["nothing at nil width", 0.5, 0, 0],
    ["unknown where an end has no logarithm", -0.5, 0.6, null],
  ])("has a half-width in log ratios: %s", (_, estimate, half, expected) => {
    const metrics = { cpu_per_request: metric({ scatter, relative: interval(estimate, half) }) };
    const [of] = scattersOf(shown([arm("a", { metrics })]), "cpu_per_request");
    if (expected === null) expect(of?.halfWidth).toBeNull();
    else expect(of?.halfWidth).toBeCloseTo(expected, 4);
  });

  it.each([
    ["no metric", {}],
    ["no scatter", { cpu_per_request: metric() }],
    ["nothing known", { cpu_per_request: metric({ scatter: { ...scatter, block_sd: null, window_sd: null, advice: null } }) }],
  ])("is left out with %s", (_, metrics) => {
    expect(scattersOf(shown([arm("a", { metrics })]), "cpu_per_request")).toEqual([]);
  });

  it("is a table of what is known", () => {
    expect(scatterTable([arm("a", { metrics: { cpu_per_request: own } }), arm("b")], "cpu_per_request")[1]?.slice(0, 4)).toEqual(["a", null, 0.02, 0.0123]);
  });
});
