//! One metric of an arm in both runs.

use windage_model::{Interval, Validity, Verdict};

use crate::{Family, MetricAnalysis, Missing};

/// One metric of an arm in both runs.
#[derive(Clone, Debug, PartialEq)]
pub struct ComparedMetric {
    /// In A.
    pub a: Side,
    /// In B.
    pub b: Side,
    /// The change of the overhead, or why it is unknown.
    pub change: Result<Change, Missing>,
    /// The verdict; `None` without a relative change, where the runs can't be compared, and where
    /// only one run's figure includes deferred cost.
    pub verdict: Option<ChangeVerdict>,
    /// Whether it belongs to a family of changes, as treatments do; the control is checked
    /// separately.
    pub has_family: bool,
    /// The verdict with the whole family's error controlled; `None` without a family or a verdict,
    /// and where one of the runs has no interval at its family's confidence.
    pub in_family: Option<ChangeInFamily>,
}

impl ComparedMetric {
    /// Whether there is a relative change without a verdict because the runs can't be compared in
    /// this metric.
    #[must_use]
    pub fn is_withheld(&self) -> bool {
        let change = self.change.as_ref().ok();
        let relative = change.and_then(|change| change.relative.as_ref());
        relative.is_some() && self.verdict.is_none()
    }

    /// Whether the verdict also holds with the whole family's error controlled; it does not without
    /// an interval at that confidence. `None` where the verdict claims nothing, and without a
    /// family.
    #[must_use]
    pub fn holds_in_family(&self) -> Option<bool> {
        let claims = |verdict: &ChangeVerdict| *verdict != ChangeVerdict::Inconclusive;
        let verdict = self.verdict.filter(claims).filter(|_| self.has_family)?;
        let in_family = self.in_family.as_ref();
        Some(in_family.is_some_and(|family| family.verdict == verdict))
    }
}

/// One run's results.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Side {
    /// The baseline's own figure, descriptive.
    pub baseline: Option<f64>,
    /// The arm's own figure, descriptive.
    pub arm: Option<f64>,
    /// Arm − baseline, in the metric's unit.
    pub difference: Option<Interval>,
    /// The same as a share of the baseline.
    pub relative: Option<Interval>,
    /// The run's own verdict.
    pub verdict: Option<Verdict>,
    /// Warnings about this metric in particular.
    pub validity: Validity,
}

impl Side {
    pub(super) fn of(metric: Option<&MetricAnalysis>) -> Side {
        let Some(metric) = metric else {
            return Side::default();
        };
        let difference = metric.difference.as_ref().ok();
        Side {
            baseline: metric.baseline,
            arm: metric.arm,
            difference: difference.map(|d| d.absolute),
            relative: difference.and_then(|d| d.relative),
            verdict: metric.verdict,
            validity: metric.validity.clone(),
        }
    }
}

/// Overhead in B − overhead in A.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// Change of the relative overheads: 0.01 is one percentage point. The verdict is based on it;
    /// `None` where there is no ratio.
    pub relative: Option<Interval>,
    /// Change of the differences, in the metric's unit; its ends are infinite where a run's are.
    pub absolute: Interval,
}

/// A change with the error of its whole family controlled.
#[derive(Clone, Debug, PartialEq)]
pub struct ChangeInFamily {
    /// Which family: A's, where the runs have different primary metrics.
    pub family: Family,
    /// How many comparisons it has.
    pub comparisons: usize,
    /// The simultaneous interval of the relative change.
    pub interval: Interval,
    /// The verdict from that interval.
    pub verdict: ChangeVerdict,
}

/// The verdict on a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ChangeVerdict {
    /// The whole 95 % interval of the change is worse by more than the margin.
    Increased,
    /// The whole 95 % interval of the change is better by more than the margin.
    Decreased,
    /// The 90 % interval of the change lies within ± margin.
    Unchanged,
    /// None of these: the two runs can't decide.
    Inconclusive,
}

impl ChangeVerdict {
    /// The word used in files and reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            ChangeVerdict::Increased => "increased",
            ChangeVerdict::Decreased => "decreased",
            ChangeVerdict::Unchanged => "unchanged",
            ChangeVerdict::Inconclusive => "inconclusive",
        }
    }
}
