//! Expected and delivered telemetry of one arm, from its launches.

use windage_model::{ArmIndex, Expected};
use windage_record::Delivered;

use super::chance::{by_chance, sampling_sd};
use super::{
    DeliveredCounts, Fidelity, FidelityOfLaunch, FidelityUnit, KindCounts, arrival, reasons,
};
use crate::records::Records;

/// Sums an arm's launches; `None` when nothing was received or expected.
pub(crate) fn of_arm(records: &Records, arm: ArmIndex) -> Option<Fidelity> {
    let facts = &records.manifest.arms[arm.get()];
    let expected = facts.expected.unwrap_or_default();
    let launches = || records.delivered.iter().filter(move |d| d.arm == arm);
    launches().next()?;
    let mut fidelity = sum(expected, launches());
    fidelity.points = points(records, arm, &fidelity.counts);
    if fidelity.counts.export_requests == 0
        && fidelity.counts.metric_points == 0
        && fidelity.counts.spans == 0
        && fidelity.expected.is_none()
        && fidelity.events.is_none()
        && fidelity.records.is_none()
        && fidelity.points.is_none()
    {
        return None;
    }
    fidelity.backend = facts.backend;
    let each = launches().map(|launch| sum(expected, std::iter::once(launch)));
    fidelity.launches = each.filter_map(of_launch).collect();
    let (of, per_request) = asked(expected);
    fidelity.in_windows = records.in_windows.of_arm(arm, of, per_request);
    reasons::explain(&mut fidelity, expected, launches());
    fidelity.traces = arrival::traces(launches());
    fidelity.export_delay = arrival::export_delay(launches());
    fidelity.by_protocol = arrival::by_protocol(launches());
    (fidelity.by_source, fidelity.sources_left_out) = arrival::by_source(launches());
    Some(fidelity)
}

/// Points come by time, whatever is requested; `None` when the plan expects none. What came beyond the
/// least in one launch makes up for no loss in another.
fn points(records: &Records, arm: ArmIndex, counts: &DeliveredCounts) -> Option<KindCounts> {
    let (mut expected, mut lost) = (0.0, 0.0);
    for of in records.delivered.iter().filter(|d| d.arm == arm) {
        let least = expected_points(records, of)?;
        expected += least;
        lost += (least - of.metric_points as f64).max(0.0);
    }
    Some(KindCounts {
        expected: Some(expected),
        delivered: counts.metric_points,
        lost: Some(lost),
    })
}

/// The points that a launch should have brought at least; `None` when the plan expects none.
pub(super) fn expected_points(records: &Records, of: &Delivered) -> Option<f64> {
    let points = records.manifest.arms[of.arm.get()].expected?.points?;
    let lasted = records.launch_times.lasted(of.launch);
    Some(points.at_least_in(lasted.unwrap_or_default()))
}

/// `None` when nothing is expected.
fn of_launch(launch: Fidelity) -> Option<FidelityOfLaunch> {
    Some(FidelityOfLaunch {
        expected: launch.expected?,
        delivered: launch.delivered,
    })
}

/// The unit, and how much of it a request should send.
fn asked(expected: Expected) -> (FidelityUnit, Option<f64>) {
    match (expected.traces_per_request, expected.spans_per_request) {
        (Some(traces), _) => (FidelityUnit::Traces, Some(traces)),
        (None, spans) => (FidelityUnit::Spans, spans),
    }
}

