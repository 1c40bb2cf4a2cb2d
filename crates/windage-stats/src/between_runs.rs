//! Several runs of one comparison: how much they differ beyond their own errors, and what they say
//! together.
//!
//! An interval of one run holds for launches like those of that run. The next run has another state
//! of the disk, other neighbours, another build. Runs of the same plan on the same machine show how
//! much that adds: the standard deviation between runs, beyond what the runs' standard errors
//! explain. It is Paule and Mandel's estimate (1982), which solves Q(τ²) = k − 1 for k runs, where
//! Q is the weighted sum of squares about the weighted mean. DerSimonian and Laird's (1986) is its
//! first step. The interval comes from the same Q (Viechtbauer 2007).
//!
//! [`pooled_bias`] tests many A/A comparisons together: each may hold zero although they all lean to
//! one side. Its interval is that of Hartung & Knapp (2001) and Sidik & Jonkman (2002).

use statrs::distribution::{ChiSquared, ContinuousCDF};

use crate::confidence::Confidence;
use crate::two_level::{student, student_quantile};

/// The fewest runs from which the standard deviation between runs is known well enough to widen an
/// interval.
pub const FEWEST_RUNS: usize = 5;

/// Halvings of the bracket around a variance: the bits of a double's digits, and more.
const BISECTIONS: usize = 100;

/// The estimate of one run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunEstimate {
    /// In any unit, the same for all runs.
    pub estimate: f64,
    /// Its standard error within the run, in the same unit.
    pub standard_error: f64,
}

/// The scatter between runs, beyond their own errors.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BetweenRuns {
    /// Its standard deviation, in the unit of the estimates; 0 when the runs' errors explain all.
    pub standard_deviation: f64,
    /// The lower end of its 95 % interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// Runs used.
    pub runs: usize,
}

/// The mean of many estimates whose truth should be the same, usually zero.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PooledBias {
    /// The weighted mean, in the unit of the estimates.
    pub mean: f64,
    /// Its standard error, from the scatter between estimates.
    pub standard_error: f64,
    /// Degrees of freedom of the standard error: estimates less one.
    pub degrees_of_freedom: f64,
    /// The probability of a mean at least as far from zero if there is no bias.
    pub p_value: f64,
}

/// The scatter between runs. `None` for fewer than two runs, an estimate that is not finite, or a
/// standard error that is negative or not finite.
#[must_use]
pub fn between_runs(runs: &[RunEstimate]) -> Option<BetweenRuns> {
    let freedom = degrees_of_freedom(runs)?;
    let squares = ChiSquared::new(freedom).ok()?;
    let tail = (1.0 - Confidence::P95.get()) / 2.0;
    let deviation = |sum: f64| variance_for(runs, sum).sqrt();
    Some(BetweenRuns {
        standard_deviation: deviation(freedom),
        low: deviation(squares.inverse_cdf(1.0 - tail)),
        high: deviation(squares.inverse_cdf(tail)),
        runs: runs.len(),
    })
}

impl BetweenRuns {
    /// Whether there are enough runs to widen an interval.
    #[must_use]
    pub fn is_known(&self) -> bool {
        self.runs >= FEWEST_RUNS
    }

    /// Widens the interval of the difference of two runs, given as estimate and ends of this
    /// confidence (from [`fn@crate::difference`]), so that it covers the difference that the next
    /// two runs would have too. `None` with fewer than [`FEWEST_RUNS`] runs: the scatter between
    /// runs is unknown, and the interval holds for these two runs alone.
    #[must_use]
    pub fn widen(&self, change: (f64, f64, f64), confidence: Confidence) -> Option<(f64, f64)> {
        if !self.is_known() {
            return None;
        }
        let (estimate, low, high) = change;
        let quantile = student_quantile(self.runs as f64 - 1.0, confidence);
        // Both runs scatter.
        let between = quantile * std::f64::consts::SQRT_2 * self.standard_deviation;
        Some((
            estimate - (estimate - low).hypot(between),
            estimate + (high - estimate).hypot(between),
        ))
    }
}

