//! Budgets: whether what an arm costs is within the most that the plan allows.
//!
//! A verdict needs a bound on one side. The ends of a two-sided interval of 2*c* − 1 are bounds of
//! confidence *c* each, so a budget of 95 % is judged by the interval of 90 %.

use windage_model::{
    ArmIndex, Budget, BudgetOf, BudgetVerdict, Direction, Interval, Limit, Metric,
};
use windage_stats::{Confidence, VerdictRule};

use crate::compare::{Comparison, Counts, Rules};
use crate::conclude::{
    absolute_at, difference, fewest_launches, interval, launches_needed, relative_at,
    settling_factor, time_until,
};
use crate::family::Comparisons;
use crate::monitor::is_of_another_sequence;
use crate::run::Run;
use crate::totals::change;
use crate::{BudgetAnalysis, Missing};

/// Every budget of an arm, in the plan's order.
pub(crate) fn of_arm(
    run: &Run<'_>,
    arm: ArmIndex,
    comparisons: &Comparisons,
) -> Vec<BudgetAnalysis> {
    let all = run.records.manifest.budgets.iter();
    let held = all.filter(|budget| budget.arms.contains(&arm));
    let of_cost = |budget: &Budget, of: Option<&Comparison>| {
        let found = Cost::of(
            run,
            arm,
            of,
            budget.metric,
            budget.limit(),
            budget.confidence,
        );
        judged(budget, found, || time_needed_s(budget, of?, run.rules))
    };
    let judged = |budget: &Budget| match budget.of {
        BudgetOf::Cost => of_cost(budget, comparisons.get(&budget.metric)),
        BudgetOf::Change => of_cost(budget, change(run, arm).as_ref()),
        BudgetOf::Own => {
            let of = comparisons.get(&budget.metric);
            let found = Cost::own(run, of, budget.confidence);
            judged(budget, found, || own_time_needed_s(budget, of?, run.rules))
        }
    };
    held.map(judged).collect()
}

fn judged(
    budget: &Budget,
    found: Cost,
    time_needed_s: impl FnOnce() -> Option<f64>,
) -> BudgetAnalysis {
    let limit = budget.limit().value();
    let bounds = found.bounds();
    // More than expected arrived: then it is unknown how much was lost.
    let is_of_loss = budget.metric == Metric::TelemetryLost;
    let verdict = match bounds {
        Some((_, high)) if is_of_loss && high < 0.0 => BudgetVerdict::Undecided,
        Some((_, high)) if high <= limit => BudgetVerdict::Within,
        Some((low, _)) if low > limit => BudgetVerdict::Exceeded,
        _ => BudgetVerdict::Undecided,
    };
    let is_open = verdict == BudgetVerdict::Undecided && found.is_settled;
    let warning = budget.warn_above.zip(bounds);
    BudgetAnalysis {
        budget: budget.clone(),
        time_needed_s: if is_open { time_needed_s() } else { None },
        launches_needed: found.launches_needed,
        cost: found.cost,
        warns: verdict != BudgetVerdict::Exceeded
            && warning.is_some_and(|(limit, (low, _))| low > limit.value()),
        verdict,
    }
}

/// What an arm costs, or its own figure, with bounds on one side each.
pub(crate) struct Cost {
    /// On the scale of the limit, or why there is none.
    pub(crate) cost: Result<Interval, Missing>,
    /// The number of launches that a verdict needs; `None` when there are as many.
    pub(crate) launches_needed: Option<usize>,
    /// Whether the bounds may decide something.
    is_settled: bool,
}

impl Cost {
    pub(crate) fn of(
        run: &Run<'_>,
        arm: ArmIndex,
        of: Option<&Comparison>,
        metric: Metric,
        scale: Limit,
        confidence: f64,
    ) -> Cost {
        let rules = run.rules;
        let cost = of.ok_or(Missing::NoValue).and_then(|of| {
            difference(arm, rules, of)?;
            let both_sides = both_sides(confidence);
            let found = match scale {
                Limit::Percent(_) => relative_at(of, both_sides, rules).ok_or(Missing::NoRatio),
                Limit::InUnit(_) => absolute_at(of, both_sides, rules).ok_or(Missing::NoValue),
            }?;
            Ok(on_the_side_of_cost(metric, found))
        });
        let launches_needed = of.and_then(|of| launches_needed(of, rules));
        let location = of.and_then(|of| of.location.as_ref().ok());
        let is_of_another = |of| rules.sequence && is_of_another_sequence(run, of);
        Cost {
            is_settled: launches_needed.is_none() && !location.is_some_and(is_of_another),
            launches_needed: launches_needed.filter(|_| cost.is_ok()),
            cost,
        }
    }

