// What the page shows of two runs of one plan, as the binary writes it
// (crates/windage-report/src/comparison). As with one run, everything worded or rounded is decided there.

import type { Soundness } from "./analysis";
import type { Band, Fact, Piece, Table } from "./document";

/** The version of this document that the page understands. */
export const COMPARISON_PAGE = 1;

/** Two runs, the second held against the first. */
export interface ComparisonDocument {
  page: number;
  title: string;
  runs: [a: string, b: string];
  /** How the colours of validity stand for comparability: void where the runs can't be compared. */
  verdict: Soundness;
  /** Whether they can be compared, in a few words. */
  heading: string;
  /** Which runs these are. */
  header: Fact[];
  /** What speaks against comparing, and what follows from it. */
  warnings: { code: string; verdict: Soundness; effect: string; text: string }[];
  /** One for each load that both have. */
  loads: ComparedLoad[];
  /** What differs besides: of the machine, of versions, of the design. Rows are keys, columns A and B. */
  differs: Table[];
  /** The plans as they were resolved, line by line; none where they are the same or one can't be read. */
  plan: { tag: "equal" | "delete" | "insert" | "gap"; text: string }[];
  /** What is left to say, and the commands that make this again. */
  closing: Fact[];
}

/** What is said of one load. */
export interface ComparedLoad {
  /** What stands above it where there are several loads. */
  heading: string | null;
  verdict: Soundness;
  /** The answer's sentences. */
  answer: Piece[][];
  /** The primary metric first. */
  changes: Changes[];
  /** The primary metric first; those of detail are folded away. */
  tables: Table[];
  /** What the marks in the tables mean. */
  legend: string | null;
  /** Arms that only one of the runs has. */
  facts: Fact[];
}

/** One metric of all arms that have a share of the baseline in both runs. */
export interface Changes {
  metric: string;
  heading: string;
  title: string;
  about: string;
  notes: string[];
  /** Which way is dearer, in words. */
  direction: string;
  /** A share: changes below it do not matter. */
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
  /** How the change is written, with its verdict, and its interval. */
  point: string;
  range: string;
  text: string;
}