/// The mean of many estimates with its error, each weighted by its variance and that between them.
/// `None` as for [`between_runs`].
#[must_use]
pub fn pooled_bias(estimates: &[RunEstimate]) -> Option<PooledBias> {
    let degrees_of_freedom = degrees_of_freedom(estimates)?;
    let between = variance_for(estimates, degrees_of_freedom);
    let pooled = Pooled::new(estimates, between);
    let standard_error = (pooled.squares / degrees_of_freedom / pooled.weight).sqrt();
    let t = pooled.mean.abs() / standard_error;
    let p_value = if t.is_finite() {
        2.0 * student(degrees_of_freedom).sf(t)
    } else {
        // Without any scatter, zero itself is the only mean that does not contradict it.
        f64::from(u8::from(pooled.mean == 0.0))
    };
    Some(PooledBias {
        mean: pooled.mean,
        standard_error,
        degrees_of_freedom,
        p_value,
    })
}

impl PooledBias {
    /// The ends of the mean's interval.
    #[must_use]
    pub fn ends(&self, confidence: Confidence) -> (f64, f64) {
        let half = student_quantile(self.degrees_of_freedom, confidence) * self.standard_error;
        (self.mean - half, self.mean + half)
    }
}

fn degrees_of_freedom(runs: &[RunEstimate]) -> Option<f64> {
    let is_sound = |run: &RunEstimate| {
        run.estimate.is_finite() && run.standard_error.is_finite() && run.standard_error >= 0.0
    };
    (runs.len() >= 2 && runs.iter().all(is_sound)).then_some(runs.len() as f64 - 1.0)
}

/// A weighted mean with the weighted sum of squares about it.
struct Pooled {
    mean: f64,
    weight: f64,
    squares: f64,
}

impl Pooled {
    fn new(runs: &[RunEstimate], between: f64) -> Pooled {
        // An error of exactly zero would have all the weight.
        let least = f64::MIN_POSITIVE.sqrt() + 1e-9 * square_scale(runs);
        let weights = || {
            runs.iter()
                .map(|run| 1.0 / (run.standard_error.powi(2) + between).max(least))
        };
        let weight: f64 = weights().sum();
        let sum: f64 = weights().zip(runs).map(|(w, run)| w * run.estimate).sum();
        let mean = sum / weight;
        let squares = weights().zip(runs);
        Pooled {
            mean,
            weight,
            squares: squares.map(|(w, r)| w * (r.estimate - mean).powi(2)).sum(),
        }
    }
}

/// The square of the runs' range.
fn square_scale(runs: &[RunEstimate]) -> f64 {
    let estimates = || runs.iter().map(|run| run.estimate);
    let range = estimates().fold(f64::MIN, f64::max) - estimates().fold(f64::MAX, f64::min);
    range * range
}

