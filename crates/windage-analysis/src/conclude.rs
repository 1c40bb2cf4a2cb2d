//! From a location with its scatter to what is reported: intervals, verdict, and how firm they are.

use windage_model::{ArmIndex, Difference, Direction, Interval, Metric, Validity, Verdict};
use windage_stats::{
    Confidence, TwoLevel, TwoLevelError, UnitKind, VerdictRule, sequence_settles, settles,
};

use crate::compare::{Comparison, Rules, Scale};
use crate::family::Seat;
use crate::{InFamily, Inference, MetricAnalysis, Missing, MissingCode};

/// The comparison as it is reported.
pub(crate) fn conclude(
    metric: Metric,
    arm: ArmIndex,
    rules: Rules,
    seat: Option<Seat>,
    of: Comparison,
) -> MetricAnalysis {
    let difference = difference(arm, rules, &of);
    let judge = |at_95: &Interval, at_90: &Interval| {
        judge(at_95, at_90, metric.direction(), rules.interest)
    };
    let verdict = difference.as_ref().ok().and_then(|d| {
        let (at_95, at_90) = (d.relative.as_ref()?, d.relative_90.as_ref()?);
        Some(judge(at_95, at_90))
    });
    let location = of.location.as_ref().ok().filter(|_| difference.is_ok());
    let in_family = seat
        .zip(location)
        .and_then(|(seat, location)| in_family(location, of.scale, rules, seat, judge));
    let needs_s = location
        .filter(|_| verdict == Some(Verdict::Inconclusive))
        .and_then(|location| needs_s(location, rules));
    MetricAnalysis {
        baseline: of.baseline,
        arm: of.arm,
        difference,
        verdict,
        saturated: false,
        windows: of.windows,
        rounds: of.rounds,
        validity: Validity { reasons: of.doubts },
        inference: Inference {
            in_family,
            needs_s,
            scatter: of.scatter,
            covariate: of.covariate,
        },
    }
}

/// The difference with its interval, or why there is none.
fn difference(arm: ArmIndex, rules: Rules, of: &Comparison) -> Result<Difference, Missing> {
    let (code, text) = match &of.location {
        _ if arm == ArmIndex::BASELINE => (
            MissingCode::Baseline,
            "The baseline is what the others are compared with.",
        ),
        Err(TwoLevelError::NoValues) if of.baseline == Some(0.0) => (
            MissingCode::BaselineNil,
            "The baseline is nil, so that there is no ratio.",
        ),
        Err(TwoLevelError::NoValues) if of.baseline.is_some() && of.arm.is_some() => (
            MissingCode::TooFew,
            "Both sides were measured, but never enough of both at the same time to compare.",
        ),
        Err(TwoLevelError::NoValues) if of.windows > 0 => (
            MissingCode::TooFew,
            "What was measured gives no value: too few answers, or a counter out of reach.",
        ),
        Err(TwoLevelError::NoValues) => (MissingCode::NotMeasured, "No usable window has a value."),
        Err(TwoLevelError::OneValue) => (
            MissingCode::TooFew,
            "One value for each side: without scatter there is no interval. Ask for more rounds.",
        ),
        Ok(location) => {
            let found = match of.scale {
                Scale::Difference => plain_difference(location, rules),
                Scale::LogRatio => ratio_difference(location, of.baseline, rules),
            };
            if let Some(found) = found {
                return Ok(found);
            }
            (
                MissingCode::TooFew,
                "The run could stop early, and over so few launches or batches an interval that \
                 holds at every look has no end.",
            )
        }
    };
    let text = text.to_owned();
    Err(Missing { code, text })
}

/// The interval that holds together with all others of its family, and the verdict it gives.
fn in_family(
    location: &TwoLevel,
    scale: Scale,
    rules: Rules,
    seat: Seat,
    judge: impl Fn(&Interval, &Interval) -> Verdict,
) -> Option<InFamily> {
    let at = |confidence: Confidence| {
        let found = interval(location, confidence.simultaneous(seat.comparisons), rules)?;
        Some(match scale {
            Scale::LogRatio => found.map(f64::exp_m1),
            Scale::Difference => found,
        })
    };
    let interval = at(Confidence::P95)?;
    let at_90 = at(Confidence::P90).filter(|_| scale == Scale::LogRatio);
    Some(InFamily {
        family: seat.family,
        comparisons: seat.comparisons,
        verdict: at_90.map(|at_90| judge(&interval, &at_90)),
        interval,
    })
}

