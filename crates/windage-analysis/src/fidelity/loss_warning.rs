//! The warning about an arm that lost telemetry.

use windage_model::{Expected, LossCause, Warning};

use super::chance::by_chance;
use super::{Fidelity, FidelityUnit, KindCounts, LossReason, MeasuredLoss};

/// A smaller share changes no measured cost: it is shown, without a warning.
const LOSS_THAT_MATTERS: f64 = 0.001;

/// Smaller differences from what is expected come from requests in progress at the end.
const MISMATCH_THAT_MATTERS: f64 = 0.01;
/// Readiness checks, and scrapes for `drops`, send up to so many extra traces.
const STRAYS: f64 = 10.0;

/// The warning about an arm that lost telemetry whose cost was measured, unless its backend was
/// faulty on purpose.
pub(crate) fn warning(arm: &str, fidelity: &Fidelity) -> Option<Warning> {
    if fidelity.is_backend_faulty() {
        return None;
    }
    let matters = |of: &MeasuredLoss| of.is_above(LOSS_THAT_MATTERS);
    if fidelity.measured_loss().filter(matters).is_none() {
        // Readiness checks and scrapes may be logged; points they add none.
        let others = [
            ("log records", fidelity.records, STRAYS),
            ("points", fidelity.points, 0.0),
        ];
        let mut others = others.into_iter();
        return others
            .find_map(|(of, counts, strays)| lost_others(arm, fidelity, of, counts?, strays));
    }
    let (lost, expected) = fidelity.lost.zip(fidelity.expected)?;
    let counts = &fidelity.counts;
    let reasons = fidelity.by_reason.iter();
    let reasons = reasons.map(|l| format!("{:.0} {} ({})", l.lost, l.of.as_str(), l.reason));
    Some(Warning::TelemetryLost {
        arm: arm.to_owned(),
        of: fidelity.of.as_str().to_owned(),
        expected,
        delivered: fidelity.delivered,
        lost,
        reasons: (!fidelity.by_reason.is_empty()).then(|| reasons.collect()),
        reported_beyond_lost: fidelity.reported_beyond_lost,
        not_understood: counts.rejected.saturating_add(counts.malformed),
        largest: largest(fidelity),
    })
}

/// The same of log records and points, which no sampling leaves out.
fn lost_others(
    arm: &str,
    fidelity: &Fidelity,
    of: &str,
    counts: KindCounts,
    strays: f64,
) -> Option<Warning> {
    let (lost, expected) = counts.lost.zip(counts.expected)?;
    (lost > strays && lost > LOSS_THAT_MATTERS * expected).then(|| Warning::TelemetryLost {
        arm: arm.to_owned(),
        of: of.to_owned(),
        expected,
        delivered: counts.delivered,
        lost,
        reasons: None,
        reported_beyond_lost: None,
        not_understood: fidelity
            .counts
            .rejected
            .saturating_add(fidelity.counts.malformed),
        largest: LossCause::Unexplained,
    })
}

/// The warning about an arm that delivered other telemetry than the plan expects: then the plan or
/// the subject is wrong.
pub(crate) fn unexpected_telemetry(
    arm: &str,
    fidelity: &Fidelity,
    expected: Option<Expected>,
) -> Option<Warning> {
    let delivered = fidelity.delivered as f64;
    let scrapes = scrapes(fidelity);
    let more = fidelity.expected.filter(|expected| {
        let by_chance = by_chance(fidelity.sampling_sd.unwrap_or(0.0));
        let strays = STRAYS + scrapes * items_per_trace(fidelity);
        delivered - expected > by_chance.max(strays) + expected * MISMATCH_THAT_MATTERS
    });
    if let Some(expected) = more {
        return Some(Warning::UnexpectedTelemetry {
            arm: arm.to_owned(),
            of: fidelity.of.as_str().to_owned(),
            expected,
            delivered: fidelity.delivered,
        });
    }
    let (traces, spans) = expected.and_then(|e| e.traces_per_request.zip(e.spans_per_request))?;
    let counts = &fidelity.counts;
    let came = counts.spans as f64 / counts.root_spans as f64;
    let of_a_trace = spans / traces;
    let differs = (came / of_a_trace - 1.0).abs() > MISMATCH_THAT_MATTERS;
    // Where spans were lost, traces are incomplete.
    let is_whole = fidelity.beyond_sampling == Some(false) && came.is_finite();
    // A trace of a scrape has its own number of spans.
    let is_whole = is_whole && scrapes <= 0.0;
    (is_whole && of_a_trace.is_finite() && differs).then(|| Warning::UnexpectedSpans {
        arm: arm.to_owned(),
        expected_spans_per_trace: of_a_trace,
        spans_per_trace: came,
    })
}

