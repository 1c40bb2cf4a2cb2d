// The order of a table's rows.

import type { Row } from "../document";

/** The column, and the direction; -1 is the arm's name. */
export interface Order {
  column: number;
  way: "ascending" | "descending";
}

/** The order after a click on a column's heading: up, down, then the original order. */
export function next(order: Order | null, column: number): Order | null {
  if (order?.column !== column) return { column, way: "ascending" };
  return order.way === "ascending" ? { column, way: "descending" } : null;
}

/** The rows in that order; cells without a figure are last in both directions. */
export function sorted(rows: readonly Row[], order: Order | null): Row[] {
  const all = [...rows];
  if (!order) return all;
  const sign = order.way === "ascending" ? 1 : -1;
  const keys = new Map(all.map((row) => [row, keyOf(row, order.column)]));
  return all.sort((a, b) => compared(keys.get(a), keys.get(b), sign));
}

/** A figure, or otherwise text; null for an empty cell. */
type SortKey = number | string | null;

function keyOf(row: Row, column: number): SortKey {
  if (column < 0) return row.arm;
  const cell = row.cells[column];
  if (!cell) return null;
  if (cell.value !== null && Number.isFinite(cell.value)) return cell.value;
  const text = cell.text.trim();
  return text === "" || text.startsWith("n/a") ? null : text;
}

const collator = new Intl.Collator("en", { numeric: true });

function compared(a: SortKey | undefined, b: SortKey | undefined, sign: number): number {
  const rank = (key: SortKey | undefined) => (typeof key === "number" ? 0 : typeof key === "string" ? 1 : 2);
  if (rank(a) !== rank(b)) return rank(a) - rank(b);
  if (typeof a === "number" && typeof b === "number") return sign * (a - b);
  if (typeof a === "string" && typeof b === "string") return sign * collator.compare(a, b);
  return 0;
}
