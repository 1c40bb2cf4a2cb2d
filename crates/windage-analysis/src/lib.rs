//! Records in, [`Analysis`] out: estimates, verdicts, validity, and their wire type.
//!
//! Everything here is recomputed from the run directory: no clock, no socket, no process.

mod analyse;
mod analysis;
mod blocks;
mod compare;
mod fidelity;
#[cfg(test)]
mod fixture;
mod ledger;
mod load;
mod metrics;
mod quantiles;
mod records;
mod validity;
pub mod wire;

pub use analyse::{analyse, of_run_directory};
pub use analysis::{
    Analysis, ArmAnalysis, ArmLoad, Coincidence, DesignFacts, Fidelity, FidelityUnit,
    MetricAnalysis, Missing, MissingCode, OwnCost, SlowExchange,
};
pub use quantiles::Timed;
pub use records::Records;
