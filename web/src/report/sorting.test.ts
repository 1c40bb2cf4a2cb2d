import { expect, test } from "vitest";

import type { Cell, Row } from "../document";
import { type Order, next, sorted } from "./sorting";

const cell = (text: string, value: number | null = null): Cell => ({ text, tone: "plain", basis: null, value });
const row = (arm: string, ...cells: Cell[]): Row => ({ arm, cells });

test("a heading sorts up, then down, then restores the order", () => {
  const clicks: (Order | null)[] = [null];
  for (const column of [1, 1, 1, 1, 0]) clicks.push(next(clicks.at(-1) ?? null, column));
  expect(clicks.slice(1)).toEqual([
    { column: 1, way: "ascending" },
    { column: 1, way: "descending" },
    null,
    { column: 1, way: "ascending" },
    { column: 0, way: "ascending" },
  ]);
});

test("rows are sorted by figures, otherwise by text, and empty cells are last in both directions", () => {
  const rows = [
    row("arm 10", cell("9.00 ms", 9000), cell("costs")),
    row("arm 2", cell("n/a¹"), cell("")),
    row("off", cell("95.0 µs", 95), cell("baseline")),
    row("arm 1", cell("−3.0 µs", -3), cell("costs")),
  ];
  const table: [order: Order | null, expected: string[], why: string][] = [
    [null, ["arm 10", "arm 2", "off", "arm 1"], "as it came"],
    [{ column: 0, way: "ascending" }, ["arm 1", "off", "arm 10", "arm 2"], "by value, not by what is written"],
    [{ column: 0, way: "descending" }, ["arm 10", "off", "arm 1", "arm 2"], "what is missing stays last"],
    [{ column: 1, way: "ascending" }, ["off", "arm 10", "arm 1", "arm 2"], "equal ones keep their order"],
    [{ column: -1, way: "ascending" }, ["arm 1", "arm 2", "arm 10", "off"], "numbers in names count as numbers"],
    [{ column: 9, way: "ascending" }, ["arm 10", "arm 2", "off", "arm 1"], "a column that is not there"],
  ];
  for (const [order, expected, why] of table) {
    expect(sorted(rows, order).map((each) => each.arm), why).toEqual(expected);
  }
  expect(rows[0]?.arm).toBe("arm 10");
});
