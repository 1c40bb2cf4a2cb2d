import type { ComponentChild } from "preact";

import type { Table as TableData } from "../document";
import { Block, type SectionProps } from "./section";
import { Table } from "./Table";

/** The primary metric by arm, and the meaning of the marks in all tables. */
export function PrimaryTable({ load: { tables: [primary], legend, validity }, prefix }: SectionProps) {
  const why = primary ? [] : validity.warnings.filter((warning) => warning.verdict === "void");
  return (
    <Block name="figures" title="Figures" prefix={prefix}>
      {primary && <Table table={primary} prefix={prefix} />}
      {legend && <p class="note">{legend}</p>}
      {why.map((warning, i) => <p key={i} class="note">{warning.text}</p>)}
    </Block>
  );
}

/** All tables except the first. */
export function AllTables({ load: { tables }, prefix }: SectionProps) {
  const [, ...others] = tables;
  if (others.length === 0) return null;
  return (
    <Block name="all-figures" title="Further figures" prefix={prefix}>
      <Folded tables={others}>
        {(of) => <div class="tables">{of.map((table, i) => <Table key={i} table={table} prefix={prefix} />)}</div>}
      </Folded>
    </Block>
  );
}

export interface FoldedProps {
  tables: readonly TableData[];
  /** Shows some of them. */
  children: (tables: readonly TableData[]) => ComponentChild;
  /** The meaning of the marks in them. */
  legend?: string | null;
}

/** Tables; those of detail are folded. */
export function Folded({ tables, children, legend = null }: FoldedProps) {
  const detail = tables.filter((table) => table.detail);
  return (
    <>
      {children(tables.filter((table) => !table.detail))}
      {legend && <p class="note">{legend}</p>}
      {detail.length > 0 && (
        <details class="more">
          <summary>More figures</summary>
          {children(detail)}
        </details>
      )}
    </>
  );
}
