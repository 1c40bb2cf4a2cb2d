//! Turns: the order in which arms alternate within a block of interleaved load.

use std::time::Duration;

use rand::RngExt;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use windage_model::{ArmIndex, TurnOrder};
use windage_plan::{Design, Length};

/// One block in so many leaves the heaviest arm out, to show what it costs the others, and one has
/// short turns, to show what a changeover costs.
const ONE_IN: u32 = 8;
/// The most blocks of turns in a round: a tiny share of isolated windows asks for more.
const MOST_BLOCKS: f64 = 1e6;
/// Streams of the seed, apart from those of the blocks of windows.
const STREAMS: u64 = 1 << 62;

/// The blocks of turns of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct TurnBlocks {
    pub(super) per_round: u32,
    seed: u64,
}

impl TurnBlocks {
    /// The blocks of turns in each of `rounds`; `isolated` is the time that its windows take there.
    pub(super) fn of(design: &Design, rounds: u32, isolated: Duration) -> Option<TurnBlocks> {
        let interleaving = design.interleaving?;
        let share = interleaving.isolated;
        let block_s = interleaving.block.as_secs_f64();
        let blocks = match design.length {
            Length::MeasuringTime(time) => {
                (time / rounds.max(1)).as_secs_f64() * (1.0 - share) / block_s
            }
            // The plan gives the number of blocks of windows.
            Length::Blocks(_) if share > 0.0 => {
                isolated.as_secs_f64() * (1.0 - share) / share / block_s
            }
            Length::Blocks(blocks) => f64::from(blocks),
        };
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a number of blocks, at least one"
        )]
        let per_round = blocks.round().clamp(1.0, MOST_BLOCKS) as u32;
        Some(TurnBlocks {
            per_round,
            seed: design.seed,
        })
    }

    /// How the turns of a block are drawn; it counts from 0 over the run's blocks of turns.
    pub(super) fn draw(&self, block: u32) -> TurnDraw {
        let mut random = self.random(u64::from(block / ONE_IN), 0);
        let mut special: Vec<u32> = (0..ONE_IN).collect();
        special.shuffle(&mut random);
        let place = block % ONE_IN;
        let order = match block {
            // What an arm costs is known after the first block.
            0 => TurnOrder::Random,
            // A launch whose only block is special would have no figure.
            _ if self.per_round == 1 => TurnOrder::Random,
            _ if place == special[0] => TurnOrder::WithoutHeaviest,
            _ if place == special[1] => TurnOrder::ShortTurns,
            _ => TurnOrder::Random,
        };
        TurnDraw {
            order,
            random: self.random(u64::from(block), 1),
        }
    }

    fn random(&self, index: u64, purpose: u64) -> ChaCha8Rng {
        let mut random = ChaCha8Rng::seed_from_u64(self.seed);
        random.set_stream(STREAMS + index * 2 + purpose);
        random
    }
}

/// Draws the turns of one block.
#[derive(Clone, Debug)]
pub(crate) struct TurnDraw {
    pub(crate) order: TurnOrder,
    random: ChaCha8Rng,
}

impl TurnDraw {
    /// Groups of turns, each with every arm once, as positions among `arms`. No arm follows itself,
    /// unless it is the only one.
    pub(crate) fn turns(mut self, arms: u16, groups: u32) -> Vec<u16> {
        let mut group: Vec<u16> = (0..arms).collect();
        let mut turns = Vec::with_capacity(group.len().saturating_mul(groups as usize));
        for _ in 0..groups {
            self.shuffle_after(turns.last().copied(), &mut group);
            turns.extend_from_slice(&group);
        }
        turns
    }

    /// A new order that does not begin with the arm that had the last turn.
    fn shuffle_after(&mut self, last: Option<u16>, group: &mut [u16]) {
        group.shuffle(&mut self.random);
        if group.len() > 1 && group.first().copied() == last {
            let with = self.random.random_range(1..group.len());
            group.swap(0, with);
        }
    }
}

