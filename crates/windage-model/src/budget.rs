//! Budgets: the most that an arm may cost.

use crate::{ArmIndex, Metric};

/// The most that arms may cost in a metric, over the baseline.
#[derive(Clone, Debug, PartialEq)]
pub struct Budget {
    /// The metric.
    pub metric: Metric,
    /// The arms that it holds for, each on its own, in ascending order; at least one.
    pub arms: Vec<ArmIndex>,
    /// The limit.
    pub at_most: Limit,
    /// Another limit for some time.
    pub overridden: Option<Override>,
    /// How sure a verdict must be: the confidence of a bound on one side, above 0.5 and below 1.
    pub confidence: f64,
}

impl Budget {
    /// The limit that counts.
    #[must_use]
    pub fn limit(&self) -> Limit {
        self.overridden
            .as_ref()
            .map_or(self.at_most, |of| of.at_most)
    }
}

/// Another limit of a budget for some time, on the same scale.
#[derive(Clone, Debug, PartialEq)]
pub struct Override {
    /// The limit.
    pub at_most: Limit,
    /// Why.
    pub reason: String,
    /// Its last day, in UTC, such as `2027-01-31`.
    pub until: String,
}

/// The limit of a cost. For a metric of which more is better, the cost is what is lost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limit {
    /// So many per cent of the baseline.
    Percent(f64),
    /// So much in the metric's unit.
    InUnit(f64),
}

impl Limit {
    /// As a share of the baseline, or in the metric's unit.
    #[must_use]
    pub fn value(self) -> f64 {
        match self {
            Limit::Percent(percent) => percent / 100.0,
            Limit::InUnit(value) => value,
        }
    }
}

/// Whether a cost is within its budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum BudgetVerdict {
    /// The upper bound of the cost is not above the limit.
    Within,
    /// Neither bound decides, or there is none.
    Undecided,
    /// The lower bound of the cost is above the limit.
    Exceeded,
}

impl BudgetVerdict {
    /// The word used in files and reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            BudgetVerdict::Within => "within",
            BudgetVerdict::Undecided => "undecided",
            BudgetVerdict::Exceeded => "exceeded",
        }
    }
}

/// When a run that may stop early has measured enough.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Until {
    /// A metric's interval is narrow enough.
    Known {
        /// The metric.
        metric: Metric,
        /// The half-width of its interval, as a share of the baseline.
        half_width: f64,
    },
    /// Every budget is within or exceeded.
    Budgets,
}
