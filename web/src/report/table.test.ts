import { expect, test } from "vitest";

import type { Table } from "../document";
import { csvRows } from "./Table";

test("a saved table has the headings, plain minus signs and a field for each column", () => {
  const table: Table = {
    title: "t", notes: [], facts: [], detail: false, of: "arm",
    columns: [{ heading: "Δ µs", about: "", align: "right" }, { heading: "verdict", about: "", align: "left" }],
    rows: [{ arm: "off", cells: [{ text: "−0.3", tone: "plain", basis: null, value: -0.3 }] }],
  };
  expect(csvRows(table, table.rows)).toEqual([["arm", "Δ µs", "verdict"], ["off", "-0.3", ""]]);
});
