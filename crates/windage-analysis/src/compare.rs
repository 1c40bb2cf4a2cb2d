//! An arm against the baseline in one metric: from block values to a [`MetricAnalysis`].

use std::collections::BTreeMap;

use windage_model::{
    ArmIndex, Difference, Direction, Interval, Metric, Order, Validity, Verdict, Window,
};
use windage_stats::{Confidence, Launches, TwoLevel, TwoLevelError, two_level, unpaired};

use crate::blocks::Blocks;
use crate::{MetricAnalysis, Missing, MissingCode};

/// What stays the same over all comparisons of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    pub(crate) order: Order,
    pub(crate) interest: f64,
}

/// Figures of both sides and the material for the interval between them.
#[derive(Debug)]
pub(crate) struct Comparison {
    /// The baseline's own figure, descriptive.
    pub(crate) baseline: Option<f64>,
    /// The arm's own figure, descriptive.
    pub(crate) arm: Option<f64>,
    /// The location of log ratios (or of plain differences) with its scatter.
    pub(crate) location: Result<TwoLevel, TwoLevelError>,
    /// Whether `location` is of log ratios.
    pub(crate) scale: Scale,
    /// Windows of the arm that went in.
    pub(crate) windows: usize,
    /// Launches that went in.
    pub(crate) rounds: usize,
}

/// What a location is a location of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scale {
    /// ln(arm / baseline).
    LogRatio,
    /// arm − baseline, in the metric's unit: for metrics whose baseline may be nil.
    Difference,
}

/// Compares a value that every window has, within blocks.
///
/// `offset` says for each launch what is known of it beyond its windows, as a log ratio.
pub(crate) fn by_window(
    blocks: &Blocks<'_>,
    arm: ArmIndex,
    rules: Rules,
    value: impl Fn(&Window) -> Option<f64> + Copy,
    offset: impl Fn(u32) -> f64,
) -> Comparison {
    let (location, rounds) = match rules.order {
        Order::Mirrored => {
            let launches = block_ratios(blocks, arm, value, offset);
            (two_level(&launches), launches.len())
        }
        Order::Sequential => one_after_another(blocks, arm, value, offset),
    };
    let windows = blocks
        .windows_of(arm)
        .filter(|w| value(w).is_some())
        .count();
    Comparison {
        baseline: mean(blocks.windows_of(ArmIndex::BASELINE).filter_map(value)),
        arm: mean(blocks.windows_of(arm).filter_map(value)),
        location,
        scale: Scale::LogRatio,
        windows,
        rounds,
    }
}

/// Log ratios of an arm to the baseline in each block, by launch.
fn block_ratios(
    blocks: &Blocks<'_>,
    arm: ArmIndex,
    value: impl Fn(&Window) -> Option<f64> + Copy,
    offset: impl Fn(u32) -> f64,
) -> Launches {
    let mut ratios: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for block in &blocks.blocks {
        let of_arm = mean_log(&blocks.values(block, arm, value));
        let of_baseline = mean_log(&blocks.values(block, ArmIndex::BASELINE, value));
        if let (Some(arm), Some(baseline)) = (of_arm, of_baseline) {
            ratios.entry(block.launch).or_default().push(arm - baseline);
        }
    }
    let mut launches = Launches::default();
    for (launch, ratios) in ratios {
        launches.push(ratios, offset(launch));
    }
    launches
}

/// One arm after another: no block holds both, as in the public measurements. The interval is
/// what such a measurement would print.
fn one_after_another(
    blocks: &Blocks<'_>,
    arm: ArmIndex,
    value: impl Fn(&Window) -> Option<f64> + Copy,
    offset: impl Fn(u32) -> f64,
) -> (Result<TwoLevel, TwoLevelError>, usize) {
    let mut logs: BTreeMap<u32, [Vec<f64>; 2]> = BTreeMap::new();
    for (side, of) in [arm, ArmIndex::BASELINE].into_iter().enumerate() {
        for window in blocks.windows_of(of) {
            let log = value(window).filter(|v| *v > 0.0).map(f64::ln);
            logs.entry(window.place.launch).or_default()[side].extend(log);
        }
    }
    let mut launches = Launches::default();
    let mut alone = Err(TwoLevelError::NoValues);
    for (launch, [of_arm, of_baseline]) in logs {
        match unpaired(&of_arm, &of_baseline) {
            Ok(mut difference) => {
                difference.estimate += offset(launch);
                launches.push(vec![difference.estimate], 0.0);
                alone = Ok(difference);
            }
            Err(why) if launches.is_empty() => alone = Err(why),
            Err(_) => {}
        }
    }
    let rounds = launches.len();
    (
        if rounds > 1 {
            two_level(&launches)
        } else {
            alone
        },
        rounds,
    )
}

