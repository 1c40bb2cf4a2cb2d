//! Fidelity over the rate, up to saturation.

use std::collections::BTreeMap;

use windage_model::{ArmId, Interval, Method};
use windage_stats::{Confidence, proportion};

use super::chance::TWO_SIDED;
use super::{Fidelity, FidelityOfLaunch};
use crate::compare::mean_by_launch;
use crate::sums::{Quotient, linear};
use crate::{Analysis, ArmAnalysis};

/// Delivered compared with expected telemetry of one arm under one load.
#[derive(Clone, Debug, PartialEq)]
pub struct FidelityPoint {
    /// The arm.
    pub arm: ArmId,
    /// The name of the load.
    pub regime: String,
    /// Starts per second that the schedule asks for; `None` for a closed loop.
    pub rate_per_s: Option<f64>,
    /// Requests sent per second; `None` when nothing was measured.
    pub offered_per_s: Option<f64>,
    /// Requests completed per second; `None` when nothing was measured.
    pub achieved_per_s: Option<f64>,
    /// What the plan expects for the completed requests.
    pub expected: f64,
    /// What arrived.
    pub delivered: u64,
    /// 1 − delivered / expected, clamped to 0 to 1, with its interval; `None` when nothing was
    /// expected.
    pub lost_share: Option<Interval>,
}

/// One point per load for each arm with an expectation; empty without several loads.
pub(crate) fn curve(first: &Analysis) -> Vec<FidelityPoint> {
    if first.other_loads.is_empty() {
        return Vec::new();
    }
    let mut points: Vec<FidelityPoint> = first
        .regimes()
        .flat_map(|load| load.arms.iter().filter_map(|arm| point(load, arm)))
        .collect();
    // Ties in rate stay in the plan's order of arms.
    points.sort_by(|a, b| at(a).total_cmp(&at(b)));
    points
}

/// By rate; closed loops, which have none, come last.
fn at(point: &FidelityPoint) -> f64 {
    point.rate_per_s.unwrap_or(f64::INFINITY)
}

fn point(load: &Analysis, arm: &ArmAnalysis) -> Option<FidelityPoint> {
    let fidelity = arm.fidelity.as_ref()?;
    let expected = fidelity.expected?;
    let rates = arm.load.as_ref();
    Some(FidelityPoint {
        arm: arm.id.clone(),
        regime: load.regime.clone().unwrap_or_default(),
        rate_per_s: load.design.rate_per_s,
        offered_per_s: rates.and_then(|rates| rates.offered_per_s),
        achieved_per_s: rates.and_then(|rates| rates.achieved_per_s),
        expected,
        delivered: fidelity.delivered,
        lost_share: lost_share(expected, fidelity),
    })
}

/// The share that was lost. Losses come in bursts, which differ between launches; with two or more
/// launches their scatter shows by how much. Equal losses in several launches do not make the share
/// exact to the last item, so the count's own error is a lower bound.
fn lost_share(expected: f64, fidelity: &Fidelity) -> Option<Interval> {
    let by_item = by_item(expected, fidelity)?;
    let found = match over_launches(&fidelity.launches) {
        Some((low, high)) => Interval {
            low: by_item.low.min(low),
            high: by_item.high.max(high),
            method: Method::RatioOrWilson,
            ..by_item
        },
        None => by_item,
    };
    Some(found.map(|share| share.clamp(0.0, 1.0)))
}

/// The ends of the lost share, over launches; `None` with fewer than two.
fn over_launches(launches: &[FidelityOfLaunch]) -> Option<(f64, f64)> {
    if launches.len() < 2 {
        return None;
    }
    let lost = |of: &FidelityOfLaunch| (of.expected - of.delivered as f64, of.expected);
    let parts: Vec<Quotient> = launches.iter().map(lost).collect();
    let each = linear(&parts)?.into_iter().map(|share| vec![share]);
    let each: BTreeMap<u32, Vec<f64>> = (0..).zip(each).collect();
    Some(mean_by_launch(&each).ok()?.ends(Confidence::P95))
}

/// The interval with each item counted independently. It includes the error of sampling as well as
/// that of the count, because what a sampler leaves out is not lost.
fn by_item(expected: f64, fidelity: &Fidelity) -> Option<Interval> {
    let share = 1.0 - fidelity.delivered as f64 / expected;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a count of telemetry"
    )]
    let of = expected.round() as u64;
    let lost = of.saturating_sub(fidelity.delivered);
    let (low, high) = proportion(lost, of, Confidence::P95)?;
    // More than expected may arrive; then the share is below zero and nothing was lost.
    let (low, high) = (low.min(share), high.max(share));
    let by_chance = TWO_SIDED * fidelity.sampling_sd? / expected;
    Some(Interval {
        estimate: share,
        low: share - (share - low).hypot(by_chance),
        high: share + (high - share).hypot(by_chance),
        confidence: Confidence::P95.get(),
        method: Method::Wilson,
    })
}

#[cfg(test)]
mod tests {
    use windage_model::LoadModel;

    use super::*;
    use crate::{analyse, fixture};

