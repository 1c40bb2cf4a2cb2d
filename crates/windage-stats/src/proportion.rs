//! The interval of a proportion.

use statrs::distribution::{ContinuousCDF, Normal};

use crate::confidence::Confidence;

/// The ends of Wilson's score interval for the share of which `hits` of `of` is a sample; `None`
/// without a sample, and when `hits` exceeds `of`.
///
/// Its coverage is near nominal even for shares near zero and one and for small samples, where the
/// textbook interval fails (Wilson 1927; Brown, Cai & DasGupta 2001).
#[must_use]
pub fn proportion(hits: u64, of: u64, confidence: Confidence) -> Option<(f64, f64)> {
    if of == 0 || hits > of {
        return None;
    }
    let (n, share) = (of as f64, hits as f64 / of as f64);
    let z = Normal::standard().inverse_cdf(f64::midpoint(1.0, confidence.get()));
    let middle = share + z * z / (2.0 * n);
    let half = z * (share * (1.0 - share) / n + z * z / (4.0 * n * n)).sqrt();
    let whole = 1.0 + z * z / n;
    // Rounding must not move an end past the estimate or outside 0 to 1.
    let low = ((middle - half) / whole).clamp(0.0, share);
    let high = ((middle + half) / whole).clamp(share, 1.0);
    Some((low, high))
}

/// How far the difference of two shares extends below and above its estimate, from the counts that
/// they are of; `None` where a share has none. Newcombe's hybrid of two score intervals (Newcombe
/// 1998, *Statistics in Medicine* 17:873, method 10).
#[must_use]
pub fn proportion_difference(
    [hits, of]: [u64; 2],
    [other_hits, of_other]: [u64; 2],
    confidence: Confidence,
) -> Option<(f64, f64)> {
    let share = hits as f64 / of as f64;
    let other = other_hits as f64 / of_other as f64;
    let (low, high) = proportion(hits, of, confidence)?;
    let (other_low, other_high) = proportion(other_hits, of_other, confidence)?;
    Some((
        (share - low).hypot(other_high - other),
        (high - share).hypot(other - other_low),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn differences_match_published_ones() {
        // Newcombe 1998, table II, method 10: the counts, low, high.
        let table = [
            ([56, 70], [48, 80], 0.0524, 0.3339),
            ([9, 10], [3, 10], 0.1705, 0.8090),
            ([10, 10], [0, 20], 0.6791, 1.0),
            ([5, 56], [0, 29], -0.0381, 0.1926),
        ];
        for (one, other, low, high) in table {
            let share = |[hits, of]: [u64; 2]| hits as f64 / of as f64;
            let estimate = share(one) - share(other);
            let (below, above) = proportion_difference(one, other, Confidence::P95).unwrap();
            assert!((estimate - below - low).abs() < 6e-5, "{one:?} {other:?}");
            assert!((estimate + above - high).abs() < 6e-5, "{one:?} {other:?}");
        }
        let none = proportion_difference([0, 0], [0, 5], Confidence::P95);
        assert_eq!(none, None);
    }

    #[test]
    fn intervals_match_published_ones() {
        // Newcombe 1998, table I, method 3: hits, of, low, high.
        let table = [
            (81, 263, 0.2553, 0.3662),
            (15, 148, 0.0624, 0.1605),
            (0, 20, 0.0, 0.1611),
            (1, 29, 0.0061, 0.1718),
        ];
        for (hits, of, low, high) in table {
            let found = proportion(hits, of, Confidence::P95).unwrap();
            assert!(
                (found.0 - low).abs() < 6e-5 && (found.1 - high).abs() < 6e-5,
                "{hits} of {of}: {found:?}"
            );
        }
        assert_eq!(proportion(0, 0, Confidence::P95), None);
        assert_eq!(proportion(2, 1, Confidence::P95), None);
    }

    proptest! {
        #[test]
        fn ends_stand_around_the_share(of in 1..u64::MAX, part in 0.0..=1.0_f64) {
            let hits = ((of as f64 * part) as u64).min(of);
            let share = hits as f64 / of as f64;
            let (low, high) = proportion(hits, of, Confidence::P95).unwrap();
            prop_assert!((0.0..=share).contains(&low) && (share..=1.0).contains(&high));
        }
    }
}