/// The counts alone, without reasons for losses.
pub(super) fn sum<'a>(
    expected: Expected,
    launches: impl Iterator<Item = &'a Delivered>,
) -> Fidelity {
    let mut counts = DeliveredCounts::default();
    let (mut sampled_traces, mut their_spans) = (0_u64, 0_u64);
    for launch in launches {
        counts.add(launch);
        let sample = launch.traces.unwrap_or_default();
        sampled_traces = sampled_traces.saturating_add(sample.traces);
        their_spans = their_spans.saturating_add(sample.spans);
    }
    let (of, per_request) = asked(expected);
    let requests = counts.completed_requests as f64;
    let events = of_kind(expected.events_per_request, requests, counts.span_events);
    let records = of_kind(expected.records_per_request, requests, counts.log_records);
    let delivered = match of {
        FidelityUnit::Traces => counts.root_spans,
        FidelityUnit::Spans | FidelityUnit::Items => counts.spans,
    };
    // An external rate may be so large that the product overflows.
    let expected = per_request
        .map(|rate| rate * requests)
        .filter(|expected| expected.is_finite());
    // A sampled request sends a trace; all spans of a trace are sampled together.
    let per_sampled = match of {
        FidelityUnit::Spans if sampled_traces > 0 => {
            (their_spans as f64 / sampled_traces as f64).max(1.0)
        }
        FidelityUnit::Traces | FidelityUnit::Spans | FidelityUnit::Items => 1.0,
    };
    // Each request is sampled with the same probability; only a share below one has variance.
    let sampling_sd = expected.zip(per_request).map(|(_, rate)| {
        if rate > 0.0 && rate < 1.0 {
            sampling_sd(requests, rate, per_sampled)
        } else {
            0.0
        }
    });
    let lost = expected.map(|expected| expected - delivered as f64);
    Fidelity {
        of,
        expected,
        sampling_sd,
        delivered,
        lost,
        events,
        records,
        beyond_sampling: lost.zip(sampling_sd).map(|(lost, sd)| lost > by_chance(sd)),
        bytes_per_span: per_span(counts.body_bytes, counts.spans),
        wire_bytes_per_span: per_span(counts.wire_bytes, counts.spans),
        counts,
        ..Fidelity::default()
    }
}

/// `None` when nothing of the kind arrived or was expected.
fn of_kind(per_request: Option<f64>, requests: f64, delivered: u64) -> Option<KindCounts> {
    let expected = per_request
        .map(|rate| rate * requests)
        .filter(|expected| expected.is_finite());
    (expected.is_some() || delivered > 0).then(|| KindCounts {
        expected,
        delivered,
        lost: expected.map(|expected| expected - delivered as f64),
    })
}

