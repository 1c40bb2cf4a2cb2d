//! Are launch results bimodal?
//!
//! A program may settle in one of two states when it is launched: by memory layout, by what was
//! compiled first, by where its threads ended up. The mean over launches is then that of a mixture,
//! and no launch lies near it. To test for it, launches are split where the scatter within both
//! parts is smallest, and that is compared with the scatter of all (Engelman & Hartigan 1969).

use crate::location::sample_variance;

/// The fewest launches in which two modes can be distinguished from scatter.
const FEWEST_LAUNCHES: usize = 8;

/// The fewest launches of a mode: a single launch is an outlier, not a mode.
const FEWEST_OF_A_KIND: usize = 2;

/// How many of a launch's own standard errors the modes must be apart, so that a launch's mode is
/// known from its blocks.
const ERRORS_APART: f64 = 4.0;

/// Two modes of launches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Modes {
    /// Mean of the lower mode, in the unit of the locations.
    pub low: f64,
    /// Mean of the upper mode.
    pub high: f64,
    /// Launches of the lower mode.
    pub in_low: usize,
    /// Launches of the upper mode.
    pub in_high: usize,
}

/// The two modes of launch results; `None` if they are not bimodal, or if fewer than eight
/// locations are finite. `errors` are the standard errors of the locations from blocks within a
/// launch; those that are not finite are ignored.
///
/// The limit on the remaining scatter, `0.25 − 0.57 / √n` of the total, is the 2 % quantile for
/// uniformly distributed launches, the unimodal shape most similar to two modes (as in Hartigan &
/// Hartigan 1985). Normal launches fall below it in at most 0.5 % of runs. Eight launches show
/// modes that are about ten standard deviations of a mode apart; sixteen launches, about seven.
#[must_use]
pub fn bimodal(locations: &[f64], errors: &[f64]) -> Option<Modes> {
    let mut sorted: Vec<f64> = locations
        .iter()
        .copied()
        .filter(|l| l.is_finite())
        .collect();
    sorted.sort_by(f64::total_cmp);
    let count = sorted.len();
    if count < FEWEST_LAUNCHES {
        return None;
    }
    let cut = (FEWEST_OF_A_KIND..=count - FEWEST_OF_A_KIND)
        .min_by(|a, b| left(&sorted, *a).total_cmp(&left(&sorted, *b)))?;
    let (lower, upper) = sorted.split_at(cut);
    let modes = Modes {
        low: mean(lower),
        high: mean(upper),
        in_low: lower.len(),
        in_high: upper.len(),
    };
    let limit = (0.25 - 0.57 / (count as f64).sqrt()) * squares(&sorted);
    let apart = modes.high - modes.low;
    (left(&sorted, cut) < limit && apart > ERRORS_APART * typical(errors)).then_some(modes)
}

/// The sum of squares within the parts.
fn left(sorted: &[f64], cut: usize) -> f64 {
    let (lower, upper) = sorted.split_at(cut);
    squares(lower) + squares(upper)
}

