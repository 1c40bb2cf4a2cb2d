//! From a location with its scatter to the reported result: intervals, verdict, and how firm they
//! are.

use windage_model::{
    ArmIndex, Difference, Direction, Interval, Method, Metric, Reason, Validity, Verdict,
};
use windage_stats::totals::{Effect, FEWEST_LAUNCHES, FEWEST_LAUNCHES_TO_STOP};
use windage_stats::{
    Confidence, TwoLevel, TwoLevelError, UnitKind, VerdictRule, sequence_settles, settles,
};

use crate::compare::{Comparison, Rules, Scale};
use crate::totals::TotalEffect;
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
    let has_interval = difference.is_ok();
    let launches_needed = launches_needed(&of, rules).filter(|_| has_interval);
    let judge = |at_95: &Interval, at_90: &Interval| match launches_needed {
        Some(_) => Verdict::Inconclusive,
        None => judge(at_95, at_90, metric.direction(), rules.margin),
    };
    let verdict = difference.as_ref().ok().and_then(|d| {
        let (at_95, at_90) = (d.relative.as_ref()?, d.relative_90.as_ref()?);
        Some(judge(at_95, at_90))
    });
    let seat = seat.filter(|_| has_interval);
    let in_family = seat.and_then(|seat| in_family(&of, rules, seat, judge));
    let time_needed_s = match verdict {
        // Too few for a verdict are too few for a forecast (`FEWEST_LAUNCHES`).
        Some(Verdict::Inconclusive) if launches_needed.is_none() => time_needed_s(&of, rules),
        _ => None,
    };
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
            launches_needed: launches_needed.filter(|_| verdict.is_some()),
            time_needed_s,
            variance_components: of.scatter,
        },
    }
}

/// The number of launches from which on the interval keeps its coverage; `None` when there are as
/// many.
pub(crate) fn launches_needed(of: &Comparison, rules: Rules) -> Option<usize> {
    let least = fewest_launches(rules);
    let (launches, needed) = match &of.totals {
        Some(totals) => (of.rounds, totals.relative.launches_needed().max(least)),
        // Attachments of agents count as launches.
        None => (of.location.as_ref().ok()?.launches, least),
    };
    (launches < needed).then_some(needed)
}

/// The number of launches below which no interval keeps its coverage.
pub(crate) fn fewest_launches(rules: Rules) -> usize {
    match rules.sequence {
        true => FEWEST_LAUNCHES_TO_STOP,
        false => FEWEST_LAUNCHES,
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
        // Less idle CPU, a baseline may be below zero.
        Err(TwoLevelError::NoValues) if of.baseline.is_some_and(|of| of <= 0.0) => {
            Missing::BaselineZero
        }
        Err(TwoLevelError::NoValues) if of.arm.is_some_and(|of| of < 0.0) => Missing::NoneComputed,
        Err(TwoLevelError::NoValues) if of.baseline.is_some() && of.arm.is_some() => {
            Missing::NeverTogether
        }
        Err(TwoLevelError::NoValues) if of.windows > 0 => Missing::NoneComputed,
        Err(TwoLevelError::NoValues) => Missing::NoValue,
        Err(TwoLevelError::OneValue) => Missing::OneValue,
        Ok(location) => {
            let found = match (&of.totals, of.scale) {
                (Some(totals), _) => difference_of_totals(totals, of.rounds, rules),
                (None, Scale::Difference) => plain_difference(of, location, rules),
                (None, Scale::LogRatio) => ratio_difference(location, of, rules),
            };
            if let Some(found) = found {
                return Ok(found);
            }
            Missing::UnboundedSequence
        }
    };
    Err(missing)
}

/// The relative difference at a confidence, as a share; `None` for a metric without a ratio, and
/// where the interval is unbounded.
pub(crate) fn relative_at(of: &Comparison, at: Confidence, rules: Rules) -> Option<Interval> {
    let location = of.location.as_ref().ok()?;
    match (&of.totals, of.scale) {
        (Some(totals), _) => interval_of(&totals.relative, of.rounds, at, rules),
        (None, Scale::LogRatio) => Some(interval(location, at, rules)?.map(f64::exp_m1)),
        (None, Scale::Difference) => None,
    }
}

/// The difference in the metric's unit at a confidence; `None` for a single launch, which shows no
/// scatter of the baseline, and where the interval is unbounded.
pub(crate) fn absolute_at(of: &Comparison, at: Confidence, rules: Rules) -> Option<Interval> {
    match (&of.totals, of.scale) {
        (Some(totals), _) => interval_of(&totals.difference, of.rounds, at, rules),
        (None, Scale::LogRatio) => interval(of.absolute.as_ref()?, at, rules),
        (None, Scale::Difference) => plain_interval(of, of.location.as_ref().ok()?, at, rules),
    }
}

/// The interval of a metric that is compared by differences.
fn plain_interval(
    of: &Comparison,
    location: &TwoLevel,
    at: Confidence,
    rules: Rules,
) -> Option<Interval> {
    let found = interval(location, at, rules)?;
    Some(of.counts.map_or(found, |counts| counts.widened(found)))
}

