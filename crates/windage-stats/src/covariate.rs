//! A control variate: noise that a second quantity of the same windows has seen as well is taken
//! out (Lavenberg & Welch 1981; in online experiments Deng, Xu, Kohavi & Walker 2013).
//!
//! Of the block values *y* and the same blocks' log ratios *x* of the covariate,
//! *y* − *βx* has the same expectation as *y* if, and only if, the expectation of *x* is nil: the
//! arm must not move the covariate. A run cannot show that by itself. Where *x* explains half of
//! the noise, an effect of the arm on *x* too small for the run to see is still large enough to
//! move *y* − *βx* out of its interval, whatever the rule by which *x* is tested first (Leeb &
//! Pötscher 2005; Kabaila & Giri 2009). So the limit of such an effect has to come from elsewhere
//! ([`Independence::moved_at_most`]): from how the covariate is made, or from many runs together
//! ([`moved_at_most`]). What it allows is added to the interval ([`Adjusted::widened`]), and the
//! run is asked whether it contradicts.

use statrs::distribution::{ContinuousCDF, StudentsT};
use thiserror::Error;

use crate::location::{location, sample_variance};
use crate::outliers::{deviations, pulled_in};
use crate::{Confidence, Launches, TwoLevel, two_level};

/// Pairs of values without which a coefficient is a guess.
const FEWEST_BLOCKS: usize = 20;

/// Pairs that a launch must have for its middle to mean something.
const FEWEST_BLOCKS_OF_A_LAUNCH: usize = 4;

/// A block's coefficient comes from the blocks of the other folds.
const FOLDS: usize = 5;

/// Less than this is not worth an assumption.
const LEAST_GAIN: f64 = 0.10;

/// What was measured in one block.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Paired {
    /// Log ratio of the metric, arm over baseline.
    pub value: f64,
    /// Log ratio of the covariate, arm over baseline.
    pub covariate: f64,
}

/// What is known of the covariate beside the run's values of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Independence {
    /// Whether arm and baseline gave what the covariate is measured on the same work: bytes sent
    /// and received a request agree within 0.1 %.
    pub equal_work: bool,
    /// How far an arm moves the covariate at most, as a log ratio. Nil for a covariate that no
    /// arm can move.
    pub moved_at_most: f64,
}

/// Block values with the covariate's share of the noise taken out.
#[derive(Clone, Debug, PartialEq)]
pub struct Adjusted {
    /// Block values by launch, in the order and number of what went in; NaN where a pair lacked a
    /// value.
    pub launches: Vec<Vec<f64>>,
    /// The mean of the coefficients *β*.
    pub coefficient: f64,
    /// Correlation of value and covariate within launches, outliers pulled in.
    pub correlation: f64,
    /// The share of *β* by which launches as a whole are adjusted: 1 if the covariate differs from
    /// launch to launch by no more than its blocks explain, and less the more it does.
    pub launch_share: f64,
    /// The share by which the error that blocks give the estimate became smaller. Launch luck, which
    /// no covariate of a window knows, is not in it.
    pub gain: f64,
    /// How far the estimate moves: −*β* times the covariate's location, at `launch_share`.
    pub shift: f64,
    /// How far the arm may have moved the estimate through the covariate, from
    /// [`Independence::moved_at_most`]. Belongs to either side of every interval of `launches`.
    pub allowance: f64,
    /// The covariate's own 95 % interval.
    pub covariate_interval: (f64, f64),
}

impl Adjusted {
    /// An interval computed from `launches`, with the allowance on either side.
    #[must_use]
    pub fn widened(&self, (low, high): (f64, f64)) -> (f64, f64) {
        (low - self.allowance, high + self.allowance)
    }
}

/// Why a covariate is not used.
#[derive(Clone, Copy, Debug, Error, PartialEq)]
pub enum Refused {
    /// Too few blocks to learn a coefficient from.
    #[error("{blocks} usable log ratios, and a coefficient needs {FEWEST_BLOCKS}")]
    TooFew {
        /// How many there are.
        blocks: usize,
    },
    /// Arm and baseline were not given the same work.
    #[error("arm and baseline differ in the bytes of a request")]
    Unequal,
    /// The covariate differs between arm and baseline by more than was assumed possible.
    #[error("the arm moves the covariate: by {low:.4} to {high:.4} (log ratio, 95 %)")]
    MovedByArm {
        /// Lower end of the covariate's own interval.
        low: f64,
        /// Upper end.
        high: f64,
    },
    /// It would not narrow the interval, the allowance included.
    #[error("the interval would be narrower by {gain:.2} of its width only")]
    NoGain {
        /// The share by which it would be narrower; negative if it would be wider.
        gain: f64,
    },
}

