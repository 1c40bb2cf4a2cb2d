//! The warning about an arm that lost telemetry.

use windage_model::{Warning, WarningCode};
use windage_record::Expected;

use super::of_arm::by_chance;
use super::{Fidelity, LossReason};

/// A smaller share changes no measured cost: it is shown, without a warning.
const LOSS_THAT_MATTERS: f64 = 0.001;

/// Smaller differences from what is expected come from requests in progress at the end.
const MISMATCH_THAT_MATTERS: f64 = 0.01;
/// Readiness checks and scrapes alone send up to so many extra traces.
const STRAYS: f64 = 10.0;

/// The warning about an arm that lost telemetry whose cost was measured, unless its backend was
/// faulty on purpose.
pub(crate) fn warning(arm: &str, fidelity: &Fidelity) -> Option<Warning> {
    let measured = fidelity.measured_loss()?;
    if !measured.is_above(LOSS_THAT_MATTERS) || fidelity.is_backend_faulty() {
        return None;
    }
    let (lost, expected) = fidelity.lost.zip(fidelity.expected)?;
    let text = format!(
        "{arm} delivered {} of {expected:.0} expected {}: {:.2} % were lost, so its cost is that \
         of less telemetry than intended.{}{} {}",
        fidelity.delivered,
        fidelity.of.as_str(),
        100.0 * lost / expected,
        what_became_of_it(fidelity),
        not_understood(fidelity),
        remedy(fidelity),
    );
    let warning = Warning::new(WarningCode::TelemetryLost, text)
        .with("expected", expected)
        .with("delivered", fidelity.delivered as f64)
        .with("lost", lost);
    let reasons = reasons(fidelity);
    Some(if reasons.is_empty() {
        warning
    } else {
        warning.with("reasons", reasons)
    })
}

/// The warning about an arm that delivered other telemetry than the plan expects: then the plan or
/// the subject is wrong.
pub(crate) fn unexpected_telemetry(
    arm: &str,
    fidelity: &Fidelity,
    expected: Option<Expected>,
) -> Option<Warning> {
    let unit = fidelity.of.as_str();
    let delivered = fidelity.delivered as f64;
    let more = fidelity.expected.filter(|expected| {
        let by_chance = by_chance(fidelity.sampling_sd.unwrap_or(0.0));
        delivered - expected > by_chance.max(STRAYS) + expected * MISMATCH_THAT_MATTERS
    });
    if let Some(expected) = more {
        let text = format!(
            "{arm} delivered {delivered:.0} {unit}, but {expected:.0} were expected: check its \
             sampler and the plan's `expect`."
        );
        let warning = Warning::new(WarningCode::UnexpectedTelemetry, text);
        return Some(
            warning
                .with("expected", expected)
                .with("delivered", delivered),
        );
    }
    let (traces, spans) = expected.and_then(|e| e.traces_per_request.zip(e.spans_per_request))?;
    let counts = &fidelity.counts;
    let came = counts.spans as f64 / counts.root_spans as f64;
    let of_a_trace = spans / traces;
    let differs = (came / of_a_trace - 1.0).abs() > MISMATCH_THAT_MATTERS;
    // Where spans were lost, traces are incomplete.
    let is_whole = fidelity.beyond_sampling == Some(false) && came.is_finite();
    (is_whole && of_a_trace.is_finite() && differs).then(|| {
        let text = format!(
            "{arm} delivered {came:.2} spans per trace, but {of_a_trace:.2} were expected: check \
             its instrumentation and the plan's `expect`."
        );
        Warning::new(WarningCode::UnexpectedTelemetry, text)
            .with("spans_per_trace", came)
            .with("expected_spans_per_trace", of_a_trace)
    })
}

fn what_became_of_it(fidelity: &Fidelity) -> String {
    let beyond = fidelity.reported_beyond_lost.map_or(String::new(), |beyond| {
        format!(
            " That is {beyond:.0} more than were lost: some were counted twice or arrived later."
        )
    });
    match reasons(fidelity) {
        none if none.is_empty() => none,
        reasons => format!(" Of that: {reasons}.{beyond}"),
    }
}

