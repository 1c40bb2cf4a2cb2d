// What the page shows, as the binary writes it (crates/windage-report/src/page). Everything that is
// worded or rounded is decided there, so that the page can't disagree with the terminal; what is drawn
// is drawn from these figures and from `analysis`.

import type { Analysis, Role, Soundness } from "./analysis";
import type { Scale } from "./figure/format";

/** The version of this document that the page understands. */
export const PAGE = 1;

/** One run. */
export interface PageDocument {
  page: number;
  /** The name of the run directory. */
  directory: string;
  state: RunState;
  /** What is to be known of a run that did not end by itself. */
  state_text: string | null;
  plan: string;
  about: string | null;
  /** `analysis.json` (docs/FORMAT.md), whole. */
  analysis: Analysis;
  header: Fact[];
  /** One for each load of the plan: that of `analysis` first, then those of `analysis.other_loads`. */
  loads: LoadView[];
  /** What arrived against the rate; null in a plan of one load. */
  by_rate: Table | null;
  rates: { scale: Scale; arms: { arm: string; text: string }[] };
  /** What windage itself used. */
  own_cost: Fact[];
  /** Commands to be run again. */
  commands: Fact[];
  provenance: Fact[];
  /** The machine. */
  host: Fact[];
}

/** Whether more may come: a run that goes on is being written, one that broke off was killed. */
export type RunState = "going_on" | "ended" | "broken_off";

export interface LoadView {
  /** Its name, and what it is; null where there is only one. */
  name: string | null;
  load: string | null;
  /** The answer's sentences. */
  answer: Piece[][];
  facts: Fact[];
  tables: Table[];
  /** What the marks in the tables mean, or that there is no table. */
  legend: string | null;
  validity: ValidityView;
  /** What there is no picture of, though runs under such a load have one. */
  absent: string | null;
  /** As pictures name them, in the order of `analysis.arms`. */
  arms: { id: string; name: string; role: Role }[];
  /** The primary metric first. */
  forests: Forest[];
  /** The metrics of `forests` that are worth a look before all else. */
  glance: string[];
  /** In the order of the curves in the analysis. */
  curves: CurveWords[];
  bill: BillView | null;
  /** None where no telemetry is expected. */
  deliveries: Delivery[];
  series: Series | null;
  /** Response times, then service times; none for a batch load. */
  latency: Latency[];
  scatter: ScatterView | null;
  flame_graphs: FlameGraph[];
}

/** One metric of all arms but the baseline. Arms are ids here and below. */
export interface Forest {
  metric: string;
  /** For a small picture and for a choice. */
  heading: string;
  title: string;
  /** What is drawn, in words. */
  about: string;
  notes: string[];
  /** Of `ends`. */
  unit: string;
  scale: Scale;
  /** Shares within ± this do not matter; null where differences are no shares. */
  margin: number | null;
  /** What lies left and right of zero. */
  sides: [left: string, right: string];
  /** What the marks that occur mean. */
  key: { mark: ForestMark | "margin"; text: string }[];
  /** The control first: it shows how far zero is from zero on this machine. */
  rows: ForestRow[];
}

export interface ForestRow {
  arm: string;
  name: string;
  /** Null where there is no interval. */
  ends: Band | null;
  /** How these are written; empty without an interval. */
  point: string;
  range: string;
  mark: ForestMark;
  /** What is said of it, in a word or two; why there is no figure where there is none. */
  word: string;
}

export type ForestMark = "control" | "differs" | "costs" | "saves" | "negligible" | "inconclusive" | "unjudged";

/** What is said beside and within the picture of a curve. */
export interface CurveWords {
  title: string;
  scale: Scale;
  /** What stands on the axis: what was asked for, and what arrived. */
  attempted: string;
  delivered: string;
  /** The points in words. */
  points: string[];
  /** In the order of the curve's fits. */
  fits: { against: "attempted" | "delivered"; is_rejected: boolean; sentences: string[] }[];
  /** What holds whichever fit is shown. */
  sentences: string[];
}