/// `None` when the interval has no end.
fn ratio_difference(
    location: &TwoLevel,
    baseline: Option<f64>,
    rules: Rules,
) -> Option<Difference> {
    let log = |confidence| interval(location, confidence, rules);
    let relative = log(Confidence::P95)?.map(f64::exp_m1);
    let baseline = baseline.unwrap_or(f64::NAN);
    Some(Difference {
        absolute: Interval {
            method: format!("{}, times the baseline", relative.method),
            ..relative.map(|share| share * baseline)
        },
        relative_90: log(Confidence::P90).map(|at_90| at_90.map(f64::exp_m1)),
        within_launch_half_width: location
            .within_launch_half_width(Confidence::P95)
            .map(f64::exp_m1),
        smallest_visible: smallest_visible(location, rules).map(f64::exp_m1),
        relative: Some(relative),
    })
}

fn plain_difference(location: &TwoLevel, rules: Rules) -> Option<Difference> {
    let found = interval(location, Confidence::P95, rules)?;
    let way = if rules.sequence {
        "t confidence sequence"
    } else {
        "t interval"
    };
    Some(Difference {
        absolute: Interval {
            method: format!("mean of differences by launch, {way}"),
            ..found
        },
        relative: None,
        relative_90: None,
        within_launch_half_width: None,
        smallest_visible: None,
    })
}

/// The location with its interval at a confidence; `None` when that has no end, as a sequence's
/// over few units.
pub(crate) fn interval(
    location: &TwoLevel,
    confidence: Confidence,
    rules: Rules,
) -> Option<Interval> {
    if !rules.sequence {
        let (low, high) = location.ends(confidence);
        return Some(Interval {
            estimate: location.estimate,
            low,
            high,
            confidence: confidence.get(),
            method: location.method().to_owned(),
        });
    }
    let (low, high) = location.sequence_ends(confidence)?;
    let of = match location.units.kind {
        UnitKind::Launches => "mean over launches",
        UnitKind::Batches => "mean over batches of eight log ratios within one launch",
    };
    Some(Interval {
        estimate: location.units.mean()?,
        low,
        high,
        confidence: confidence.get(),
        method: format!("{of}, t confidence sequence"),
    })
}

/// The true location that a run like this one would tell from nil with a probability of 80 %.
fn smallest_visible(location: &TwoLevel, rules: Rules) -> Option<f64> {
    if !rules.sequence {
        return Some(location.smallest_visible());
    }
    let (low, high) = location.ends(Confidence::P95);
    let sequence = interval(location, Confidence::P95, rules)?.half_width();
    // The sequence's half-width in the place of the interval's own.
    Some(location.smallest_visible() - (high - low) / 2.0 + sequence)
}

/// Seconds that are missing to a verdict.
fn needs_s(location: &TwoLevel, rules: Rules) -> Option<f64> {
    let rule = VerdictRule::of_log_ratios(rules.interest).with_allowance(location.allowance);
    let factor = if rules.sequence {
        let units = &location.units;
        let standard_deviation = units.standard_deviation();
        sequence_settles(units.mean()?, units.values.len(), standard_deviation, rule)
    } else {
        let (error, freedom) = (location.standard_error, location.degrees_of_freedom);
        settles(location.estimate, error, freedom, rule)
    };
    Some((factor? - 1.0) * rules.pace.whole_s?)
}

