//! Results: an interval, a difference, a verdict.

macro_rules! methods {
    ($($(#[doc = $doc:literal])+ $variant:ident = $code:literal;)+) => {
        /// How an interval was computed; `docs/METHODOLOGY.md` explains each.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Method { $($(#[doc = $doc])+ $variant,)+ }

        impl Method {
            /// Every method.
            pub const ALL: &'static [Method] = &[$(Method::$variant,)+];

            /// The code used in files.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(Method::$variant => $code,)+ }
            }

            /// A short description.
            #[must_use]
            pub fn about(self) -> &'static str {
                match self { $(Method::$variant => concat!($($doc,)+).trim_ascii(),)+ }
            }
        }
    };
}

methods! {
    /// 20 % trimmed mean of log ratios within blocks by launch, t interval over launches
    TrimmedByLaunch = "trimmed_by_launch";
    /// 20 % trimmed mean of log ratios within blocks of one launch, t interval with the long-run variance
    TrimmedWithinLaunch = "trimmed_within_launch";
    /// difference of 20 % trimmed means, one series after the other
    TrimmedInSequence = "trimmed_in_sequence";
    /// totals by launch, t interval over launches with Hall's correction for skew
    TotalsByLaunch = "totals_by_launch";
    /// totals by block of one launch, t interval with Hall's correction for skew
    TotalsWithinLaunch = "totals_within_launch";
    /// mean over launches, t interval
    MeanByLaunch = "mean_by_launch";
    /// mean of differences within blocks of one launch, t interval
    MeanWithinLaunch = "mean_within_launch";
    /// mean over attachments of one launch, t interval
    MeanByAttachment = "mean_by_attachment";
    /// mean over processes, t interval
    MeanByProcess = "mean_by_process";
    /// ratio of sums by launch, t interval
    RatioByLaunch = "ratio_by_launch";
    /// ratio of sums over attachments of one launch, t interval
    RatioByAttachment = "ratio_by_attachment";
    /// mean over launches, t confidence sequence
    SequenceByLaunch = "sequence_by_launch";
    /// mean over batches of eight log ratios within one launch, t confidence sequence
    SequenceByBatch = "sequence_by_batch";
    /// ratio of two estimates, Fieller's interval
    Fieller = "fieller";
    /// difference of two estimates, errors added in quadrature
    Quadrature = "quadrature";
    /// from two estimates, of which one has no known error
    OneError = "one_error";
    /// difference of two independent runs, MOVER
    Mover = "mover";
    /// weighted least squares, t interval
    LeastSquares = "least_squares";
    /// weighted least squares through the other points, t prediction interval
    Prediction = "prediction";
    /// Wilson's score interval of a share
    Wilson = "wilson";
    /// ratio of sums by launch, t interval, at least as wide as Wilson's score interval
    RatioOrWilson = "ratio_or_wilson";
    /// binomial shares of samples, with the interval of the measured CPU
    Binomial = "binomial";
    /// counted in full, without error
    Counted = "counted";
}

/// A point estimate with a confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The point estimate.
    pub estimate: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// The probability with which the method covers the truth, such as 0.95.
    pub confidence: f64,
    /// How it was computed.
    pub method: Method,
}

impl Interval {
    /// Half the distance between the ends.
    #[must_use]
    pub fn half_width(&self) -> f64 {
        (self.high - self.low) / 2.0
    }

    /// Whether the estimate and both ends are finite.
    #[must_use]
    pub fn is_finite(&self) -> bool {
        [self.estimate, self.low, self.high]
            .iter()
            .all(|v| v.is_finite())
    }

    /// Whether the interval excludes zero.
    #[must_use]
    pub fn excludes_zero(&self) -> bool {
        self.low > 0.0 || self.high < 0.0
    }

    /// Whether the whole interval lies above a margin, or below its negative.
    #[must_use]
    pub fn lies_beyond(&self, margin: f64) -> bool {
        self.low > margin || self.high < -margin
    }

    /// The interval with estimate and ends mapped through an increasing function.
    #[must_use]
    pub fn map(&self, rising: impl Fn(f64) -> f64) -> Interval {
        Interval {
            estimate: rising(self.estimate),
            low: rising(self.low),
            high: rising(self.high),
            confidence: self.confidence,
            method: self.method,
        }
    }
}

/// An arm compared with the baseline in one metric.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    /// Arm − baseline, in the metric's unit.
    pub absolute: Interval,
    /// exp(mean within-block log ratio) − 1; `None` where the baseline is zero, so that there is no
    /// ratio.
    pub relative: Option<Interval>,
    /// The 90 % interval, used for the equivalence test (two one-sided tests at 5 %).
    pub relative_90: Option<Interval>,
    /// The relative half-width from variation within launches alone.
    pub within_launch_half_width: Option<f64>,
    /// The smallest true overhead that a run like this one detects with 80 % power, as a share of
    /// the baseline.
    pub minimum_detectable_effect: Option<f64>,
}

/// The answer to "does it cost?".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// The whole 95 % interval is worse than the baseline by more than the margin.
    Costs,
    /// The whole 95 % interval is better than the baseline by more than the margin.
    Saves,
    /// The 90 % interval lies within ± margin.
    Negligible,
    /// None of these: the run can't decide.
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
