// The figures of a history chart: points, levels between changes, and the tables behind them.

import type { Table } from "../document";
import type { Field } from "../figure/csv";
import { oneLine } from "../figure/names";
import type { HistoryArm, HistoryChart, HistoryResult } from "./api";

/** A stretch of results between two changes, with their mean. */
export interface Stretch {
  from: Date;
  to: Date;
  mean: number;
}

/** The levels of an arm; none if its level never changed. */
export function levels({ results, changes }: HistoryArm): Stretch[] {
  const [first, last] = [results[0], results.at(-1)];
  const change = changes[0];
  if (!first || !last || !change) return [];
  const begins = [{ started: first.started, mean: change.before }, ...changes.map(({ started, after }) => ({ started, mean: after }))];
  return begins.map(({ started, mean }, i) => ({
    from: new Date(started),
    to: new Date(begins[i + 1]?.started ?? last.started),
    mean,
  }));
}

/** The newest result of each arm. */
export function newest({ arms, label }: HistoryChart): Table {
  const column = (heading: string, align: "left" | "right" = "left") => ({ heading, about: "", align });
  const cell = (text: string, value: number | null = null) => ({ text, tone: "plain" as const, basis: null, value });
  return {
    title: "Newest results",
    of: "arm",
    columns: [column(label, "right"), column("runs", "right"), column("commit"), column("day (UTC)")],
    rows: arms.flatMap(({ arm, runs, results }) => {
      const last = results.at(-1);
      if (!last) return [];
      const cells = [cell(last.text, last.estimate), cell(String(runs), runs), cell(oneLine(last.commit)), cell(dayOf(last))];
      return [{ arm: oneLine(arm), cells }];
    }),
    notes: [],
    facts: [],
    detail: false,
  };
}

/** Every result that is drawn. */
export function historyTable(arms: readonly HistoryArm[]): Field[][] {
  const rows = arms.flatMap(({ arm, results }) =>
    results.map((of): Field[] => [arm, of.started, of.run, of.commit, of.estimate, of.low, of.high, of.validity]),
  );
  return [["arm", "started", "run", "commit", "estimate", "low", "high", "validity"], ...rows];
}

/** An arm's course in a sentence, for those who can't see the picture. */
export function courseInWords({ arm, runs, results, changes }: HistoryArm): string {
  const last = results.at(-1);
  const found = last ? `${runs} results, the newest ${last.text}` : "no results";
  const changed = changes.length === 0 ? "no change of the level" : changes.map((change) => change.text).join("; ");
  return `${oneLine(arm)}: ${found}; ${changed}.`;
}

function dayOf({ started }: HistoryResult): string {
  return started.slice(0, "2026-01-01".length);
}
