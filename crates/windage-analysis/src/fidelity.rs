//! Delivered against expected telemetry.

use windage_model::{ArmIndex, Doubt, DoubtCode};
use windage_record::{Delivered, Expected};

use crate::{Fidelity, FidelityUnit};

/// A loss of a smaller share changes no cost that is measured: it is shown, and no doubt.
const LOSS_THAT_MATTERS: f64 = 0.001;
/// A loss is called one when it is beyond so many deviations of what sampling does by chance.
const DEVIATIONS: f64 = 3.0;

/// Sums an arm's launches; `None` when nothing was received nor expected.
pub(crate) fn fidelity(
    arm: ArmIndex,
    expected: Expected,
    delivered: &[Delivered],
) -> Option<Fidelity> {
    let of_arm = || delivered.iter().filter(move |d| d.arm == arm);
    let sum = |count: fn(&Delivered) -> u64| of_arm().map(count).sum::<u64>();
    let (spans, root_spans) = (sum(|d| d.spans), sum(|d| d.root_spans));
    let requests = sum(|d| d.completed_requests) as f64;
    let (of, arrived, per_request) = match (expected.traces_per_request, expected.spans_per_request)
    {
        (Some(traces), _) => (FidelityUnit::Traces, root_spans, Some(traces)),
        (None, Some(per_request)) => (FidelityUnit::Spans, spans, Some(per_request)),
        (None, None) => (FidelityUnit::Spans, spans, None),
    };
    if of_arm().next().is_none() || (spans == 0 && per_request.is_none()) {
        return None;
    }
    let expected = per_request.map(|rate| rate * requests);
    // Each request is sampled with the same chance; only a share below one leaves room for it.
    let sampling_sd = per_request.map(|rate| {
        if rate > 0.0 && rate < 1.0 {
            (requests * rate * (1.0 - rate)).sqrt()
        } else {
            0.0
        }
    });
    let lost = expected.map(|expected| expected - arrived as f64);
    Some(Fidelity {
        of,
        expected,
        sampling_sd,
        delivered: arrived,
        lost,
        beyond_sampling: lost
            .zip(sampling_sd)
            .map(|(lost, sd)| lost > DEVIATIONS * sd + 0.5),
        bytes_per_span: per_span(sum(|d| d.body_bytes), spans),
        wire_bytes_per_span: per_span(sum(|d| d.wire_bytes), spans),
    })
}

fn per_span(bytes: u64, spans: u64) -> Option<f64> {
    (spans > 0).then(|| bytes as f64 / spans as f64)
}

/// The doubt about an arm that lost telemetry.
pub(crate) fn doubt(arm: &str, fidelity: &Fidelity) -> Option<Doubt> {
    let (Some(true), Some(lost), Some(expected)) =
        (fidelity.beyond_sampling, fidelity.lost, fidelity.expected)
    else {
        return None;
    };
    if lost < LOSS_THAT_MATTERS * expected {
        return None;
    }
    let text = format!(
        "{arm} delivered {} of {expected:.0} expected {}: {:.2} % were lost, so that its cost is \
         that of less telemetry than it seems. Look at queue sizes and at the receiver.",
        fidelity.delivered,
        fidelity.of.as_str(),
        100.0 * lost / expected,
    );
    Some(
        Doubt::new(DoubtCode::TelemetryLost, text)
            .with("expected", expected)
            .with("delivered", fidelity.delivered as f64)
            .with("lost", lost),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn losses_are_told_from_the_chance_of_sampling() {
        // expected share, delivered roots of 10,000 requests, whether that is a loss
        let table = [
            (1.0, 10_000, Some(false)),
            (1.0, 9_999, Some(true)),
            (0.1, 1_000, Some(false)),
            (0.1, 920, Some(false)),
            (0.1, 900, Some(true)),
            (0.0, 0, Some(false)),
            // More than expected is no loss.
            (0.1, 1_200, Some(false)),
        ];
        for (share, roots, beyond) in table {
            let expected = Expected {
                traces_per_request: Some(share),
                spans_per_request: None,
            };
            let delivered = [fixture::delivered(0, 2, 10_000, roots)];
            let found = fidelity(ArmIndex(2), expected, &delivered).unwrap();
            assert_eq!(found.beyond_sampling, beyond, "{share} {roots}");
        }
    }

    #[test]
    fn without_expectation_it_counts() {
        let delivered = [
            fixture::delivered(0, 2, 100, 50),
            fixture::delivered(1, 2, 100, 50),
        ];
        let found = fidelity(ArmIndex(2), Expected::default(), &delivered).unwrap();
        assert_eq!(
            (found.expected, found.lost, found.delivered),
            (None, None, 100)
        );
        assert_eq!(fidelity(ArmIndex(3), Expected::default(), &delivered), None);
    }
}
