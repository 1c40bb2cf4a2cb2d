//! The lost share of telemetry as a metric.

use std::collections::BTreeMap;

use windage_model::ArmIndex;

use super::FidelityOfLaunch;
use super::of_arm;
use crate::compare::{Comparison, Counts, Scale, by_launch};
use crate::run::Run;

/// Expected and delivered telemetry by launch.
type OfLaunches = BTreeMap<u32, FidelityOfLaunch>;

/// The share of what the plan expects of an arm that did not arrive, by launch; `None` for an arm
/// without an expectation. A baseline without one loses nothing.
///
/// What sampling leaves out by chance is part of each launch's share, in either direction.
pub(crate) fn lost(run: &Run<'_>, arm: ArmIndex) -> Option<Comparison> {
    let of_arm = launches(run, arm)?;
    let of_baseline = launches(run, ArmIndex::BASELINE);
    let baseline = match &of_baseline {
        Some(launches) => shares(launches),
        None => of_arm.keys().map(|launch| (*launch, 0.0)).collect(),
    };
    let windows = run.usable_windows(arm);
    Some(Comparison {
        counts: Some(Counts {
            arm: counted(&of_arm),
            baseline: of_baseline.as_ref().map(counted),
        }),
        ..by_launch(&shares(&of_arm), &baseline, Scale::Difference, windows)
    })
}

/// `None` when nothing is expected.
fn launches(run: &Run<'_>, arm: ArmIndex) -> Option<OfLaunches> {
    let expected = run.records.manifest.arms[arm.get()].expected?;
    let delivered = run.records.delivered.iter().filter(|of| of.arm == arm);
    let each = delivered.filter_map(|of| {
        let sum = of_arm::sum(expected, std::iter::once(of));
        Some((of.launch, of_arm::of_launch(sum)?))
    });
    let each: OfLaunches = each.collect();
    (!each.is_empty()).then_some(each)
}

fn shares(launches: &OfLaunches) -> BTreeMap<u32, f64> {
    let asked = launches.iter().filter(|(_, of)| of.expected > 0.0);
    let share = |of: &FidelityOfLaunch| 1.0 - of.delivered as f64 / of.expected;
    asked.map(|(launch, of)| (*launch, share(of))).collect()
}

/// How much was lost in all launches, and out of how much.
fn counted(launches: &OfLaunches) -> [u64; 2] {
    let expected: f64 = launches.values().map(|of| of.expected).sum();
    let delivered = launches.values().map(|of| of.delivered);
    let delivered = delivered.fold(0, u64::saturating_add);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a count of telemetry"
    )]
    let expected = expected.round() as u64;
    [expected.saturating_sub(delivered), expected]
}

#[cfg(test)]
mod tests {
    use windage_model::{Interval, Metric};
    use windage_record::{Delivered, Expected};

    use crate::{analyse, fixture};

    const ARM: usize = 2;

    /// The lost share of launches of which each expects a span for each of 1,000 requests.
    fn lost(delivered: &[u64]) -> Option<Interval> {
        let mut run = fixture::records(u32::try_from(delivered.len()).unwrap());
        run.manifest.arms[ARM].expected = Some(Expected {
            spans_per_request: Some(1.0),
            ..Expected::default()
        });
        let of_launch = |(launch, &spans): (u32, &u64)| Delivered {
            launch,
            arm: run.manifest.arms[ARM].index,
            completed_requests: 1_000,
            spans,
            ..Delivered::default()
        };
        run.delivered = (0..).zip(delivered).map(of_launch).collect();
        let analysis = analyse(&run.gathered(), std::iter::empty(), std::iter::empty());
        let found = analysis.arms[ARM].metrics.get(&Metric::TelemetryLost)?;
        Some(found.difference.as_ref().ok()?.absolute)
    }

    #[test]
    fn the_share_is_the_mean_over_launches() {
        let found = lost(&[900, 910, 890, 900]).unwrap();
        assert!((found.estimate - 0.1).abs() < 1e-12, "{found:?}");
        assert!(found.low < 0.09 && found.high > 0.11, "{found:?}");
    }

    /// Three in 4,000 could be lost when none was (the rule of three).
    #[test]
    fn nothing_lost_is_not_known_exactly() {
        let found = lost(&[1_000; 4]).unwrap();
        assert_eq!(found.estimate, 0.0);
        assert!((7e-4..1e-3).contains(&found.high), "{found:?}");
        let more = lost(&[1_000, 1_000, 1_000, 1_002]).unwrap();
        assert!(more.estimate < 0.0 && more.high > 5e-4, "{more:?}");
    }
}
