//! Robust estimates of location.
//!
//! Noise on a shared machine has heavy tails and comes in regimes, so the mean is a poor estimate.
//! [`Estimator`] lists the candidates and [`locate`] computes any of them; [`location`] is the one
//! that Windage uses, with the influence of each value, from which its standard error is computed.
//! It was chosen by efficiency on recorded noise
//! (`cargo run --locked --release -p windage-analysis --example estimators`).

use crate::long_run::{MeanError, mean_error};

/// The share that [`location`] trims from either end. A fifth keeps 95 % of the mean's efficiency
/// on normal noise and resists the regimes and spikes of shared machines (Wilcox, *Introduction to
/// Robust Estimation*, 3.3).
const TRIMMED_SHARE: f64 = 0.2;

/// Huber's bound in units of scale: 95 % efficiency on normal noise (Huber 1964).
const HUBER_BOUND: f64 = 1.345;

/// The median absolute deviation of normal noise, in standard deviations.
const MAD_OF_NORMAL: f64 = 0.674_489_750_196_081_7;

/// Candidate estimators of location.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Estimator {
    /// The mean: efficient on normal noise, sensitive to every outlier.
    Mean,
    /// The median.
    Median,
    /// The mean after cutting off a fifth at either end (Tukey & McLaughlin 1963).
    TrimmedMean,
    /// The median of the means of all pairs (Hodges & Lehmann 1963).
    HodgesLehmann,
    /// Huber's M-estimator (1964), scaled by the median absolute deviation.
    Huber,
}

impl Estimator {
    /// All estimators.
    pub const ALL: [Estimator; 5] = [
        Estimator::Mean,
        Estimator::Median,
        Estimator::TrimmedMean,
        Estimator::HodgesLehmann,
        Estimator::Huber,
    ];

    /// Its name in reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Estimator::Mean => "mean",
            Estimator::Median => "median",
            Estimator::TrimmedMean => "20 % trimmed mean",
            Estimator::HodgesLehmann => "Hodges-Lehmann",
            Estimator::Huber => "Huber",
        }
    }
}

/// The location of values by an estimator. Values that are not finite are ignored; `None` when none
/// is left.
#[must_use]
pub fn locate(values: &[f64], estimator: Estimator) -> Option<f64> {
    let mut sorted = finite(values);
    sorted.sort_by(f64::total_cmp);
    if sorted.is_empty() {
        return None;
    }
    Some(match estimator {
        Estimator::Mean => mean(&sorted),
        Estimator::Median => median(&sorted),
        Estimator::TrimmedMean => mean(kept(&sorted)),
        Estimator::HodgesLehmann => hodges_lehmann(&sorted),
        Estimator::Huber => huber(&sorted),
    })
}

/// A location, and the influence of each value on it.
#[derive(Clone, Debug, PartialEq)]
pub struct Location {
    /// The trimmed mean.
    pub estimate: f64,
    /// How far each value, in time order, moved the estimate, times the number of values. To first
    /// order the estimate's error is their mean's error, so a robust location has the standard
    /// error of a mean (Hampel 1974).
    pub influences: Vec<f64>,
    /// How many values were not trimmed.
    pub kept: usize,
}

impl Location {
    /// The estimate's standard error, allowing for any correlation between neighbours; `None` for a
    /// single value.
    ///
    /// A trimmed mean of independent values has as many degrees of freedom as a mean of the values
    /// kept (Tukey & McLaughlin 1963). The loss from trimming, in 1/degrees, is added to that of
    /// the cosines; with all cosines this gives their rule.
    #[must_use]
    pub fn error(&self) -> Option<MeanError> {
        let error = mean_error(&self.influences)?;
        let of_kept = 1.0 / (self.kept as f64 - 1.0).max(1.0);
        let of_all = 1.0 / (self.influences.len() as f64 - 1.0);
        let uncertainty = 1.0 / error.degrees_of_freedom + (of_kept - of_all).max(0.0);
        Some(MeanError {
            degrees_of_freedom: (1.0 / uncertainty).max(1.0),
            ..error
        })
    }
}

/// The 20 % trimmed mean of values in the order of measurement. Its influences are the winsorised
/// values divided by the share that is kept (Tukey & McLaughlin 1963; Yuen 1974). Values that are
/// not finite are ignored; `None` when none is left.
#[must_use]
pub fn location(values: &[f64]) -> Option<Location> {
    let in_order = finite(values);
    let mut sorted = in_order.clone();
    sorted.sort_by(f64::total_cmp);
    let kept = kept(&sorted);
    let (&low, &high) = (kept.first()?, kept.last()?);
    let kept_share = kept.len() as f64 / sorted.len() as f64;
    let mut influences: Vec<f64> = in_order
        .iter()
        .map(|value| value.clamp(low, high) / kept_share)
        .collect();
    let centre = mean(&influences);
    for influence in &mut influences {
        *influence -= centre;
    }
    Some(Location {
        estimate: mean(kept),
        influences,
        kept: kept.len(),
    })
}

