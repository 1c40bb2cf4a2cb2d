//! The lost share of telemetry as a metric.

use std::collections::BTreeMap;

use windage_model::{ArmIndex, Expected};
use windage_record::Delivered;

use super::FidelityOfLaunch;
use super::of_arm::expected_points;
use crate::compare::{Comparison, Counts, Scale, by_launch};
use crate::records::Records;
use crate::run::Run;

/// Expected and delivered telemetry by launch.
type OfLaunches = BTreeMap<u32, FidelityOfLaunch>;

/// What a plan can expect of a launch, and what arrived of it.
type Kind = (
    fn(&Records, &Delivered) -> Option<f64>,
    fn(&Delivered, f64) -> u64,
);

const KINDS: [Kind; 5] = [
    (
        |records, of| by_request(records, of, |e| e.traces_per_request),
        |of, _| of.root_spans,
    ),
    (
        |records, of| by_request(records, of, |e| e.spans_per_request),
        |of, _| of.spans,
    ),
    (
        |records, of| by_request(records, of, |e| e.events_per_request),
        |of, _| of.span_events,
    ),
    (
        |records, of| by_request(records, of, |e| e.records_per_request),
        |of, _| of.log_records,
    ),
    // At least so many points: more are no gain.
    (expected_points, |of, least| {
        of.metric_points.min(least as u64)
    }),
];

fn by_request(
    records: &Records,
    of: &Delivered,
    per_request: fn(Expected) -> Option<f64>,
) -> Option<f64> {
    let expected = records.manifest.arms[of.arm.get()].expected?;
    Some(per_request(expected)? * of.completed_requests as f64)
}

/// The share of what the plan expects of an arm that did not arrive, by launch: of traces, spans,
/// events, log records or points, whichever lost most. `None` for an arm of which nothing is expected. A baseline without
/// an expectation loses nothing.
///
/// What sampling leaves out by chance is part of each launch's share, in either direction.
pub(crate) fn lost(run: &Run<'_>, arm: ArmIndex) -> Option<Comparison> {
    let of_kind = |kind| Some((kind, launches(run, arm, kind)?));
    let share = |(_, launches): &(Kind, OfLaunches)| {
        let (expected, delivered) = sum(launches);
        1.0 - delivered as f64 / expected
    };
    let kinds = KINDS.into_iter().filter_map(of_kind);
    let (kind, of_arm) = kinds.max_by(|a, b| share(a).total_cmp(&share(b)))?;
    let of_baseline = launches(run, ArmIndex::BASELINE, kind);
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

/// `None` when nothing of this kind is expected.
fn launches(run: &Run<'_>, arm: ArmIndex, (expected, arrived): Kind) -> Option<OfLaunches> {
    let delivered = run.records.delivered.iter().filter(|of| of.arm == arm);
    let each = delivered.filter_map(|of| {
        let expected = expected(run.records, of)?;
        let delivered = arrived(of, expected);
        (expected.is_finite() && expected > 0.0).then_some((
            of.launch,
            FidelityOfLaunch {
                expected,
                delivered,
            },
        ))
    });
    let each: OfLaunches = each.collect();
    (!each.is_empty()).then_some(each)
}

fn shares(launches: &OfLaunches) -> BTreeMap<u32, f64> {
    let asked = launches.iter().filter(|(_, of)| of.expected > 0.0);
    let share = |of: &FidelityOfLaunch| 1.0 - of.delivered as f64 / of.expected;
    asked.map(|(launch, of)| (*launch, share(of))).collect()
}

fn sum(launches: &OfLaunches) -> (f64, u64) {
    let expected = launches.values().map(|of| of.expected).sum();
    let delivered = launches.values().map(|of| of.delivered);
    (expected, delivered.fold(0, u64::saturating_add))
}

/// How much was lost in all launches, and out of how much.
fn counted(launches: &OfLaunches) -> [u64; 2] {
    let (expected, delivered) = sum(launches);
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
    use std::time::Duration;

    use windage_model::{Expected, Interval, Metric, PointsPerInterval};
    use windage_record::Delivered;

    use crate::{analyse, fixture};

    const ARM: usize = 2;

    /// The lost share of launches of which each expects a span for each of 1,000 requests.
    fn lost(delivered: &[u64]) -> Option<Interval> {
        let expected = Expected {
            spans_per_request: Some(1.0),
            ..Expected::default()
        };
        let spans = |spans: &u64| Delivered {
            spans: *spans,
            ..Delivered::default()
        };
        lost_of(expected, &delivered.iter().map(spans).collect::<Vec<_>>())
    }

    fn lost_of(expected: Expected, delivered: &[Delivered]) -> Option<Interval> {
        let mut run = fixture::records(u32::try_from(delivered.len()).unwrap());
        run.manifest.arms[ARM].expected = Some(expected);
        let of_launch = |(launch, of): (u32, &Delivered)| Delivered {
            launch,
            arm: run.manifest.arms[ARM].index,
            completed_requests: 1_000,
            ..of.clone()
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

    #[test]
    fn what_lost_most_counts() {
        let all = Expected {
            traces_per_request: Some(1.0),
            spans_per_request: Some(4.0),
            events_per_request: Some(2.0),
            records_per_request: Some(3.0),
            points: None,
        };
        let of = |root_spans, spans, span_events, log_records| {
            let each = Delivered {
                root_spans,
                spans,
                span_events,
                log_records,
                ..Delivered::default()
            };
            lost_of(all, &vec![each; 4]).unwrap().estimate
        };
        assert_eq!(of(1_000, 4_000, 2_000, 3_000), 0.0);
        assert_eq!(of(1_000, 3_000, 2_000, 3_000), 0.25, "child spans");
        assert_eq!(of(1_000, 4_000, 1_000, 3_000), 0.5, "events");
        assert_eq!(of(1_000, 4_000, 2_000, 2_250), 0.25, "log records");
        assert_eq!(
            of(750, 4_400, 2_000, 3_000),
            0.25,
            "a surplus of another kind hides nothing"
        );
    }

    #[test]
    fn points_are_lost_by_time() {
        let expected = Expected {
            points: Some(PointsPerInterval {
                points: 4.0,
                interval: Duration::from_millis(1),
            }),
            ..Expected::default()
        };
        let of = |metric_points| Delivered {
            metric_points,
            ..Delivered::default()
        };
        let none = lost_of(expected, &vec![of(0); 4]).unwrap();
        assert_eq!(none.estimate, 1.0);
        let all = lost_of(expected, &vec![of(1_000_000); 4]).unwrap();
        assert_eq!(all.estimate, 0.0, "more are no gain: {all:?}");
        let half = lost_of(expected, &[of(0), of(1_000_000), of(0), of(1_000_000)]).unwrap();
        assert!((half.estimate - 0.5).abs() < 1e-9, "{half:?}");
    }

    #[test]
    fn without_an_expectation_there_is_nothing_to_lose() {
        let none = Expected {
            traces_per_request: Some(0.0),
            ..Expected::default()
        };
        assert_eq!(
            lost_of(none, &[Delivered::default(), Delivered::default()]),
            None
        );
    }
}
