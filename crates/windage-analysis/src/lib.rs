//! Records in, [`Analysis`] out: estimates, verdicts, validity, and their wire type.
//!
//! Everything here is recomputed from the run directory: no clock, no socket, no process.

mod analyse;
mod analysis;
#[cfg(test)]
mod bad_input;
mod blocks;
mod calibration;
mod compare;
mod conclude;
mod course;
mod covariate;
mod curve;
mod each_arm;
mod family;
mod fidelity;
#[cfg(test)]
mod fixture;
mod gathered;
mod inference;
mod ledger;
mod load;
mod metrics;
mod monitor;
mod per_span;
mod phases;
pub mod pilot;
mod planning;
pub mod profiles;
mod quantiles;
mod records;
mod said;
mod scatter;
mod script;
mod stages;
mod validity;
mod windows;
pub mod wire;

pub use analyse::{analyse, of_run_directory};
pub use analysis::{
    Analysis, ArmAnalysis, ArmLoad, BatchFacts, Coincidence, DesignFacts, MetricAnalysis, Missing,
    MissingCode, OwnCost, SlowExchange, StopOutcome,
};
pub use calibration::{Cuttable, Experiment};
pub use curve::{
    Against, Cap, Curve, CurveFit, CurvePoint, CurveScale, CurveTerm, HeldOut, LackOfFit,
    RibbonPoint, TermKind,
};
pub use fidelity::{
    DeliveredCounts, EventCounts, Fidelity, FidelityUnit, InWindows, Loss, LossReason,
    MeasuredLoss, TraceShare,
};
pub use inference::{CovariateUse, Family, Gain, InFamily, Inference, Scatter};
pub use monitor::Monitor;
pub use planning::{Planning, PlanningFigures, Room};
pub use profiles::{ArmProfile, Sampled};
pub use quantiles::Timed;
pub use records::Records;
pub use script::{Averaged, Script, ScriptPhase};
pub use stages::{Stage, StageCost, Stages, Whole};
pub use windage_profile::{Added, FunctionCost, Interaction, differential_flame_graph};
pub use windage_record::{
    DeliveredByProtocol, DeliveredSource, ExportDelay, PilotScope, ProfileFailure, Profiled,
    RecordedProfile,
};
pub use windage_stats::fit::BEYOND_A_LINE;
pub use windage_stats::{Advice, Refused};