    /// The arm's own figure.
    fn own(run: &Run<'_>, of: Option<&Comparison>, confidence: f64) -> Cost {
        let rules = run.rules;
        let own = of.and_then(|of| of.own.as_ref());
        let launches_needed = own.and_then(|own| {
            let needed = fewest_launches(rules);
            (own.launches < needed).then_some(needed)
        });
        let is_of_another = |own| rules.sequence && is_of_another_sequence(run, own);
        let missing = || match of {
            Some(of) if of.rounds == 1 => Missing::OneValue,
            _ => Missing::NoValue,
        };
        let cost = own.zip(of).ok_or_else(missing).and_then(|(own, of)| {
            let found = interval(own, both_sides(confidence), rules);
            let found = found.ok_or(Missing::UnboundedSequence)?;
            let counts = of.counts.map(Counts::of_arm_alone);
            Ok(counts.map_or(found, |counts| counts.widened(found)))
        });
        Cost {
            is_settled: launches_needed.is_none() && !own.is_some_and(is_of_another),
            launches_needed: launches_needed.filter(|_| cost.is_ok()),
            cost,
        }
    }

    /// Both bounds; `None` where they decide nothing.
    pub(crate) fn bounds(&self) -> Option<(f64, f64)> {
        let cost = self.cost.as_ref().ok().filter(|_| self.is_settled)?;
        Some((cost.low, cost.high))
    }
}

/// Where more is better, less is the cost.
fn on_the_side_of_cost(metric: Metric, found: Interval) -> Interval {
    match metric.direction() {
        Direction::Lower => found,
        Direction::Higher => Interval {
            estimate: -found.estimate,
            low: -found.high,
            high: -found.low,
            ..found
        },
    }
}

/// The confidence of the interval whose ends are bounds of this confidence.
fn both_sides(confidence: f64) -> Confidence {
    Confidence::of(2.0 * confidence - 1.0).unwrap_or(Confidence::P90)
}

/// Further measuring time until a budget for the arm's own figure is decided, in seconds. `None` for
/// a share: how many answers its counts need is another question.
fn own_time_needed_s(budget: &Budget, of: &Comparison, rules: Rules) -> Option<f64> {
    if of.counts.is_some() {
        return None;
    }
    let at = both_sides(budget.confidence);
    let rule = VerdictRule {
        low: f64::NEG_INFINITY,
        high: budget.limit().value(),
        beyond: at,
        between: at,
    };
    let factor = settling_factor(of.own.as_ref()?, rules.sequence, rule)?;
    Some((factor - 1.0) * rules.pace.whole_s?)
}

/// Further measuring time until the budget is decided, in seconds, if the cost stays as it is.
fn time_needed_s(budget: &Budget, of: &Comparison, rules: Rules) -> Option<f64> {
    let (limit, at) = (budget.limit().value(), both_sides(budget.confidence));
    let rule = |limit: f64| match budget.metric.direction() {
        Direction::Lower => VerdictRule {
            low: f64::NEG_INFINITY,
            high: limit,
            beyond: at,
            between: at,
        },
        Direction::Higher => VerdictRule {
            low: -limit,
            high: f64::INFINITY,
            beyond: at,
            between: at,
        },
    };
    let totals = of.totals.as_ref();
    match budget.at_most {
        Limit::Percent(_) => {
            let of_share = totals.map(|totals| (&totals.relative, rule(limit)));
            time_until(of, rules, of_share, rule(log_of(limit, budget.metric)))
        }
        Limit::InUnit(_) => {
            let in_unit = totals.map(|totals| (&totals.difference, rule(limit)))?;
            // Only totals have a scatter in the metric's unit that can be extrapolated.
            (!rules.sequence).then(|| time_until(of, rules, Some(in_unit), in_unit.1))?
        }
    }
}

/// A limit as a share on the scale of log ratios.
fn log_of(limit: f64, metric: Metric) -> f64 {
    match metric.direction() {
        Direction::Lower => limit.ln_1p(),
        // Negated by its rule; a loss of everything is unlimited.
        Direction::Higher => -(-limit.min(1.0)).ln_1p(),
    }
}

#[cfg(test)]
mod tests;
