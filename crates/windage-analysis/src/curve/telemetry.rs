//! How much telemetry an arm attempted and delivered, and where it reached a drop limit.

use super::{CurvePoint, DropLimit};
use crate::{ArmAnalysis, Fidelity};

/// A smaller share can be missing at the edges of windows alone, and does not bend a curve.
const LOSS_THAT_BENDS: f64 = 0.01;

/// Telemetry of an arm, in the unit of its fidelity.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Telemetry {
    /// Per request.
    pub(super) attempted: Option<f64>,
    /// Per request.
    pub(super) delivered: Option<f64>,
    pub(super) is_beyond_drop_limit: bool,
}

/// From measured windows where they were counted, otherwise from the whole run.
pub(super) fn of_arm(arm: &ArmAnalysis) -> Telemetry {
    let Some(fidelity) = &arm.fidelity else {
        return Telemetry::default();
    };
    let requests = fidelity.counts.completed_requests as f64;
    let attempted = fidelity.expected.and_then(|all| share(all, requests));
    let delivered = match fidelity.in_windows {
        Some(in_windows) => {
            let by_expectation = in_windows.expected.zip(attempted);
            let completed = by_expectation
                .and_then(|(expected, attempted)| share(expected, attempted))
                .or_else(|| Some(arm.load.as_ref()?.exchanges.completed as f64));
            completed.and_then(|completed| share(in_windows.delivered as f64, completed))
        }
        None => share(fidelity.delivered as f64, requests),
    };
    Telemetry {
        attempted,
        delivered,
        is_beyond_drop_limit: is_beyond_drop_limit(fidelity),
    }
}

fn share(of: f64, whole: f64) -> Option<f64> {
    let share = of / whole;
    (whole > 0.0 && share.is_finite()).then_some(share)
}

fn is_beyond_drop_limit(fidelity: &Fidelity) -> bool {
    let loss = fidelity.measured_loss();
    loss.is_some_and(|loss| loss.is_above(LOSS_THAT_BENDS))
}

/// The drop limit, where levels lie on both sides of it. Points are ascending by level, each with
/// its arm.
pub(super) fn drop_limit(
    points: &[CurvePoint],
    arms: &[(usize, &ArmAnalysis)],
) -> Option<DropLimit> {
    let below = points.iter().find(|p| p.is_beyond_drop_limit)?.level;
    let lossless = points.iter().rev().filter(|p| !p.is_beyond_drop_limit);
    let above = lossless.map(|p| p.level).find(|level| *level < below)?;
    let beyond = points
        .iter()
        .zip(arms)
        .filter(|(p, _)| p.is_beyond_drop_limit);
    let per_s = beyond.filter_map(|(point, (_, arm))| {
        let requests_per_s = arm.load.as_ref()?.achieved_per_s?;
        Some(point.delivered? * requests_per_s)
    });
    Some(DropLimit {
        above,
        below,
        delivered_per_s: per_s.max_by(f64::total_cmp),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::InWindows;

    const BY_CHANCE: f64 = 30.0;
    const SURE: f64 = 0.0;

    /// Ten thousand requests, of which a tenth is sampled; nine thousand of them in windows.
    fn fidelity(sampling_sd: f64, delivered: u64, in_windows: Option<u64>) -> Fidelity {
        let lost = 1000.0 - delivered as f64;
        Fidelity {
            expected: Some(1000.0),
            sampling_sd: Some(sampling_sd),
            delivered,
            lost: Some(lost),
            beyond_sampling: Some(lost > 3.0 * sampling_sd + 0.5),
            in_windows: in_windows.map(|delivered| InWindows {
                expected: Some(900.0),
                delivered,
                lost: Some(900.0 - delivered as f64),
                ..InWindows::default()
            }),
            ..Fidelity::default()
        }
    }

    #[test]
    fn losses_beyond_sampling_are_beyond_a_drop_limit() {
        // what, whether it is beyond a drop limit
        let table = [
            (fidelity(BY_CHANCE, 1000, None), false, "nothing lost"),
            (fidelity(BY_CHANCE, 920, None), false, "within sampling"),
            (fidelity(BY_CHANCE, 900, None), true, "beyond sampling"),
            (
                fidelity(BY_CHANCE, 780, Some(700)),
                true,
                "in windows as well",
            ),
            (fidelity(BY_CHANCE, 600, Some(890)), false, "outside them"),
            (
                fidelity(BY_CHANCE, 1000, Some(800)),
                false,
                "at the edges of windows: nothing was lost",
            ),
            (
                fidelity(SURE, 995, None),
                false,
                "too little to bend the curve",
            ),
            (fidelity(SURE, 985, None), true, "enough to bend the curve"),
            (Fidelity::default(), false, "without expectation"),
        ];
        for (fidelity, expected, why) in table {
            assert_eq!(is_beyond_drop_limit(&fidelity), expected, "{why}");
        }
    }
}
