import { expect, test } from "vitest";

import type { Table } from "../document";
import { csvRows, whatRowsAre } from "./Table";

const table = (...arms: string[]): Table => ({
  title: "t", notes: [], facts: [], detail: false,
  columns: [{ heading: "Δ µs", about: "", align: "right" }, { heading: "verdict", about: "", align: "left" }],
  rows: arms.map((arm) => ({ arm, cells: [{ text: "−0.3", tone: "plain", basis: null, value: -0.3 }] })),
});

test("the first column's heading says what a row is", () => {
  const cases: [rows: string[], expected: string][] = [
    [["off", "sdk"], "arm"], [["1.0", "0.1"], "level"], [["100 %"], "level"], [["service", "agent"], "line"], [["0.5", "off"], "arm"],
  ];
  for (const [rows, expected] of cases) expect(whatRowsAre(table(...rows), new Set(["off"])), rows.join()).toBe(expected);
});

test("a saved table has the headings, plain minus signs and a field for each column", () => {
  const of = table("off");
  expect(csvRows(of, of.rows, "arm")).toEqual([["arm", "Δ µs", "verdict"], ["off", "-0.3", ""]]);
});
