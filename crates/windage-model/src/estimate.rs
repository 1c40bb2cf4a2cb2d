//! What is concluded: an interval, a difference, a verdict.

/// A point with the interval around it.
#[derive(Clone, Debug, PartialEq)]
pub struct Interval {
    /// The point estimate.
    pub estimate: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// The probability with which the method covers the truth, such as 0.95.
    pub confidence: f64,
    /// How it was computed, in a few words that `docs/METHODOLOGY.md` explains.
    pub method: String,
}

impl Interval {
    /// Half the distance between the ends.
    #[must_use]
    pub fn half_width(&self) -> f64 {
        (self.high - self.low) / 2.0
    }

    /// Whether the point and both ends are figures that can be written and drawn.
    #[must_use]
    pub fn is_finite(&self) -> bool {
        [self.estimate, self.low, self.high]
            .iter()
            .all(|v| v.is_finite())
    }

    /// Whether the interval leaves nil out.
    #[must_use]
    pub fn excludes_nil(&self) -> bool {
        self.low > 0.0 || self.high < 0.0
    }

    /// The interval with point and ends passed through a rising function.
    #[must_use]
    pub fn map(&self, rising: impl Fn(f64) -> f64) -> Interval {
        Interval {
            estimate: rising(self.estimate),
            low: rising(self.low),
            high: rising(self.high),
            confidence: self.confidence,
            method: self.method.clone(),
        }
    }
}

/// An arm against the baseline in one metric.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// Arm − baseline, in the metric's unit.
    pub absolute: Interval,
    /// exp(mean within-block log ratio) − 1; `None` where the baseline is nil, so that no ratio exists.
    pub relative: Option<Interval>,
    /// The interval at 90 %, on which the test of equivalence (two one-sided tests at 5 %) rests.
    pub relative_90: Option<Interval>,
    /// The relative half-width from variation within launches alone.
    pub within_launch_half_width: Option<f64>,
    /// The relative half-width's own answer: the smallest true overhead that a run like this
    /// one would probably (80 %) tell from nil.
    pub smallest_visible: Option<f64>,
}

/// The answer to "does it cost?", as in the contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// The whole 95 % interval is worse than the baseline by more than the interest.
    Costs,
    /// The whole 95 % interval is better than the baseline by more than the interest.
    Saves,
    /// The 90 % interval lies within ± interest.
    Negligible,
    /// None of these: the run can't tell.
    Inconclusive,
}

impl Verdict {
    /// The word used in files and reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Verdict::Costs => "costs",
            Verdict::Saves => "saves",
            Verdict::Negligible => "negligible",
            Verdict::Inconclusive => "inconclusive",
        }
    }
}