/// Each reason with its number.
fn reasons(fidelity: &Fidelity) -> String {
    let parts = fidelity.by_reason.iter();
    let parts = parts.map(|l| format!("{:.0} {} ({})", l.lost, l.of.as_str(), l.reason));
    parts.collect::<Vec<_>>().join(", ")
}

fn not_understood(fidelity: &Fidelity) -> String {
    let counts = &fidelity.counts;
    match counts.rejected.saturating_add(counts.malformed) {
        0 => String::new(),
        requests => format!(
            " {requests} export requests were rejected or malformed: check the exporter's address, \
             its protocol and its batch size."
        ),
    }
}

/// Advice about the largest part.
fn remedy(fidelity: &Fidelity) -> &'static str {
    let parts = fidelity.by_reason.iter();
    let greatest = parts.max_by(|a, b| a.lost.total_cmp(&b.lost));
    match greatest.map(|loss| &loss.reason) {
        Some(LossReason::Reported(_)) => {
            "Give the exporter a longer queue or larger batches, or sample less."
        }
        Some(LossReason::Refused) => {
            "The exporter did not retry what was refused: check its retries."
        }
        Some(LossReason::Unexplained) | None => {
            "Check queue sizes, the receiver, and whether the service flushes when it is stopped; \
             with `drops` of a `[[service]]` Windage reads the service's own reports."
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fidelity::{DeliveredCounts, FidelityUnit, InWindows, Loss};
    use windage_model::Backend;

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
            events_per_request: None,
        };
        let one_of_four = expected(Some(1.0), Some(4.0));
        // expected, traces expected, traces and spans delivered, warning text
        let table: [(Expected, f64, u64, u64, Option<&str>); 7] = [
            (one_of_four, 10_000.0, 10_000, 40_000, None),
            (one_of_four, 10_000.0, 10_050, 40_200, None),
            (
                one_of_four,
                10_000.0,
                10_000,
                80_000,
                Some("8.00 spans per trace"),
            ),
            (
                one_of_four,
                1_000.0,
                10_000,
                40_000,
                Some("1000 were expected"),
            ),
            // One readiness check and one scrape.
            (one_of_four, 100.0, 103, 412, None),
            (expected(Some(1.0), None), 10_000.0, 10_000, 80_000, None),
            (expected(Some(0.0), Some(0.0)), 0.0, 0, 0, None),
        ];
        for (of, traces, delivered, spans, said) in table {
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
            let warning = unexpected_telemetry("otel", &fidelity, Some(of));
            let text = warning.as_ref().map(|warning| warning.text.as_str());
            assert_eq!(
                text.is_some(),
                said.is_some(),
                "{delivered} {spans}: {text:?}"
            );
            assert!(text.unwrap_or("").contains(said.unwrap_or("")), "{text:?}");
        }
    }

    #[test]
    fn a_loss_is_reported_with_reasons_and_advice() {
        let reported = |lost| loss(LossReason::Reported("queue full".to_owned()), lost);
        let table: [(&str, Vec<Loss>, &[&str]); 4] = [
            (
                "no reason is known",
                vec![],
                &[
                    "9000 of 10000 expected traces: 10.00 % were lost",
                    "than intended. Check queue sizes",
                ],
            ),
            (
                "most was reported",
                vec![reported(900.0), loss(LossReason::Unexplained, 100.0)],
                &["Of that: 900 spans (queue full), 100 spans (not explained). Give the exporter"],
            ),
            (
                "most was refused",
                vec![reported(100.0), loss(LossReason::Refused, 900.0)],
                &["900 spans (refused by the backend). The exporter did not retry"],
            ),
            (
                "most is unknown",
                vec![reported(100.0), loss(LossReason::Unexplained, 900.0)],
                &[
                    "900 spans (not explained). Check queue sizes",
                    "`drops` of a `[[service]]`",
                ],
            ),
        ];
        for (what, by_reason, parts) in table {
            let fidelity = Fidelity {
                by_reason,
                ..lossy()
            };
            let text = warning("otel", &fidelity).unwrap().text;
            for part in parts {
                assert!(text.contains(part), "{what}: {part:?} not in {text}");
            }
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
        let text = warning("otel", &fidelity).unwrap().text;
        for part in [
            "1500 spans (gave up). That is 500 more than were lost",
            "7 export requests",
        ] {
            assert!(text.contains(part), "{part:?} not in {text}");
        }
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
