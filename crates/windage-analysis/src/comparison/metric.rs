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
    /// What became of the overhead, or why that is not known.
    pub change: Result<Change, Missing>,
    /// What the change means; `None` without a relative one, where the runs can't be compared, and
    /// where the figure of one run holds what arms do later and that of the other does not.
    pub verdict: Option<ChangeVerdict>,
    /// Whether it is one of a family of changes, as those of treatments are; the control has a
    /// check of its own.
    pub has_family: bool,
    /// The verdict with all changes of its family held together; `None` without a family or a
    /// verdict, and where one of the runs has no interval at its family's confidence.
    pub in_family: Option<ChangeInFamily>,
}

impl ComparedMetric {
    /// Whether there is a change of shares and no verdict on it, because the runs can't be compared
    /// in it.
    #[must_use]
    pub fn is_withheld(&self) -> bool {
        let change = self.change.as_ref().ok();
        let relative = change.and_then(|change| change.relative.as_ref());
        relative.is_some() && self.verdict.is_none()
    }

    /// Whether what is claimed also holds when all of its family have to hold together: not
    /// without an interval at that confidence. `None` where nothing is claimed, and without a
    /// family.
    #[must_use]
    pub fn holds_in_family(&self) -> Option<bool> {
        let claims = |verdict: &ChangeVerdict| *verdict != ChangeVerdict::Inconclusive;
        let verdict = self.verdict.filter(claims).filter(|_| self.has_family)?;
        let in_family = self.in_family.as_ref();
        Some(in_family.is_some_and(|family| family.verdict == verdict))
    }
}

/// What one run found.
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
    /// What the run says of it.
    pub verdict: Option<Verdict>,
    /// What speaks against this metric in particular.
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
    /// Of the overheads as shares of their baselines: 0.01 is one percentage point. It is what is
    /// judged; `None` where there is no ratio.
    pub relative: Option<Interval>,
    /// Of the differences, in the metric's unit; without ends where a run's has none.
    pub absolute: Interval,
}

/// A change that holds together with all others of its family.
#[derive(Clone, Debug, PartialEq)]
pub struct ChangeInFamily {
    /// Which family: A's, where the runs are asked for different metrics first.
    pub family: Family,
    /// How many comparisons it has.
    pub comparisons: usize,
    /// The simultaneous interval of the relative change.
    pub interval: Interval,
    /// The verdict that it gives.
    pub verdict: ChangeVerdict,
}

/// What became of an overhead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ChangeVerdict {
    /// The whole 95 % interval of the change is worse by more than the margin.
    Increased,
    /// The whole 95 % interval of the change is better by more than the margin.
    Decreased,
    /// The 90 % interval of the change lies within ± margin.
    Unchanged,
    /// None of these: the two runs can't tell.
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
