//! Was the warm-up over when measuring began? This is tested, not assumed: the first blocks of each
//! launch are compared with the later ones of the same launch.
//!
//! For block log ratios only. Absolute levels drift with the machine, for the baseline as for any
//! arm, so their first blocks differ from later ones on any day. Warm-up that both arms share
//! cancels in a ratio: it does not show, and does no harm.

use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::location::{Estimator, locate};
use crate::outliers::{deviations, pulled_in};

/// The false-alarm rate.
const FALSE_ALARMS: f64 = 0.01;

/// The first blocks are one of this many parts of a launch.
const PARTS: usize = 10;

/// The fewest first blocks; fewer have no median.
const FEWEST_FIRST_BLOCKS: usize = 3;

/// The fewest degrees of freedom; with fewer the test detects only extreme cases.
const FEWEST_DEGREES: f64 = 3.0;

/// The difference between the first blocks of launches and the later ones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Onset {
    /// How far the median of the first blocks lies above that of the later ones, in the unit of the
    /// values; the mean over launches.
    pub excess: f64,
    /// Whether the difference is significant at 1 %.
    pub significant: bool,
}

/// Compares the first tenth of the blocks of each launch, at least three, with the other blocks.
///
/// The later blocks are cut into stretches as long as the first one. Without an onset the means of
/// all stretches scatter alike, whatever the correlation between neighbours (batch means: Schmeiser
/// 1982). So the first mean is tested as another value of that sample, by Student's prediction
/// interval, over all launches together. Outliers are winsorised.
///
/// `None` if there are too few later stretches: a single launch needs fifteen blocks. Launches with
/// fewer than three stretches are ignored.
#[must_use]
pub fn onset(launches: &[Vec<f64>]) -> Option<Onset> {
    let launches: Vec<Vec<f64>> = launches.iter().map(|l| deviations(l)).collect();
    let launches: Vec<Vec<f64>> = launches.into_iter().filter(|l| !l.is_empty()).collect();
    let blocks: usize = launches.iter().map(Vec::len).sum();
    let first_blocks = (blocks / launches.len().max(1) / PARTS).max(FEWEST_FIRST_BLOCKS);
    let compared: Vec<&Vec<f64>> = launches
        .iter()
        .filter(|l| l.len() >= 3 * first_blocks)
        .collect();

    let (mut difference, mut spread, mut squares, mut degrees, mut excess) =
        (0.0, 0.0, 0.0, 0.0, 0.0);
    for launch in &compared {
        let stretches = stretch_means(&pulled_in(launch), first_blocks);
        let (first, later) = stretches.split_first()?;
        let count = later.len() as f64;
        let mean = later.iter().sum::<f64>() / count;
        difference += first - mean;
        spread += 1.0 + 1.0 / count;
        squares += later.iter().map(|l| (l - mean).powi(2)).sum::<f64>();
        degrees += count - 1.0;
        let (first, later) = launch.split_at(first_blocks);
        excess += locate(first, Estimator::Median)? - locate(later, Estimator::Median)?;
    }
    if degrees < FEWEST_DEGREES {
        return None;
    }
    let error = (spread * squares / degrees).sqrt();
    let student = StudentsT::new(0.0, 1.0, degrees).ok()?;
    Some(Onset {
        excess: excess / compared.len() as f64,
        significant: difference.abs() > student.inverse_cdf(1.0 - FALSE_ALARMS / 2.0) * error,
    })
}

