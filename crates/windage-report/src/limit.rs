//! Limits of budgets and claims, and costs on their scale.

use windage_analysis::BudgetAnalysis;
use windage_model::{BudgetOf, Interval, Limit, Metric};

use crate::number::{self, Scale, Shown};

/// A limit: "5 %", "33.6 MB".
pub(crate) fn limit(metric: Metric, of: Limit) -> String {
    match of {
        Limit::Percent(percent) => number::percent_short(percent / 100.0),
        Limit::InUnit(value) => number::short(metric.unit(), value),
    }
}

/// What a budget found, on the scale of its limit; `None` where it has an end that is not finite.
pub(crate) fn found(of: &BudgetAnalysis, found: &Interval) -> Option<Shown> {
    let metric = of.budget.metric;
    match of.budget.of {
        BudgetOf::Own => Scale::of(metric.unit(), found).unsigned(found),
        BudgetOf::Cost | BudgetOf::Change => cost(metric, of.budget.at_most, found),
    }
}

/// A cost on the scale of a limit; `None` where it has an end that is not finite.
pub(crate) fn cost(metric: Metric, scale: Limit, cost: &Interval) -> Option<Shown> {
    match scale {
        Limit::Percent(_) => number::percent(cost),
        Limit::InUnit(_) => Scale::of(metric.unit(), cost).signed(cost),
    }
}