/// Takes the covariate's share of the noise out of the blocks of each launch, unless something
/// speaks against it. Whether it gains enough is judged by scatter within launches, so that
/// luck in the scatter between few launches does not choose the smaller interval.
///
/// # Errors
/// Why the covariate is not to be used; the plain values are then the answer.
pub fn admit(launches: &[Vec<Paired>], independence: Independence) -> Result<Adjusted, Refused> {
    if !independence.equal_work {
        return Err(Refused::Unequal);
    }
    let pairs: Vec<Vec<Paired>> = launches
        .iter()
        .map(|launch| usable(launch))
        .filter(|launch| !launch.is_empty())
        .collect();
    let blocks = pairs.iter().map(Vec::len).sum();
    if blocks < FEWEST_BLOCKS || pairs.iter().any(|l| l.len() < FEWEST_BLOCKS_OF_A_LAUNCH) {
        return Err(Refused::TooFew { blocks });
    }
    let covariate = Covariate::of(&pairs).ok_or(Refused::TooFew { blocks })?;
    covariate.contradicts(independence.moved_at_most)?;

    let coefficients: Vec<f64> = (0..FOLDS)
        .map(|fold| coefficient_beside(fold, &pairs))
        .collect();
    let coefficient = coefficients.iter().sum::<f64>() / FOLDS as f64;
    let at_launches = coefficient * covariate.launch_share;
    let allowance = at_launches.abs() * independence.moved_at_most;
    let scatter = Scatter::of(&pairs, &coefficients);
    let gain = scatter.gain(covariate.launch_share);
    let narrower = gain - allowance / scatter.half_width();
    // Not a number, as where all values are equal, is no gain.
    if narrower.is_nan() || narrower < LEAST_GAIN {
        return Err(Refused::NoGain { gain: narrower });
    }
    let kept = coefficient - at_launches;
    Ok(Adjusted {
        launches: launches
            .iter()
            .map(|launch| adjusted(launch, &coefficients, kept))
            .collect(),
        coefficient,
        correlation: scatter.correlation,
        launch_share: covariate.launch_share,
        gain,
        shift: -at_launches * covariate.over_launches.estimate,
        allowance,
        covariate_interval: covariate.over_launches.ends(Confidence::P95),
    })
}

/// How far arms move a covariate at most, from its locations in many runs (log ratios): the end
/// farther from nil of the 95 % interval of their mean. `None` for fewer than two runs.
#[must_use]
pub fn moved_at_most(locations: &[f64]) -> Option<f64> {
    if locations.len() < 2 {
        return None;
    }
    let count = locations.len() as f64;
    let mean = locations.iter().sum::<f64>() / count;
    let student = StudentsT::new(0.0, 1.0, count - 1.0).ok()?;
    let error = (sample_variance(locations) / count).sqrt();
    Some(mean.abs() + student.inverse_cdf(0.975) * error)
}

fn usable(launch: &[Paired]) -> Vec<Paired> {
    launch.iter().copied().filter(is_usable).collect()
}

fn is_usable(paired: &Paired) -> bool {
    paired.value.is_finite() && paired.covariate.is_finite()
}

/// What the covariate does by itself.
struct Covariate {
    over_launches: TwoLevel,
    launch_share: f64,
}

impl Covariate {
    fn of(launches: &[Vec<Paired>]) -> Option<Covariate> {
        let mut own = Launches::default();
        for launch in launches {
            own.push(launch.iter().map(|p| p.covariate).collect(), 0.0);
        }
        let over_launches = two_level(&own).ok()?;
        Some(Covariate {
            launch_share: launch_share(&over_launches),
            over_launches,
        })
    }

    /// Whether the run's own values contradict what is assumed of the covariate, at 1 %. A run that
    /// does not contradict proves nothing.
    fn contradicts(&self, bound: f64) -> Result<(), Refused> {
        let (low, high) = self.over_launches.ends(Confidence::P99);
        if low <= bound && high >= -bound {
            return Ok(());
        }
        let (low, high) = self.over_launches.ends(Confidence::P95);
        Err(Refused::MovedByArm { low, high })
    }
}

/// What of the scatter between launches' locations their blocks explain. A covariate's launch luck
/// is a difference between processes and not noise that the value shares, so a coefficient learnt
/// from blocks does not hold for it; the best coefficient for the sum of both is smaller by their
/// share (the reliability ratio: Fuller 1987).
fn launch_share(over_launches: &TwoLevel) -> f64 {
    let explained = over_launches.within_launch_standard_error;
    match (over_launches.launches, explained) {
        (2.., Some(explained)) if over_launches.standard_error > explained => {
            (explained / over_launches.standard_error).powi(2)
        }
        _ => 1.0,
    }
}

