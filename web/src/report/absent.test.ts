import { expect, test } from "vitest";

import type { LoadView } from "../document";
import { absentFrom } from "./Absent";
import { arm, interval, metric, series, under, words } from "./charts/fixture";

const VIEW: LoadView = {
  heading: null, answer: [], facts: [], tables: [], legend: null, series: null, latency: [], flame_graphs: [], words: words(),
  validity: { verdict: "void", heading: "void", doubts: [] },
};

test("what is absent is named, but not what such a load never has", () => {
  const service = under([arm("off", { role: "baseline" }), arm("a")]);
  expect(absentFrom({ load: VIEW, under: service })).toEqual(["overhead by arm", "latency by percentile", "the bill", "the run over time"]);
  const batch = under([arm("a", { metrics: { cpu_per_request: metric({ relative: interval(0.1) }) } })], { design: { ...service.design, load: "batch" } });
  expect(absentFrom({ load: VIEW, under: batch })).toEqual(["the run over time"]);
  expect(absentFrom({ load: { ...VIEW, series: series() }, under: batch })).toEqual([]);
});
