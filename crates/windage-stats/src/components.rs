//! Where the scatter comes from, and what a longer run should have more of.
//!
//! A launch costs time that another block does not. The best number of blocks per launch follows
//! from the scatter and the cost of each level (Kalibera & Jones 2013, 4): scatter between launches
//! calls for more launches, scatter between blocks for more blocks per launch.

use crate::launches::Launches;
use crate::location::sample_variance;

/// By what factor the blocks per launch may deviate from the optimum before a change is advised: at
/// a factor of two the interval is still within a few per cent of the best.
const NEAR: f64 = 2.0;

/// Standard deviations by level, in the unit of the block values. For log ratios 0.01 is one per
/// cent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Components {
    /// Between launches, beyond what blocks explain: launch luck. `None` for a single launch.
    pub launch_sd: Option<f64>,
    /// What a block adds to its launch's location, including drift and correlation between
    /// neighbours: the square root of the long-run variance.
    pub within_sd: f64,
    /// `within_sd` without the scatter of windows: drift between blocks. Equal to `within_sd` when
    /// the scatter of windows is unknown.
    pub block_sd: f64,
    /// The part that windows within a block explain, on the scale of a block value.
    pub window_sd: Option<f64>,
}

/// Splits the scatter of launches by level. `window_variance_of_a_block` is the variance of a
/// block's value explained by the scatter of windows within blocks. `None` unless some launch has
/// two usable blocks.
#[must_use]
pub fn components(
    launches: &Launches,
    window_variance_of_a_block: Option<f64>,
) -> Option<Components> {
    let levels = launches.locations().into_iter().map(|(location, offset)| {
        Some(Level {
            estimate: location.estimate + offset,
            standard_error: location.error()?.standard_error,
            blocks: location.influences.len(),
        })
    });
    split(
        &levels.collect::<Option<Vec<_>>>()?,
        window_variance_of_a_block,
    )
}

/// What is known of one launch.
pub(crate) struct Level {
    pub(crate) estimate: f64,
    /// From the scatter within the launch.
    pub(crate) standard_error: f64,
    pub(crate) blocks: usize,
}

/// The split itself, whatever the estimator within a launch. `None` without launches.
pub(crate) fn split(
    launches: &[Level],
    window_variance_of_a_block: Option<f64>,
) -> Option<Components> {
    let estimates: Vec<f64> = launches.iter().map(|l| l.estimate).collect();
    let explained: Vec<f64> = launches.iter().map(|l| l.standard_error.powi(2)).collect();
    let of_a_block: Vec<f64> = launches
        .iter()
        .map(|l| l.standard_error.powi(2) * l.blocks as f64)
        .collect();
    let within = mean(&of_a_block)?;
    let between = sample_variance(&estimates);
    let windows = window_variance_of_a_block.unwrap_or(0.0);
    Some(Components {
        launch_sd: (estimates.len() > 1)
            .then(|| (between - mean(&explained).unwrap_or(0.0)).max(0.0).sqrt()),
        within_sd: within.sqrt(),
        block_sd: (within - windows).max(0.0).sqrt(),
        window_sd: window_variance_of_a_block.map(f64::sqrt),
    })
}

/// What a launch and a block cost, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Costs {
    /// Everything that happens once per launch: start, warm-up, drain, take-down.
    pub launch_s: f64,
    /// One block with its settle times.
    pub block_s: f64,
}

/// What narrows the interval most per measuring time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Advice {
    /// Launches differ: measure more of them, with fewer blocks each.
    MoreRounds {
        /// The optimal number of blocks per round.
        blocks_per_round: usize,
    },
    /// Blocks differ: measure more of them per launch.
    MoreBlocks {
        /// The optimal number of blocks per round; `None` when no difference between launches
        /// shows, so that there is no bound.
        blocks_per_round: Option<usize>,
    },
    /// The number of blocks per round is within a factor of two of the optimum: a longer run should
    /// have more rounds of the same kind.
    Balanced,
    /// A single launch can't show whether launches differ: measure at least a second round.
    LaunchesUnknown,
}