/** The bills as bars: all that the machine paid, and the difference from the baseline. */
export interface BillView {
  /** The lines that bars add up from, in their order. */
  lines: { item: string; name: string }[];
  whole: BillForm;
  difference: BillForm;
}

export interface BillForm {
  title: string;
  note: string;
  scale: Scale;
  /** Its sum in words, what of it fits beside a name, and the figures of the lines; empty where one is not known. */
  bars: { arm: string; figures: string; short: string; parts: string[] }[];
}

/** What arrived of the telemetry that was expected. */
export interface Delivery {
  arm: string;
  /** Delivered / expected; null where nothing was expected. */
  share: number | null;
  figures: string;
  /** What of them fits beside a name. */
  short: string;
  /** What stands below its bar. */
  note: string;
  /** What became of what was lost; empty where nothing is said of it. */
  losses: string;
}

/** Where the scatter of the primary metric comes from. */
export interface ScatterView {
  title: string;
  advice: string[];
  arms: {
    arm: string;
    /** Standard deviations of log ratios, from the outermost source to the innermost. */
    sources: { source: Source; sd: number | null; text: string }[];
    half_width: number | null;
    within_launch_half_width: number | null;
    widths: string;
  }[];
}

export type Source = "launches" | "blocks" | "windows";

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
  /** What a row is. */
  of: string;
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
  verdict: Soundness;
  /** What the verdict means, to stand behind it. */
  meaning: string;
  warnings: { code: string; verdict: Soundness; text: string; evidence: [string, string][]; about: string | null }[];
}

/** The run over time, thinned to what can be drawn. Times are seconds since the run began. */
export interface Series {
  /** From the run's beginning to the end of its last window. */
  lasts_s: number;
  /** Figures are means over stretches of this length; null where each stands for one window. */
  bin_s: number | null;
  rounds: { round: number; from_s: number; to_s: number }[];
  /** What is known of any arm: its column, how its panel is called, and its unit. */
  quantities: Quantity[];
  /** By arm, in the order of `analysis.arms`. Columns of equal length, null where nothing is known. */
  arms: {
    arm: string;
    /** From where to where its quantities go. */
    text: string;
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
  /** How long the run took and what the machine met, in words. */
  about: string;
  notes: string[];
  /** The first windows one by one, as they were measured: which arm, from when to when, and the worst that is said of it. */
  windows: { arm: number; from_s: number; to_s: number; verdict: Soundness }[];
  /** How many windows there were in all. */
  windows_in_all: number;
  /** How many of those that are known one by one are sound. */
  windows_text: string;
}

export interface Quantity {
  column: "cpu_us_per_request" | "rate_per_s" | "rss_bytes" | "agent_cores" | "agent_rss_bytes";
  name: string;
  scale: Scale;
}

/** Times by percentile. */
export interface Latency {
  timing: "response_time" | "service_time";
  label: string;
  title: string;
  difference_title: string;
  /** The unit in which most times are short. */
  scale: Scale;
  arms: {
    arm: string;
    count: number;
    /** `us[i]` is the time at `quantiles[i]` (0 to 1, rising; the last is the highest that is known). */
    quantiles: number[];
    us: number[];
    /** Its median, 99th percentile and longest time. */
    text: string;
  }[];
  /** For each arm but the baseline, at each quantile at which enough was measured: arm − baseline. */
  differences: {
    arm: string;
    /** Of those in microseconds. */
    scale: Scale;
    points: { quantile: number; relative: Band; us: Band | null }[];
    /** Those at the median and the 99th percentile, as shares and as times. */
    relative_text: string;
    us_text: string;
  }[];
}

export interface Band {
  estimate: number;
  low: number;
  high: number;
  /** The estimate as it is written at its place, where it is. */
  label?: string;
}

export interface FlameGraph {
  arm: string;
  title: string;
  note: string;
  /** An SVG document without scripts. */
  svg: string;
}
