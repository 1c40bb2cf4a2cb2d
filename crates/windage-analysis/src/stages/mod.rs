//! What each stage of a chain of arms adds, and whether the stages add up to the whole.

mod chains;
mod costs;
#[cfg(test)]
mod tests;

use windage_model::{ArmId, Interval, Metric};

use crate::Missing;

/// A chain of arms, each of which adds a stage to the one before, such as a provider, a sampler, a
/// processor, an exporter.
///
/// All figures are of the launches in which every arm of the chain that was measured at all was
/// measured. Its intervals hold each on its own: stages are secondary comparisons.
#[derive(Clone, Debug, PartialEq)]
pub struct Stages {
    /// CPU per request or an iteration.
    pub metric: Metric,
    /// The arm that the first stage is added to.
    pub from: ArmId,
    /// Its own figure, in microseconds; `None` when it was not measured.
    pub from_us: Option<f64>,
    /// The stages, in order.
    pub stages: Vec<Stage>,
    /// The last arm against the first: what the stages add up to.
    pub sum: Result<StageCost, Missing>,
    /// Arms that are one of these once more, with processes and windows of their own.
    pub end_to_end: Vec<EndToEnd>,
    /// Spans that the last arm delivered for a request; what the plan expects where none was
    /// counted; `None` when neither is known.
    pub spans_per_request: Option<f64>,
    /// The same of events on spans.
    pub events_per_request: Option<f64>,
    /// Launches that went in.
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

/// What one arm costs over another.
#[derive(Clone, Debug, PartialEq)]
pub struct StageCost {
    /// As a share of the other arm's cost.
    pub relative: Interval,
    /// In microseconds.
    pub absolute: Interval,
    /// For each span that the chain's last arm delivers, in microseconds; `None` when that is not
    /// known.
    pub per_span: Option<Interval>,
    /// The same for each event.
    pub per_event: Option<Interval>,
}

/// An arm that is one of the chain once more, and what the stages up to there say of it.
#[derive(Clone, Debug, PartialEq)]
pub struct EndToEnd {
    /// The arm.
    pub arm: ArmId,
    /// Which arm of the chain it is once more.
    pub same_as: ArmId,
    /// What it costs over the chain's first arm, from its own windows.
    pub cost: Result<StageCost, Missing>,
    /// Its cost less the sum of the stages up to the same arm.
    pub gap: Result<StageCost, Missing>,
}

impl EndToEnd {
    /// Whether the sum of stages holds: zero lies within the gap's interval. `None` without one.
    #[must_use]
    pub fn is_additive(&self) -> Option<bool> {
        let gap = self.gap.as_ref().ok()?;
        Some(!gap.relative.excludes_zero())
    }
}