/// The verdict of the contract, in its order.
fn judge(at_95: &Interval, at_90: &Interval, direction: Direction, interest: f64) -> Verdict {
    let (more, less) = match direction {
        Direction::Lower => (Verdict::Costs, Verdict::Saves),
        Direction::Higher => (Verdict::Saves, Verdict::Costs),
    };
    if at_95.low > interest {
        more
    } else if at_95.high < -interest {
        less
    } else if at_90.low > -interest && at_90.high < interest {
        Verdict::Negligible
    } else {
        Verdict::Inconclusive
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::Family;
    use crate::compare::by_launch;
    use crate::scatter::Pace;
    use windage_model::Order;

    fn interval(low: f64, high: f64, confidence: f64) -> Interval {
        Interval {
            estimate: f64::midpoint(low, high),
            low,
            high,
            confidence,
            method: String::new(),
        }
    }

    fn rules(sequence: bool) -> Rules {
        Rules {
            order: Order::Mirrored,
            interest: 0.005,
            sequence,
            pace: Pace {
                costs: None,
                whole_s: Some(60.0),
            },
            generator_moved_at_most: None,
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
            let (at_95, at_90) = (interval(low, high, 0.95), interval(low_90, high_90, 0.90));
            let judged = judge(&at_95, &at_90, direction, 0.005);
            assert_eq!(judged, verdict, "{low} {high} {direction:?}");
        }
    }

    #[test]
    fn differences_without_ratio_have_no_verdict() {
        let arm = BTreeMap::from([(0, 5.0), (1, 6.0), (2, 7.0)]);
        let baseline = BTreeMap::from([(0, 0.0), (1, 0.0), (2, 0.0)]);
        let rules = rules(false);
        let compared = by_launch(&arm, &baseline, Scale::Difference, 9);
        let wire = Metric::WireBytesPerRequest;
        let result = conclude(wire, ArmIndex(2), rules, None, compared);
        let found = result.difference.as_ref().unwrap();
        assert!((found.absolute.estimate - 6.0).abs() < 1e-12);
        assert_eq!((result.verdict, result.exceeds_nil()), (None, Some(true)));
        let ratio = by_launch(&arm, &baseline, Scale::LogRatio, 9);
        let result = conclude(Metric::RssSteady, ArmIndex(2), rules, None, ratio);
        assert_eq!(
            result.difference.unwrap_err().code,
            MissingCode::BaselineNil
        );
    }

    /// Launches whose ratio scatters by so much about a cost of so much.
    fn compared(launches: u32, cost: f64, scatter: f64) -> Comparison {
        let side = |of: &dyn Fn(f64) -> f64| -> BTreeMap<u32, f64> {
            let sign = |i: u32| if i.is_multiple_of(2) { 1.0 } else { -1.0 };
            (0..launches).map(|i| (i, of(sign(i)))).collect()
        };
        let arm = side(&|sign| (cost + sign * scatter).exp());
        by_launch(&arm, &side(&|_| 1.0), Scale::LogRatio, 9)
    }

    #[test]
    fn a_family_widens_intervals_and_may_take_a_verdict_back() {
        let seat = |comparisons| {
            Some(Seat {
                family: Family::Primary,
                comparisons,
            })
        };
        let of = |comparisons| {
            let compared = compared(8, 0.01, 0.005);
            conclude(
                Metric::RssSteady,
                ArmIndex(2),
                rules(false),
                seat(comparisons),
                compared,
            )
        };
        let (alone, among) = (of(1), of(20));
        assert_eq!(alone.verdict, Some(Verdict::Costs));
        let in_family = alone.inference.in_family.unwrap();
        assert_eq!(Some(in_family.interval), alone.difference.unwrap().relative);
        assert_eq!(in_family.verdict, Some(Verdict::Costs));
        assert_eq!(
            among.verdict,
            Some(Verdict::Costs),
            "the contract's verdict stays"
        );
        let in_family = among.inference.in_family.unwrap();
        assert_eq!(in_family.verdict, Some(Verdict::Inconclusive));
        assert!((in_family.interval.confidence - 0.9975).abs() < 1e-9);
    }

    #[test]
    fn what_is_not_settled_says_how_long_it_needs() {
        let needs_s = |cost, sequence| {
            let compared = compared(10, cost, 0.02);
            let result = conclude(
                Metric::RssSteady,
                ArmIndex(2),
                rules(sequence),
                None,
                compared,
            );
            (result.verdict, result.inference.needs_s)
        };
        let (verdict, fixed_s) = needs_s(0.015, false);
        assert_eq!(verdict, Some(Verdict::Inconclusive));
        // The half-width of 1.5 % has to become 1 %: (1.5)² times as long, or a little less for
        // the greater degrees of freedom.
        assert!((40.0..100.0).contains(&fixed_s.unwrap()), "{fixed_s:?}");
        let (_, sequence_s) = needs_s(0.015, true);
        assert!(
            sequence_s > fixed_s,
            "a look at any time costs: {sequence_s:?}"
        );
        assert_eq!(needs_s(0.1, false), (Some(Verdict::Costs), None));
        let at_the_limit = needs_s(0.005f64.ln_1p(), false);
        assert_eq!(at_the_limit, (Some(Verdict::Inconclusive), None));
    }

    #[test]
    fn a_run_that_may_stop_early_has_wider_intervals_or_none() {
        let of = |launches, sequence| {
            let compared = compared(launches, 0.01, 0.005);
            conclude(
                Metric::RssSteady,
                ArmIndex(2),
                rules(sequence),
                None,
                compared,
            )
            .difference
        };
        let half = |of: &Result<Difference, Missing>| {
            of.as_ref().unwrap().relative.as_ref().unwrap().half_width()
        };
        assert!(half(&of(20, true)) > 1.3 * half(&of(20, false)));
        assert_eq!(of(3, true).unwrap_err().code, MissingCode::TooFew);
        assert!(of(3, false).is_ok());
    }
}
