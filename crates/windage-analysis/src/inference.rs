//! How firm a result is: within its family, given more time, and by the sources of its scatter.

use windage_model::{Interval, Verdict};
use windage_stats::Advice;

use crate::MetricAnalysis;

/// What is known about a comparison in addition to its interval and verdict.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Inference {
    /// The same comparison with the error of the whole family controlled; `None` for the control,
    /// for the baseline, and without an interval at that confidence.
    pub in_family: Option<InFamily>,
    /// The family in which the comparison has no interval, though it has one on its own: at that
    /// confidence a confidence sequence may still be unbounded.
    pub endless_in: Option<Seat>,
    /// The number of launches from which on the interval keeps its coverage, if there were fewer: the
    /// verdict is then inconclusive, whatever the interval.
    pub launches_needed: Option<usize>,
    /// Further seconds of measuring that would settle an inconclusive verdict, if estimate and
    /// scatter stay the same; `None` when it is settled, with fewer launches than
    /// `launches_needed`, and when the estimate is so near a limit that no reasonable time would do.
    pub time_needed_s: Option<f64>,
    /// Where the scatter comes from; `None` for metrics that exist once per launch.
    pub variance_components: Option<VarianceComponents>,
}

/// A set of comparisons whose intervals must hold together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Family {
    /// The primary metric of every treatment.
    Primary,
    /// All other metrics of every treatment.
    Secondary,
}

impl Family {
    /// The word used in files.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Family::Primary => "primary",
            Family::Secondary => "secondary",
        }
    }
}

/// A comparison's family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seat {
    /// Which family.
    pub family: Family,
    /// How many comparisons it has.
    pub comparisons: usize,
}

/// An interval that holds together with all others of its family, with 95 % confidence for all of
/// them.
#[derive(Clone, Debug, PartialEq)]
pub struct InFamily {
    /// Which family.
    pub family: Family,
    /// How many comparisons it has.
    pub comparisons: usize,
    /// The simultaneous interval: of the ratio, or of the difference where there is no ratio.
    pub interval: Interval,
    /// The same at 90 %, of the ratio; `None` without a ratio.
    pub interval_90: Option<Interval>,
    /// The verdict from these wider intervals; `None` without a ratio.
    pub verdict: Option<Verdict>,
}

impl Inference {
    /// The family of the comparison, whether it has an interval there or not.
    #[must_use]
    pub fn seat(&self) -> Option<Seat> {
        let seat = |of: &InFamily| Seat {
            family: of.family,
            comparisons: of.comparisons,
        };
        self.in_family.as_ref().map(seat).or(self.endless_in)
    }
}

impl MetricAnalysis {
    /// Whether the claim (a verdict, or that the figure excludes zero) also holds with the whole
    /// family's error controlled; it does not without an interval at that confidence. `None` where
    /// nothing is claimed, and without a family.
    #[must_use]
    pub fn holds_in_family(&self) -> Option<bool> {
        let claims = |verdict: &Verdict| *verdict != Verdict::Inconclusive;
        let verdict = self.verdict.filter(claims);
        let excludes_zero = self.exceeds_zero() == Some(true);
        self.inference.seat()?;
        if verdict.is_none() && !excludes_zero {
            return None;
        }
        let in_family = self.inference.in_family.as_ref();
        Some(in_family.is_some_and(|of| {
            let stands = verdict.is_none() || of.verdict == verdict;
            stands && (!excludes_zero || of.interval.excludes_zero())
        }))
    }
}

/// Standard deviations of log ratios by source (0.01 is one per cent).
#[derive(Clone, Debug, PartialEq)]
pub struct VarianceComponents {
    /// Between launches, beyond what blocks explain; `None` for a single launch.
    pub launch_sd: Option<f64>,
    /// Between log ratios within a launch, beyond what windows explain.
    pub block_sd: f64,
    /// The part of a log ratio's scatter that windows explain, from the differences between windows
    /// of one arm within a block. `None` when no block has two of them.
    pub window_sd: Option<f64>,
    /// What would narrow the interval most per measuring time; `None` for a single launch.
    pub advice: Option<Advice>,
}
