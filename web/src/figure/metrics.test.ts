import { expect, test } from "vitest";

import model from "../../../crates/windage-model/src/metric.rs?raw";
import rows from "../../../crates/windage-report/src/rows/mod.rs?raw";
import { headline, METRICS, words } from "./metrics";

test("every metric of the model has its meaning, unit and direction here, in the same order", () => {
  const units: Record<string, string> = {
    Microseconds: "us", PerSecond: "1/s", Cores: "cores", Bytes: "bytes", One: "1", Seconds: "s", Nanoseconds: "ns",
  };
  const body = /\nmetrics! \{([^]*?)\n\}/.exec(model)?.[1] ?? "";
  const metrics = [...body.matchAll(/((?:\s*\/\/\/[^\n]*)+)\s+\w+ = "(\w+)", (\w+), (\w+);/g)].map(([, doc = "", id, unit = "", direction = ""]) => ({
    id,
    about: doc.split("\n").map((line) => line.trim().replace(/^\/\/\/ ?/, "")).join(" ").trim(),
    unit: units[unit],
    direction: direction.toLowerCase(),
  }));
  expect(metrics.length).toBeGreaterThan(30);
  expect(Object.entries(METRICS).map(([id, { about, unit, direction }]) => ({ id, about, unit, direction }))).toEqual(metrics);
});

test("metrics are called as in the tables and sentences of the terminal", () => {
  const ids = new Map([...model.matchAll(/(\w+) = "(\w+)", \w+, \w+;/g)].map(([, variant, id]) => [variant, id]));
  const table = (name: string): [id: string, called: string][] => {
    const body = new RegExp(`fn ${name}\\(metric: Metric\\)[^]*?\\n\\}`).exec(rows)?.[0] ?? "";
    return [...body.matchAll(/((?:Metric::\w+[\s|]*)+)=>\s*"([^"]*)"/g)].flatMap(([, variants = "", called = ""]) =>
      [...variants.matchAll(/Metric::(\w+)/g)].map(([, variant]): [string, string] => [ids.get(variant) ?? "", called]));
  };
  const [names, spoken] = [table("name"), new Map(table("spoken"))];
  expect(names.length).toBe(Object.keys(METRICS).length);
  for (const [id, called] of names) {
    expect(words(id).name).toBe(called);
    expect(words(id).spoken).toBe(spoken.get(id) ?? called);
  }
});

test("a metric of a later version goes by its own name", () => {
  expect(words("gpu_per_request", { unit: "s", direction: "higher" })).toEqual({
    name: "gpu per request", spoken: "gpu per request", about: "", unit: "s", direction: "higher",
  });
  expect(headline("response_time_p50")).toBe("Median response time");
});
