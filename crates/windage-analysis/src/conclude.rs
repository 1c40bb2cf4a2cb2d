//! From a location with its scatter to the reported result: intervals, verdict, and how firm they
//! are.

use windage_model::{
    ArmIndex, Difference, Direction, Interval, Method, Metric, Reason, Validity, Verdict,
};
use windage_stats::{
    Confidence, TwoLevel, TwoLevelError, UnitKind, VerdictRule, sequence_settles, settles,
};

use crate::compare::{Comparison, Rules, Scale};
use crate::{InFamily, Inference, MetricAnalysis, Missing, Seat};

/// The comparison as it is reported.
pub(crate) fn conclude(
    metric: Metric,
    arm: ArmIndex,
    rules: Rules,
    seat: Option<Seat>,
    of: Comparison,
) -> MetricAnalysis {
    let difference = difference(arm, rules, &of);
    let judge =
        |at_95: &Interval, at_90: &Interval| judge(at_95, at_90, metric.direction(), rules.margin);
    let verdict = difference.as_ref().ok().and_then(|d| {
        let (at_95, at_90) = (d.relative.as_ref()?, d.relative_90.as_ref()?);
        Some(judge(at_95, at_90))
    });
    let location = of.location.as_ref().ok().filter(|_| difference.is_ok());
    let seat = seat.filter(|_| location.is_some());
    let in_family = seat
        .zip(location)
        .and_then(|(seat, location)| in_family(location, of.scale, rules, seat, judge));
    let time_needed_s = location
        .filter(|_| verdict == Some(Verdict::Inconclusive))
        .and_then(|location| time_needed_s(location, rules));
    MetricAnalysis {
        baseline: of.baseline,
        arm: of.arm,
        difference,
        verdict,
        saturated: false,
        windows: of.windows,
        rounds: of.rounds,
        validity: Validity {
            reasons: of.warnings.into_iter().map(Reason::from).collect(),
        },
        inference: Inference {
            endless_in: seat.filter(|_| in_family.is_none()),
            in_family,
            time_needed_s,
            variance_components: of.scatter,
        },
    }
}

/// The difference with its interval, or why there is none.
pub(crate) fn difference(
    arm: ArmIndex,
    rules: Rules,
    of: &Comparison,
) -> Result<Difference, Missing> {
    let missing = match &of.location {
        _ if arm == ArmIndex::BASELINE => Missing::Baseline,
        Err(TwoLevelError::NoValues) if of.baseline == Some(0.0) => Missing::BaselineZero,
        Err(TwoLevelError::NoValues) if of.baseline.is_some() && of.arm.is_some() => {
            Missing::NeverTogether
        }
        Err(TwoLevelError::NoValues) if of.windows > 0 => Missing::NoneComputed,
        Err(TwoLevelError::NoValues) => Missing::NoValue,
        Err(TwoLevelError::OneValue) => Missing::OneValue,
        Ok(location) => {
            let found = match of.scale {
                Scale::Difference => plain_difference(location, of.rounds, rules),
                Scale::LogRatio => ratio_difference(location, of.baseline, rules),
            };
            if let Some(found) = found {
                return Ok(found);
            }
            Missing::UnboundedSequence
        }
    };
    Err(missing)
}

/// The interval with the error of its whole family controlled, and the verdict from it.
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
        verdict: at_90.as_ref().map(|at_90| judge(&interval, at_90)),
        interval,
        interval_90: at_90,
    })
}

/// `None` when the interval is unbounded.
fn ratio_difference(
    location: &TwoLevel,
    baseline: Option<f64>,
    rules: Rules,
) -> Option<Difference> {
    let log = |confidence| interval(location, confidence, rules);
    let relative = log(Confidence::P95)?.map(f64::exp_m1);
    let baseline = baseline.unwrap_or(f64::NAN);
    Some(Difference {
        absolute: relative.map(|share| share * baseline),
        relative_90: log(Confidence::P90).map(|at_90| at_90.map(f64::exp_m1)),
        within_launch_half_width: location
            .within_launch_half_width(Confidence::P95)
            .map(f64::exp_m1),
        minimum_detectable_effect: minimum_detectable_effect(location, rules).map(f64::exp_m1),
        relative: Some(relative),
    })
}

fn plain_difference(location: &TwoLevel, rounds: usize, rules: Rules) -> Option<Difference> {
    let found = interval(location, Confidence::P95, rules)?;
    let method = if rules.sequence {
        found.method
    } else if location.launches > rounds {
        Method::MeanByAttachment
    } else if location.launches == 1 && location.blocks > 1 {
        Method::MeanWithinLaunch
    } else {
        Method::MeanByLaunch
    };
    Some(Difference {
        absolute: Interval { method, ..found },
        relative: None,
        relative_90: None,
        within_launch_half_width: None,
        minimum_detectable_effect: None,
    })
}

/// The location with its interval at a confidence; `None` when that is unbounded, as a confidence
/// sequence over few units is.
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
            method: method(location),
        });
    }
    let (low, high) = location.sequence_ends(confidence)?;
    let method = match location.units.kind {
        UnitKind::Launches => Method::SequenceByLaunch,
        UnitKind::Batches => Method::SequenceByBatch,
    };
    Some(Interval {
        estimate: location.units.mean()?,
        low,
        high,
        confidence: confidence.get(),
        method,
    })
}

/// The method behind an interval of a fixed length.
fn method(location: &TwoLevel) -> Method {
    match (location.launches, location.blocks) {
        (1, 1) => Method::TrimmedInSequence,
        (1, _) => Method::TrimmedWithinLaunch,
        (launches, blocks) if launches == blocks => Method::MeanByLaunch,
        _ => Method::TrimmedByLaunch,
    }
}

/// The true location that a run like this one detects with 80 % power.
fn minimum_detectable_effect(location: &TwoLevel, rules: Rules) -> Option<f64> {
    if !rules.sequence {
        return Some(location.minimum_detectable_effect());
    }
    let (low, high) = location.ends(Confidence::P95);
    let sequence = interval(location, Confidence::P95, rules)?.half_width();
    // With the sequence's half-width in place of the interval's own.
    Some(location.minimum_detectable_effect() - (high - low) / 2.0 + sequence)
}

/// Further measuring time that a verdict needs, in seconds.
fn time_needed_s(location: &TwoLevel, rules: Rules) -> Option<f64> {
    let rule = VerdictRule::of_log_ratios(rules.margin);
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

/// The verdict, with its rules in order.
pub(crate) fn judge(
    at_95: &Interval,
    at_90: &Interval,
    direction: Direction,
    margin: f64,
) -> Verdict {
    let (more, less) = match direction {
        Direction::Lower => (Verdict::Costs, Verdict::Saves),
        Direction::Higher => (Verdict::Saves, Verdict::Costs),
    };
    if at_95.low > margin {
        more
    } else if at_95.high < -margin {
        less
    } else if at_90.low > -margin && at_90.high < margin {
        Verdict::Negligible
    } else {
        Verdict::Inconclusive
    }
}

#[cfg(test)]
mod tests;
