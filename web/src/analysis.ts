// The part of `analysis.json` that pictures use. docs/FORMAT.md is the authority.

export type Verdict = "costs" | "saves" | "negligible" | "inconclusive";
export type Soundness = "valid" | "suspect" | "void";
export type Role = "baseline" | "control" | "treatment";

export interface Interval {
  estimate: number;
  low: number;
  high: number;
}

export interface Analysis extends UnderLoad {
  windage: string;
  other_loads: UnderLoad[];
  fidelity_curve: FidelityPoint[];
}

/** The results under one load. */
export interface UnderLoad {
  arms: Arm[];
  curves: Curve[];
}

export interface Arm {
  id: string;
  role: Role;
  bill: Bill | null;
  /** Absent without several services. */
  services?: ServiceCpu[];
  fidelity: Fidelity | null;
}

export interface Curve {
  factor: string;
  of: string;
  metric: string;
  scale: "unit" | "share";
  unit: string;
  points: CurvePoint[];
  fits: CurveFit[];
}

export interface CurvePoint {
  arm: string;
  level: number;
  /** Telemetry per request, in the unit of the arm's `fidelity.of`. */
  attempted: number | null;
  delivered: number | null;
  overhead: Interval;
  beyond_drop_limit: boolean;
}

export interface CurveFit {
  against: "attempted" | "delivered";
  confidence_band: { x: number; y: number; low: number; high: number }[];
  held_out: { arm: string; x: number; predicted: Interval; inside: boolean }[];
}

/** Busy CPU of the machine per completed request, by who used it. */
export interface Bill {
  machine: BillLine;
  lines: (BillLine & { item: string })[];
  agent_outside_windows: BillLine | null;
  service_outside_windows: BillLine | null;
  with_deferred: BillLine;
}

/** In microseconds per request. */
export interface BillLine {
  baseline_us_per_request: number | null;
  arm_us_per_request: number | null;
  difference_us_per_request: number | null;
  interval: Interval | null;
}

/** CPU per request that is spent in one service of an arm, in microseconds. */
export interface ServiceCpu {
  service: string;
  cpu: { baseline: number | null; arm: number | null; difference: Interval | null };
}

/** Delivered and expected telemetry. */
export interface Fidelity {
  of: string;
  expected: number | null;
  delivered: number;
  lost: number | null;
  backend: string;
  bytes_per_span: number | null;
  wire_bytes_per_span: number | null;
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
}
