// `analysis.json`, as far as the page reads it. docs/FORMAT.md is the authority.

export type Verdict = "costs" | "saves" | "negligible" | "inconclusive";
export type Soundness = "valid" | "suspect" | "void";
export type Role = "baseline" | "control" | "treatment";

export interface Interval {
  estimate: number;
  low: number;
  high: number;
  confidence: number;
  method: string;
}

export interface Analysis extends UnderLoad {
  schema: number;
  windage: string;
  run: string;
  plan: string;
  about: string | null;
  command: string;
  started: string;
  host: Record<string, unknown>;
  baseline: string;
  further: UnderLoad[];
  fidelity_curve: FidelityPoint[];
}

/** What holds under one load. */
export interface UnderLoad {
  regime: string | null;
  primary: string;
  design: Design;
  arms: Arm[];
  curves: Curve[];
  [more: string]: unknown;
}

export interface Design {
  order: string;
  load: "open" | "closed" | "batch";
  rate: number | null;
  rounds: number;
  rounds_planned: number;
  blocks: number;
  measured_s: number | null;
  interest: number | null;
  [more: string]: unknown;
}

export interface Arm {
  id: string;
  name: string;
  role: Role;
  levels: Record<string, string | number | boolean>;
  metrics: Record<string, Metric>;
  bill: Bill | null;
  fidelity: Fidelity | null;
  [more: string]: unknown;
}

export interface Metric {
  unit: "us" | "ns" | "1/s" | "cores" | "bytes" | "s" | "1";
  direction: "lower" | "higher";
  baseline: number | null;
  arm: number | null;
  difference: Interval | null;
  relative: Interval | null;
  exceeds_nil: boolean | null;
  verdict: Verdict | null;
  smallest_visible: number | null;
  within_launch_half_width: number | null;
  needs_s: number | null;
  scatter: Scatter | null;
  windows: number;
  rounds: number;
  missing?: { code: string; text: string };
  /** Whether what is claimed also stands when all comparisons of its family have to hold together; null where nothing is. */
  holds_in_family?: boolean | null;
  validity?: { verdict: Soundness };
}

/** Standard deviations of log ratios by source. */
export interface Scatter {
  launch_sd: number | null;
  block_sd: number | null;
  window_sd: number | null;
  advice: "more_rounds" | "more_blocks" | "balanced" | "launches_unknown" | null;
  advised_blocks_per_round: number | null;
}

export interface Curve {
  factor: string;
  of: string;
  metric: string;
  scale: "unit" | "share";
  unit: Metric["unit"];
  points: CurvePoint[];
  fits: CurveFit[];
  cap: { above: number; below: number; delivered_per_s: number | null } | null;
}

export interface CurvePoint {
  arm: string;
  level: number;
  /** Telemetry a request, in the unit of the arm's `fidelity.of`. */
  attempted: number | null;
  delivered: number | null;
  overhead: Interval;
  beyond_cap: boolean;
}

export interface CurveFit {
  against: "attempted" | "delivered";
  terms: { kind: "fixed" | "proportional" | "concave" | "saturating"; coefficient: Interval; half_at: number | null }[];
  lack_of_fit: { f: number; points_df: number; error_df: number; p: number } | null;
  ribbon: { x: number; y: number; low: number; high: number }[];
  held_out: { arm: string; x: number; measured: number; predicted: Interval; inside: boolean }[];
}

/** Busy CPU of the machine for a completed request, by who used it. */
export interface Bill {
  machine: BillLine;
  lines: (BillLine & { item: string })[];
  agent_outside_windows: BillLine | null;
  service_outside_windows: BillLine | null;
  with_deferred: BillLine;
  rounds: number;
}

/** In microseconds a request. */
export interface BillLine {
  baseline_us_per_request: number | null;
  arm_us_per_request: number | null;
  difference_us_per_request: number | null;
  interval: Interval | null;
}

/** What arrived of the telemetry that was expected. */
export interface Fidelity {
  of: "traces" | "spans";
  expected: number | null;
  delivered: number;
  lost: number | null;
  beyond_sampling: boolean | null;
  backend: string;
  bytes_per_span: number | null;
  wire_bytes_per_span: number | null;
  by_reason: { code: string; reason: string; lost: number; of: string }[];
  told_beyond_lost: number | null;
  [more: string]: unknown;
}

export interface FidelityPoint {
  arm: string;
  regime: string | null;
  /** Null for a closed loop. */
  rate_per_s: number | null;
  achieved_per_s: number | null;
  expected: number;
  delivered: number;
  lost_share: Interval | null;
  [more: string]: unknown;
}
