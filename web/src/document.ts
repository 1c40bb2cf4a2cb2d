// What the page shows, as the binary writes it (crates/windage-report/src/page). Everything that is
// worded or rounded is decided there, so that the page can't disagree with the terminal; what is drawn
// is drawn from `analysis`, `series` and `latency`, and what stands beside or in a picture is in `words`.

import type { Analysis } from "./analysis";

/** The version of this document that the page understands. */
export const PAGE = 1;

/** One run. */
export interface PageDocument {
  page: number;
  /** The name of the run directory. */
  directory: string;
  state: RunState;
  /** `analysis.json` (docs/FORMAT.md), whole. */
  analysis: Analysis;
  header: Fact[];
  /** One for each load of the plan: that of `analysis` first, then those of `analysis.further`. */
  loads: LoadView[];
  /** What arrived against the rate; null in a plan of one load. */
  by_rate: Table | null;
  /** What windage itself used. */
  own_cost: Fact[];
  provenance: Fact[];
}

/** Whether more may come: a run that goes on is being written, one that broke off was killed. */
export type RunState = "going_on" | "ended" | "broken_off";

export interface LoadView {
  /** What stands above it where there are several loads. */
  heading: string | null;
  /** The answer's sentences. */
  answer: Piece[][];
  facts: Fact[];
  tables: Table[];
  /** What the marks in the tables mean. */
  legend: string | null;
  validity: ValidityView;
  series: Series | null;
  /** Response times, then service times; none for a batch load. */
  latency: Latency[];
  flame_graphs: FlameGraph[];
  words: Words;
}

/** What is said beside and within pictures. */
export interface Words {
  /** In the order of the curves in the analysis. */
  curves: CurveWords[];
  /** The lines that bills add up from, in their order. */
  bill: { item: string; name: string }[];
  /** What a longer run should have more of for the primary metric, by the arm's id. */
  advice: { arm: string; text: string }[];
}

export interface CurveWords {
  title: string;
  /** What stands on the axis where it is drawn against what arrived. */
  delivered: string;
  /** In the order of the curve's fits. */
  fits: { against: "attempted" | "delivered"; is_rejected: boolean; sentences: string[] }[];
  /** What holds whichever fit is shown. */
  sentences: string[];
}

/** A part of a sentence: words, or the name of an arm. */
export type Piece = { text: string } | { arm: string };

export interface Fact {
  label: string;
  text: string;
}

export interface Table {
  title: string;
  /** The columns after the arm's name. */
  columns: Column[];
  rows: Row[];
  notes: { mark: string; text: string }[];
  facts: Fact[];
  /** Further detail, folded away at first. */
  detail: boolean;
}

export interface Column {
  heading: string;
  /** What it means; empty where the heading says it all. */
  about: string;
  align: "left" | "right";
}

export interface Row {
  arm: string;
  cells: Cell[];
}

export interface Cell {
  text: string;
  tone: "plain" | "faint" | "alarm" | "costs" | "saves" | "negligible" | "inconclusive";
  /** What went into the figure. */
  basis: string | null;
  /** By what it is sorted, in the metric's unit; null where it is no figure. */
  value: number | null;
}

export interface ValidityView {
  verdict: "valid" | "suspect" | "void";
  heading: string;
  doubts: { code: string; verdict: "valid" | "suspect" | "void"; text: string; evidence: [string, string][]; about: string | null }[];
}

/** The run over time, thinned to what can be drawn. Times are seconds since the run began. */
export interface Series {
  /** From the run's beginning to the end of its last window. */
  lasts_s: number;
  /** Figures are means over stretches of this length; null where each stands for one window. */
  bin_s: number | null;
  rounds: { round: number; from_s: number; to_s: number }[];
  /** By arm, in the order of `analysis.arms`. Columns of equal length, null where nothing is known. */
  arms: {
    /** The arm's id. */
    arm: string;
    at_s: number[];
    cpu_us_per_request: (number | null)[];
    rate_per_s: (number | null)[];
    rss_bytes: (number | null)[];
    /** What its agents used, in cores and in bytes; null for an arm in whose windows none was attached or read. */
    agent_cores: (number | null)[] | null;
    agent_rss_bytes: (number | null)[] | null;
  }[];
  /** Shares of the time, 0 to 1 (steal and pressure), and cores (busy). */
  machine: {
    at_s: number[];
    steal: number[];
    pressure: (number | null)[];
    busy_cores: (number | null)[];
  };
  /** The first windows one by one, as they were measured: which arm, from when to when, and the worst that is said of it. */
  windows: { arm: number; from_s: number; to_s: number; verdict: "valid" | "suspect" | "void" }[];
  /** How many windows there were in all. */
  windows_in_all: number;
}

/** Times by percentile. */
export interface Latency {
  timing: "response_time" | "service_time";
  arms: {
    /** The arm's id. */
    arm: string;
    count: number;
    /** `us[i]` is the time at `quantiles[i]` (0 to 1, rising; the last is the highest that is known). */
    quantiles: number[];
    us: number[];
  }[];
  /** For each arm but the baseline, at each quantile at which enough was measured: arm − baseline. */
  differences: {
    /** The arm's id. */
    arm: string;
    points: { quantile: number; relative: Band; us: Band | null }[];
  }[];
}

export interface Band {
  estimate: number;
  low: number;
  high: number;
}

export interface FlameGraph {
  /** The arm's id. */
  arm: string;
  title: string;
  note: string;
  /** An SVG document without scripts. */
  svg: string;
}