    /// Three loads, at each of which the given number of 22,000 traces per launch arrives.
    fn under_loads(rates: [Option<f64>; 3], delivered: [u64; 3]) -> Analysis {
        let mut analyses = rates.into_iter().zip(delivered).map(|(rate_per_s, roots)| {
            let mut run = fixture::records(3);
            run.manifest.load.rate_per_s = rate_per_s;
            run.manifest.load.model = match rate_per_s {
                Some(_) => LoadModel::Open,
                None => LoadModel::Closed,
            };
            run.manifest.load.regime = Some(format!("{rate_per_s:?}"));
            run.delivered = (0..3)
                .map(|launch| fixture::delivered(launch, 2, 22_000, roots))
                .collect();
            analyse(&run.gathered(), std::iter::empty(), std::iter::empty())
        });
        let mut first = analyses.next().unwrap();
        first.other_loads = analyses.collect();
        first
    }

    #[test]
    fn points_are_ordered_by_rate_with_closed_loops_last() {
        let loads = under_loads([None, Some(9_000.0), Some(100.0)], [11_000, 20_900, 22_000]);
        let found = curve(&loads);
        let rates: Vec<_> = found.iter().map(|point| point.rate_per_s).collect();
        assert_eq!(rates, [Some(100.0), Some(9_000.0), None]);
        for (point, lost) in found.iter().zip([0.0, 0.05, 0.5]) {
            assert_eq!((point.expected, point.arm.as_str()), (66_000.0, "otel"));
            let share = point.lost_share.as_ref().unwrap();
            assert!((share.estimate - lost).abs() < 1e-12, "{share:?}");
            assert!(share.low <= lost && lost <= share.high, "{share:?}");
            assert!(share.half_width() < 0.005, "{share:?}");
            let from_counts = 1.0 - point.delivered as f64 / point.expected;
            assert!((share.estimate - from_counts).abs() < 1e-12);
            assert!(point.achieved_per_s.is_some());
        }
    }

    #[test]
    fn one_load_or_no_expectation_makes_no_curve() {
        let mut loads = under_loads([Some(1.0), Some(2.0), None], [22_000; 3]);
        for load in loads.other_loads.iter_mut() {
            load.arms[2].fidelity = None;
        }
        assert_eq!(curve(&loads).len(), 1);
        loads.other_loads.clear();
        assert_eq!(curve(&loads), []);
    }

    #[test]
    fn bursts_in_some_launches_widen_the_interval() {
        // expected and delivered of each launch, the smallest and the largest half-width
        type Launches = &'static [(f64, u64)];
        let table: [(&str, Launches, f64, f64); 4] = [
            // One launch: Wilson's interval, ± 0.0034 for 0.1 of 30,000.
            ("one launch", &[(30_000.0, 27_000)], 0.003, 0.004),
            ("alike", &[(10_000.0, 9_000); 3], 0.003, 0.004),
            // 0.0, 0.0 and 0.3: a standard error of 0.1, times 4.3 for three launches, clamped at
            // 0.
            (
                "a burst in one",
                &[(10_000.0, 10_000), (10_000.0, 10_000), (10_000.0, 7_000)],
                0.26,
                0.27,
            ),
            // Everything lost in one of two launches: with t = 12.7 the interval is almost useless;
            // no share is above 1.
            (
                "two unlike",
                &[(15_000.0, 15_000), (15_000.0, 12_000)],
                0.49,
                0.5,
            ),
        ];
        for (what, launches, least, most) in table {
            let each = launches.iter();
            let launches = each.map(|&(expected, delivered)| FidelityOfLaunch {
                expected,
                delivered,
            });
            let launches: Vec<FidelityOfLaunch> = launches.collect();
            let fidelity = Fidelity {
                delivered: 27_000,
                sampling_sd: Some(0.0),
                launches,
                ..Fidelity::default()
            };
            let found = lost_share(30_000.0, &fidelity).unwrap();
            assert!((found.estimate - 0.1).abs() < 1e-12, "{what}: {found:?}");
            let half_width = found.half_width();
            assert!(
                least < half_width && half_width <= most,
                "{what}: {found:?}"
            );
            let is_by_launch = found.method == Method::RatioOrWilson;
            assert_eq!(is_by_launch, fidelity.launches.len() > 1, "{what}");
        }
    }

    #[test]
    fn intervals_include_count_and_sampling_error() {
        let of = |expected: f64, delivered: u64, sampling_sd: f64| {
            let fidelity = Fidelity {
                delivered,
                sampling_sd: Some(sampling_sd),
                ..Fidelity::default()
            };
            lost_share(expected, &fidelity)
        };
        assert_eq!(of(0.0, 0, 0.0), None, "nothing was expected");
        let more = of(100.0, 120, 0.0).unwrap();
        let ends = (more.low, more.estimate);
        assert_eq!(ends, (0.0, 0.0), "more than expected is no loss");
        assert!((0.01..0.05).contains(&more.high), "{more:?}");
        let plain = of(1_000.0, 900, 0.0).unwrap();
        let sampled = of(1_000.0, 900, 30.0).unwrap();
        assert!(sampled.half_width() > plain.half_width());
        assert!((0.05..0.07).contains(&(sampled.high - 0.1)), "{sampled:?}");
        let none = of(1_000.0, 0, 0.0).unwrap();
        assert_eq!((none.estimate, none.high), (1.0, 1.0));
    }
}