/// The coefficient for the blocks of one fold, from those of the others.
fn coefficient_beside(fold: usize, launches: &[Vec<Paired>]) -> f64 {
    let others: Vec<Vec<Paired>> = launches
        .iter()
        .map(|launch| {
            let beside = launch.iter().enumerate().filter(|(i, _)| i % FOLDS != fold);
            beside.map(|(_, paired)| *paired).collect()
        })
        .collect();
    slope(
        &within(&others, |p| p.covariate),
        &within(&others, |p| p.value),
    )
}

/// Deviations from each launch's median, one launch after the other.
fn within<T>(launches: &[Vec<T>], of: impl Fn(&T) -> f64) -> Vec<f64> {
    let of_launch = |launch: &Vec<T>| deviations(&launch.iter().map(&of).collect::<Vec<_>>());
    launches.iter().flat_map(of_launch).collect()
}

/// The slope of deviations, outliers of either side pulled in, and one step from there with the
/// residuals' outliers pulled in: where value and covariate are wild together, they tell the slope
/// as well as others do (a one-step bounded-influence estimate, Simpson, Ruppert & Carroll 1992).
fn slope(covariates: &[f64], values: &[f64]) -> f64 {
    let moderate = pulled_in(covariates);
    let power: f64 = moderate.iter().map(|x| x * x).sum();
    if power <= 0.0 {
        return 0.0;
    }
    let first = product(&moderate, &pulled_in(values)) / power;
    let residuals: Vec<f64> = values
        .iter()
        .zip(covariates)
        .map(|(y, x)| y - first * x)
        .collect();
    first + product(&moderate, &pulled_in(&residuals)) / power
}

fn product(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(a, b)| a * b).sum()
}

/// *y* − *βx*, of which `kept` times the launch's location of *x* is kept.
fn adjusted(launch: &[Paired], coefficients: &[f64], kept: f64) -> Vec<f64> {
    let covariates: Vec<f64> = usable(launch).iter().map(|p| p.covariate).collect();
    let of_launch = location(&covariates).map_or(0.0, |l| l.estimate);
    // Folds count usable pairs, as they did when the coefficients were computed.
    let mut folds = coefficients.iter().cycle();
    launch
        .iter()
        .map(
            |paired| match is_usable(paired).then(|| folds.next()).flatten() {
                Some(coefficient) => {
                    paired.value - coefficient * paired.covariate + kept * of_launch
                }
                None => f64::NAN,
            },
        )
        .collect()
}

/// How values scatter within launches, outliers pulled in, neighbours brought to their mean: the
/// halves of a block make good each other's drift, and that must not read as noise that a covariate
/// took out.
struct Scatter {
    /// Pairs of neighbours.
    pairs: usize,
    /// Sum of squared deviations of plain values.
    before: f64,
    /// The same of adjusted values.
    after: f64,
    correlation: f64,
}

impl Scatter {
    fn of(launches: &[Vec<Paired>], coefficients: &[f64]) -> Scatter {
        let values = pulled_in(&within(launches, |p| p.value));
        let covariates = pulled_in(&within(launches, |p| p.covariate));
        let plain: Vec<Vec<f64>> = launches
            .iter()
            .map(|launch| neighbours(launch.iter().map(|p| p.value)))
            .collect();
        let adjusted: Vec<Vec<f64>> = launches
            .iter()
            .map(|launch| neighbours(adjusted(launch, coefficients, 0.0).into_iter()))
            .collect();
        let before = pulled_in(&within(&plain, |v| *v));
        let after = pulled_in(&within(&adjusted, |v| *v));
        let scale = (product(&values, &values) * product(&covariates, &covariates)).sqrt();
        Scatter {
            pairs: before.len(),
            before: product(&before, &before),
            after: product(&after, &after),
            correlation: if scale > 0.0 {
                product(&values, &covariates) / scale
            } else {
                0.0
            },
        }
    }

    /// Of the blocks' part in the estimate's standard error.
    fn gain(&self, launch_share: f64) -> f64 {
        if self.before <= 0.0 {
            return 0.0;
        }
        let explained = (1.0 - self.after / self.before) * launch_share * (2.0 - launch_share);
        1.0 - (1.0 - explained).max(0.0).sqrt()
    }

    /// Half of the width that the plain interval has at least: launches alike, pairs independent.
    fn half_width(&self) -> f64 {
        1.96 * self.before.sqrt() / self.pairs as f64
    }
}

/// Means of two values each; an odd one at the end is left out.
fn neighbours(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let values: Vec<f64> = values.collect();
    let pairs = values.chunks_exact(2);
    pairs.map(|pair| f64::midpoint(pair[0], pair[1])).collect()
}

#[cfg(test)]
#[path = "covariate_tests.rs"]
mod tests;