/// Sum of squared deviations from the mean.
fn squares(values: &[f64]) -> f64 {
    sample_variance(values) * (values.len() - 1) as f64
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The root mean square of the known errors.
fn typical(errors: &[f64]) -> f64 {
    let known: Vec<f64> = errors
        .iter()
        .filter(|e| e.is_finite())
        .map(|e| e * e)
        .collect();
    if known.is_empty() {
        0.0
    } else {
        mean(&known).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    /// Normal noise (Box & Muller 1958).
    fn normal(random: &mut ChaCha8Rng) -> f64 {
        let (radius, turn): (f64, f64) = (random.random(), random.random());
        (-2.0 * (1.0 - radius).ln()).sqrt() * (std::f64::consts::TAU * turn).cos()
    }

    /// How often two modes are found in launches whose blocks give them this error.
    fn found(count: usize, error: f64, mut launch: impl FnMut(&mut ChaCha8Rng) -> f64) -> f64 {
        let mut random = ChaCha8Rng::seed_from_u64(1969);
        let experiments = 4000;
        let found = (0..experiments)
            .filter(|_| {
                let launches =
                    (0..count).map(|_| launch(&mut random) + error * normal(&mut random));
                bimodal(&launches.collect::<Vec<_>>(), &vec![error; count]).is_some()
            })
            .count();
        found as f64 / f64::from(experiments)
    }

    #[test]
    fn normal_launches_are_unimodal() {
        for count in [8, 12, 20, 40] {
            for (luck, error) in [(1.0, 0.0), (1.0, 0.5), (0.3, 1.0), (0.0, 1.0)] {
                let rate = found(count, error, |r| luck * normal(r));
                assert!(
                    rate <= 0.01,
                    "{count} launches, luck {luck}, error {error}: {rate}"
                );
            }
        }
    }

    #[test]
    fn the_limit_is_the_quantile_of_uniform_launches() {
        for count in [8, 10, 16, 30, 60] {
            let rate = found(count, 0.0, |r| r.random());
            // 2 %, within three standard errors of 4,000 experiments.
            assert!((0.0134..0.0266).contains(&rate), "{count} launches: {rate}");
        }
    }

    #[test]
    fn heavy_tails_are_not_a_second_mode() {
        for count in [8, 16, 40] {
            let student = |r: &mut ChaCha8Rng| {
                let square: f64 = (0..3).map(|_| normal(r).powi(2)).sum();
                normal(r) / (square / 3.0).sqrt()
            };
            let rate = found(count, 0.0, student);
            assert!(
                rate <= 0.01,
                "{count} launches of Student's distribution: {rate}"
            );
            let rate = found(count, 0.0, |r| -(1.0 - r.random::<f64>()).ln());
            assert!(rate <= 0.03, "{count} exponential launches: {rate}");
        }
    }

    #[test]
    fn modes_far_apart_are_found() {
        for (count, apart, least) in [(8, 12.0, 0.9), (16, 8.0, 0.9), (40, 6.0, 0.9)] {
            let mut upper = false;
            let rate = found(count, 0.0, |r| {
                upper = !upper;
                normal(r) + if upper { apart } else { 0.0 }
            });
            assert!(rate > least, "{count} launches, {apart} apart: {rate}");
        }
    }

    #[test]
    fn kinds_are_described() {
        let locations = [0.1, 5.0, 0.0, f64::NAN, 0.2, 5.2, 0.1, 0.0, 5.1, 0.2];
        let modes = bimodal(&locations, &[0.1; 10]).unwrap();
        assert_eq!((modes.in_low, modes.in_high), (6, 3));
        assert!((modes.low - 0.1).abs() < 1e-12 && (modes.high - 5.1).abs() < 1e-12);
    }

    #[test]
    fn unimodal_launches_have_no_modes() {
        let table: [(&str, &[f64], f64); 5] = [
            ("too few", &[0.0, 0.0, 0.0, 9.0, 9.0, 9.0, 9.0], 0.0),
            (
                "one outlier",
                &[0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 90.0],
                0.0,
            ),
            ("all equal", &[2.0; 12], 0.0),
            (
                "steps within the error",
                &[0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0],
                0.3,
            ),
            ("nothing", &[], 0.0),
        ];
        for (name, locations, error) in table {
            assert_eq!(
                bimodal(locations, &vec![error; locations.len()]),
                None,
                "{name}"
            );
        }
        let steps = [0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0];
        assert!(bimodal(&steps, &[0.2; 8]).is_some() && bimodal(&steps, &[]).is_some());
        assert!(bimodal(&steps, &[f64::NAN; 8]).is_some());
    }

    proptest! {
        #[test]
        fn order_and_unit_do_not_matter(mut locations in prop::collection::vec(-1.0..1.0f64, 8..30), split in 3.0..30.0f64, unit in 0.1..10.0f64) {
            for location in locations.iter_mut().step_by(2) {
                *location += split;
            }
            let one = bimodal(&locations, &[]);
            let other: Vec<f64> = locations.iter().rev().map(|l| l * unit).collect();
            let two = bimodal(&other, &[]);
            prop_assert_eq!(one.map(|m| (m.in_low, m.in_high)), two.map(|m| (m.in_low, m.in_high)));
        }
    }
}
