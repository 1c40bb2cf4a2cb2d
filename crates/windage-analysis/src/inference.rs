//! How firm an answer is: among all the comparisons of its family, against more time, against
//! the places where its scatter comes from.

use windage_model::{Interval, Verdict};
use windage_stats::Advice;

use crate::MetricAnalysis;

/// What is known of a comparison besides its interval and verdict.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Inference {
    /// The same question with the error of the whole family controlled; `None` for the control,
    /// for the baseline, and without an interval at such confidence.
    pub in_family: Option<InFamily>,
    /// The family in which the comparison has no interval, though it has one on its own: at that
    /// confidence one that holds at every look has no end yet.
    pub endless_in: Option<Seat>,
    /// Seconds by which the run would have to be longer to settle an inconclusive verdict, if
    /// estimate and scatter stay what they are; `None` when it is settled, and when the estimate
    /// lies so near the limit that no reasonable time would settle it.
    pub time_needed_s: Option<f64>,
    /// Where the scatter comes from; `None` for metrics that a launch has once.
    pub variance_components: Option<VarianceComponents>,
}

/// Which comparisons an interval has to hold together with.
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

/// A comparison's place among others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seat {
    /// Which family.
    pub family: Family,
    /// How many comparisons it has.
    pub comparisons: usize,
}

/// An interval that holds together with all others of its family, at 95 % for all of them.
#[derive(Clone, Debug, PartialEq)]
pub struct InFamily {
    /// Which family.
    pub family: Family,
    /// How many comparisons it has.
    pub comparisons: usize,
    /// The simultaneous interval: of the ratio, or of the difference where there is no ratio.
    pub interval: Interval,
    /// The same at 90 % for all of them, of the ratio; `None` without one.
    pub interval_90: Option<Interval>,
    /// The verdict that these wider intervals give; `None` without a ratio.
    pub verdict: Option<Verdict>,
}

impl Inference {
    /// The family that the comparison stands in, whether it has an interval there or not.
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
    /// Whether what is claimed, a verdict or that the figure excludes zero, also holds when all of
    /// its family have to hold together: not without an interval at that confidence. `None` where
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

/// Standard deviations by their source, of log ratios (so 0.01 is one per cent).
#[derive(Clone, Debug, PartialEq)]
pub struct VarianceComponents {
    /// From launch to launch, beyond what blocks explain; `None` for a single launch.
    pub launch_sd: Option<f64>,
    /// From one log ratio to the next within a launch, beyond what windows explain.
    pub block_sd: f64,
    /// What windows explain of a log ratio: how much those of one arm differ within a block. `None`
    /// when no block has two of them.
    pub window_sd: Option<f64>,
    /// What would narrow the interval most for its time; `None` for a single launch.
    pub advice: Option<Advice>,
}
