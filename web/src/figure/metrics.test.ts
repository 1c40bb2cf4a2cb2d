import { expect, test } from "vitest";

import model from "../../../crates/windage-model/src/metric.rs?raw";
import { headline, METRICS, words } from "./metrics";

test("every metric of the model has its label, meaning, unit and direction here, in the same order", () => {
  const units: Record<string, string> = {
    Microseconds: "us", PerSecond: "1/s", Cores: "cores", Bytes: "bytes", One: "1", Seconds: "s", Nanoseconds: "ns",
  };
  const body = /\nmetrics! \{([^]*?)\n\}/.exec(model)?.[1] ?? "";
  const metrics = [...body.matchAll(/((?:\s*\/\/\/[^\n]*)+)\s+\w+ = "(\w+)", "([^"]*)", (\w+), (\w+);/g)].map(([, doc = "", id, spoken, unit = "", direction = ""]) => ({
    id,
    spoken,
    about: doc.split("\n").map((line) => line.trim().replace(/^\/\/\/ ?/, "")).join(" ").trim(),
    unit: units[unit],
    direction: direction.toLowerCase(),
  }));
  expect(metrics.length).toBeGreaterThan(30);
  expect(Object.entries(METRICS).map(([id, { spoken, about, unit, direction }]) => ({ id, spoken, about, unit, direction }))).toEqual(metrics);
});

test("a metric of a later version goes by its own name", () => {
  expect(words("gpu_per_request", { unit: "s", direction: "higher" })).toEqual({
    name: "gpu per request", spoken: "gpu per request", about: "", unit: "s", direction: "higher",
  });
  expect(headline("response_time_p50")).toBe("Median response time");
});
