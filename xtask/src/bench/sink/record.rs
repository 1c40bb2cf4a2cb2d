//! Everything that the record is made of.

use super::connections::Crowd;
use super::exactness::Exactness;
use super::scenario::Scenario;
use super::trial::Trial;
use crate::record::machine::Machine;

/// Everything that the record is made of.
pub(super) struct Record {
    pub(super) date: String,
    /// The command that repeats it.
    pub(super) command: String,
    pub(super) machine: Machine,
    /// Programs with their versions.
    pub(super) versions: Vec<(&'static str, String)>,
    pub(super) scenarios: Vec<&'static Scenario>,
    /// How many were asked for.
    pub(super) rounds: u32,
    pub(super) lasts_s: u32,
    /// How many are open at once where memory with many is looked at.
    pub(super) connections: u32,
    /// A request's body in each scenario.
    pub(super) body_bytes: Vec<(&'static str, u64)>,
    /// The command lines as they would be typed.
    pub(super) commands: Vec<String>,
    pub(super) trials: Vec<Trial>,
    /// What was measured, or why it could not be.
    pub(super) exactness: Vec<Outcome<Exactness>>,
    pub(super) crowds: Vec<Outcome<Crowd>>,
}

/// What a part gave, by its name. One that failed is a result.
pub(super) struct Outcome<T> {
    pub(super) name: &'static str,
    pub(super) result: Result<T, String>,
}

impl<T> Outcome<T> {
    pub(super) fn new(name: &'static str, result: anyhow::Result<T>) -> Outcome<T> {
        Outcome {
            name,
            result: result.map_err(|error| format!("{error:#}")),
        }
    }
}

impl Record {
    /// The last round of which there is a trial.
    pub(super) fn rounds_done(&self) -> u32 {
        let rounds = self.trials.iter().map(|trial| trial.round);
        rounds.max().unwrap_or_default()
    }
}