/// What a longer run should have more of, after `rounds` with `blocks_per_round` each. The optimal
/// number of blocks per round is √(cost of a launch / cost of a block · variance of a block /
/// variance of launches).
#[must_use]
pub fn advice(
    components: &Components,
    costs: Costs,
    rounds: usize,
    blocks_per_round: usize,
) -> Advice {
    let Some(launch_sd) = components.launch_sd.filter(|_| rounds > 1) else {
        return Advice::LaunchesUnknown;
    };
    let best = (costs.launch_s / costs.block_s).sqrt() * components.within_sd / launch_sd;
    let now = blocks_per_round as f64;
    if best.is_nan() {
        Advice::Balanced
    } else if now > best * NEAR {
        Advice::MoreRounds {
            blocks_per_round: whole(best),
        }
    } else if now * NEAR < best {
        Advice::MoreBlocks {
            blocks_per_round: best.is_finite().then(|| whole(best)),
        }
    } else {
        Advice::Balanced
    }
}

/// At least two blocks, because one has no scatter.
fn whole(blocks: f64) -> usize {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a positive number of blocks; beyond the type's range it saturates"
    )]
    let blocks = blocks.ceil() as usize;
    blocks.max(2)
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    fn normal(random: &mut ChaCha8Rng) -> f64 {
        (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0
    }

    fn simulated(rounds: usize, blocks: usize, launch_sd: f64, block_sd: f64) -> Launches {
        let mut random = ChaCha8Rng::seed_from_u64(11);
        let mut launches = Launches::default();
        for _ in 0..rounds {
            let luck = launch_sd * normal(&mut random);
            let values = (0..blocks).map(|_| luck + block_sd * normal(&mut random));
            launches.push(values.collect(), 0.0);
        }
        launches
    }

    #[test]
    fn each_level_has_its_scatter() {
        let found = components(&simulated(400, 40, 0.03, 0.05), Some(0.03f64.powi(2))).unwrap();
        let launch_sd = found.launch_sd.unwrap();
        assert!((launch_sd / 0.03 - 1.0).abs() < 0.1, "{launch_sd}");
        // A trimmed mean of normal values has 1.06 times the variance of their mean.
        let within = 0.05 * 1.06f64.sqrt();
        assert!((found.within_sd / within - 1.0).abs() < 0.05, "{found:?}");
        let drift = (found.within_sd.powi(2) - 0.03f64.powi(2)).sqrt();
        assert!((found.block_sd - drift).abs() < 1e-12);
        assert_eq!(found.window_sd, Some(0.03));
    }

    #[test]
    fn a_single_launch_shows_no_launch_luck() {
        let found = components(&simulated(1, 40, 0.03, 0.05), None).unwrap();
        assert_eq!((found.launch_sd, found.window_sd), (None, None));
        assert!((found.block_sd - found.within_sd).abs() < 1e-15);
    }

    #[test]
    fn without_two_blocks_in_a_launch_there_is_nothing_to_split() {
        assert_eq!(components(&Launches::default(), None), None);
        assert_eq!(components(&simulated(3, 1, 0.1, 0.1), None), None);
    }

    #[test]
    fn advice_follows_scatter_and_costs() {
        use Advice::{Balanced, LaunchesUnknown, MoreBlocks, MoreRounds};
        let blocks = |blocks_per_round| MoreBlocks { blocks_per_round };
        // launch sd, within sd, seconds per launch, seconds per block, rounds, blocks per round,
        // advice
        let table = [
            // √(4 / 0.25) · 0.05 / 0.01 = 20
            (Some(0.01), 0.05, 4.0, 0.25, 5, 20, Balanced),
            (Some(0.01), 0.05, 4.0, 0.25, 5, 40, Balanced),
            (
                Some(0.01),
                0.05,
                4.0,
                0.25,
                5,
                41,
                MoreRounds {
                    blocks_per_round: 20,
                },
            ),
            (Some(0.01), 0.05, 4.0, 0.25, 5, 9, blocks(Some(20))),
            (Some(0.0), 0.05, 4.0, 0.25, 5, 1000, blocks(None)),
            // Only launches differ.
            (
                Some(0.01),
                0.0,
                4.0,
                0.25,
                5,
                10,
                MoreRounds {
                    blocks_per_round: 2,
                },
            ),
            // No scatter at all.
            (Some(0.0), 0.0, 4.0, 0.25, 5, 10, Balanced),
            (None, 0.05, 4.0, 0.25, 1, 100, LaunchesUnknown),
        ];
        for (launch_sd, within_sd, launch_s, block_s, rounds, blocks, expected) in table {
            let components = Components {
                launch_sd,
                within_sd,
                block_sd: within_sd,
                window_sd: None,
            };
            let costs = Costs { launch_s, block_s };
            assert_eq!(
                advice(&components, costs, rounds, blocks),
                expected,
                "{components:?}"
            );
        }
    }
}
