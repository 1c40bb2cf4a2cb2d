import type { ComponentChildren } from "preact";
import { useContext, useId, useMemo, useState } from "preact/hooks";

import type { Cell, Column, Row, Table as TableData } from "../document";
import { RunName, Stamp } from "../figure/run";
import { type Field, saveCsv } from "../figure/saving";
import { Facts } from "./Facts";
import { Heading, Level } from "./section";
import { type Order, next, sorted } from "./sorting";

export interface TableProps {
  table: TableData;
  /** The first part of the file name when the table is saved. */
  prefix?: string;
}

/**
 * A table sorted by its headings. Headings are reached by Tab; from a heading the arrow keys lead into the
 * cells, and the basis of a figure is shown for the cell in focus.
 */
export function Table({ table, prefix = "" }: TableProps) {
  const [order, setOrder] = useState<Order | null>(null);
  const rows = useMemo(() => sorted(table.rows, order), [table, order]);
  const level = useContext(Level);
  const run = useContext(RunName);
  const id = useId();
  const stamp = useContext(Stamp);
  const heading = (column: number, children: ComponentChildren, about = "") => (
    <button
      type="button"
      data-about={about || undefined}
      aria-description={about || undefined}
      class={about ? "defined" : undefined}
      onClick={() => setOrder(next(order, column))}
    >
      {children}
    </button>
  );
  const sort = (column: number) => (order?.column === column ? order.way : "none");
  return (
    <div class={classes(table)}>
      <div class="table-head">
        <Heading level={level} id={id}>
          {table.title}
          {stamp && <>{" "}<span class="stamp">{stamp}</span></>}
        </Heading>
        <span class="tools">
          <button
            type="button"
            aria-label={`Save “${table.title}” as CSV`}
            onClick={() => saveCsv(`${run}-${prefix}${slug(table.title)}`, csvRows(table, rows))}
          >
            CSV
          </button>
        </span>
      </div>
      <div class="scroll" role="group" aria-labelledby={id} tabIndex={0} onKeyDown={walk}>
        <table aria-labelledby={id}>
          <thead>
            <tr>
              <th scope="col" aria-sort={sort(-1)} data-heading={table.of}>{heading(-1, table.of)}</th>
              {table.columns.map((column, i) => (
                <th key={i} scope="col" class={column.align} aria-sort={sort(i)} data-heading={column.heading}>
                  {heading(i, column.heading || <span class="unseen">value</span>, column.about)}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map((row, i) => <TableRow key={i} row={row} columns={table.columns} />)}
          </tbody>
        </table>
      </div>
      {table.notes.map((note) => <p key={note.mark} class="note">{note.mark} {note.text}</p>)}
      <Facts facts={table.facts} />
    </div>
  );
}

function TableRow({ row, columns }: { row: Row; columns: Column[] }) {
  return (
    <tr>
      <th scope="row">{row.arm}</th>
      {columns.map((column, i) => {
        const cell = row.cells[i];
        return (
          <td key={i} class={column.align} tabIndex={-1} data-about={cell?.basis ?? undefined} aria-description={cell?.basis ?? undefined}>
            {cell && <Content cell={cell} />}
          </td>
        );
      })}
    </tr>
  );
}

function classes(table: TableData): string {
  const all = [
    "figures",
    ...(table.facts.length > 0 ? ["with-facts"] : []),
    ...(table.rows.length <= FEW ? ["few"] : []),
    ...(table.columns.length > WIDE ? ["wide"] : []),
  ];
  return all.join(" ");
}

/** So many rows stay together on paper. */
const FEW = 14;
/** Tables with more columns are printed in a smaller font. */
const WIDE = 7;

/** The cell's text, with a shape and, if the text lacks it, a word for its meaning. */
function Content({ cell: { text, tone } }: { cell: Cell }) {
  if (tone === "plain") return <>{text}</>;
  if (tone === "faint") return <span class="faint">{text}</span>;
  const isSaid = text.includes(tone) || (tone === "negligible" && text.startsWith("=")) || (tone === "inconclusive" && text.startsWith("~"));
  return (
    <span class={`tone ${tone}`}>
      {text}
      {!isSaid && <span class="unseen">, {tone === "alarm" ? "something is wrong" : tone}</span>}
    </span>
  );
}

/** Arrow keys move from cell to cell. */
function walk(event: KeyboardEvent & { currentTarget: HTMLElement }): void {
  const steps: Record<string, [down: number, right: number]> = {
    ArrowDown: [1, 0], ArrowUp: [-1, 0], ArrowRight: [0, 1], ArrowLeft: [0, -1],
  };
  const step = steps[event.key];
  const at = event.target instanceof Element ? event.target.closest<HTMLTableCellElement>("th, td") : null;
  if (!step || !at || event.altKey || event.ctrlKey || event.metaKey) return;
  const row = at.parentElement as HTMLTableRowElement;
  const rows = event.currentTarget.querySelector("table")?.rows;
  const to = rows?.[row.rowIndex + step[0]]?.cells[at.cellIndex + step[1]];
  if (!to) return;
  event.preventDefault();
  const button = to.querySelector("button");
  if (!button && !to.hasAttribute("tabindex")) to.tabIndex = -1;
  (button ?? to).focus();
}

/** The content of the file: the texts in the order shown, with plain minus signs. */
export function csvRows(table: TableData, rows: readonly Row[]): Field[][] {
  return [
    [table.of, ...table.columns.map((column) => column.heading)],
    ...rows.map((row) => [row.arm, ...table.columns.map((_, i) => (row.cells[i]?.text ?? "").replaceAll("−", "-"))]),
  ];
}

function slug(title: string): string {
  return title.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-+|-+$/g, "");
}
