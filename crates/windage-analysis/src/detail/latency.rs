//! Times by percentile.

use windage_model::{ArmIndex, Interval};
use windage_record::Timing;

use super::steps::levels;
use crate::conclude::difference;
use crate::merged_times::Gathered;
use crate::parallel::of_each_arm;
use crate::quantiles::Finished;
use crate::run::Run;
use crate::validity::is_paced_by_generator;

/// The fewest steps of an arm (where there are very many arms), and the most.
const STEPS: (usize, usize) = (50, 100);
/// The most steps of all arms together, unless that leaves too few for each.
const STEPS_IN_ALL: usize = 20_000;

/// Times of each arm by percentile, and how they differ from the baseline's.
#[derive(Clone, Debug, PartialEq)]
pub struct Latency {
    /// Which times.
    pub timing: Timing,
    /// Arms with recorded times, in the order of the plan.
    pub arms: Vec<ArmLatency>,
    /// Every arm but the baseline, where there are differences.
    pub differences: Vec<QuantileDifferences>,
}

/// The distribution of one arm's times over the whole run.
#[derive(Clone, Debug, PartialEq)]
pub struct ArmLatency {
    /// The arm.
    pub arm: ArmIndex,
    /// How many times were recorded.
    pub count: u64,
    /// Quantiles from 0 to 1, ascending, denser towards 1 as on HdrHistogram's axis, and the time
    /// at each in microseconds. The last is 1: the longest. At most a hundred, and fewer per arm
    /// beyond 200 arms.
    pub steps: Vec<(f64, f64)>,
}

/// How one arm's quantiles differ from the baseline's, over the same stretches and with the same
/// intervals as the metrics: at 0.1, 0.5, 0.9, 0.99 and 0.999 they equal the metrics.
#[derive(Clone, Debug, PartialEq)]
pub struct QuantileDifferences {
    /// The arm.
    pub arm: ArmIndex,
    /// The quantiles with enough answers for an interval, ascending.
    pub points: Vec<QuantileDifference>,
}

/// The difference at one quantile. Each interval holds on its own.
#[derive(Clone, Debug, PartialEq)]
pub struct QuantileDifference {
    /// The quantile, from 0 to 1.
    pub quantile: f64,
    /// arm ÷ baseline − 1.
    pub relative: Interval,
    /// arm − baseline in microseconds; `None` where the baseline's own figure is unknown.
    pub us: Option<Interval>,
}

/// Response times and then service times of a run under one load, where recorded.
pub(super) fn of(run: &Run<'_>) -> Vec<Latency> {
    let kinds = [
        (Timing::ResponseTime, &run.response_times),
        (Timing::ServiceTime, &run.service_times),
    ];
    let of_kinds = kinds.map(|(timing, times)| of_kind(run, timing, times));
    let measured = of_kinds
        .into_iter()
        .filter(|latency| !latency.arms.is_empty());
    measured.collect()
}

fn of_kind(run: &Run<'_>, timing: Timing, times: &Finished) -> Latency {
    let arms = u16::try_from(run.records.manifest.arms.len()).unwrap_or(u16::MAX);
    let (fewest, most) = STEPS;
    let steps = (STEPS_IN_ALL / usize::from(arms).max(1)).clamp(fewest, most);
    let is_known = |arm: &ArmIndex| !is_paced_by_generator(run.records, *arm);
    let whole = (0..arms).map(ArmIndex).filter(is_known);
    let whole = whole.filter_map(|arm| Some(of_arm(arm, times.whole(arm)?, steps)));
    let differences = of_each_arm(arms, |arm| {
        is_known(&arm).then(|| differences(run, times, arm))?
    });
    Latency {
        timing,
        arms: whole.collect(),
        differences: differences.into_iter().flatten().collect(),
    }
}

fn of_arm(arm: ArmIndex, whole: &Gathered, most: usize) -> ArmLatency {
    let count = whole.len();
    let at = |quantile| (quantile, whole.at_quantile(quantile) as f64 / 1e3);
    ArmLatency {
        arm,
        count,
        steps: levels(count, most).into_iter().map(at).collect(),
    }
}

/// `None` for the baseline, and when no quantile has an interval.
fn differences(run: &Run<'_>, times: &Finished, arm: ArmIndex) -> Option<QuantileDifferences> {
    let compared = times.by_quantile(arm, run.usable_windows(arm)).into_iter();
    let points = compared.filter_map(|(quantile, comparison)| {
        let found = difference(arm, run.rules, &comparison).ok()?;
        Some(QuantileDifference {
            quantile,
            relative: found.relative?,
            us: comparison.baseline.map(|_| found.absolute),
        })
    });
    let points: Vec<_> = points.collect();
    (!points.is_empty()).then_some(QuantileDifferences { arm, points })
}
