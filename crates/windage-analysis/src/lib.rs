//! Records in, [`Analysis`] out: estimates, verdicts, validity, and the wire type.
//!
//! Everything here is recomputed from the run directory: no clock, no socket, no process.

#![forbid(unsafe_code)]

mod agents;
mod analyse;
mod analysis;
#[cfg(test)]
mod bad_input;
mod blocks;
mod budgets;
mod by_service;
mod calibration;
mod changeover;
mod claims;
mod compare;
mod comparison;
mod conclude;
mod course;
mod curve;
mod detail;
mod family;
mod fidelity;
#[cfg(test)]
mod fixture;
mod growth;
mod idle;
mod inference;
mod interference;
mod ledger;
mod load;
mod loads;
mod merged_times;
mod metrics;
mod missing;
mod monitor;
mod parallel;
mod per_span;
mod phases;
mod planning;
pub mod profiles;
mod quantiles;
mod records;
mod run;
mod running_estimates;
mod scatter;
mod script;
mod self_reported;
mod special_blocks;
mod stages;
mod sums;
mod timers;
mod totals;
mod turns;
mod validity;
mod windows;
pub mod wire;

pub use agents::{
    AgentUse, AttachUse, Bill, BillItem, BillLine, BpfUse, Bystander, CycleUse, OverCycles,
    ProbeAccount, ProgramUse, Range, UpUse,
};
pub use analyse::{analyse, concluded, of_run_directory};
pub use analysis::{
    Analysis, ArmAnalysis, ArmLoad, BatchFacts, BudgetAnalysis, ClaimAnalysis, Coincidence,
    DesignFacts, MetricAnalysis, OwnCost, SlowExchange, StopOutcome, TurnFacts,
};
pub use by_service::ServiceAnalysis;
pub use calibration::{ArmResult, CpuEffect, Cuttable, Experiment};
pub use comparison::{
    Change, ChangeInFamily, ChangeVerdict, Comparable, Compared, ComparedArm, ComparedLoad,
    ComparedMetric, ComparedRun, Comparison, ComparisonEvidence, ComparisonWarning,
    ComparisonWarningCode, Differing, Differs, LoneArm, PlanLine, PlanTag, Side, compare,
};
pub use curve::{
    Against, BandPoint, Curve, CurveFit, CurvePoint, CurveScale, CurveTerm, DropLimit, HeldOut,
    LackOfFit, TermKind,
};
pub use detail::{
    AgentSeries, ArmLatency, ArmSeries, Detail, Detailed, Latency, MachineSeries,
    QuantileDifference, QuantileDifferences, RoundStretch, Series, WindowStretch, detailed,
};
pub use fidelity::{
    DeliveredCounts, Fidelity, FidelityOfLaunch, FidelityPoint, FidelityUnit, InWindows,
    KindCounts, Loss, LossReason, MeasuredLoss, TraceShare,
};
pub use inference::{Family, InFamily, Inference, Seat, VarianceComponents};
pub use missing::{Item, Missing, MissingCode, RunSide};
pub use monitor::Monitor;
pub use planning::{Planning, PlanningFigures, Room};
pub use profiles::{ArmProfile, Sampled};
pub use quantiles::Timed;
pub use records::Records;
pub use running_estimates::{Following, Known, NoInterval, Running, RunningEstimate};
pub use script::{Averaged, Script, ScriptPhase};
pub use stages::{EndToEnd, Stage, StageCost, Stages};
pub use totals::Measured;
pub use windage_profile::{Added, FunctionCost, Interaction, differential_flame_graph};
pub use windage_record::{
    DeliveredByProtocol, DeliveredSource, ExportDelay, Placed, ProfileFailure, Profiled,
    RecordedProfile, Restored, RunPart, RunState, Timing,
};
pub use windage_stats::Advice;
pub use windage_stats::fit::BEYOND_A_LINE;
