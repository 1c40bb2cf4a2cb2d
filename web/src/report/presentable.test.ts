import { expect, test } from "vitest";

import type { PageDocument } from "../document";
import { arm, under } from "./charts/fixture";
import { presentable } from "./presentable";

test("names of plan, loads and arms stand in one line", () => {
  const load = (name: string) => ({ ...under([arm("a", { name })]), regime: name });
  const analysis = { ...load("x\u202ey"), plan: "a\nplan", about: null, further: [load("two\nlines")] };
  const { analysis: shown } = presentable({ page: 1, analysis } as unknown as PageDocument);
  expect([shown.plan, shown.about, shown.regime, shown.arms[0]?.name]).toEqual(["a plan", null, "x y", "x y"]);
  expect(shown.further.map((of) => [of.regime, of.arms[0]?.name])).toEqual([["two lines", "two lines"]]);
});
