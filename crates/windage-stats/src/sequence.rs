//! Intervals that hold at every look: a confidence sequence for the mean of units of unknown
//! scatter.
//!
//! Student's interval covers the truth at a length fixed in advance. Looking after each unit and
//! stopping as soon as the interval is narrow or excludes zero misses far more often than nominal.
//! A confidence sequence covers the truth in *all* of its intervals together with the stated
//! probability, so any stopping rule is allowed, even an unwritten one.
//!
//! # Derivation
//!
//! Units x₁, x₂, … are independent and normal with mean μ and standard deviation σ. To test whether
//! the mean is m, mix over the alternatives: (μ − m)/σ ~ N(0, g), with the right Haar measure dσ/σ
//! on the scale under both hypotheses. Integrating both out leaves a Bayes factor that depends only
//! on Student's *t* of n units (Gönen et al. 2005), with ν = n − 1 and a = 1 + n g:
//!
//! ```text
//! B = a^(−1/2) · [ (1 + t²/ν) / (1 + t²/(ν a)) ]^((ν + 1)/2)
//! ```
//!
//! If the mean is m, then B is the likelihood ratio of a scale-invariant statistic, the ratios xᵢ −
//! m to |x₁ − m|, so it is a martingale on their history that starts at 1, whatever σ is (Lai 1976;
//! Hendriksen, de Heide & Grünwald 2021; Wang & Ramdas 2025). By Ville's inequality (1939) it ever
//! reaches 1/α with a probability of at most α. The values of m for which it has not reached 1/α
//! form the interval; solving B = 1/α for *t* gives its half-width,
//!
//! ```text
//! t² = ν (q − 1) / (1 − q/a),   q = (√a / α)^(2/n)
//! ```
//!
//! as long as q < a. Before that B can't reach 1/α for any *t*, and the interval is unbounded.
//!
//! The assumptions are that units are independent and approximately normal. Consecutive blocks are
//! neither; launches, and locations of batches of blocks, are close enough. `tests/sequences.rs`
//! shows how close.

use crate::confidence::Confidence;

/// The variance g of the mixture over effects, in units of the scatter's variance. The guarantee
/// requires it to be fixed in advance. At 95 %, 1 makes the sequence at most 1.8 times as wide as
/// Student's interval from 8 to 500 units, and finite from 5; 0.5 would be narrower beyond 15 units
/// and twice as wide as Student's at 8.
const MIXTURE_VARIANCE: f64 = 1.0;

/// The largest number of units considered: at one per second they would take 30 years.
const MOST_UNITS: usize = 1_000_000_000;

/// The half-width of the confidence sequence around the mean of so many units with this sample
/// standard deviation, in its unit.
///
/// With probability `confidence` the truth lies within it for all numbers of units at once. `None`
/// while it is unbounded (at 95 % below 5 units), or when the standard deviation is negative or not
/// a number.
#[must_use]
pub fn radius(units: usize, standard_deviation: f64, confidence: Confidence) -> Option<f64> {
    if !(standard_deviation >= 0.0 && standard_deviation.is_finite()) {
        return None;
    }
    Some(standard_deviation * radius_of_one(units as f64, confidence)?)
}

/// How many units it takes for the half-width to shrink to the given one, if they scatter with this
/// standard deviation.
///
/// `None` when the half-width is not positive, the standard deviation is negative or not a number,
/// or more than a billion units would be needed.
#[must_use]
pub fn units_needed(
    half_width: f64,
    standard_deviation: f64,
    confidence: Confidence,
) -> Option<usize> {
    if !(half_width > 0.0 && standard_deviation >= 0.0) {
        return None;
    }
    let suffices = |units: usize| {
        radius(units, standard_deviation, confidence).is_some_and(|radius| radius <= half_width)
    };
    let mut enough = 2;
    while !suffices(enough) {
        enough *= 2;
        if enough > MOST_UNITS {
            return None;
        }
    }
    Some(first(enough / 2, enough, suffices))
}

