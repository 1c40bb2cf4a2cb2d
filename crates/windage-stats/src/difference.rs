//! The difference of two independent estimates.

/// The ends of the interval for `later` − `earlier`. Each argument is an estimate and its two ends,
/// all of the same confidence; `None` where one of these is not a number or they are out of order.
///
/// The distance to each end is recovered from the corresponding side of each interval, squared and
/// added: MOVER, the method of variance estimates recovery (Zou & Donner 2008; for proportions
/// Newcombe 1998). Intervals may be asymmetric, as those of ratios are. For two t intervals this is
/// Cochran's approximation, which tends to be conservative with few degrees of freedom; with
/// unknown scatter on both sides no interval is exact (Behrens–Fisher).
#[must_use]
pub fn difference(later: (f64, f64, f64), earlier: (f64, f64, f64)) -> Option<(f64, f64)> {
    let is_ordered = |(estimate, low, high): (f64, f64, f64)| {
        low <= estimate && estimate <= high && low.is_finite() && high.is_finite()
    };
    if !(is_ordered(later) && is_ordered(earlier)) {
        return None;
    }
    let between = later.0 - earlier.0;
    let below = (later.0 - later.1).hypot(earlier.2 - earlier.0);
    let above = (later.2 - later.0).hypot(earlier.0 - earlier.1);
    let (low, high) = (between - below, between + above);
    (low.is_finite() && high.is_finite()).then_some((low, high))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Confidence, proportion};
    use proptest::prelude::*;

    fn of_shares(one: (u64, u64), other: (u64, u64)) -> (f64, f64) {
        let share = |(hits, of): (u64, u64)| {
            let (low, high) = proportion(hits, of, Confidence::P95).unwrap();
            (hits as f64 / of as f64, low, high)
        };
        difference(share(one), share(other)).unwrap()
    }

    #[test]
    fn intervals_match_published_ones() {
        // Newcombe 1998 (interval estimation for the difference), table II, method 10.
        let table = [
            ((56, 70), (48, 80), 0.0524, 0.3339),
            ((9, 10), (3, 10), 0.1705, 0.8090),
            ((6, 7), (2, 7), 0.0582, 0.8062),
            ((5, 56), (0, 29), -0.0381, 0.1926),
            ((0, 10), (0, 20), -0.1611, 0.2775),
            ((10, 10), (0, 10), 0.6075, 1.0),
        ];
        for (one, other, low, high) in table {
            let found = of_shares(one, other);
            assert!(
                (found.0 - low).abs() < 6e-5 && (found.1 - high).abs() < 6e-5,
                "{one:?} {other:?}: {found:?}"
            );
        }
    }

    #[test]
    fn sides_are_squared_and_added_separately() {
        // later, earlier, the interval
        let table = [
            ((5.0, 2.0, 9.0), (1.0, 1.0, 1.0), (1.0, 8.0)),
            ((1.0, 1.0, 1.0), (5.0, 2.0, 9.0), (-8.0, -1.0)),
            ((0.0, -3.0, 12.0), (0.0, -5.0, 4.0), (-5.0, 13.0)),
        ];
        for (later, earlier, expected) in table {
            assert_eq!(difference(later, earlier), Some(expected), "{later:?}");
        }
    }

    #[test]
    fn invalid_intervals_have_no_difference() {
        let sound = (1.0, 0.5, 2.0);
        for wrong in [
            (f64::NAN, 0.0, 1.0),
            (0.0, f64::NEG_INFINITY, 1.0),
            (0.0, 0.1, 1.0),
            (0.0, -1.0, -0.1),
            (f64::MAX, -f64::MAX, f64::MAX),
        ] {
            assert_eq!(difference(sound, wrong), None, "{wrong:?}");
            assert_eq!(difference(wrong, sound), None, "{wrong:?}");
        }
    }

    proptest! {
        #[test]
        fn it_stands_around_the_difference_and_mirrors(
            (one, other) in (-1e6..1e6_f64, -1e6..1e6_f64),
            sides in proptest::array::uniform4(0.0..1e6_f64),
        ) {
            let later = (one, one - sides[0], one + sides[1]);
            let earlier = (other, other - sides[2], other + sides[3]);
            let (low, high) = difference(later, earlier).unwrap();
            prop_assert!(low <= one - other && one - other <= high);
            let widest = sides.iter().sum::<f64>() + 1e-6;
            prop_assert!(high - low <= widest, "never wider than the sum of both");
            let (back_low, back_high) = difference(earlier, later).unwrap();
            prop_assert!((back_low + high).abs() < 1e-6 && (back_high + low).abs() < 1e-6);
        }
    }
}
