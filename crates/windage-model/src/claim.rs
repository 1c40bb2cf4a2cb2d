//! Claims: published statements about what telemetry costs.

use crate::{ArmIndex, Limit, Metric, Unit};

/// A published statement about the cost of arms, as far as it can be compared with a measurement.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// Who says what.
    pub publication: Publication,
    /// The metric.
    pub metric: Metric,
    /// The arms that it is about, each on its own, in ascending order; at least one.
    pub arms: Vec<ArmIndex>,
    /// What it says about their cost over the baseline.
    pub says: Says,
    /// How sure a verdict must be: the confidence of a bound on one side, above 0.5 and below 1.
    pub confidence: f64,
}

impl Claim {
    /// Whether the figure means the same on any machine: a share, a size or a number, but no time.
    #[must_use]
    pub fn is_comparable(&self) -> bool {
        match self.says.figure() {
            Limit::Percent(_) => true,
            Limit::InUnit(_) => matches!(self.metric.unit(), Unit::Bytes | Unit::One | Unit::Share),
        }
    }
}

/// Where a claim was published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Publication {
    /// The sentence or figure, as published.
    pub text: String,
    /// Where: a URL or a title.
    pub source: String,
    /// When.
    pub date: Option<String>,
    /// Of which version.
    pub version: Option<String>,
    /// What is different about the set-up of this plan.
    pub differs: Option<String>,
}

/// What a claim says about a cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Says {
    /// No more than this.
    AtMost(Limit),
    /// No less than this.
    AtLeast(Limit),
    /// This, give or take. Both are on the same scale.
    About {
        /// The published figure.
        value: Limit,
        /// How far off the cost may be.
        tolerance: Limit,
    },
}

impl Says {
    /// The published figure, on whose scale a cost is compared.
    #[must_use]
    pub fn figure(self) -> Limit {
        match self {
            Says::AtMost(limit) | Says::AtLeast(limit) | Says::About { value: limit, .. } => limit,
        }
    }
}

/// Whether a claim is true of what was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ClaimVerdict {
    /// The cost is where the claim says, with both bounds.
    Holds,
    /// The bounds leave both open, or there are none.
    Undecided,
    /// The cost is elsewhere.
    Refuted,
    /// The figure is one of another machine.
    NotComparable,
}

impl ClaimVerdict {
    /// The word used in files.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            ClaimVerdict::Holds => "holds",
            ClaimVerdict::Undecided => "undecided",
            ClaimVerdict::Refuted => "refuted",
            ClaimVerdict::NotComparable => "not_comparable",
        }
    }
}