/// Compares a value that every launch has once, keyed by launch.
pub(crate) fn by_launch(
    arm: &BTreeMap<u32, f64>,
    baseline: &BTreeMap<u32, f64>,
    scale: Scale,
    windows: usize,
) -> Comparison {
    let mut launches = Launches::default();
    for (launch, &of_arm) in arm {
        let Some(&of_baseline) = baseline.get(launch) else {
            continue;
        };
        match scale {
            Scale::LogRatio if of_arm > 0.0 && of_baseline > 0.0 => {
                launches.push(vec![(of_arm / of_baseline).ln()], 0.0);
            }
            Scale::LogRatio => {}
            Scale::Difference => launches.push(vec![of_arm - of_baseline], 0.0),
        }
    }
    Comparison {
        baseline: mean(baseline.values().copied()),
        arm: mean(arm.values().copied()),
        rounds: launches.len(),
        location: two_level(&launches),
        scale,
        windows,
    }
}

/// The comparison as it is reported.
pub(crate) fn conclude(
    metric: Metric,
    arm: ArmIndex,
    rules: Rules,
    of: Comparison,
) -> MetricAnalysis {
    let missing = |code, text: &str| {
        Err(Missing {
            code,
            text: text.to_owned(),
        })
    };
    let difference = match (&of.location, of.scale) {
        _ if arm == ArmIndex::BASELINE => missing(
            MissingCode::Baseline,
            "The baseline is what the others are compared with.",
        ),
        (Err(TwoLevelError::NoValues), _) if of.baseline == Some(0.0) => missing(
            MissingCode::BaselineNil,
            "The baseline is nil, so that there is no ratio.",
        ),
        (Err(TwoLevelError::NoValues), _) if of.baseline.is_some() && of.arm.is_some() => missing(
            MissingCode::TooFew,
            "Both sides were measured, but never enough of both at the same time to compare.",
        ),
        (Err(TwoLevelError::NoValues), _) if of.windows > 0 => missing(
            MissingCode::TooFew,
            "What was measured gives no value: too few answers, or a counter out of reach.",
        ),
        (Err(TwoLevelError::NoValues), _) => {
            missing(MissingCode::NotMeasured, "No usable window has a value.")
        }
        (Err(TwoLevelError::OneValue), _) => missing(
            MissingCode::TooFew,
            "One value for each side: without scatter there is no interval. Ask for more rounds.",
        ),
        (Ok(location), Scale::Difference) => Ok(plain_difference(location)),
        (Ok(location), Scale::LogRatio) => Ok(ratio_difference(location, of.baseline)),
    };
    let verdict = difference
        .as_ref()
        .ok()
        .and_then(|d| judge(d, metric.direction(), rules.interest));
    MetricAnalysis {
        baseline: of.baseline,
        arm: of.arm,
        difference,
        verdict,
        saturated: false,
        windows: of.windows,
        rounds: of.rounds,
        validity: Validity::default(),
    }
}

fn ratio_difference(location: &TwoLevel, baseline: Option<f64>) -> Difference {
    let log = |confidence| interval(location, confidence);
    let relative = log(Confidence::P95).map(f64::exp_m1);
    let baseline = baseline.unwrap_or(f64::NAN);
    Difference {
        absolute: Interval {
            method: format!("{}, times the baseline", relative.method),
            ..relative.map(|share| share * baseline)
        },
        relative_90: Some(log(Confidence::P90).map(f64::exp_m1)),
        within_launch_half_width: location
            .within_launch_half_width(Confidence::P95)
            .map(f64::exp_m1),
        smallest_visible: Some(location.smallest_visible().exp_m1()),
        relative: Some(relative),
    }
}

fn plain_difference(location: &TwoLevel) -> Difference {
    Difference {
        absolute: Interval {
            method: "mean of differences by launch, t interval".to_owned(),
            ..interval(location, Confidence::P95)
        },
        relative: None,
        relative_90: None,
        within_launch_half_width: None,
        smallest_visible: None,
    }
}

