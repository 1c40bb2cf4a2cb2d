import { expect, it } from "vitest";

import { dearest } from "./dearest";

const of = (arm: string, estimate: number | null) => ({
  arm, verdict: null, relative: estimate === null ? null : { estimate, low: estimate, high: estimate },
});

it.each([
  ["what saves is not what costs", "cpu_per_request", [of("a", 0.02), of("b", -0.3)], "a"],
  ["lost throughput is a cost", "throughput", [of("a", 0.02), of("b", -0.3), of("c", -0.1)], "b"],
  ["what is not known is left out", "cpu_per_request", [of("a", null), of("b", -0.3)], "b"],
  ["nothing is known", null, [of("a", null)], undefined],
])("%s", (_, primary, treatments, expected) => {
  expect(dearest({ primary, treatments })?.arm).toBe(expected);
});
