//! The effect of an arm on a total, by launch: the primary figure.
//!
//! A launch gives one value for each arm: its CPU per request, the ratio of its totals, with every
//! burst and collection in it. Nothing is trimmed, because people pay totals. The arms of a launch
//! share the machine's state, so a launch is a pair. Pairs are the sample.
//!
//! [`difference()`] is the mean of arm − baseline, in the unit of the values. [`relative`] is the
//! ratio of the sums less one; its error is that of the mean residual arm − ratio · baseline, in
//! units of the baseline's mean (Cochran 1977, 6.4). The mean of log ratios has another truth: it
//! leaves out what skewed launches add to a total.
//!
//! The interval is Student's over launches. Where launches are skewed, as when a fifth of them are
//! slow, the side of the long tail is extended by Hall's correction (1992). It is never narrower
//! than Student's. `tests/simulation/totals.rs` is the study behind this choice.
//!
//! Both figures hold for the state that the machine was in while the run lasted. A slow drift that
//! both arms share cancels in [`relative`]. In [`difference()`] it scales the effect.

use statrs::distribution::ContinuousCDF;
use thiserror::Error;

use crate::components::{self, Components};
use crate::confidence::Confidence;
use crate::location::sample_variance;
use crate::long_run::mean_error;
use crate::modes::bimodal;
use crate::outlook::VerdictRule;
use crate::sequence::{first, radius};
use crate::two_level::{student, student_quantile};

/// The fewest launches with which the intervals keep their coverage. With 13, a slow mode that a
/// fifth of the launches have is missing from 5.5 % of the runs; with 10, from 11 %.
///
/// They are also the fewest for a forecast: the variance of 13 launches is within a factor of two of
/// the true one in eight cases of ten (χ² with 12 degrees of freedom).
pub const FEWEST_LAUNCHES: usize = 13;

/// The fewest launches when their results are bimodal. On a quiet machine the interval depends on
/// how many launches of the rare mode there are, and 13 have too few of them too often.
pub const FEWEST_LAUNCHES_IF_BIMODAL: usize = 20;

/// The number of launches from which on a run may stop early. Looks before it do not count: the
/// launches may all be of one mode by chance, and then the sequence is much too narrow.
pub const FEWEST_LAUNCHES_TO_STOP: usize = 16;

/// How many times as wide as Student's a side of the interval may become. Hall's correction has no
/// bound of its own, and a single launch far off would make it useless.
const WIDEST_EXTENSION: f64 = 1.5;

/// The power of the minimum detectable effect.
const POWER: f64 = 0.8;

/// The largest number of launches that a forecast considers.
const MOST_LAUNCHES: usize = 10_000;

/// The totals of one launch, or of one block in it: CPU per request, in any unit, the same for both.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PairedTotals {
    /// The baseline's.
    pub baseline: f64,
    /// The arm's.
    pub arm: f64,
}

/// Why there is no effect with an interval.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum TotalsError {
    /// No launch.
    #[error("no launch")]
    NoLaunches,
    /// One launch shows no scatter between launches.
    #[error("a single launch gives no interval: measure more launches")]
    OneLaunch,
    /// A value is infinite or not a number.
    #[error("launch {launch} has a value that is not finite")]
    NotFinite {
        /// Its place in the slice, from zero.
        launch: usize,
    },
    /// A ratio to it is undefined.
    #[error("the baseline's mean is not above zero")]
    BaselineZero,
}

/// An effect with what its intervals need.
#[derive(Clone, Debug, PartialEq)]
pub struct Effect {
    /// The effect: in the unit of the totals, or as a share of the baseline (0.01 is 1 %).
    pub estimate: f64,
    /// Its standard error, from the scatter between launches.
    pub standard_error: f64,
    /// The degrees of freedom of the standard error.
    pub degrees_of_freedom: f64,
    /// Each launch's own value, in the unit of `estimate` and in the order of the launches. Their
    /// mean is `estimate`.
    pub by_launch: Vec<f64>,
    /// Skewness of `by_launch` (Fisher & Pearson, adjusted for few values); 0 for two launches.
    pub skewness: f64,
    /// Whether `by_launch` is bimodal.
    pub is_bimodal: bool,
}

/// The mean of arm − baseline over launches, in the unit of the totals.
///
/// # Errors
/// With fewer than two launches, or a value that is not finite.
pub fn difference(launches: &[PairedTotals]) -> Result<Effect, TotalsError> {
    check(launches)?;
    Ok(Effect::new(
        launches.iter().map(|l| l.arm - l.baseline).collect(),
    ))
}

/// The ratio of the arm's mean over launches to the baseline's, less one: 0.01 is 1 %.
///
/// # Errors
/// With fewer than two launches, a value that is not finite, or a baseline whose mean is not above
/// zero.
pub fn relative(launches: &[PairedTotals]) -> Result<Effect, TotalsError> {
    check(launches)?;
    Ok(Effect::new(
        shares(launches.iter()).ok_or(TotalsError::BaselineZero)?,
    ))
}

