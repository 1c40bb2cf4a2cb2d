import { describe, expect, it } from "vitest";

import { NOTHING, choose } from "./choosing";
import { duration } from "./duration";
import { address, parsed } from "./route";

describe("addresses", () => {
  it.each([
    ["/", { page: "runs" }],
    ["/runs/20260101-demo", { page: "run", name: "20260101-demo" }],
    ["/runs/all1%2F20260101-demo", { page: "run", name: "all1/20260101-demo" }],
    ["/compare/a/b%20c", { page: "compare", a: "a", b: "b c" }],
    ["", null],
    ["/runs/", null],
    ["/runs/a/b", null],
    ["/runs/%E0%A4", null],
    ["/compare/a", null],
    ["/elsewhere", null],
  ])("%s", (path, route) => {
    expect(parsed(path)).toEqual(route);
  });

  it("lead back to their route, whatever the name", () => {
    for (const name of ["a", "a/b", "ä #?%&", "..", "<script>"]) {
      expect(parsed(address({ page: "run", name }))).toEqual({ page: "run", name });
      expect(parsed(address({ page: "compare", a: name, b: "b" }))).toEqual({ page: "compare", a: name, b: "b" });
    }
  });
});

describe("picking two runs", () => {
  it.each([
    [[], { a: null, b: null }],
    [["x"], { a: "x", b: null }],
    [["x", "y"], { a: "x", b: "y" }],
    [["x", "y", "z"], { a: "x", b: "z" }],
    [["x", "y", "x"], { a: "y", b: null }],
    [["x", "x"], { a: null, b: null }],
  ])("%j", (ticks, chosen) => {
    expect(ticks.reduce(choose, NOTHING)).toEqual(chosen);
  });
});

it.each([
  [0, "0 s"],
  [45.4, "45 s"],
  [59.6, "1 min"],
  [125, "2 min 5 s"],
  [3600, "1 h"],
  [3780, "1 h 3 min"],
  [-3, "0 s"],
])("%f s is %s", (seconds, words) => {
  expect(duration(seconds)).toBe(words);
});
