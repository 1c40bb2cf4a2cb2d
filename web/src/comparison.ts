// What the page shows of two runs of one plan, as written by the binary
// (crates/windage-report/src/comparison). As for one run, the binary words and rounds everything.

import type { Soundness } from "./analysis";
import type { Band, Fact, Piece, Table } from "./document";

/** The version of this document that the page understands. */
export const COMPARISON_PAGE = 1;

/** Two runs: the second compared with the first. */
export interface ComparisonDocument {
  page: number;
  title: string;
  runs: [a: string, b: string];
  /** The validity colour that stands for comparability: void if the runs can't be compared. */
  verdict: Soundness;
  /** Whether they can be compared, in a few words. */
  heading: string;
  /** The two runs. */
  header: Fact[];
  /** Warnings about the comparison, and their consequences. */
  warnings: { code: string; verdict: Soundness; effect: string; text: string }[];
  /** One for each load that both runs have. */
  loads: ComparedLoad[];
  /** Other differences: of the machine, of versions, of the design. Rows are keys, columns A and B. */
  differs: Table[];
  /** The resolved plans, line by line; empty if they are equal or one can't be read. */
  plan: { tag: "equal" | "delete" | "insert" | "gap"; text: string }[];
  /** Closing remarks, and the commands that repeat the comparison. */
  closing: Fact[];
}

/** The comparison under one load. */
export interface ComparedLoad {
  /** The heading, if there are several loads. */
  heading: string | null;
  verdict: Soundness;
  /** The answer's sentences. */
  answer: Piece[][];
  /** The primary metric first. */
  changes: Changes[];
  /** The primary metric first; tables of detail are folded. */
  tables: Table[];
  /** The meaning of the marks in the tables. */
  legend: string | null;
  /** Arms that only one run has. */
  facts: Fact[];
}

/** One metric of all arms that have a relative overhead in both runs. */
export interface Changes {
  metric: string;
  heading: string;
  title: string;
  about: string;
  notes: string[];
  /** Which direction means higher cost, in words. */
  direction: string;
  /** A share: smaller changes do not matter. */
  margin: number;
  rows: Change[];
}

/** One arm. */
export interface Change {
  arm: string;
  name: string;
  a: Band;
  b: Band;
  change: Band;
  verdict: string | null;
  /** The change in words, with its verdict and its interval. */
  point: string;
  range: string;
  text: string;
}