/// The first number of units in `low..=high` for which `holds` is true, given that it is true for
/// `high` and for all above the first.
pub(crate) fn first(low: usize, high: usize, holds: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (low, high);
    while low < high {
        let middle = low.midpoint(high);
        if holds(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    high
}

/// The half-width for a standard deviation of one; `None` while it is unbounded.
pub(crate) fn radius_of_one(units: f64, confidence: Confidence) -> Option<f64> {
    let alpha = 1.0 - confidence.get();
    let inflation = 1.0 + units * MIXTURE_VARIANCE;
    let log_ratio = 2.0 / units * (0.5 * inflation.ln() - alpha.ln());
    let room = 1.0 - log_ratio.exp() / inflation;
    if units < 2.0 || room <= 0.0 {
        return None;
    }
    // t²/n; `exp_m1` keeps its digits for many units.
    let square = (units - 1.0) / units * log_ratio.exp_m1() / room;
    square.is_finite().then(|| square.sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use statrs::distribution::{Continuous, StudentsT};

    const LEVELS: [Confidence; 3] = [Confidence::P90, Confidence::P95, Confidence::P99];

    /// The Bayes factor as in the module documentation.
    fn bayes_factor(t: f64, units: f64) -> f64 {
        let (freedom, inflation) = (units - 1.0, 1.0 + units * MIXTURE_VARIANCE);
        let ratio = (1.0 + t * t / freedom) / (1.0 + t * t / (freedom * inflation));
        inflation.powf(-0.5) * ratio.powf((freedom + 1.0) / 2.0)
    }

    #[test]
    fn the_bayes_factor_averages_one_under_the_null_hypothesis() {
        // Ville's inequality needs this. Simpson's rule on t = sinh(u), so that the tails are
        // included.
        for units in [3.0, 5.0, 12.0, 60.0] {
            let student = StudentsT::new(0.0, 1.0, units - 1.0).unwrap();
            let (steps, end) = (20_000, 30.0);
            let step = 2.0 * end / f64::from(steps);
            let sum: f64 = (0..=steps)
                .map(|i| {
                    let u = -end + step * f64::from(i);
                    let weight = match i {
                        0 => 1.0,
                        i if i == steps => 1.0,
                        i => f64::from(2 + 2 * (i % 2)),
                    };
                    weight * bayes_factor(u.sinh(), units) * student.pdf(u.sinh()) * u.cosh()
                })
                .sum();
            let mean = sum * step / 3.0;
            assert!((mean - 1.0).abs() < 1e-6, "{units} units: {mean}");
        }
    }

    #[test]
    fn at_the_radius_the_bayes_factor_is_one_to_alpha() {
        for confidence in LEVELS {
            for units in [6, 8, 40, 500, 100_000] {
                let count = f64::from(units);
                let t = radius(units as usize, 1.0, confidence).unwrap() * count.sqrt();
                let found = bayes_factor(t, count) * (1.0 - confidence.get());
                assert!((found - 1.0).abs() < 1e-6, "{units}: {found}");
            }
        }
    }

    #[test]
    fn it_is_finite_from_a_few_units_and_then_shrinks() {
        // confidence, units from which the interval is finite
        for (confidence, from) in [
            (Confidence::P90, 4),
            (Confidence::P95, 5),
            (Confidence::P99, 6),
            (Confidence::P95.simultaneous(1000), 10),
        ] {
            let mut last = f64::INFINITY;
            for units in 0..5000 {
                let found = radius(units, 1.0, confidence);
                assert_eq!(found.is_some(), units >= from, "{units}");
                let now = found.unwrap_or(f64::INFINITY);
                assert!(now < last || now.is_infinite(), "{units}");
                last = now;
            }
        }
    }

    #[test]
    fn it_scales_with_the_scatter_and_rejects_invalid_values() {
        let one = radius(20, 1.0, Confidence::P95).unwrap();
        assert!((radius(20, 0.02, Confidence::P95).unwrap() - 0.02 * one).abs() < 1e-12);
        assert_eq!(radius(20, 0.0, Confidence::P95), Some(0.0));
        for wrong in [-1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(radius(20, wrong, Confidence::P95), None);
            assert_eq!(units_needed(0.01, wrong, Confidence::P95), None);
        }
    }

    #[test]
    fn units_needed_is_the_first_number_that_suffices() {
        for confidence in LEVELS {
            for (half_width, deviation) in [(0.005, 0.01), (0.01, 0.01), (0.002, 0.05), (9.0, 1.0)]
            {
                let units = units_needed(half_width, deviation, confidence).unwrap();
                let at = |units| radius(units, deviation, confidence).unwrap_or(f64::INFINITY);
                assert!(at(units) <= half_width && at(units - 1) > half_width);
            }
        }
        assert_eq!(units_needed(0.01, 0.0, Confidence::P95), Some(5));
    }

    #[test]
    fn unreachable_half_widths_are_none() {
        for wrong in [0.0, -0.01, f64::NAN, 1e-9] {
            assert_eq!(units_needed(wrong, 1.0, Confidence::P95), None, "{wrong}");
        }
    }
}