/// Where the scatter of [`relative`] comes from: launches, or blocks within a launch. Each launch is
/// the totals of its blocks, in time order. `None` unless every launch has two blocks, all values
/// are finite and the baseline's mean is above zero.
#[must_use]
pub fn variance_components(launches: &[Vec<PairedTotals>]) -> Option<Components> {
    let all = || launches.iter().flatten();
    if all().any(|pair| !pair.is_finite()) {
        return None;
    }
    let mut shares = shares(all())?.into_iter();
    let of_launches = launches.iter().map(|blocks| {
        let values: Vec<f64> = shares.by_ref().take(blocks.len()).collect();
        let error = mean_error(&values)?;
        Some(components::Level {
            estimate: mean(values.iter().copied()),
            standard_error: error.standard_error,
            blocks: values.len(),
        })
    });
    components::split(&of_launches.collect::<Option<Vec<_>>>()?, None)
}

impl PairedTotals {
    fn is_finite(&self) -> bool {
        self.baseline.is_finite() && self.arm.is_finite()
    }
}

impl Effect {
    fn new(by_launch: Vec<f64>) -> Effect {
        let count = by_launch.len() as f64;
        Effect {
            estimate: mean(by_launch.iter().copied()),
            standard_error: (sample_variance(&by_launch) / count).sqrt(),
            degrees_of_freedom: count - 1.0,
            skewness: skewness(&by_launch),
            is_bimodal: bimodal(&by_launch, &[]).is_some(),
            by_launch,
        }
    }

    /// The number of launches.
    #[must_use]
    pub fn launches(&self) -> usize {
        self.by_launch.len()
    }

    /// This effect less another one in the same launches; `None` if they are of other launches.
    #[must_use]
    pub fn less(&self, other: &Effect) -> Option<Effect> {
        if self.launches() != other.launches() {
            return None;
        }
        let both = self.by_launch.iter().zip(&other.by_launch);
        Some(Effect::new(both.map(|(of, less)| of - less).collect()))
    }

    /// The same if the values are blocks of a single launch whose totals give `estimate`: a time
    /// series, in which neighbours may be alike. `None` for fewer than two.
    #[must_use]
    pub fn within_launch(mut self, estimate: f64) -> Option<Effect> {
        let error = mean_error(&self.by_launch)?;
        // What was deferred past the last block belongs to none of them.
        let beyond = estimate - self.estimate;
        self.by_launch.iter_mut().for_each(|value| *value += beyond);
        Some(Effect {
            estimate,
            standard_error: error.standard_error,
            degrees_of_freedom: error.degrees_of_freedom,
            ..self
        })
    }

    /// The interval's ends. They need not be at the same distance from the estimate.
    #[must_use]
    pub fn ends(&self, confidence: Confidence) -> (f64, f64) {
        let (below, above) = self.reach(confidence, self.launches());
        (self.estimate - below, self.estimate + above)
    }

    /// The interval's ends for a run that may be looked at after each launch and stopped at any
    /// look from [`FEWEST_LAUNCHES_TO_STOP`] launches on: with this confidence all these intervals
    /// cover the truth at once. `None` before, or while the interval is unbounded.
    #[must_use]
    pub fn sequence_ends(&self, confidence: Confidence) -> Option<(f64, f64)> {
        let launches = self.launches();
        if launches < FEWEST_LAUNCHES_TO_STOP {
            return None;
        }
        let standard_deviation = self.standard_error * (launches as f64).sqrt();
        let half = radius(launches, standard_deviation, confidence)?;
        let (below, above) = self.extensions(confidence, launches);
        Some((self.estimate - half * below, self.estimate + half * above))
    }

    /// How many launches this interval needs to keep its coverage: [`FEWEST_LAUNCHES`], or
    /// [`FEWEST_LAUNCHES_IF_BIMODAL`].
    #[must_use]
    pub fn launches_needed(&self) -> usize {
        if self.is_bimodal {
            FEWEST_LAUNCHES_IF_BIMODAL
        } else {
            FEWEST_LAUNCHES
        }
    }

    /// Whether there are as many. If not, the verdict is *inconclusive*, whatever the interval.
    #[must_use]
    pub fn has_enough_launches(&self) -> bool {
        self.launches() >= self.launches_needed()
    }

    /// The true effect that a run like this one, with its interval at 95 %, distinguishes from zero
    /// with 80 % power: in the unit of the estimate, for the wider side of the interval.
    #[must_use]
    pub fn minimum_detectable_effect(&self) -> f64 {
        let (below, above) = self.reach(Confidence::P95, self.launches());
        let power = student(self.degrees_of_freedom).inverse_cdf(POWER);
        below.max(above) + power * self.standard_error
    }

