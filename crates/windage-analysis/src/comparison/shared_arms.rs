//! Arms that two runs have in common.

use windage_model::Metric;

use super::same_arm;
use crate::{Analysis, ArmAnalysis};

/// Arms that both runs have, in pairs.
pub(super) fn shared_arms<'a>(
    of: &'a Analysis,
    other: &'a Analysis,
) -> impl Iterator<Item = (&'a ArmAnalysis, &'a ArmAnalysis)> {
    let arms = of.arms.iter();
    arms.filter_map(|arm| Some((arm, same_arm(other, arm)?)))
}

/// Whether an arm's overhead is known in both runs.
pub(super) fn is_in_both(metric: Metric, a: &ArmAnalysis, b: &ArmAnalysis) -> bool {
    [a, b].into_iter().all(|arm| {
        let of = arm.metrics.get(&metric);
        of.is_some_and(|of| of.difference.is_ok())
    })
}
