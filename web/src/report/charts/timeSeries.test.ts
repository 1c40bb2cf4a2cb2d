import { describe, expect, it } from "vitest";

import type { Series } from "../../document";
import { ONE } from "../../figure/format";
import { armMarks, markOf } from "./arms";
import { loadOf, series } from "./fixture";
import {
  drawnOf,
  heightsOf,
  isCut,
  lanesOf,
  momentsOf,
  seriesTable,
  timeScale,
  windowsTable,
} from "./timeSeries";

const MARKS = armMarks(loadOf(1));
const mark = (id: string) => markOf(MARKS, id);
const SERIES = series({
  lasts_s: 40,
  rounds: [{ round: 0, from_s: 1, to_s: 10 }, { round: 1, from_s: 20, to_s: 30 }],
  arms: [
    { arm: "off", text: "", at_s: [2, 21], cpu_us_per_request: [50, null], rate_per_s: [100, 101], rss_bytes: [null, null], agent_cores: null, agent_rss_bytes: null },
    { arm: "a0", text: "", at_s: [22], cpu_us_per_request: [null], rate_per_s: [null], rss_bytes: [null], agent_cores: [0.04], agent_rss_bytes: [null] },
  ],
  quantities: [
    { column: "cpu_us_per_request", name: "CPU per request", scale: ONE },
    { column: "rss_bytes", name: "resident memory", scale: ONE },
    { column: "agent_cores", name: "CPU of agents", scale: ONE },
  ],
  machine: { at_s: [2], steal: [0.02], pressure: [null], busy_cores: [1.5] },
  windows: [
    { arm: 0, from_s: 1, to_s: 2, verdict: "valid" },
    { arm: 2, from_s: 2, to_s: 3, verdict: "void" },
    { arm: 9, from_s: 3, to_s: 4, verdict: "suspect" },
  ],
  windows_in_all: 3000,
});

describe("a series", () => {
  it.each([
    [30, "s"],
    [600, "min"],
    [20_000, "h"],
  ])("of %d s is written in %s", (lasts, unit) => expect(timeScale(lasts).unit).toBe(unit));

  it("knows its rounds, and draws no line from one to the next", () => {
    const stretches = (of: Series, at: number[]) => momentsOf(of, at, at).map((moment) => moment.stretch);
    expect(stretches(SERIES, [0, 2, 15, 25])).toEqual([-1, 0, 0, 1]);
    expect(stretches({ ...SERIES, bin_s: 4 }, [18.5])).toEqual([1]);
  });

  it("leaves out unknown values, and arms without any", () => {
    const drawn = drawnOf(SERIES, [mark("off"), mark("a0"), mark("control")]);
    expect(drawn.map(({ column, lines }) => [column, lines.map((line) => [line.mark.id, line.moments.length])])).toEqual([
      ["cpu_us_per_request", [["off", 1]]],
      ["agent_cores", [["a0", 1]]],
    ]);
    expect(momentsOf(SERIES, [1, 2, 3], [5])).toHaveLength(1);
  });

  it("has a range that one outlier does not fill", () => {
    const moments = Array.from({ length: 200 }, (_, i) => ({ at: i, value: i === 7 ? 1e6 : 100 + (i % 10), stretch: 0 }));
    const heights = heightsOf([{ moments }]);
    expect(heights[0]).toBeLessThanOrEqual(100);
    expect(heights[1]).toBeLessThan(120);
    expect(isCut([{ moments }], heights)).toBe(true);
    expect(heightsOf([])[0]).toBeLessThan(heightsOf([])[1]);
  });

  it("is a table", () => {
    expect(seriesTable(SERIES)[3]).toEqual(["a0", 22, null, null, null, 0.04, null, null, null, null]);
    expect(seriesTable(SERIES)[4]).toEqual([null, 2, null, null, null, null, null, 0.02, null, 1.5]);
    expect(windowsTable(SERIES, ["off"])[2]).toEqual([2, 2, 3, "void"]);
  });
});

describe("lanes of windows", () => {
  const order = ["off", "control", "a0"];

  it("are one for each shown arm, and one for the others", () => {
    const lanes = lanesOf(SERIES, order, MARKS, [mark("off"), mark("control")], 100);
    expect(lanes.labels).toEqual(["off", "other arms"]);
    expect(lanes.windows.map((window) => [window.lane, window.mark.id])).toEqual([[0, "off"], [1, "a0"], [1, "arm 9"]]);
  });

  it("hold no more than there is room for, and may be empty", () => {
    expect(lanesOf(SERIES, order, MARKS, [mark("off")], 1).windows).toHaveLength(1);
    expect(lanesOf(series(), order, MARKS, [], 10)).toEqual({ labels: [], windows: [] });
  });
});