    /// How many launches in all it takes until both sides of the interval are at most this wide, if
    /// the launches scatter as so far. At least [`Effect::launches_needed`]. `None` for a half-width
    /// that is not positive, or beyond 10,000 launches.
    #[must_use]
    pub fn launches_for_half_width(
        &self,
        half_width: f64,
        confidence: Confidence,
    ) -> Option<usize> {
        self.launches_until(|launches| {
            let (below, above) = self.reach(confidence, launches);
            half_width > 0.0 && below.max(above) <= half_width
        })
    }

    /// How many launches in all it takes until the verdict is settled, if estimate and scatter stay
    /// as they are. At least [`Effect::launches_needed`]. `None` when 10,000 launches are not
    /// enough, because the estimate lies too near a limit.
    #[must_use]
    pub fn launches_for_verdict(&self, rule: VerdictRule) -> Option<usize> {
        let ends = |confidence, launches| {
            let (below, above) = self.reach(confidence, launches);
            (self.estimate - below, self.estimate + above)
        };
        self.launches_until(|launches| {
            let (low, high) = ends(rule.beyond, launches);
            let (low_between, high_between) = ends(rule.between, launches);
            let is_beyond = low > rule.high || high < rule.low;
            is_beyond || (low_between > rule.low && high_between < rule.high)
        })
    }

    /// The first number of launches for which something holds, given that it holds for all above.
    fn launches_until(&self, holds: impl Fn(usize) -> bool) -> Option<usize> {
        holds(MOST_LAUNCHES).then(|| first(self.launches_needed(), MOST_LAUNCHES, holds))
    }

    /// How far the interval of so many launches like these reaches below and above the estimate.
    fn reach(&self, confidence: Confidence, launches: usize) -> (f64, f64) {
        let error = self.standard_error * (self.launches() as f64 / launches as f64).sqrt();
        let half = student_quantile(self.degrees_of_freedom_of(launches), confidence) * error;
        let (below, above) = self.extensions(confidence, launches);
        (half * below, half * above)
    }

    /// The degrees of freedom with so many launches like these.
    fn degrees_of_freedom_of(&self, launches: usize) -> f64 {
        self.degrees_of_freedom + launches as f64 - self.launches() as f64
    }

    /// By what factors the sides below and above are wider than Student's.
    ///
    /// Hall (1992) transforms Student's *t* of a skewed sample by a cubic, so that it is nearly
    /// symmetric. Its inverse at ±t gives the ends. A side that it would narrow stays Student's.
    fn extensions(&self, confidence: Confidence, launches: usize) -> (f64, f64) {
        let quantile = student_quantile(self.degrees_of_freedom_of(launches), confidence);
        let skew = self.skewness / (launches as f64).sqrt();
        if skew == 0.0 {
            return (1.0, 1.0);
        }
        let inverse = |t: f64| 3.0 / skew * ((1.0 + skew * (t - skew / 6.0)).cbrt() - 1.0);
        let factor = |end: f64| (end / quantile).clamp(1.0, WIDEST_EXTENSION);
        (factor(inverse(quantile)), factor(-inverse(-quantile)))
    }
}

fn check(launches: &[PairedTotals]) -> Result<(), TotalsError> {
    if let Some(launch) = launches.iter().position(|pair| !pair.is_finite()) {
        return Err(TotalsError::NotFinite { launch });
    }
    match launches.len() {
        0 => Err(TotalsError::NoLaunches),
        1 => Err(TotalsError::OneLaunch),
        _ => Ok(()),
    }
}

/// Values whose mean is the ratio of means less one, and whose scatter is that of the ratio to first
/// order. `None` unless the baseline's mean is above zero.
fn shares<'a>(pairs: impl Iterator<Item = &'a PairedTotals> + Clone) -> Option<Vec<f64>> {
    let baseline = mean(pairs.clone().map(|p| p.baseline));
    let ratio = mean(pairs.clone().map(|p| p.arm)) / baseline;
    (baseline > 0.0 && ratio.is_finite()).then(|| {
        let residual = |p: &PairedTotals| (p.arm - ratio * p.baseline) / baseline;
        pairs.map(|p| ratio - 1.0 + residual(p)).collect()
    })
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), v| (sum + v, count + 1.0));
    sum / count
}

/// Adjusted Fisher–Pearson skewness; 0 for fewer than three values or without scatter.
fn skewness(values: &[f64]) -> f64 {
    let count = values.len() as f64;
    let middle = mean(values.iter().copied());
    let moment = |power| mean(values.iter().map(|v| (v - middle).powi(power)));
    let plain = moment(3) / moment(2).powf(1.5);
    if values.len() < 3 || !plain.is_finite() {
        return 0.0;
    }
    plain * (count * (count - 1.0)).sqrt() / (count - 2.0)
}

#[cfg(test)]
#[path = "totals_tests.rs"]
mod tests;
