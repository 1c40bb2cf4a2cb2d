// What the page shows, as written by the binary (crates/windage-report/src/page). The binary words and rounds
// everything, so that the page can't disagree with the terminal; pictures are drawn from these figures and
// from `analysis`.

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
  /** A notice about a run that did not end normally. */
  state_text: string | null;
  plan: string;
  about: string | null;
  /** All of `analysis.json` (docs/FORMAT.md). */
  analysis: Analysis;
  header: Fact[];
  /** One for each load of the plan: that of `analysis` first, then those of `analysis.other_loads`. */
  loads: LoadView[];
  /** Delivered telemetry by rate; null in a plan of one load. */
  by_rate: Table | null;
  rates: { scale: Scale; arms: { arm: string; text: string }[] };
  /** Windage's own cost. */
  own_cost: Fact[];
  /** Commands that repeat the run or its report. */
  commands: Fact[];
  provenance: Fact[];
  /** The machine. */
  host: Fact[];
}

/** Whether more may follow: a run that is going on is being written; one that broke off was killed. */
export type RunState = "going_on" | "ended" | "broken_off";

export interface LoadView {
  /** Its name and description; null if there is only one load. */
  name: string | null;
  load: string | null;
  /** The answer's sentences. */
  answer: Piece[][];
  facts: Fact[];
  tables: Table[];
  /** The meaning of the marks in the tables, or a note that there is no table. */
  legend: string | null;
  validity: ValidityView;
  /** Pictures that are missing, although runs under such a load have them. */
  absent: string | null;
  /** Names for pictures, in the order of `analysis.arms`. */
  arms: { id: string; name: string; role: Role }[];
  /** The primary metric first. */
  forests: Forest[];
  /** The metrics of `forests` for the overview. */
  glance: string[];
  /** In the order of the curves in the analysis. */
  curves: CurveWords[];
  bill: BillView | null;
  /** CPU per request by service, as bars; null if arms don't have several. */
  services: BillView | null;
  /** Empty if no telemetry is expected. */
  deliveries: Delivery[];
  series: Series | null;
  /** Response times, then service times; empty for a batch load. */
  latency: Latency[];
  scatter: ScatterView | null;
  flame_graphs: FlameGraph[];
}

/** One metric of all arms except the baseline. Arms are ids here and below. */
export interface Forest {
  metric: string;
  /** A short title, for a small picture and a selection. */
  heading: string;
  title: string;
  /** The content of the picture, in words. */
  about: string;
  notes: string[];
  /** The unit of `ends`. */
  unit: string;
  scale: Scale;
  /** Shares within ± this do not matter; null if differences are not shares. */
  margin: number | null;
  /** The meaning of left and right of zero. */
  sides: [left: string, right: string];
  /** The meaning of the marks that occur. */
  key: { mark: ForestMark | "margin"; text: string }[];
  /** The A/A control first: it shows how far from zero a true zero is measured on this machine. */
  rows: ForestRow[];
}

export interface ForestRow {
  arm: string;
  name: string;
  /** Null if there is no interval. */
  ends: Band | null;
  /** The figures as text; empty without an interval. */
  point: string;
  range: string;
  mark: ForestMark;
  /** The verdict in a word or two, or why there is no figure. */
  word: string;
}

export type ForestMark = "control" | "differs" | "costs" | "saves" | "negligible" | "inconclusive" | "unjudged";

/** Texts next to and within the picture of a curve. */
export interface CurveWords {
  title: string;
  scale: Scale;
  /** The axis labels: the level as set, and as delivered. */
  attempted: string;
  delivered: string;
  /** The points in words. */
  points: string[];
  /** In the order of the curve's fits. */
  fits: { against: "attempted" | "delivered"; is_rejected: boolean; sentences: string[] }[];
  /** Sentences that apply to every fit. */
  sentences: string[];
}

/** Bills as bars: the total, and the difference from the baseline. */
export interface BillView {
  /** The lines that the bars consist of, in order. */
  lines: { item: string; name: string }[];
  whole: BillForm;
  difference: BillForm;
}

export interface BillForm {
  title: string;
  note: string;
  scale: Scale;
  /** The total in words, its short form next to a name, and the figures of the lines; empty if unknown. */
  bars: { arm: string; figures: string; short: string; parts: string[] }[];
}

/** Delivered and expected telemetry. */
export interface Delivery {
  arm: string;
  /** Delivered / expected; null if nothing was expected. */
  share: number | null;
  figures: string;
  /** The short form next to a name. */
  short: string;
  /** The text below the bar. */
  note: string;
  /** What happened to lost telemetry; empty if unknown. */
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
  /** A table of detail, folded at first. */
  detail: boolean;
  /** The meaning of a row. */
  of: string;
}

export interface Column {
  heading: string;
  /** The meaning of the column; empty if the heading says it all. */
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
  /** What the figure is based on. */
  basis: string | null;
  /** The sort value, in the metric's unit; null if it is not a figure. */
  value: number | null;
}

export interface ValidityView {
  verdict: Soundness;
  /** The meaning of the verdict, shown after it. */
  meaning: string;
  warnings: { code: string; verdict: Soundness; text: string; evidence: [string, string][]; about: string | null }[];
}

/** The run over time, thinned to what can be drawn. Times are seconds since the run began. */
export interface Series {
  /** From the run's beginning to the end of its last window. */
  lasts_s: number;
  /** Figures are means over stretches of this length; null if each is one window. */
  bin_s: number | null;
  rounds: { round: number; from_s: number; to_s: number }[];
  /** What is known of any arm: its column, the name of its panel, and its unit. */
  quantities: Quantity[];
  /** By arm, in the order of `analysis.arms`. Columns have equal lengths, with null for unknown values. */
  arms: {
    arm: string;
    /** The ranges of its quantities. */
    text: string;
    at_s: number[];
    cpu_us_per_request: (number | null)[];
    rate_per_s: (number | null)[];
    rss_bytes: (number | null)[];
    /** The use of its agents, in cores and in bytes; null if none was attached or read in the arm's windows. */
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
  /** The first windows in the order of measurement: the arm, start and end, and the gravest verdict. */
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
    /** `us[i]` is the time at `quantiles[i]` (0 to 1, rising; the last is the highest known). */
    quantiles: number[];
    us: number[];
    /** Its median, 99th percentile and longest time. */
    text: string;
  }[];
  /** For each arm except the baseline, at each quantile with enough data: arm − baseline. */
  differences: {
    arm: string;
    /** The unit of those in microseconds. */
    scale: Scale;
    points: { quantile: number; relative: Band; us: Band | null }[];
    /** The differences at the median and the 99th percentile, as shares and as times. */
    relative_text: string;
    us_text: string;
  }[];
}

export interface Band {
  estimate: number;
  low: number;
  high: number;
  /** The estimate as text, where it is shown. */
  label?: string;
}

export interface FlameGraph {
  arm: string;
  title: string;
  note: string;
  /** An SVG document without scripts. */
  svg: string;
}
