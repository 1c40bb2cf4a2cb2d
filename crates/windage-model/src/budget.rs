//! Budgets: the most that an arm may cost.

use crate::{ArmIndex, Metric};

/// The most that arms may cost in a metric over the baseline, or have themselves.
#[derive(Clone, Debug, PartialEq)]
pub struct Budget {
    /// What is limited.
    pub of: BudgetOf,
    /// The metric.
    pub metric: Metric,
    /// The arms that it holds for, each on its own, in ascending order; at least one.
    pub arms: Vec<ArmIndex>,
    /// The limit.
    pub at_most: Limit,
    /// From where on a cost is a warning that is not above the limit; on the same scale.
    pub warn_above: Option<Limit>,
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

/// What a budget limits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum BudgetOf {
    /// What an arm costs.
    #[default]
    Cost,
    /// How much more it costs at one revision than at another; of the baseline, how much more the
    /// service itself takes.
    Change,
    /// The arm's own figure, whatever the baseline's is.
    Own,
}

impl BudgetOf {
    /// All of them.
    pub const ALL: [BudgetOf; 3] = [BudgetOf::Cost, BudgetOf::Change, BudgetOf::Own];

    /// The word used in files.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            BudgetOf::Cost => "cost",
            BudgetOf::Change => "change",
            BudgetOf::Own => "own",
        }
    }

    /// What a word means.
    #[must_use]
    pub fn from_name(name: &str) -> Option<BudgetOf> {
        BudgetOf::ALL.into_iter().find(|of| of.as_str() == name)
    }
}

/// The two revisions that a run compares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Revisions {
    /// What changes are counted from.
    pub base: Revision,
    /// What may have changed.
    pub head: Revision,
}

/// A revision of the services' source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Revision {
    /// As it was asked for, such as `main`.
    pub name: String,
    /// The hash of its commit.
    pub commit: String,
}

impl Revision {
    /// For people: its name, and the beginning of its commit where that says more.
    #[must_use]
    pub fn in_words(&self) -> String {
        let short = self.commit.get(..9).unwrap_or(&self.commit);
        match self.commit.starts_with(&self.name) {
            true => short.to_owned(),
            false => format!("{} ({short})", self.name),
        }
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

/// The limit of a cost, or of an arm's own figure. For a metric of which more is better, the cost is what
/// is lost.
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