fn per_span(bytes: u64, spans: u64) -> Option<f64> {
    (spans > 0).then(|| bytes as f64 / spans as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    use crate::fixture;
    use windage_model::PointsPerInterval;
    use windage_record::TraceSample;

    fn fidelity(expected: Expected, delivered: &[Delivered]) -> Option<Fidelity> {
        let mut run = fixture::records(1);
        run.manifest.arms[2].expected = Some(expected);
        run.delivered = delivered.to_vec();
        of_arm(&run.gathered(), ArmIndex(2))
    }

    #[test]
    fn losses_are_distinguished_from_sampling() {
        // expected share, delivered roots of 10,000 requests, whether that is a loss
        let table = [
            (1.0, 10_000, Some(false)),
            (1.0, 9_999, Some(true)),
            (0.1, 1_000, Some(false)),
            (0.1, 920, Some(false)),
            (0.1, 900, Some(true)),
            (0.0, 0, Some(false)),
            // More than expected is not a loss.
            (0.1, 1_200, Some(false)),
        ];
        for (share, roots, beyond) in table {
            let expected = Expected {
                traces_per_request: Some(share),
                ..Expected::default()
            };
            let delivered = [fixture::delivered(0, 2, 10_000, roots)];
            let found = fidelity(expected, &delivered).unwrap();
            assert_eq!(found.beyond_sampling, beyond, "{share} {roots}");
        }
    }

    #[test]
    fn spans_of_one_trace_are_sampled_together() {
        let expected = Expected {
            spans_per_request: Some(0.4),
            ..Expected::default()
        };
        let mut delivered = fixture::delivered(0, 2, 10_000, 1_000);
        for (spans_per_trace, sd) in [(None, 48.99), (Some(4), 120.0)] {
            delivered.traces = spans_per_trace.map(|spans| TraceSample {
                one_in: 10,
                traces: 100,
                complete: 100,
                spans: 100 * spans,
                duplicates: 0,
            });
            let found = fidelity(expected, &[delivered.clone()]).unwrap();
            let of = found.sampling_sd.unwrap();
            assert!((of - sd).abs() < 0.01, "{spans_per_trace:?}: {of}");
        }
    }

    #[test]
    fn without_expectation_it_counts() {
        let delivered = [
            fixture::delivered(0, 2, 100, 50),
            fixture::delivered(1, 2, 100, 50),
        ];
        let found = fidelity(Expected::default(), &delivered).unwrap();
        assert_eq!(
            (found.expected, found.lost, found.delivered),
            (None, None, 100)
        );
        assert_eq!(
            (found.counts.spans, found.counts.completed_requests),
            (100, 200)
        );
        let of_another = [fixture::delivered(0, 1, 100, 50)];
        assert_eq!(fidelity(Expected::default(), &of_another), None);
        let nothing = [Delivered {
            export_requests: 0,
            ..fixture::delivered(0, 2, 100, 0)
        }];
        assert_eq!(fidelity(Expected::default(), &nothing), None);
    }

    #[test]
    fn events_and_records_are_compared_with_what_is_expected() {
        // expected per request, delivered of 100 requests; expected, lost
        let table = [
            (Some(22.0), 2_200, Some((Some(2_200.0), Some(0.0)))),
            (Some(22.0), 1_100, Some((Some(2_200.0), Some(1_100.0)))),
            (None, 7, Some((None, None))),
            (None, 0, None),
        ];
        for (per_request, arrived, found) in table {
            let expected = Expected {
                events_per_request: per_request,
                records_per_request: per_request,
                ..Expected::default()
            };
            let delivered = [Delivered {
                span_events: arrived,
                log_records: arrived,
                ..fixture::delivered(0, 2, 100, 100)
            }];
            let fidelity = fidelity(expected, &delivered).unwrap();
            for of_kind in [fidelity.events, fidelity.records] {
                let of_kind = of_kind.map(|of| (of.expected, of.lost));
                assert_eq!(of_kind, found, "{per_request:?} {arrived}");
            }
            assert_eq!(fidelity.of, FidelityUnit::Spans, "the unit stays spans");
        }
    }

    #[test]
    fn points_are_those_of_whole_intervals_at_least() {
        let mut run = fixture::in_turns::records_with_turns(3, 1);
        run.windows.clear();
        run.manifest.arms[2].expected = Some(Expected {
            points: Some(PointsPerInterval {
                points: 12.0,
                interval: Duration::from_secs(1),
            }),
            ..Expected::default()
        });
        let points = |run: &fixture::Recorded| {
            let of = of_arm(&run.gathered(), ArmIndex(2)).unwrap().points;
            let of = of.unwrap();
            (of.expected.unwrap(), of.delivered, of.lost.unwrap())
        };
        let arrive = |run: &mut fixture::Recorded, points: [u64; 3]| {
            for of in &mut run.delivered {
                of.metric_points = points[of.launch as usize];
            }
        };
        // Six blocks of a second and a drain of two; a twentieth of that is taken off.
        let least = 3.0 * 7.0 * 12.0;
        arrive(&mut run, [0; 3]);
        assert_eq!(points(&run), (least, 0, least));
        arrive(&mut run, [1_000; 3]);
        assert_eq!(points(&run), (least, 3_000, 0.0), "a surplus");
        arrive(&mut run, [1_000, 12, 1_000]);
        let (_, _, lost) = points(&run);
        assert!(
            lost > 0.0 && lost < least / 2.0,
            "a surplus hides no loss: {lost}"
        );
        let control = of_arm(&run.gathered(), ArmIndex(1));
        assert!(
            control.is_none_or(|of| of.points.is_none()),
            "it expects none"
        );
        // A launch of which only its start is known holds no interval.
        run.turns.clear();
        assert_eq!(points(&run).0, 0.0);
    }

    #[test]
    fn extreme_counts_give_figures_or_none() {
        let all = Delivered {
            completed_requests: u64::MAX,
            spans: u64::MAX,
            root_spans: u64::MAX,
            wire_bytes: u64::MAX,
            refused_spans: u64::MAX,
            ..fixture::delivered(0, 2, 0, 0)
        };
        // What the plan expects per request; whether a comparison is possible.
        for (per_request, is_finite) in [(0.0, true), (1e-300, true), (1e300, false)] {
            let expected = Expected {
                traces_per_request: Some(per_request),
                ..Expected::default()
            };
            let found = fidelity(expected, &[all.clone(), all.clone()]).unwrap();
            assert_eq!(found.expected.is_some(), is_finite, "{per_request}");
            assert_eq!(found.beyond_sampling, is_finite.then_some(false));
            assert_eq!(
                (found.delivered, found.wire_bytes_per_span),
                (u64::MAX, Some(1.0))
            );
            assert!(found.by_reason.iter().all(|loss| loss.lost.is_finite()));
        }
    }
}