/// The variance between runs with which the sum of squares is `sum`; 0 if it is smaller without any.
/// The sum falls as the variance grows.
fn variance_for(runs: &[RunEstimate], sum: f64) -> f64 {
    let exceeds = |between: f64| Pooled::new(runs, between).squares > sum;
    if !exceeds(0.0) {
        return 0.0;
    }
    // All weights are at most 1/variance, so here the sum of squares is at most `sum`.
    let (mut low, mut high) = (0.0, runs.len() as f64 * square_scale(runs) / sum);
    for _ in 0..BISECTIONS {
        let middle = f64::midpoint(low, high);
        if exceeds(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn runs(of: &[(f64, f64)]) -> Vec<RunEstimate> {
        let run = |&(estimate, standard_error): &(f64, f64)| RunEstimate {
            estimate,
            standard_error,
        };
        of.iter().map(run).collect()
    }

    #[test]
    fn equal_errors_are_subtracted_from_the_scatter() {
        // Estimates 1, 3, 5, 7, 9 have a variance of 10.
        for (error, expected) in [(1.0, 9.0), (3.0, 1.0), (4.0, 0.0), (0.0, 10.0)] {
            let of: Vec<_> = [1.0, 3.0, 5.0, 7.0, 9.0].map(|e| (e, error)).to_vec();
            let found = between_runs(&runs(&of)).unwrap();
            let variance = found.standard_deviation.powi(2);
            assert!((variance - expected).abs() < 1e-6, "{error}: {variance}");
            assert!(found.low <= found.standard_deviation);
            assert!(found.high >= found.standard_deviation);
        }
    }

    #[test]
    fn without_own_errors_the_interval_is_that_of_a_standard_deviation() {
        let of: Vec<_> = [1.0, 3.0, 5.0, 7.0, 9.0].map(|e| (e, 0.0)).to_vec();
        let found = between_runs(&runs(&of)).unwrap();
        // 40 / 11.1433 and 40 / 0.48442, quantiles of χ² with four degrees of freedom.
        assert!((found.low.powi(2) - 3.589_60).abs() < 1e-3, "{found:?}");
        assert!((found.high.powi(2) - 82.573).abs() < 1e-1, "{found:?}");
    }

    #[test]
    fn few_or_unsound_runs_have_no_scatter() {
        let table: [&[(f64, f64)]; 5] = [
            &[],
            &[(1.0, 1.0)],
            &[(1.0, f64::NAN), (2.0, 1.0)],
            &[(f64::INFINITY, 1.0), (2.0, 1.0)],
            &[(1.0, -1.0), (2.0, 1.0)],
        ];
        for of in table {
            assert_eq!(between_runs(&runs(of)), None, "{of:?}");
            assert_eq!(pooled_bias(&runs(of)), None, "{of:?}");
        }
    }

    #[test]
    fn widening_needs_enough_runs() {
        let of = |count: usize| {
            let run = |i: usize| (if i.is_multiple_of(2) { 1.0 } else { -1.0 }, 0.1);
            between_runs(&runs(&(0..count).map(run).collect::<Vec<_>>())).unwrap()
        };
        let change = (0.5, 0.2, 1.0);
        assert_eq!(of(FEWEST_RUNS - 1).widen(change, Confidence::P95), None);
        let (low, high) = of(FEWEST_RUNS).widen(change, Confidence::P95).unwrap();
        assert!(low < 0.2 && high > 1.0, "{low} {high}");
        let none = BetweenRuns {
            standard_deviation: 0.0,
            ..of(FEWEST_RUNS)
        };
        let (low, high) = none.widen(change, Confidence::P95).unwrap();
        assert!((low - 0.2).abs() < 1e-12 && (high - 1.0).abs() < 1e-12);
    }

    #[test]
    fn seventeen_negative_of_twenty_are_a_bias() {
        let lean = |i: i32| (if i % 7 == 0 { 0.1 } else { -0.25 }, 0.2);
        let found = pooled_bias(&runs(&(1..=20).map(lean).collect::<Vec<_>>())).unwrap();
        assert!(
            found.p_value < 0.01 && found.ends(Confidence::P99).1 < 0.0,
            "{found:?}"
        );
        let even = |i: i32| (if i % 2 == 0 { 0.2 } else { -0.2 }, 0.2);
        let found = pooled_bias(&runs(&(1..=20).map(even).collect::<Vec<_>>())).unwrap();
        assert!(
            found.mean.abs() < 1e-12 && found.p_value > 0.99,
            "{found:?}"
        );
    }

    #[test]
    fn equal_estimates_have_a_certain_mean() {
        for (value, p_value) in [(0.0, 1.0), (0.3, 0.0)] {
            for error in [0.0, 0.1] {
                let found = pooled_bias(&runs(&[(value, error); 4])).unwrap();
                assert!((found.mean - value).abs() < 1e-12, "{found:?}");
                assert!((found.p_value - p_value).abs() < 1e-6, "{found:?}");
            }
        }
    }

    proptest! {
        #[test]
        fn the_sum_of_squares_is_solved_in_any_unit(
            of in prop::collection::vec((-10.0..10.0f64, 0.01..5.0f64), 2..12),
            unit in 1e-4..1e4f64,
        ) {
            let one = between_runs(&runs(&of)).unwrap();
            let scaled: Vec<_> = of.iter().map(|(e, s)| (e * unit, s * unit)).collect();
            let other = between_runs(&runs(&scaled)).unwrap();
            let near = (one.standard_deviation * unit - other.standard_deviation).abs();
            prop_assert!(near < 1e-6 * unit);
            let squares = Pooled::new(&runs(&of), one.standard_deviation.powi(2)).squares;
            let expected = of.len() as f64 - 1.0;
            prop_assert!(squares <= expected + 1e-6);
            prop_assert!(one.standard_deviation == 0.0 || squares > expected - 1e-6);
        }
    }
}
