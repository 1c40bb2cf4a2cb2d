// Bills, fidelity, scatter and delivery by rate: the content of their bars and lines.

import { describe, expect, it } from "vitest";

import type { Bill, BillLine, FidelityPoint } from "../../analysis";
import type { BillForm } from "../../document";
import { armMarks, markOf } from "./arms";
import { barsOf, billInWords, billOfServices, billTable, drawnOf, entriesOf, extentOf, servicesOf, servicesTable } from "./bill";
import { rateLines, rateTable } from "./byRate";
import { deliveriesInWords, fidelityTable } from "./fidelity";
import { arm, interval, loadOf } from "./fixture";
import { scatterInWords, scatterTable } from "./scatter";

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
};

const ENTRIES = entriesOf({
  lines: [
    { item: "service", name: "service" },
    { item: "agent", name: "agent" },
    { item: "remainder", name: "remainder" },
    { item: "of a later version", name: "something" },
    { item: "agent_outside_windows", name: "agent, outside windows" },
    { item: "service_outside_windows", name: "service, outside windows" },
  ],
});

const FORM: BillForm = {
  title: "The whole",
  note: "",
  scale: { divisor: 1, unit: "µs" },
  bars: ["off", "a"].map((arm) => ({ arm, figures: "153 µs", short: "153 µs", parts: ["110", "45.0", "−5.00", "", "", "3.00"] })),
};

function shown(arms: ReturnType<typeof arm>[]) {
  const marks = armMarks(loadOf(0));
  return arms.map((own) => ({ arm: own, mark: markOf(marks, own.id) }));
}

describe("bills", () => {
  const arms = [
    arm("off", { role: "baseline", bill: { ...BILL, with_deferred: { ...line(100, 100), difference_us_per_request: null, interval: null } } }),
    arm("a", { bill: BILL }),
    arm("none"),
  ];

  it("stack positive parts to the right and negative ones to the left, and leave out unknown ones", () => {
    const [, bar] = barsOf(shown(arms), ENTRIES, "whole", FORM);
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
    const bars = barsOf(shown(arms), ENTRIES, "difference", FORM);
    expect(bars.map((bar) => [bar.mark.id, bar.ends?.estimate])).toEqual([["a", 53]]);
    expect(drawnOf(ENTRIES, bars).map((entry) => entry.name)).toEqual(["service", "agent", "remainder", "service, outside windows"]);
  });

  it("are described in words and as a table, totals last", () => {
    const bars = barsOf(shown(arms), ENTRIES, "whole", FORM);
    expect(billInWords(bars, FORM)).toContain("a: 153 µs; service 110 µs, agent 45.0 µs");
    expect(billTable(arms).at(-1)).toEqual(["a", "with_deferred", 100, 153, 53, 52, 54]);
  });

  it("without figures have no bars", () => {
    const nothing: Bill = { ...BILL, lines: [], service_outside_windows: null };
    expect(barsOf(shown([arm("a", { bill: nothing })]), ENTRIES, "whole", FORM)).toEqual([]);
    expect(extentOf([])).toEqual([0, 1]);
    expect(billTable([])).toHaveLength(1);
  });
});

describe("services", () => {
  const cpu = (baseline: number, own: number) => ({ baseline, arm: own, difference: interval(own - baseline) });
  const services = [{ service: "app", cpu: cpu(80, 85) }, { service: "collector", cpu: cpu(1, 16) }];
  const entries = servicesOf({ lines: services.map(({ service }) => ({ item: service, name: service })) });
  const form: BillForm = { ...FORM, bars: [{ arm: "a", figures: "101 µs", short: "101 µs", parts: ["85.0", "16.0"] }] };

  it("are the parts of a bar, each in a colour of its own", () => {
    const [bar, ...others] = barsOf(shown([arm("a", { services }), arm("b")]), entries, "whole", form, billOfServices);
    expect(bar?.segments.map(({ entry, from, to }) => [entry.item, from, to])).toEqual([["app", 0, 85], ["collector", 85, 101]]);
    expect(bar?.ends).toBeNull();
    expect(others).toEqual([]);
    expect(new Set(entries.map((entry) => entry.colour)).size).toBe(2);
  });

  it("are a table with their intervals", () => {
    expect(servicesTable([arm("a", { services }), arm("b")]).slice(1)).toEqual([
      ["a", "app", 80, 85, 5, 4, 6],
      ["a", "collector", 1, 16, 15, 14, 16],
    ]);
  });
});

it("delivery is described in words and as a table", () => {
  const own = { arm: "a", share: 0.99, figures: "99 of 100 traces, 99 %", short: "99 %", note: "382 B a span", losses: "1 traces (refused)" };
  expect(deliveriesInWords([{ mark: { label: "A" }, own }])).toContain("A: 99 of 100 traces, 99 %; 1 traces (refused); 382 B a span.");
  const fidelity = { of: "traces", expected: 100, delivered: 99, lost: 1, backend: "ok", bytes_per_span: 382, wire_bytes_per_span: null };
  expect(fidelityTable([arm("a", { fidelity }), arm("b")], [own]).slice(1)).toEqual([["a", "traces", 100, 99, 1, 382, null, "ok", "1 traces (refused)"]]);
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

  it("has a line for each arm with two loads, by rising rate, with a closed loop at its achieved rate", () => {
    const curve = [point("a", null, 0.5), point("a", 1000, 0.1), point("b", 1000, 0), point("b", 2000, null)];
    const lines = rateLines(curve);
    expect(lines.map(({ arm, points }) => [arm, points.map((of) => [of.rate, of.estimate, of.isClosed])])).toEqual([
      ["a", [[1000, 0.9, false], [9000, 0.5, true]]],
    ]);
    expect(rateTable(curve)).toHaveLength(5);
  });

  it("without points has no lines", () => expect(rateLines([])).toEqual([]));
});

it("scatter is described in words and as a table", () => {
  const sources = (["launches", "blocks", "windows"] as const).map((source, i) => ({ source, sd: i === 0 ? null : i / 100, text: `${source} ${i} %` }));
  const own = { arm: "a", sources, half_width: 0.028, widths: "interval ± 2.8 %" };
  expect(scatterInWords([{ mark: { label: "A" }, own }])).toContain("A: launches 0 %, blocks 1 %, windows 2 %; interval ± 2.8 %.");
  expect(scatterTable({ title: "", advice: [], arms: [own] })[1]).toEqual(["a", null, 0.01, 0.02, 0.028]);
});
