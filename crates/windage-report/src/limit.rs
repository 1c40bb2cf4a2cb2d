//! Limits of budgets and claims, and costs on their scale.

use windage_model::{Interval, Limit, Metric};

use crate::number::{self, Scale, Shown};

/// A limit: "5 %", "33.6 MB".
pub(crate) fn limit(metric: Metric, of: Limit) -> String {
    match of {
        Limit::Percent(percent) => number::percent_short(percent / 100.0),
        Limit::InUnit(value) => number::short(metric.unit(), value),
    }
}

/// A cost on the scale of a limit; `None` where it has an end that is not finite.
pub(crate) fn cost(metric: Metric, scale: Limit, cost: &Interval) -> Option<Shown> {
    match scale {
        Limit::Percent(_) => number::percent(cost),
        Limit::InUnit(_) => Scale::of(metric.unit(), cost).signed(cost),
    }
}