/// Scrapes that an arm asks for: a service that traces every request traces them too.
fn scrapes(fidelity: &Fidelity) -> f64 {
    let protocols = fidelity.by_protocol.iter();
    let scraped = protocols.filter(|of| of.protocol == "prometheus");
    scraped.map(|of| of.export_requests as f64).sum()
}

/// What is counted of a trace: itself, or its spans.
fn items_per_trace(fidelity: &Fidelity) -> f64 {
    let counts = &fidelity.counts;
    match fidelity.of {
        FidelityUnit::Spans if counts.root_spans > 0 => {
            counts.spans as f64 / counts.root_spans as f64
        }
        FidelityUnit::Traces | FidelityUnit::Spans | FidelityUnit::Items => 1.0,
    }
}

/// Where the largest part went.
fn largest(fidelity: &Fidelity) -> LossCause {
    let parts = fidelity.by_reason.iter();
    let largest = parts.max_by(|a, b| a.lost.total_cmp(&b.lost));
    match largest.map(|loss| &loss.reason) {
        Some(LossReason::Reported(_)) => LossCause::Reported,
        Some(LossReason::Refused) => LossCause::Refused,
        Some(LossReason::Unexplained) | None => LossCause::Unexplained,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fidelity::{DeliveredCounts, InWindows, Loss};
    use windage_model::Backend;
    use windage_record::DeliveredByProtocol;

    /// A tenth of ten thousand traces was lost.
    fn lossy() -> Fidelity {
        Fidelity {
            of: FidelityUnit::Traces,
            expected: Some(10_000.0),
            sampling_sd: Some(0.0),
            delivered: 9_000,
            lost: Some(1_000.0),
            beyond_sampling: Some(true),
            ..Fidelity::default()
        }
    }

    fn loss(reason: LossReason, lost: f64) -> Loss {
        let of = FidelityUnit::Spans;
        Loss { reason, lost, of }
    }

    #[test]
    fn unexpected_telemetry_is_a_warning() {
        let expected = |traces, spans| Expected {
            traces_per_request: traces,
            spans_per_request: spans,
            ..Expected::default()
        };
        let one_of_four = expected(Some(1.0), Some(4.0));
        let doubled = Warning::UnexpectedSpans {
            arm: "otel".to_owned(),
            expected_spans_per_trace: 4.0,
            spans_per_trace: 8.0,
        };
        let tenfold = Warning::UnexpectedTelemetry {
            arm: "otel".to_owned(),
            of: "traces".to_owned(),
            expected: 1_000.0,
            delivered: 10_000,
        };
        // expected, traces expected, traces and spans delivered, the warning
        let table: [(Expected, f64, u64, u64, Option<Warning>); 7] = [
            (one_of_four, 10_000.0, 10_000, 40_000, None),
            (one_of_four, 10_000.0, 10_050, 40_200, None),
            (one_of_four, 10_000.0, 10_000, 80_000, Some(doubled)),
            (one_of_four, 1_000.0, 10_000, 40_000, Some(tenfold)),
            // One readiness check and one scrape.
            (one_of_four, 100.0, 103, 412, None),
            (expected(Some(1.0), None), 10_000.0, 10_000, 80_000, None),
            (expected(Some(0.0), Some(0.0)), 0.0, 0, 0, None),
        ];
        for (of, traces, delivered, spans, expected) in table {
            let fidelity = Fidelity {
                expected: Some(traces),
                delivered,
                lost: Some(traces - delivered as f64),
                beyond_sampling: Some(false),
                counts: DeliveredCounts {
                    spans,
                    root_spans: delivered,
                    ..DeliveredCounts::default()
                },
                ..lossy()
            };
            let found = unexpected_telemetry("otel", &fidelity, Some(of));
            assert_eq!(found, expected, "{delivered} {spans}");
        }
    }

    #[test]
    fn traces_of_scrapes_are_no_surprise() {
        let fidelity = |scrapes| Fidelity {
            expected: Some(1_000.0),
            delivered: 1_200,
            lost: Some(-200.0),
            beyond_sampling: Some(false),
            by_protocol: vec![DeliveredByProtocol {
                protocol: "prometheus".to_owned(),
                export_requests: scrapes,
                ..DeliveredByProtocol::default()
            }],
            ..lossy()
        };
        let is_warned = |of: &Fidelity| unexpected_telemetry("otel", of, None).is_some();
        assert!(is_warned(&fidelity(50)) && !is_warned(&fidelity(200)));
        let of_spans = |scrapes| Fidelity {
            of: FidelityUnit::Spans,
            counts: DeliveredCounts {
                spans: 1_200,
                root_spans: 300,
                ..DeliveredCounts::default()
            },
            ..fidelity(scrapes)
        };
        assert!(is_warned(&of_spans(20)) && !is_warned(&of_spans(50)));
        let both = Expected {
            traces_per_request: Some(1.0),
            spans_per_request: Some(6.0),
            ..Expected::default()
        };
        let is_warned = |scrapes| unexpected_telemetry("otel", &of_spans(scrapes), Some(both));
        assert_eq!(is_warned(50), None, "scrapes have fewer spans");
    }

    #[test]
    fn lost_log_records_are_a_warning() {
        let lost = |lost: f64| Fidelity {
            expected: None,
            beyond_sampling: None,
            records: Some(KindCounts {
                expected: Some(20_000.0),
                delivered: 20_000,
                lost: Some(lost),
            }),
            ..lossy()
        };
        let is_warned = |of: &Fidelity| warning("otel", of).is_some();
        let mut of_points = lost(5.0);
        of_points.points = of_points.records.take().map(|of| KindCounts {
            expected: Some(10.0),
            ..of
        });
        let Some(Warning::TelemetryLost { of, .. }) = warning("otel", &of_points) else {
            panic!("no warning of points")
        };
        assert_eq!(of, "points");
        assert!(is_warned(&lost(30.0)));
        assert!(!is_warned(&lost(15.0)) && !is_warned(&lost(-30.0)));
        let faulty = Fidelity {
            backend: Backend::Stall { lasts: None },
            ..lost(30.0)
        };
        assert!(!is_warned(&faulty));
    }

    #[test]
    fn a_loss_is_reported_with_reasons() {
        let reported = |lost| loss(LossReason::Reported("queue full".to_owned()), lost);
        let unexplained = |lost| loss(LossReason::Unexplained, lost);
        let refused = |lost| loss(LossReason::Refused, lost);
        // the parts, the reasons, the cause of the largest
        let table: [(Vec<Loss>, &[&str], LossCause); 4] = [
            (vec![], &[], LossCause::Unexplained),
            (
                vec![reported(900.0), unexplained(100.0)],
                &["900 spans (queue full)", "100 spans (not explained)"],
                LossCause::Reported,
            ),
            (
                vec![reported(100.0), refused(900.0)],
                &[
                    "100 spans (queue full)",
                    "900 spans (refused by the backend)",
                ],
                LossCause::Refused,
            ),
            (
                vec![reported(100.0), unexplained(900.0)],
                &["100 spans (queue full)", "900 spans (not explained)"],
                LossCause::Unexplained,
            ),
        ];
        for (by_reason, expected, cause) in table {
            let fidelity = Fidelity {
                by_reason,
                ..lossy()
            };
            let Some(Warning::TelemetryLost {
                reasons, largest, ..
            }) = warning("otel", &fidelity)
            else {
                panic!("no warning: {fidelity:?}");
            };
            assert_eq!(reasons.unwrap_or_default(), expected);
            assert_eq!(largest, cause, "{expected:?}");
        }
    }

    #[test]
    fn unreadable_requests_and_drops_without_a_loss_are_reported() {
        let fidelity = Fidelity {
            by_reason: vec![loss(LossReason::Reported("gave up".to_owned()), 1500.0)],
            reported_beyond_lost: Some(500.0),
            counts: DeliveredCounts {
                rejected: 3,
                malformed: 4,
                ..DeliveredCounts::default()
            },
            ..lossy()
        };
        let expected = Warning::TelemetryLost {
            arm: "otel".to_owned(),
            of: "traces".to_owned(),
            expected: 10_000.0,
            delivered: 9_000,
            lost: 1_000.0,
            reasons: Some(vec!["1500 spans (gave up)".to_owned()]),
            reported_beyond_lost: Some(500.0),
            not_understood: 7,
            largest: LossCause::Reported,
        };
        assert_eq!(warning("otel", &fidelity), Some(expected));
    }

    #[test]
    fn intended_and_negligible_losses_are_no_warning() {
        let ill = Fidelity {
            backend: Backend::Stall { lasts: None },
            ..lossy()
        };
        let little = Fidelity {
            lost: Some(9.0),
            ..lossy()
        };
        let by_chance = Fidelity {
            sampling_sd: Some(400.0),
            ..lossy()
        };
        let in_the_warmup = Fidelity {
            in_windows: Some(InWindows {
                expected: Some(4_000.0),
                delivered: 4_000,
                lost: Some(0.0),
                ..InWindows::default()
            }),
            ..lossy()
        };
        for fidelity in [ill, little, by_chance, in_the_warmup, Fidelity::default()] {
            assert_eq!(warning("otel", &fidelity), None, "{fidelity:?}");
        }
    }
}
