//! Reasons for lost telemetry.
//!
//! The subject's own report comes first, because it is the most specific: an exporter that gives up
//! after refusals counts those as drops. The backend's refusals explain as much as they can of the
//! remainder, and the rest is unexplained.

use std::collections::BTreeMap;

use windage_model::Expected;
use windage_record::Delivered;

use super::{DeliveredCounts, Fidelity, FidelityUnit, Loss, LossReason};

/// Fills in the reasons for the loss, which must be known already.
pub(super) fn explain<'a>(
    fidelity: &mut Fidelity,
    expected: Expected,
    launches: impl Iterator<Item = &'a Delivered>,
) {
    let reported = reported(launches);
    let items: f64 = reported.iter().map(|loss| loss.lost).sum();
    fidelity.by_reason = reported;
    let Some(lost) = fidelity.lost else {
        return;
    };
    let is_lost = fidelity.beyond_sampling == Some(true);
    let Some(spans) = spans_lost(lost, expected, &fidelity.counts) else {
        // How many spans a lost trace had is unknown, so they can't be attributed.
        let is_nothing_known = items <= 0.0 && fidelity.counts.refused_spans == 0;
        if is_lost && is_nothing_known {
            fidelity.by_reason.push(Loss {
                reason: LossReason::Unexplained,
                lost,
                of: fidelity.of,
            });
        }
        return;
    };
    let rest = spans - items;
    // What was refused may have arrived later, so it explains at most the loss.
    let refused = (fidelity.counts.refused_spans as f64).min(rest).max(0.0);
    let unexplained = rest - refused;
    let parts = [
        (LossReason::Refused, refused),
        // What sampling explains needs no other reason.
        (
            LossReason::Unexplained,
            if is_lost { unexplained } else { 0.0 },
        ),
    ];
    let parts = parts.into_iter().filter(|(_, lost)| *lost > 0.5);
    fidelity.by_reason.extend(parts.map(|(reason, lost)| Loss {
        reason,
        lost,
        of: FidelityUnit::Spans,
    }));
    let slack = slack(fidelity, spans, lost);
    fidelity.reported_beyond_lost = Some(items - spans.max(0.0)).filter(|beyond| *beyond > slack);
}

/// Drops that the subject reported, by reason, the largest first.
fn reported<'a>(launches: impl Iterator<Item = &'a Delivered>) -> Vec<Loss> {
    let mut sums: BTreeMap<&str, u64> = BTreeMap::new();
    for drops in launches.flat_map(|launch| &launch.drops) {
        let sum = sums.entry(&drops.reason).or_default();
        *sum = sum.saturating_add(drops.lost);
    }
    let mut reported: Vec<Loss> = sums
        .into_iter()
        .filter(|(_, lost)| *lost > 0)
        .map(|(reason, lost)| Loss {
            reason: LossReason::Reported(reason.to_owned()),
            lost: lost as f64,
            of: FidelityUnit::Items,
        })
        .collect();
    reported.sort_by(|a, b| b.lost.total_cmp(&a.lost));
    reported
}

/// How many spans were lost: as the plan expects spans, or else with as many per lost trace as
/// delivered traces had; `None` when none arrived.
fn spans_lost(lost: f64, expected: Expected, counts: &DeliveredCounts) -> Option<f64> {
    if let Some(per_request) = expected.spans_per_request {
        return Some(per_request * counts.completed_requests as f64 - counts.spans as f64);
    }
    (counts.root_spans > 0).then(|| lost * counts.spans as f64 / counts.root_spans as f64)
}

/// The uncertainty of the loss due to sampling, in spans.
fn slack(fidelity: &Fidelity, spans: f64, lost: f64) -> f64 {
    let spans_per_unit = if lost.abs() > 0.0 {
        (spans / lost).abs()
    } else {
        1.0
    };
    super::chance::by_chance(fidelity.sampling_sd.unwrap_or(0.0)) * spans_per_unit
}

#[cfg(test)]
mod tests {
    use super::*;
    use windage_model::ArmIndex;
    use windage_record::Drops;

    use crate::fidelity::of_arm::sum;

    const EVERY_TRACE: Expected = Expected {
        traces_per_request: Some(1.0),
        spans_per_request: None,
        events_per_request: None,
        records_per_request: None,
        points: None,
    };