/// The arms that take turns, and in which order: all, or all but the heaviest one. Without one to
/// leave out, it is a block like any other.
pub(crate) fn takers(
    order: TurnOrder,
    alive: &[ArmIndex],
    heaviest: Option<ArmIndex>,
) -> (TurnOrder, Vec<ArmIndex>) {
    if order != TurnOrder::WithoutHeaviest {
        return (order, alive.to_vec());
    }
    let others = alive.iter().copied().filter(|arm| Some(*arm) != heaviest);
    let others: Vec<ArmIndex> = others.collect();
    match others.len() == alive.len() {
        true => (TurnOrder::Random, others),
        false => (order, others),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use windage_plan::{Interleaving, Turn};

    fn blocks(seed: u64) -> TurnBlocks {
        TurnBlocks { per_round: 3, seed }
    }

    proptest! {
        #[test]
        fn groups_have_every_arm_once_and_none_follows_itself(
            seed: u64, block in 0..1000u32, arms in 1..20u16, groups in 0..50u32,
        ) {
            let draw = blocks(seed).draw(block);
            let turns = draw.turns(arms, groups);
            prop_assert_eq!(turns.len(), usize::from(arms) * groups as usize);
            for group in turns.chunks(usize::from(arms)) {
                let mut sorted = group.to_vec();
                sorted.sort_unstable();
                prop_assert_eq!(sorted, (0..arms).collect::<Vec<_>>());
            }
            let follows_itself = turns.windows(2).any(|two| two[0] == two[1]);
            prop_assert!(arms == 1 || !follows_itself);
        }

        #[test]
        fn some_blocks_leave_the_heaviest_out_and_some_have_short_turns(seed: u64) {
            let orders: Vec<TurnOrder> = (0..800).map(|b| blocks(seed).draw(b).order).collect();
            let count = |of| orders.iter().filter(|order| **order == of).count();
            // The first block is never special.
            for special in [TurnOrder::WithoutHeaviest, TurnOrder::ShortTurns] {
                prop_assert!((99..=100).contains(&count(special)));
            }
            prop_assert_eq!(orders[0], TurnOrder::Random);
        }
    }

    #[test]
    fn the_only_block_of_a_round_is_never_special() {
        let alone = TurnBlocks {
            per_round: 1,
            seed: 3,
        };
        let orders = (0..80).map(|block| alone.draw(block).order);
        assert!(orders.into_iter().all(|of| of == TurnOrder::Random));
    }

    #[test]
    fn every_order_follows_every_other_arm_equally_often() {
        let turns = blocks(3).draw(0).turns(3, 3000);
        for (before, after) in [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)] {
            let pairs = turns.windows(2).filter(|two| two == &[before, after]);
            let count = pairs.count();
            assert!(
                (1300..1700).contains(&count),
                "{before} then {after}: {count}"
            );
        }
    }

    #[test]
    fn the_isolated_share_sets_the_number_of_blocks() {
        let design = |length, isolated| {
            let mut design = super::super::tests::design(windage_model::Order::Mirrored, length, 1);
            design.interleaving = Some(Interleaving {
                turn: Turn::Time(Duration::from_millis(10)),
                block: Duration::from_secs(1),
                isolated,
            });
            design
        };
        let minute = Length::MeasuringTime(Duration::from_secs(60));
        let table = [
            (minute, 0.5, 10, "three rounds, half of 20 s each"),
            (minute, 0.0, 20, "all of it"),
            (minute, 0.99, 1, "at least one"),
            (Length::Blocks(7), 0.5, 5, "as long as 5 s of windows"),
            (Length::Blocks(7), 0.25, 15, "three times as long"),
            (Length::Blocks(7), 0.0, 7, "the plan's number"),
            (Length::Blocks(1), 1e-300, 1_000_000, "at most a million"),
        ];
        for (length, isolated, expected, why) in table {
            let found = TurnBlocks::of(&design(length, isolated), 3, Duration::from_secs(5));
            assert_eq!(
                found.map(|blocks| blocks.per_round),
                Some(expected),
                "{why}"
            );
        }
    }

    #[test]
    fn the_heaviest_arm_is_left_out_where_the_order_says_so() {
        use TurnOrder::{Random, ShortTurns, WithoutHeaviest};
        let arms = [0, 1, 2].map(ArmIndex);
        let heaviest = Some(ArmIndex(2));
        let table = [
            (WithoutHeaviest, heaviest, WithoutHeaviest, &arms[..2]),
            (WithoutHeaviest, None, Random, &arms),
            (Random, heaviest, Random, &arms),
            (ShortTurns, heaviest, ShortTurns, &arms),
        ];
        for (order, heaviest, expected, left) in table {
            let found = takers(order, &arms, heaviest);
            assert_eq!(found, (expected, left.to_vec()), "{order:?} {heaviest:?}");
        }
    }
}
