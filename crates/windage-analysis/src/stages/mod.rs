//! What each stage of a chain of arms adds, and whether the stages add up to the whole.

mod chains;
mod costs;
#[cfg(test)]
mod tests;

use windage_model::{ArmId, Interval, Metric};

use crate::Missing;
pub(crate) use costs::stages;

/// A chain of arms, each of which adds a stage to the previous one, such as a provider, a sampler,
/// a processor, an exporter.
///
/// All figures are from the launches that have every measured arm of the chain. Each interval holds
/// on its own: stages are secondary comparisons.
#[derive(Clone, Debug, PartialEq)]
pub struct Stages {
    /// CPU per request or per iteration.
    pub metric: Metric,
    /// The arm that the first stage is added to.
    pub from: ArmId,
    /// Its own figure, in microseconds; `None` when it was not measured.
    pub from_us: Option<f64>,
    /// The stages, in order.
    pub stages: Vec<Stage>,
    /// The last arm compared with the first: the sum of the stages.
    pub sum: Result<StageCost, Missing>,
    /// End-to-end arms: the same as one of these, with their own processes and windows.
    pub end_to_end: Vec<EndToEnd>,
    /// Spans per request that the last arm delivered; what the plan expects where none were
    /// counted; `None` when neither is known.
    pub spans_per_request: Option<f64>,
    /// The same for span events.
    pub events_per_request: Option<f64>,
    /// Launches that were used.
    pub rounds: usize,
}

impl Stages {
    /// A cost as a share of the sum of all stages; `None` when either is missing or the sum is not
    /// above zero.
    #[must_use]
    pub fn share_of_sum(&self, cost: &Result<StageCost, Missing>) -> Option<f64> {
        let us = |cost: &Result<StageCost, Missing>| Some(cost.as_ref().ok()?.absolute.estimate);
        let sum = us(&self.sum).filter(|sum| *sum > 0.0)?;
        us(cost).map(|us| us / sum)
    }
}

/// One stage: an arm and what it adds.
#[derive(Clone, Debug, PartialEq)]
pub struct Stage {
    /// The arm with the stage.
    pub arm: ArmId,
    /// The arm without it.
    pub adds_to: ArmId,
    /// What it adds.
    pub cost: Result<StageCost, Missing>,
}

/// The cost of one arm over another.
#[derive(Clone, Debug, PartialEq)]
pub struct StageCost {
    /// As a share of the other arm's cost.
    pub relative: Interval,
    /// In microseconds.
    pub absolute: Interval,
    /// Per span that the chain's last arm delivers, in microseconds; `None` when unknown.
    pub per_span: Option<Interval>,
    /// The same per event.
    pub per_event: Option<Interval>,
}

/// An end-to-end arm, and how it compares with the stages up to there.
#[derive(Clone, Debug, PartialEq)]
pub struct EndToEnd {
    /// The arm.
    pub arm: ArmId,
    /// The arm of the chain that it is the same as.
    pub same_as: ArmId,
    /// Its cost over the chain's first arm, from its own windows.
    pub cost: Result<StageCost, Missing>,
    /// Its cost less the sum of the stages up to the same arm.
    pub gap: Result<StageCost, Missing>,
}

impl EndToEnd {
    /// Whether the stages add up: zero lies within the gap's interval. `None` without one.
    #[must_use]
    pub fn is_additive(&self) -> Option<bool> {
        let gap = self.gap.as_ref().ok()?;
        Some(!gap.relative.excludes_zero())
    }
}
