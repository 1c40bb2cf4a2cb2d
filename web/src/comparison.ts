// What the page shows of two runs of one plan, as the binary writes it
// (crates/windage-report/src/comparison). As with one run, everything worded or rounded is decided there;
// what is drawn is drawn from `comparison`.

import type { Interval, Metric, Role, Soundness, Verdict } from "./analysis";
import type { Fact, Piece, Table } from "./document";

/** The version of this document that the page understands. */
export const COMPARISON_PAGE = 1;

/** Two runs, the second held against the first. */
export interface ComparisonDocument {
  page: number;
  /** What `windage compare --json` prints (docs/FORMAT.md), whole. */
  comparison: Comparison;
  /** Whether they can be compared, in a few words. */
  heading: string;
  /** Which runs these are. */
  header: Fact[];
  /** One for each load that both have, in the order of `comparison.loads`. */
  loads: ComparedLoadView[];
  /** What differs besides: of the machine, of versions, of the design. Rows are keys, columns A and B. */
  differs: Table[];
  /** What is left to say, and the commands that make this again. */
  closing: Fact[];
}

/** What is said of one load. */
export interface ComparedLoadView {
  /** What stands above it where there are several loads. */
  heading: string | null;
  /** The answer's sentences. */
  answer: Piece[][];
  /** The primary metric first; those of detail are folded away. */
  tables: Table[];
  /** What the marks in the tables mean. */
  legend: string | null;
  /** Arms that only one of the runs has. */
  facts: Fact[];
}

/** `windage compare --json`. */
export interface Comparison {
  schema: number;
  comparison: number;
  a: ComparedRun;
  b: ComparedRun;
  comparable: Comparable;
  cautions: Caution[];
  loads: ComparedLoad[];
  /** Loads that only one of them has, by name. */
  only_in_a: string[];
  only_in_b: string[];
  differs: { host: Differing[]; versions: Differing[]; design: Differing[] };
  /** The plans as they were resolved, line by line; null where one can't be read. Long plans are cut. */
  plan_diff: PlanLine[] | null;
}

/** Whether one run can be held against the other. */
export type Comparable = "yes" | "with_care" | "no";

export interface ComparedRun {
  run: string;
  plan: string;
  /** RFC 3339, UTC. */
  started: string;
  windage: string;
  /** The worst of its loads. */
  validity: Soundness;
}

/** What speaks against comparing. */
export interface Caution {
  code: string;
  /** Whether verdicts are withheld for it. */
  grave: boolean;
  /** The load that it is about; null for the runs as a whole. */
  regime: string | null;
  text: string;
}

export interface ComparedLoad {
  regime: string | null;
  comparable: Comparable;
  /** The metric's name. */
  primary: string;
  /** A share: changes below it do not matter. */
  interest: number | null;
  /** Arms of both, in A's order; the baseline is among them and has no change. */
  arms: ComparedArm[];
  only_in_a: LoneArm[];
  only_in_b: LoneArm[];
}

export interface LoneArm {
  id: string;
  name: string;
}

export interface ComparedArm extends LoneArm {
  role: Role;
  /** By name. */
  metrics: Record<string, ComparedMetric>;
}

/** One metric of an arm in both runs. */
export interface ComparedMetric {
  unit: Metric["unit"];
  direction: Metric["direction"];
  a: Side;
  b: Side;
  /** Overhead in B − overhead in A. `relative` (percentage points as a share: 0.01 is one point) is judged. */
  change: { relative: Interval | null; absolute: Interval } | null;
  interest: number | null;
  /** Null without a relative change, and where verdicts are withheld. */
  verdict: ChangeVerdict | null;
  /**
   * Whether the verdict stands when all of its family have to hold together; null for the control,
   * and where nothing is claimed (inconclusive, or no verdict).
   */
  holds_in_family: boolean | null;
  in_family: { name: "primary" | "secondary"; comparisons: number; interval: Interval; verdict: ChangeVerdict } | null;
  /** Why there is no change. */
  missing?: { code: string; text: string };
}

/** What became of an overhead. */
export type ChangeVerdict = "dearer" | "cheaper" | "same" | "inconclusive";

/** One run's figures, as they stand in its analysis.json. */
export interface Side {
  baseline: number | null;
  arm: number | null;
  difference: Interval | null;
  relative: Interval | null;
  verdict: Verdict | null;
}

/** Something that is not the same in both. */
export interface Differing {
  key: string;
  /** Null where it is not there. */
  a: string | null;
  b: string | null;
}

export interface PlanLine {
  tag: "equal" | "delete" | "insert" | "gap";
  /** The line; of a gap how many lines are left out, in words. */
  text: string;
}
