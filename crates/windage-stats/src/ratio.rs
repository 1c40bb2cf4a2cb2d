//! The ratio of two estimates.

/// The ends of the interval for `numerator` / `denominator`, each given with an interval of the
/// same confidence; `None` when the denominator's interval reaches zero, so that the ratio is
/// unbounded.
///
/// The numerator is its estimate and its ends, which may be asymmetric; the denominator is its
/// estimate and half-width. Fieller's interval (1954), with half-widths recovered from the two
/// intervals (Donner & Zou 2012). The two are treated as independent: with positive correlation the
/// interval is wider than necessary.
#[must_use]
pub fn ratio(numerator: (f64, f64, f64), denominator: (f64, f64)) -> Option<(f64, f64)> {
    let (over, low, high) = numerator;
    let (under, half_width) = denominator;
    // In units of `under`, so that no square overflows.
    let (over, low, high) = (over / under, low / under, high / under);
    let spread = half_width / under;
    let rest = 1.0 - spread * spread;
    if !(under > 0.0 && rest > 0.0) {
        return None;
    }
    let reach = |end: f64| {
        let half = end - over;
        (over * over * spread * spread + half * half * rest).sqrt()
    };
    let (low, high) = ((over - reach(low)) / rest, (over + reach(high)) / rest);
    // Rounding must not move an end past the ratio.
    (low.is_finite() && high.is_finite()).then_some((low.min(over), high.max(over)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Confidence, Launches, two_level};
    use proptest::prelude::*;
    use rand::SeedableRng as _;
    use rand_chacha::ChaCha8Rng;

    #[test]
    fn ends_solve_fiellers_equation() {
        // numerator with its ends, denominator with its half-width
        let table = [
            ((10.0, 8.0, 12.0), (2.0, 0.5)),
            ((10.0, 9.0, 14.0), (0.1, 0.04)),
            // A difference that may be zero or a saving.
            ((1.0, -3.0, 5.0), (4.0, 1.0)),
            ((-10.0, -12.0, -8.0), (2.0, 0.5)),
            ((0.0, -1.0, 1.0), (3.0, 1.0)),
        ];
        for (numerator, denominator) in table {
            let (low, high) = ratio(numerator, denominator).unwrap();
            for (end, side) in [(low, numerator.1), (high, numerator.2)] {
                let distance = numerator.0 - end * denominator.0;
                let half_squared = (side - numerator.0).powi(2) + (end * denominator.1).powi(2);
                assert!(
                    (distance * distance - half_squared).abs() < 1e-9,
                    "{numerator:?} {denominator:?}: {end}"
                );
            }
            assert!(low < high);
        }
    }

    #[test]
    fn a_known_denominator_scales_and_one_near_zero_is_unbounded() {
        assert_eq!(ratio((10.0, 8.0, 13.0), (2.0, 0.0)), Some((4.0, 6.5)));
        for under in [
            (2.0, 2.0),
            (2.0, 3.0),
            (0.0, 0.0),
            (-1.0, 0.1),
            (1.0, f64::NAN),
        ] {
            assert_eq!(ratio((10.0, 8.0, 13.0), under), None, "{under:?}");
        }
    }

    /// Eight launches whose cost and spans scatter independently.
    #[test]
    fn intervals_cover_the_truth() {
        const EXPERIMENTS: u32 = 4_000;
        let mut random = ChaCha8Rng::seed_from_u64(5);
        let mut of_launches = |mean: f64, scatter: f64| {
            let mut launches = Launches::default();
            for _ in 0..8 {
                // The sum of twelve uniforms is nearly normal.
                let normal = (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0;
                launches.push(vec![mean + scatter * normal], 0.0);
            }
            let location = two_level(&launches).unwrap();
            let (low, high) = location.ends(Confidence::P95);
            (location.estimate, low, high)
        };
        // Scatter of a cost of 10 and of 2 spans.
        for (of_cost, of_spans) in [(2.0, 0.0), (2.0, 0.2), (2.0, 0.8), (0.2, 0.4)] {
            let mut held = 0;
            for _ in 0..EXPERIMENTS {
                let cost = of_launches(10.0, of_cost);
                let (spans, _, high) = of_launches(2.0, of_spans);
                let (low, high) = ratio(cost, (spans, high - spans)).unwrap();
                held += u32::from(low <= 5.0 && 5.0 <= high);
            }
            let share = f64::from(held) / f64::from(EXPERIMENTS);
            assert!(
                (0.94..=0.98).contains(&share),
                "{of_cost} {of_spans}: {share}"
            );
        }
    }

    proptest! {
        #[test]
        fn the_interval_holds_the_ratio_and_widens_with_the_denominators(
            over in -1e9..1e9_f64,
            below in 0.0..1e9_f64,
            above in 0.0..1e9_f64,
            under in 1e-6..1e6_f64,
            spread in 0.0..0.9_f64,
        ) {
            let numerator = (over, over - below, over + above);
            let plain = ratio(numerator, (under, 0.0)).unwrap();
            let (low, high) = ratio(numerator, (under, under * spread)).unwrap();
            let slack = 1e-9 * (over.abs() + below + above) / under;
            prop_assert!(low <= over / under + slack && over / under <= high + slack);
            prop_assert!(high - low >= (plain.1 - plain.0) - slack);
        }
    }
}