    /// A launch of a thousand requests with two spans per trace.
    fn launch(root_spans: u64, refused_spans: u64, drops: &[(&str, u64)]) -> Delivered {
        Delivered {
            arm: ArmIndex(2),
            completed_requests: 1000,
            spans: 2 * root_spans,
            root_spans,
            refused_spans,
            drops: drops
                .iter()
                .map(|&(reason, lost)| Drops {
                    reason: reason.to_owned(),
                    lost,
                })
                .collect(),
            ..Delivered::default()
        }
    }

    fn explained(expected: Expected, launches: &[Delivered]) -> (Vec<String>, Option<f64>) {
        let mut fidelity = sum(expected, launches.iter());
        explain(&mut fidelity, expected, launches.iter());
        let parts = fidelity.by_reason.iter();
        let parts = parts.map(|l| format!("{} {} {}", l.reason, l.lost, l.of.as_str()));
        (parts.collect(), fidelity.reported_beyond_lost)
    }

    #[test]
    fn a_loss_falls_into_its_reasons() {
        // delivered traces of 1000, refused spans, reported drops; reasons, reported beyond the
        // loss
        type Row = (
            u64,
            u64,
            &'static [(&'static str, u64)],
            &'static [&'static str],
            Option<f64>,
        );
        let table: &[Row] = &[
            (1000, 0, &[], &[], None),
            (400, 0, &[], &["not explained 1200 spans"], None),
            (
                400,
                0,
                &[("queue full", 1200)],
                &["queue full 1200 items"],
                None,
            ),
            (
                400,
                500,
                &[("queue full", 600), ("time out", 0)],
                &[
                    "queue full 600 items",
                    "refused by the backend 500 spans",
                    "not explained 100 spans",
                ],
                None,
            ),
            // Refused three times each, and some arrived later.
            (400, 9000, &[], &["refused by the backend 1200 spans"], None),
            (1000, 9000, &[], &[], None),
            // Dropped after it was refused: the subject's report counts.
            (
                400,
                1200,
                &[("gave up", 1200)],
                &["gave up 1200 items"],
                None,
            ),
            (
                400,
                0,
                &[("gave up", 1500)],
                &["gave up 1500 items"],
                Some(300.0),
            ),
            (
                1000,
                0,
                &[("gave up", 10)],
                &["gave up 10 items"],
                Some(10.0),
            ),
            // More arrived than expected.
            (1100, 300, &[], &[], None),
            // How many spans the lost traces had is unknown.
            (0, 0, &[], &["not explained 1000 traces"], None),
            (0, 300, &[], &[], None),
            (0, 0, &[("queue full", 5)], &["queue full 5 items"], None),
        ];
        for (roots, refused, drops, reasons, beyond) in table {
            let found = explained(EVERY_TRACE, &[launch(*roots, *refused, drops)]);
            let expected = (reasons.iter().map(|r| (*r).to_owned()).collect(), *beyond);
            assert_eq!(found, expected, "{roots} {refused} {drops:?}");
        }
    }

    #[test]
    fn expected_spans_are_known_even_when_nothing_arrived() {
        let both = Expected {
            spans_per_request: Some(2.0),
            ..EVERY_TRACE
        };
        let found = explained(both, &[launch(0, 300, &[])]);
        let reasons = [
            "refused by the backend 300 spans",
            "not explained 1700 spans",
        ];
        assert_eq!(found, (reasons.map(str::to_owned).to_vec(), None));
    }

    #[test]
    fn losses_within_sampling_need_no_reason() {
        let a_tenth = Expected {
            traces_per_request: Some(0.1),
            ..EVERY_TRACE
        };
        // 80 of 100 ± 9.5.
        assert_eq!(explained(a_tenth, &[launch(80, 0, &[])]), (vec![], None));
        // Six spans reported where the loss may be anything from zero to fifty.
        let reported = vec!["queue full 50 items".to_owned()];
        let drops = [launch(80, 0, &[("queue full", 50)])];
        assert_eq!(explained(a_tenth, &drops), (reported.clone(), None));
        assert_eq!(explained(Expected::default(), &drops), (reported, None));
    }

    #[test]
    fn losses_are_summed_by_reason() {
        let launches = [
            launch(900, 0, &[("b", 50), ("a", 10)]),
            launch(900, 0, &[("a", 100)]),
            launch(900, 0, &[("b", u64::MAX)]),
        ];
        let (reasons, _) = explained(Expected::default(), &launches);
        assert_eq!(reasons, ["b 18446744073709552000 items", "a 110 items"]);
    }
}