fn finite(values: &[f64]) -> Vec<f64> {
    values.iter().copied().filter(|v| v.is_finite()).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Sorted values after trimming.
fn kept(sorted: &[f64]) -> &[f64] {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share of a length"
    )]
    let trimmed = (sorted.len() as f64 * TRIMMED_SHARE).floor() as usize;
    &sorted[trimmed..sorted.len() - trimmed]
}

/// The median of sorted values.
fn median(sorted: &[f64]) -> f64 {
    let (low, high) = middle(sorted.len());
    f64::midpoint(sorted[low - 1], sorted[high - 1])
}

/// The ranks, counted from one, of the two values around the median.
fn middle(count: usize) -> (usize, usize) {
    (count.div_ceil(2), count / 2 + 1)
}

/// The median of the means of all pairs, including each value with itself. Pairs are not listed:
/// the mean of rank k is found by bisecting over floating-point numbers, counting in one pass per
/// step how many pairs are at most as large. The result is exact, in linear memory.
fn hodges_lehmann(sorted: &[f64]) -> f64 {
    let (low, high) = middle(sorted.len() * (sorted.len() + 1) / 2);
    f64::midpoint(pair_mean(sorted, low), pair_mean(sorted, high))
}

/// The pair mean of a given rank, counted from one.
fn pair_mean(sorted: &[f64], rank: usize) -> f64 {
    let (mut low, mut high) = (ordinal(sorted[0]), ordinal(sorted[sorted.len() - 1]));
    while low < high {
        let middle = low + (high.abs_diff(low) / 2).cast_signed();
        if pairs_up_to(sorted, of_ordinal(middle)) >= rank {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    of_ordinal(low)
}

/// How many pairs have a mean of at most `bound`.
fn pairs_up_to(sorted: &[f64], bound: f64) -> usize {
    let mut partners = sorted.len();
    let mut pairs = 0;
    for (index, &value) in sorted.iter().enumerate() {
        while partners > index && f64::midpoint(value, sorted[partners - 1]) > bound {
            partners -= 1;
        }
        if partners <= index {
            break;
        }
        pairs += partners - index;
    }
    pairs
}

/// Integers in the order of the floats (the total order of IEEE 754, 5.10).
fn ordinal(value: f64) -> i64 {
    let bits = value.to_bits().cast_signed();
    bits ^ (((bits >> 63).cast_unsigned() >> 1).cast_signed())
}

fn of_ordinal(ordinal: i64) -> f64 {
    let bits = ordinal ^ (((ordinal >> 63).cast_unsigned() >> 1).cast_signed());
    f64::from_bits(bits.cast_unsigned())
}

/// Huber's M-estimator by modified residuals (Huber 1981, 7.8), starting from the median. Where
/// more than half of the values are equal there is no scale, and the result is the median.
fn huber(sorted: &[f64]) -> f64 {
    let start = median(sorted);
    let mut deviations: Vec<f64> = sorted.iter().map(|v| (v - start).abs()).collect();
    deviations.sort_by(f64::total_cmp);
    let bound = HUBER_BOUND * median(&deviations) / MAD_OF_NORMAL;
    if bound <= 0.0 {
        return start;
    }
    let mut centre = start;
    for _ in 0..100 {
        let pulls = sorted.iter().map(|v| (v - centre).clamp(-bound, bound));
        let step = pulls.sum::<f64>() / sorted.len() as f64;
        centre += step;
        if step.abs() <= 1e-12 * bound {
            break;
        }
    }
    centre
}

/// A robust standard deviation from the median distance to the median (MAD × 1.4826, for normal
/// values), insensitive to outliers; `None` without a finite value.
#[must_use]
pub fn robust_sd(values: &[f64]) -> Option<f64> {
    let mut values = finite(values);
    let centre = quick_median(&mut values)?;
    values.iter_mut().for_each(|v| *v = (*v - centre).abs());
    Some(quick_median(&mut values)? * 1.482_602_218_505_602)
}

/// The median of values that may be reordered, without sorting them.
fn quick_median(values: &mut [f64]) -> Option<f64> {
    let half = values.len() / 2;
    if values.is_empty() {
        return None;
    }
    let odd = values.len() % 2 == 1;
    let (below, middle, _) = values.select_nth_unstable_by(half, f64::total_cmp);
    let upper = *middle;
    let lower = below.iter().copied().max_by(f64::total_cmp);
    Some(match lower.filter(|_| !odd) {
        Some(lower) => f64::midpoint(lower, upper),
        None => upper,
    })
}

/// The unbiased variance; 0 for fewer than two values.
#[must_use]
pub fn sample_variance(values: &[f64]) -> f64 {
    if values.len() < 2 {
        return 0.0;
    }
    let mean = mean(values);
    values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (values.len() - 1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn estimators_of_a_small_series_by_hand() {
        let x = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 100.0];
        assert_eq!(locate(&x, Estimator::Mean), Some(14.5));
        assert_eq!(locate(&x, Estimator::Median), Some(5.5));
        assert_eq!(locate(&x, Estimator::TrimmedMean), Some(5.5));
        // Pair means of 1, 2, 6: 1, 1.5, 2, 3.5, 4, 6.
        let pairs = locate(&[2.0, 6.0, 1.0], Estimator::HodgesLehmann);
        assert_eq!(pairs, Some(2.75));
        // Symmetric about 2, so the location is 2 at any scale.
        let huber = locate(&[0.0, 1.0, 2.0, 3.0, 4.0], Estimator::Huber);
        assert_eq!(huber, Some(2.0));
        // Scale 1 / 0.6745 from the median 2.5; the outlier counts like a value at the bound: 1 + 2
        // + 3 + (c + 1.345 / 0.6745) = 4 c.
        let pulled = locate(&[1.0, 2.0, 3.0, 1e6], Estimator::Huber).unwrap();
        let bound = HUBER_BOUND / MAD_OF_NORMAL;
        assert!((pulled - (6.0 + bound) / 3.0).abs() < 1e-9, "{pulled}");
    }

    #[test]
    fn influences_are_winsorised_deviations_in_time_order() {
        let x = [100.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 1.0];
        let found = location(&x).unwrap();
        assert!((found.estimate - 5.5).abs() < 1e-12);
        let winsorised: [f64; 10] = [8.0, 3.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 8.0, 3.0];
        for (influence, value) in found.influences.iter().zip(winsorised) {
            assert!((influence - (value - 5.5) / 0.6).abs() < 1e-12);
        }
        assert_eq!(found.kept, 6);
        // Three cosines of ten values: 1 / (1/3 + 1/5 - 1/9).
        let degrees = found.error().unwrap().degrees_of_freedom;
        assert!((degrees - 45.0 / 19.0).abs() < 1e-12, "{degrees}");
    }

    #[test]
    fn few_values_have_a_location() {
        assert_eq!(location(&[]), None);
        assert_eq!(location(&[f64::NAN, f64::INFINITY]), None);
        let one = location(&[3.0]).unwrap();
        assert_eq!((one.estimate, one.error()), (3.0, None));
        let same = location(&[2.0; 7]).unwrap();
        assert_eq!(same.estimate, 2.0);
        assert!(same.error().unwrap().standard_error.abs() < 1e-15);
        for estimator in Estimator::ALL {
            assert_eq!(locate(&[], estimator), None);
            assert_eq!(
                locate(&[f64::NAN, 4.0], estimator),
                Some(4.0),
                "{estimator:?}"
            );
            assert_eq!(locate(&[-7.5; 12], estimator), Some(-7.5), "{estimator:?}");
        }
    }

    proptest! {
        #[test]
        fn hodges_lehmann_is_the_median_of_all_pairs(values in prop::collection::vec(-1e3..1e3f64, 1..40)) {
            let mut pairs = Vec::new();
            for (i, a) in values.iter().enumerate() {
                pairs.extend(values[i..].iter().map(|b| f64::midpoint(*a, *b)));
            }
            pairs.sort_by(f64::total_cmp);
            prop_assert_eq!(locate(&values, Estimator::HodgesLehmann), Some(median(&pairs)));
        }

        #[test]
        fn locations_move_and_stretch_with_their_values(
            values in prop::collection::vec(-1e3..1e3f64, 1..60), shift in -1e3..1e3f64, stretch in 0.1..10.0f64,
        ) {
            let changed: Vec<f64> = values.iter().map(|v| v * stretch + shift).collect();
            for estimator in Estimator::ALL {
                let (before, after) = (locate(&values, estimator).unwrap(), locate(&changed, estimator).unwrap());
                prop_assert!((after - before * stretch - shift).abs() < 1e-6, "{:?}", estimator);
            }
            let (before, after) = (location(&values).unwrap(), location(&changed).unwrap());
            if let (Some(before), Some(after)) = (before.error(), after.error()) {
                prop_assert!((after.standard_error - before.standard_error * stretch).abs() < 1e-6);
            }
        }

        #[test]
        fn location_is_the_trimmed_mean_among_the_candidates(values in prop::collection::vec(-1e3..1e3f64, 1..60)) {
            prop_assert_eq!(locate(&values, Estimator::TrimmedMean), location(&values).map(|l| l.estimate));
        }

        #[test]
        fn influences_have_no_mean(values in prop::collection::vec(-1e3..1e3f64, 1..60)) {
            prop_assert!(mean(&location(&values).unwrap().influences).abs() < 1e-9);
        }

        #[test]
        fn outliers_hardly_move_a_robust_location(values in prop::collection::vec(0.0..1.0f64, 10..60), wild in 1e3..1e9f64) {
            let mut spoiled = values.clone();
            spoiled[values.len() / 2] = wild;
            for estimator in [Estimator::Median, Estimator::TrimmedMean, Estimator::HodgesLehmann] {
                let moved = locate(&spoiled, estimator).unwrap() - locate(&values, estimator).unwrap();
                prop_assert!(moved.abs() < 1.0, "{:?}", estimator);
            }
        }
    }
}