/// The location with its interval at a confidence.
pub(crate) fn interval(location: &TwoLevel, confidence: Confidence) -> Interval {
    let (low, high) = location.ends(confidence);
    Interval {
        estimate: location.estimate,
        low,
        high,
        confidence: confidence.get(),
        method: location.method().to_owned(),
    }
}

/// The verdict of the contract, in its order.
fn judge(difference: &Difference, direction: Direction, interest: f64) -> Option<Verdict> {
    let (at_95, at_90) = (
        difference.relative.as_ref()?,
        difference.relative_90.as_ref()?,
    );
    let (more, less) = match direction {
        Direction::Lower => (Verdict::Costs, Verdict::Saves),
        Direction::Higher => (Verdict::Saves, Verdict::Costs),
    };
    Some(if at_95.low > interest {
        more
    } else if at_95.high < -interest {
        less
    } else if at_90.low > -interest && at_90.high < interest {
        Verdict::Negligible
    } else {
        Verdict::Inconclusive
    })
}

fn mean_log(values: &[f64]) -> Option<f64> {
    if values.is_empty() || values.iter().any(|v| *v <= 0.0) {
        return None;
    }
    Some(values.iter().map(|v| v.ln()).sum::<f64>() / values.len() as f64)
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (mut sum, mut count) = (0.0, 0u64);
    for value in values.filter(|v| v.is_finite()) {
        sum += value;
        count += 1;
    }
    (count > 0).then(|| sum / count as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn difference(low: f64, high: f64, low_90: f64, high_90: f64) -> Difference {
        let interval = |low: f64, high: f64, confidence| Interval {
            estimate: f64::midpoint(low, high),
            low,
            high,
            confidence,
            method: String::new(),
        };
        Difference {
            absolute: interval(low, high, 0.95),
            relative: Some(interval(low, high, 0.95)),
            relative_90: Some(interval(low_90, high_90, 0.90)),
            within_launch_half_width: None,
            smallest_visible: None,
        }
    }

    #[test]
    fn verdicts_follow_the_contract() {
        use Direction::{Higher, Lower};
        use Verdict::{Costs, Inconclusive, Negligible, Saves};
        // 95 % interval, 90 % interval, direction, verdict at an interest of 0.005
        let table = [
            (0.010, 0.020, 0.011, 0.019, Lower, Costs),
            (0.010, 0.020, 0.011, 0.019, Higher, Saves),
            (-0.020, -0.010, -0.019, -0.011, Lower, Saves),
            (-0.020, -0.010, -0.019, -0.011, Higher, Costs),
            (-0.004, 0.004, -0.003, 0.003, Lower, Negligible),
            // Excludes nil and does not matter: negligible, and `exceeds_nil` says the rest.
            (0.001, 0.004, 0.002, 0.003, Lower, Negligible),
            // The 95 % interval pokes out, the 90 % does not.
            (-0.006, 0.004, -0.004, 0.003, Lower, Negligible),
            (-0.010, 0.010, -0.008, 0.008, Lower, Inconclusive),
            (0.004, 0.020, 0.006, 0.019, Lower, Inconclusive),
        ];
        for (low, high, low_90, high_90, direction, verdict) in table {
            let judged = judge(&difference(low, high, low_90, high_90), direction, 0.005);
            assert_eq!(judged, Some(verdict), "{low} {high} {direction:?}");
        }
    }

    #[test]
    fn differences_without_ratio_have_no_verdict() {
        let arm = BTreeMap::from([(0, 5.0), (1, 6.0), (2, 7.0)]);
        let baseline = BTreeMap::from([(0, 0.0), (1, 0.0), (2, 0.0)]);
        let rules = Rules {
            order: Order::Mirrored,
            interest: 0.005,
        };
        let compared = by_launch(&arm, &baseline, Scale::Difference, 9);
        let result = conclude(Metric::WireBytesPerRequest, ArmIndex(2), rules, compared);
        let found = result.difference.as_ref().unwrap();
        assert!((found.absolute.estimate - 6.0).abs() < 1e-12);
        assert_eq!((result.verdict, result.exceeds_nil()), (None, Some(true)));
        let ratio = by_launch(&arm, &baseline, Scale::LogRatio, 9);
        let result = conclude(Metric::RssSteady, ArmIndex(2), rules, ratio);
        assert_eq!(
            result.difference.unwrap_err().code,
            MissingCode::BaselineNil
        );
    }
}
