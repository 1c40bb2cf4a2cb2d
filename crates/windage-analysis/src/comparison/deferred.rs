//! Whether a figure includes deferred cost.

use windage_model::Metric;

use crate::ArmAnalysis;

/// Metrics that include deferred cost where it is known.
pub(super) const HELD_BY: [Metric; 2] = [Metric::CpuPerRequest, Metric::CpuPerIteration];

/// Whether such figures of an arm include it: where it is known for the arm and the baseline. Totals
/// from turns always do.
pub(super) fn is_held(arm: &ArmAnalysis) -> bool {
    if arm.metrics.contains_key(&Metric::CpuOfRequests) {
        return true;
    }
    let deferred = arm.metrics.get(&Metric::CpuDeferred);
    deferred.is_some_and(|of| of.arm.is_some() && of.baseline.is_some())
}

/// Whether one run's figure includes deferred cost and the other's does not.
pub(super) fn is_in_one(metric: Metric, arms: [&ArmAnalysis; 2]) -> bool {
    let [a, b] = arms.map(is_held);
    HELD_BY.contains(&metric) && a != b
}