/// An effect on totals with its interval; `None` when that is unbounded.
pub(crate) fn interval_of(
    effect: &Effect,
    rounds: usize,
    at: Confidence,
    rules: Rules,
) -> Option<Interval> {
    let (low, high) = match rules.sequence {
        true => effect.sequence_ends(at)?,
        false => effect.ends(at),
    };
    Some(Interval {
        estimate: effect.estimate,
        low,
        high,
        confidence: at.get(),
        method: match rules.sequence {
            true => Method::SequenceByLaunch,
            false if rounds == 1 => Method::TotalsWithinLaunch,
            false => Method::TotalsByLaunch,
        },
    })
}

fn difference_of_totals(totals: &TotalEffect, rounds: usize, rules: Rules) -> Option<Difference> {
    let relative = |at| interval_of(&totals.relative, rounds, at, rules);
    let at_95 = relative(Confidence::P95)?;
    let (low, high) = totals.relative.ends(Confidence::P95);
    // With the sequence's half-width in place of the interval's own.
    let wider = at_95.half_width() - (high - low) / 2.0;
    Some(Difference {
        absolute: interval_of(&totals.difference, rounds, Confidence::P95, rules)?,
        relative_90: relative(Confidence::P90),
        within_launch_half_width: None,
        minimum_detectable_effect: Some(totals.relative.minimum_detectable_effect() + wider),
        relative: Some(at_95),
    })
}

/// The interval with the error of its whole family controlled, and the verdict from it.
fn in_family(
    of: &Comparison,
    rules: Rules,
    seat: Seat,
    judge: impl Fn(&Interval, &Interval) -> Verdict,
) -> Option<InFamily> {
    let at = |confidence: Confidence| {
        let confidence = confidence.simultaneous(seat.comparisons);
        match of.scale {
            Scale::LogRatio => relative_at(of, confidence, rules),
            Scale::Difference => absolute_at(of, confidence, rules),
        }
    };
    let interval = at(Confidence::P95)?;
    let at_90 = at(Confidence::P90).filter(|_| of.scale == Scale::LogRatio);
    Some(InFamily {
        family: seat.family,
        comparisons: seat.comparisons,
        verdict: at_90.as_ref().map(|at_90| judge(&interval, at_90)),
        interval,
        interval_90: at_90,
    })
}

/// `None` when the interval is unbounded.
fn ratio_difference(location: &TwoLevel, of: &Comparison, rules: Rules) -> Option<Difference> {
    let log = |confidence| interval(location, confidence, rules);
    let relative = log(Confidence::P95)?.map(f64::exp_m1);
    // A single launch shows no scatter of the baseline between launches.
    let alone = || relative.map(|share| share * of.baseline.unwrap_or(f64::NAN));
    let in_unit = of.absolute.as_ref();
    let in_unit = in_unit.and_then(|absolute| interval(absolute, Confidence::P95, rules));
    Some(Difference {
        absolute: in_unit.unwrap_or_else(alone),
        relative_90: log(Confidence::P90).map(|at_90| at_90.map(f64::exp_m1)),
        within_launch_half_width: location
            .within_launch_half_width(Confidence::P95)
            .map(f64::exp_m1),
        minimum_detectable_effect: minimum_detectable_effect(location, rules).map(f64::exp_m1),
        relative: Some(relative),
    })
}

fn plain_difference(of: &Comparison, location: &TwoLevel, rules: Rules) -> Option<Difference> {
    let found = plain_interval(of, location, Confidence::P95, rules)?;
    let method = if rules.sequence {
        found.method
    } else if location.launches > of.rounds {
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
fn time_needed_s(of: &Comparison, rules: Rules) -> Option<f64> {
    let totals = of.totals.as_ref();
    let of_totals = totals.map(|of| (&of.relative, VerdictRule::of_shares(rules.margin)));
    time_until(
        of,
        rules,
        of_totals,
        VerdictRule::of_log_ratios(rules.margin),
    )
}

/// Further measuring time until a rule decides, in seconds: a rule of an effect on totals by launch,
/// or one of log ratios where there is none and in a run that may stop.
pub(crate) fn time_until(
    of: &Comparison,
    rules: Rules,
    of_totals: Option<(&Effect, VerdictRule)>,
    of_log_ratios: VerdictRule,
) -> Option<f64> {
    let location = of.location.as_ref().ok()?;
    let factor = match (of_totals, rules.sequence) {
        (Some((effect, rule)), false) if of.rounds > 1 => {
            effect.launches_for_verdict(rule)? as f64 / of.rounds as f64
        }
        (_, sequence) => settling_factor(location, sequence, of_log_ratios)?,
    };
    Some((factor - 1.0) * rules.pace.whole_s?)
}

/// By what factor a run must be longer for a rule on log ratios to decide.
pub(crate) fn settling_factor(
    location: &TwoLevel,
    sequence: bool,
    rule: VerdictRule,
) -> Option<f64> {
    if sequence {
        let units = &location.units;
        let standard_deviation = units.standard_deviation();
        return sequence_settles(units.mean()?, units.values.len(), standard_deviation, rule);
    }
    let (error, freedom) = (location.standard_error, location.degrees_of_freedom);
    settles(location.estimate, error, freedom, rule)
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