/// Means of consecutive stretches of so many values; an incomplete stretch at the end is dropped.
fn stretch_means(values: &[f64], length: usize) -> Vec<f64> {
    let stretches = values.chunks_exact(length);
    stretches
        .map(|s| s.iter().sum::<f64>() / length as f64)
        .collect()
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

    #[derive(Clone, Copy)]
    struct Cell {
        launches: usize,
        blocks: usize,
        /// Between neighbouring blocks.
        autocorrelation: f64,
        /// The deviation of the first block, in standard deviations of a block; it halves every
        /// three blocks.
        warm_up: f64,
        /// Share of outlier blocks.
        wild: f64,
    }

    impl Cell {
        fn launch(&self, random: &mut ChaCha8Rng) -> Vec<f64> {
            let luck = normal(random);
            let fresh = (1.0 - self.autocorrelation * self.autocorrelation).sqrt();
            let mut last = normal(random);
            (0..self.blocks)
                .map(|i| {
                    last = self.autocorrelation * last + fresh * normal(random);
                    let wild = random.random::<f64>() < self.wild;
                    let spike = if wild { 20.0 * normal(random) } else { 0.0 };
                    luck + last + spike + self.warm_up * 0.5f64.powf(i as f64 / 3.0)
                })
                .collect()
        }

        fn found(&self, experiments: u32) -> f64 {
            let mut random = ChaCha8Rng::seed_from_u64(1982);
            let found = (0..experiments)
                .filter(|_| {
                    let run: Vec<_> = (0..self.launches)
                        .map(|_| self.launch(&mut random))
                        .collect();
                    onset(&run).unwrap().significant
                })
                .count();
            found as f64 / f64::from(experiments)
        }
    }

    const CELL: Cell = Cell {
        launches: 1,
        blocks: 130,
        autocorrelation: 0.3,
        warm_up: 0.0,
        wild: 0.0,
    };

    #[test]
    fn noise_is_not_taken_for_an_onset() {
        for (launches, blocks) in [(1, 40), (1, 130), (8, 16)] {
            for wild in [0.0, 0.02] {
                let rate = Cell {
                    launches,
                    blocks,
                    wild,
                    ..CELL
                }
                .found(1000);
                assert!(rate <= 0.02, "{launches} x {blocks}, {wild}: {rate}");
            }
        }
    }

    #[test]
    fn an_onset_is_found() {
        // One launch of 130 blocks: the first 13 lie 1.2 higher on average (four for the first
        // three, halved every three), and a stretch's mean has a standard deviation of 0.28, 0.38
        // if correlated.
        for (cell, least) in [
            (
                Cell {
                    warm_up: 4.0,
                    autocorrelation: 0.0,
                    ..CELL
                },
                0.75,
            ),
            (
                Cell {
                    warm_up: 8.0,
                    ..CELL
                },
                0.9,
            ),
            (
                Cell {
                    launches: 8,
                    blocks: 16,
                    warm_up: 2.0,
                    ..CELL
                },
                0.85,
            ),
            (
                Cell {
                    launches: 8,
                    blocks: 16,
                    warm_up: -2.0,
                    ..CELL
                },
                0.85,
            ),
        ] {
            let rate = cell.found(300);
            assert!(rate > least, "{} launches: {rate}", cell.launches);
        }
    }

    #[test]
    fn the_excess_is_the_first_blocks_deviation() {
        let launch: Vec<f64> = (0..60)
            .map(|i| f64::from(i % 3) + if i < 6 { 40.0 } else { 0.0 })
            .collect();
        let onset = onset(&[launch.clone(), launch]).unwrap();
        assert!(onset.significant, "{onset:?}");
        assert!((onset.excess - 40.0).abs() < 1e-9, "{onset:?}");
    }

    #[test]
    fn too_few_blocks_have_no_result() {
        let blocks = |count: i32| (0..count).map(|i| f64::from(i % 4)).collect::<Vec<_>>();
        for (launches, is_known) in [
            (vec![], false),
            (vec![vec![]; 9], false),
            (vec![vec![f64::NAN; 90]], false),
            (vec![blocks(14)], false),
            (vec![blocks(15)], true),
            (vec![blocks(8); 40], false),
            (vec![blocks(9); 2], false),
            (vec![blocks(9); 3], true),
            (vec![blocks(2), blocks(90), vec![]], true),
        ] {
            assert_eq!(onset(&launches).is_some(), is_known, "{launches:?}");
        }
    }

    #[test]
    fn equal_values_have_no_onset() {
        let onset = onset(&[vec![0.1; 50]]).unwrap();
        assert_eq!((onset.excess, onset.significant), (0.0, false));
    }

    proptest! {
        #[test]
        fn launch_luck_and_unit_do_not_matter(seed in 0..1000u64, unit in 0.01..100.0f64, luck in -10.0..10.0f64) {
            let mut random = ChaCha8Rng::seed_from_u64(seed);
            let cell = Cell { warm_up: 1.5, blocks: 30, ..CELL };
            let launches = [cell.launch(&mut random), cell.launch(&mut random)];
            let mut other = launches.clone().map(|l| l.iter().map(|v| v * unit).collect::<Vec<_>>());
            other[1].iter_mut().for_each(|v| *v += luck);
            let (one, two) = (onset(&launches).unwrap(), onset(&other).unwrap());
            prop_assert_eq!(one.significant, two.significant);
            prop_assert!((one.excess * unit - two.excess).abs() < 1e-7);
        }
    }
}
