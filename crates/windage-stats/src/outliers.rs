//! Deviations from the median, with outliers winsorised to where the bulk of the values ends,
//! before they are summed.

/// How many robust standard deviations from the median a value may lie. 3 of 1,000 normal values
/// lie beyond, so normal values are hardly changed.
const LIMIT: f64 = 3.0;

/// The factor from the median absolute deviation of normal values to their standard deviation
/// (Hampel 1974).
const NORMAL: f64 = 1.482_602_2;

/// Deviations of values from their median, in order. Values that are not finite are ignored. Equal
/// values give exact zeros, not rounding errors, which could look like a pattern.
pub(crate) fn deviations(values: &[f64]) -> Vec<f64> {
    let mut finite: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
    let middle = median(&finite).unwrap_or(0.0);
    finite.iter_mut().for_each(|v| *v -= middle);
    finite
}

/// The values in order, none farther from the median than three robust standard deviations.
/// Unchanged if more than half of them are equal, because then there is no scale.
pub(crate) fn pulled_in(values: &[f64]) -> Vec<f64> {
    let Some(middle) = median(values) else {
        return Vec::new();
    };
    let distances: Vec<f64> = values.iter().map(|v| (v - middle).abs()).collect();
    let reach = LIMIT * NORMAL * median(&distances).unwrap_or(0.0);
    if reach > 0.0 {
        values
            .iter()
            .map(|v| v.clamp(middle - reach, middle + reach))
            .collect()
    } else {
        values.to_vec()
    }
}

/// The median by selection, without sorting, which takes ten times as long.
fn median(values: &[f64]) -> Option<f64> {
    if values.is_empty() {
        return None;
    }
    let mut partly_sorted = values.to_vec();
    let middle = values.len() / 2;
    let (below, &mut upper, _) = partly_sorted.select_nth_unstable_by(middle, f64::total_cmp);
    let lower = if values.len().is_multiple_of(2) {
        below.iter().copied().fold(f64::MIN, f64::max)
    } else {
        upper
    };
    Some(f64::midpoint(lower, upper))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::location::{Estimator, locate};
    use proptest::prelude::*;

    #[test]
    fn deviations_are_from_the_median_of_finite_values() {
        assert_eq!(deviations(&[1.0, f64::NAN, 2.0, 9.0]), [-1.0, 0.0, 7.0]);
        assert_eq!(deviations(&[0.1; 7]), [0.0; 7]);
        assert!(deviations(&[f64::NAN]).is_empty());
    }

    #[test]
    fn only_outliers_are_moved() {
        // Median 3, absolute deviations 2 1 0 1 97 with median 1: the limit is 4.45 from the
        // median.
        let pulled = pulled_in(&[1.0, 2.0, 3.0, 4.0, 100.0]);
        assert_eq!(pulled[..4], [1.0, 2.0, 3.0, 4.0]);
        assert!((pulled[4] - 7.447_806_6).abs() < 1e-9, "{pulled:?}");
    }

    #[test]
    fn mostly_equal_values_are_unchanged() {
        let quantised = [0.0, 0.0, 0.0, 0.0, 7.0];
        assert_eq!(pulled_in(&quantised), quantised);
        assert!(pulled_in(&[]).is_empty());
    }

    proptest! {
        #[test]
        fn selecting_and_sorting_give_the_same_median(values in prop::collection::vec(-9.0..9.0f64, 0..40)) {
            prop_assert_eq!(median(&values), locate(&values, Estimator::Median));
        }
    }
}
