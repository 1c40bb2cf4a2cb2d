//! Whether a figure has in it what arms do later for their requests.

use windage_model::Metric;

use crate::ArmAnalysis;

/// Figures that hold deferred cost where it is known.
pub(super) const HELD_BY: [Metric; 2] = [Metric::CpuPerRequest, Metric::CpuPerIteration];

/// Whether such figures of an arm hold it: where it is known of the arm and of the baseline.
pub(super) fn is_held(arm: &ArmAnalysis) -> bool {
    let deferred = arm.metrics.get(&Metric::CpuDeferred);
    deferred.is_some_and(|of| of.arm.is_some() && of.baseline.is_some())
}

/// Whether one run's figure holds it and the other's does not, so that they differ in that, too.
pub(super) fn is_in_one(metric: Metric, arms: [&ArmAnalysis; 2]) -> bool {
    let [a, b] = arms.map(is_held);
    HELD_BY.contains(&metric) && a != b
}
