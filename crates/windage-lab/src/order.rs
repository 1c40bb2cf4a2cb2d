//! The run order: which arm is measured when. A pure function of the design and its seed, so
//! that a resumed run goes on with the very same order.

use std::time::Duration;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use windage_model::{ArmIndex, Order};
use windage_plan::{Design, Length};

/// Treatments in a block beyond which its ends are too far apart to be compared.
const TREATMENTS_IN_A_BLOCK: usize = 6;
/// What reading counters and waiting for the service to sleep adds to each window.
const OVERHEAD: Duration = Duration::from_millis(2);

/// The bounds of one arm's turn in a pilot: long enough for a mirrored group of four windows of
/// the default length, and not so long that there are few switches.
const SHORTEST_TURN: Duration = Duration::from_millis(400);
const LONGEST_TURN: Duration = Duration::from_secs(1);

/// Windows of a sequential order that are committed together.
const WINDOWS_IN_A_STRETCH: u32 = 10;

/// The order of a whole run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunOrder {
    order: Order,
    seed: u64,
    arms: u16,
    /// Loads that the rounds have in turn.
    loads: u32,
    rounds: u32,
    blocks_per_round: u32,
    windows_in_sequence: u32,
    /// Windows of one arm that follow each other in a mirrored order.
    repeated: u32,
}

impl RunOrder {
    /// The order of a design for so many arms, the baseline and its control among them, under so
    /// many loads. Loads take turns by round.
    #[must_use]
    pub fn new(design: &Design, arms: u16, loads: u32) -> RunOrder {
        let loads = loads.max(1);
        let rounds = design.rounds.saturating_mul(loads);
        let mut order = RunOrder {
            order: design.order,
            seed: design.seed,
            arms,
            loads,
            rounds,
            blocks_per_round: 1,
            windows_in_sequence: 1,
            repeated: 1,
        };
        let window = design.window + design.settle + OVERHEAD;
        match (design.order, design.length) {
            (Order::Mirrored, Length::Blocks(blocks)) => order.blocks_per_round = blocks,
            (Order::Mirrored, Length::MeasuringTime(time)) => {
                let block = window * u32::from(order.mean_block_length());
                order.blocks_per_round = times(time / rounds, block);
            }
            (Order::Sequential, length) => {
                let windows = match length {
                    // A mirrored block measures each arm twice.
                    Length::Blocks(blocks) => blocks.saturating_mul(2),
                    Length::MeasuringTime(time) => {
                        times(time / rounds / u32::from(arms.max(1)), window)
                    }
                };
                order.windows_in_sequence = windows;
                order.blocks_per_round = order.blocks_in_sequence().saturating_mul(u32::from(arms));
            }
        }
        order
    }

    /// The order of a pilot that takes about so long, or longer for many arms: a round of mirrored
    /// blocks like the run's own, but at its turn each arm is measured for a whole stretch of
    /// windows. So it has many windows of one arm in a row, each switch of arms, and what idle
    /// arms do meanwhile.
    #[must_use]
    pub(crate) fn of_pilot(design: &Design, arms: u16, lasts: Duration) -> RunOrder {
        let mut order = RunOrder::new(design, arms, 1);
        order.order = Order::Mirrored;
        order.rounds = 1;
        let window = design.window + OVERHEAD;
        let turns: usize = (0..order.parts())
            .map(|part| order.mirrored(part).len())
            .sum();
        let turns = u32::try_from(turns).unwrap_or(u32::MAX);
        // With many arms their turns get shorter, down to a bound.
        order.repeated = times((lasts / turns).clamp(SHORTEST_TURN, LONGEST_TURN), window);
        let cycle = window.saturating_mul(turns.saturating_mul(order.repeated));
        let cycles = times(lasts + cycle / 2, cycle);
        order.blocks_per_round = order.parts().saturating_mul(cycles);
        order
    }

    /// Rounds in all.
    #[must_use]
    pub fn rounds(&self) -> u32 {
        self.rounds
    }

    /// Blocks in each round.
    #[must_use]
    pub fn blocks_per_round(&self) -> u32 {
        self.blocks_per_round
    }

    /// The arms of a block, in the order of its windows; `block` counts from 0 over the run.
    #[must_use]
    pub fn block(&self, block: u32) -> Vec<ArmIndex> {
        match self.order {
            Order::Mirrored => self
                .mirrored(self.under_its_load(block))
                .into_iter()
                .flat_map(|arm| std::iter::repeat_n(arm, self.repeated as usize))
                .collect(),
            Order::Sequential => self.sequential(block),
        }
    }

    /// Which block of its own load it is: squares are filled under each load, as if there were no
    /// other.
    fn under_its_load(&self, block: u32) -> u32 {
        let (round, in_round) = (block / self.blocks_per_round, block % self.blocks_per_round);
        (round / self.loads) * self.blocks_per_round + in_round
    }

    /// A stretch of one arm's sequence: short enough that little is lost when a run is killed.
    fn sequential(&self, block: u32) -> Vec<ArmIndex> {
        let in_round = block % self.blocks_per_round;
        let (arm, stretch) = (
            in_round / self.blocks_in_sequence(),
            in_round % self.blocks_in_sequence(),
        );
        let left = self
            .windows_in_sequence
            .saturating_sub(stretch * WINDOWS_IN_A_STRETCH);
        let windows = left.min(WINDOWS_IN_A_STRETCH);
        let arm = ArmIndex(u16::try_from(arm).unwrap_or(u16::MAX));
        vec![arm; windows as usize]
    }

    fn blocks_in_sequence(&self) -> u32 {
        self.windows_in_sequence.div_ceil(WINDOWS_IN_A_STRETCH)
    }

    /// A half and the same backwards, so that what drifts evenly cancels for each arm.
    ///
    /// The order of a half is drawn anew for each *square*: as many blocks as a half has windows,
    /// each of which begins at another place of it. So over a square every window of the half
    /// stands at every place once, and at the block's ends, which follow a pause because records are
    /// saved there, each arm stands exactly as often as its share of windows asks. Left to chance,
    /// a run would keep whatever imbalance its seed happens to give.
    fn mirrored(&self, block: u32) -> Vec<ArmIndex> {
        let (cycle, part) = (block / self.parts(), block % self.parts());
        let (square, at) = (cycle / self.square(), cycle % self.square());
        let mut half = self.half(square, part);
        let mut random = self.random(
            u64::from(square) * u64::from(self.parts()) + u64::from(part),
            1,
        );
        let mut begins: Vec<usize> = (0..half.len()).collect();
        begins.shuffle(&mut random);
        let begin = begins[at as usize % begins.len()];
        half.rotate_left(begin);
        let back: Vec<ArmIndex> = half.iter().rev().copied().collect();
        half.extend(back);
        half
    }

    /// One half of the blocks of a square, in the order that was drawn for it.
    fn half(&self, square: u32, part: u32) -> Vec<ArmIndex> {
        let mut treatments: Vec<ArmIndex> = (0..self.arms)
            .map(ArmIndex)
            .filter(|&a| !self.in_every_block(a))
            .collect();
        // Which treatments share a block is drawn for all parts at once, so that a cycle of them
        // holds each once.
        treatments.shuffle(&mut self.random(u64::from(square), 0));
        let share = treatments.len().div_ceil(self.parts() as usize).max(1);
        let mut others: Vec<ArmIndex> = treatments
            .chunks(share)
            .nth(part as usize)
            .unwrap_or(&[])
            .to_vec();
        if self.arms > ArmIndex::CONTROL.0 {
            others.push(ArmIndex::CONTROL);
        }
        let stream = u64::from(square) * u64::from(self.parts()) + u64::from(part);
        others.shuffle(&mut self.random(stream, 2));
        between_baselines(&others)
    }

    /// Cycles in a square: windows of the longest half.
    fn square(&self) -> u32 {
        let treatments = usize::from(self.arms.saturating_sub(2));
        let others = treatments.div_ceil(self.parts() as usize) + 1;
        u32::try_from(others + baselines_among(others)).unwrap_or(u32::MAX)
    }

    fn in_every_block(&self, arm: ArmIndex) -> bool {
        arm == ArmIndex::BASELINE || arm == ArmIndex::CONTROL
    }

    /// Blocks over which all treatments are spread.
    fn parts(&self) -> u32 {
        let treatments = usize::from(self.arms.saturating_sub(2));
        u32::try_from(treatments.div_ceil(TREATMENTS_IN_A_BLOCK).max(1)).unwrap_or(u32::MAX)
    }

    fn mean_block_length(&self) -> u16 {
        let lengths: usize = (0..self.parts())
            .map(|part| self.mirrored(part).len())
            .sum();
        u16::try_from(lengths / self.parts() as usize)
            .unwrap_or(u16::MAX)
            .max(1)
    }

    fn random(&self, index: u64, purpose: u64) -> ChaCha8Rng {
        let mut random = ChaCha8Rng::seed_from_u64(self.seed);
        random.set_stream(index.wrapping_mul(3).wrapping_add(purpose));
        random
    }
}

/// How often the baseline stands among so many others, about √k: its mean is needed for every
/// comparison, so that repeating it pays (as for a control group against k treatments, Dunnett 1955).
fn baselines_among(others: usize) -> usize {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a root of a length"
    )]
    let wanted = ((others as f64).sqrt().round() as usize).max(1);
    let group = others.div_ceil(wanted).max(1);
    others.div_ceil(group).max(1)
}

/// The baseline before each group of others.
fn between_baselines(others: &[ArmIndex]) -> Vec<ArmIndex> {
    let baselines = baselines_among(others.len());
    let group = others.len().div_ceil(baselines).max(1);
    let mut half = Vec::with_capacity(others.len() + baselines);
    for chunk in others.chunks(group) {
        half.push(ArmIndex::BASELINE);
        half.extend_from_slice(chunk);
    }
    if half.is_empty() {
        half.push(ArmIndex::BASELINE);
    }
    half
}

fn times(whole: Duration, part: Duration) -> u32 {
    let times = whole.as_nanos() / part.as_nanos().max(1);
    u32::try_from(times).unwrap_or(u32::MAX).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;
    use windage_plan::{Design, OnDeath};

    fn design(order: Order, length: Length, seed: u64) -> Design {
        Design {
            window: Duration::from_millis(100),
            settle: Duration::from_millis(10),
            pilot: None,
            rounds: 3,
            length,
            stop: None,
            warmup: Duration::ZERO,
            drain: Duration::ZERO,
            idle: Duration::ZERO,
            order,
            seed,
            interest: 0.005,
            generator_moved_at_most: None,
            on_death: OnDeath::End,
        }
    }

    fn mirrored(arms: u16, seed: u64) -> RunOrder {
        RunOrder::new(&design(Order::Mirrored, Length::Blocks(12), seed), arms, 1)
    }

    #[test]
    fn time_becomes_blocks() {
        let minute = Length::MeasuringTime(Duration::from_secs(60));
        // Baseline and control: windows of 112 ms, four in a block, three rounds.
        let order = RunOrder::new(&design(Order::Mirrored, minute, 1), 2, 1);
        assert_eq!((order.block(0).len(), order.blocks_per_round()), (4, 44));
        // A time shorter than a block still measures one.
        let instant = Length::MeasuringTime(Duration::from_millis(1));
        assert_eq!(
            RunOrder::new(&design(Order::Mirrored, instant, 1), 9, 1).blocks_per_round(),
            1
        );
    }

    #[test]
    fn loads_take_turns_by_round_and_share_the_time() {
        let minute = design(
            Order::Mirrored,
            Length::MeasuringTime(Duration::from_secs(60)),
            1,
        );
        let (one, two) = (RunOrder::new(&minute, 2, 1), RunOrder::new(&minute, 2, 2));
        assert_eq!((one.rounds(), one.blocks_per_round()), (3, 44));
        assert_eq!((two.rounds(), two.blocks_per_round()), (6, 22));
    }

    #[test]
    fn under_each_load_the_order_is_that_of_a_run_with_this_load_alone() {
        for (arms, blocks) in [(4, 1), (9, 1), (9, 5), (20, 2)] {
            let design = design(Order::Mirrored, Length::Blocks(blocks), 7);
            let alone = RunOrder::new(&design, arms, 1);
            let whole = RunOrder::new(&design, arms, 3);
            for round in 0..alone.rounds() {
                for load in 0..3 {
                    for block in 0..blocks {
                        let in_whole = (round * 3 + load) * blocks + block;
                        assert_eq!(
                            whole.block(in_whole),
                            alone.block(round * blocks + block),
                            "{arms} arms, {blocks} blocks, round {round}, load {load}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn sequential_measures_one_arm_after_another() {
        let order = RunOrder::new(&design(Order::Sequential, Length::Blocks(6), 1), 3, 1);
        let round = |round: u32| -> Vec<u16> {
            let first = round * order.blocks_per_round();
            (first..first + order.blocks_per_round())
                .flat_map(|block| order.block(block))
                .map(|arm| arm.0)
                .collect()
        };
        assert_eq!(round(0), [[0; 12], [1; 12], [2; 12]].concat());
        assert_eq!(round(1), round(0));
    }

    #[test]
    fn a_pilot_has_long_turns_of_every_arm() {
        let window = Duration::from_millis(20);
        let design = Design {
            window,
            settle: Duration::ZERO,
            ..design(Order::Sequential, Length::Blocks(1), 1)
        };
        let lasts = Duration::from_secs(12);
        // (arms, windows of a turn, seconds at least and at most)
        let table = [
            (2, 45, 11.0, 13.0),
            (3, 45, 11.0, 13.0),
            (8, 27, 11.0, 13.0),
            (40, 18, 12.0, 60.0),
        ];
        for (arms, turn, least_s, most_s) in table {
            let order = RunOrder::of_pilot(&design, arms, lasts);
            assert_eq!(order.rounds(), 1);
            let blocks: Vec<Vec<ArmIndex>> = (0..order.blocks_per_round())
                .map(|block| order.block(block))
                .collect();
            let windows = blocks.concat();
            for arm in (0..arms).map(ArmIndex) {
                assert!(windows.contains(&arm), "{arm:?} of {arms}");
            }
            for block in &blocks {
                let turns = block.chunk_by(|a, b| a == b).map(<[ArmIndex]>::len);
                assert!(
                    turns.clone().all(|length| length % turn == 0),
                    "{arms}: {turns:?}"
                );
                let backwards: Vec<ArmIndex> = block.iter().rev().copied().collect();
                assert_eq!(block, &backwards);
            }
            let takes_s = (window + OVERHEAD).as_secs_f64() * windows.len() as f64;
            assert!((least_s..=most_s).contains(&takes_s), "{arms}: {takes_s}");
        }
    }

    #[test]
    fn the_baseline_is_repeated_about_as_the_root_of_the_others() {
        for (others, baselines) in [(1u16, 1), (4, 2), (6, 2), (7, 3)] {
            let block = mirrored(others + 1, 5).block(0);
            let count = block.iter().filter(|&&a| a == ArmIndex::BASELINE).count();
            assert_eq!(count, 2 * baselines, "{others} others");
        }
    }

    proptest! {
        #[test]
        fn blocks_are_mirrored_and_fair(arms in 2u16..40, seed: u64) {
            let order = mirrored(arms, seed);
            let cycle = order.parts();
            let mut seen: BTreeMap<ArmIndex, usize> = BTreeMap::new();
            for block in 0..cycle {
                let windows = order.block(block);
                let backwards: Vec<_> = windows.iter().rev().copied().collect();
                prop_assert_eq!(&windows, &backwards);
                prop_assert!(windows.contains(&ArmIndex::BASELINE));
                prop_assert!(windows.contains(&ArmIndex::CONTROL));
                for arm in windows {
                    *seen.entry(arm).or_default() += 1;
                }
            }
            for arm in 2..arms {
                prop_assert_eq!(seen.get(&ArmIndex(arm)), Some(&2), "each treatment twice a cycle");
            }
        }

        #[test]
        fn the_seed_decides(arms in 3u16..20, seed: u64, block in 0u32..1000) {
            prop_assert_eq!(mirrored(arms, seed).block(block), mirrored(arms, seed).block(block));
        }
    }

    #[test]
    fn over_a_square_every_arm_stands_at_every_place_by_its_share() {
        // Baseline and control; with treatments, of which five others have the baseline twice.
        for (arms, windows) in [(2u16, 2usize), (3, 3), (5, 6), (6, 7), (8, 10)] {
            for seed in 0..20 {
                let order = mirrored(arms, seed);
                assert_eq!(order.square() as usize, windows, "{arms} arms");
                let blocks: Vec<_> = (0..order.square()).map(|b| order.block(b)).collect();
                let share = |arm: u16| blocks[0].iter().filter(|a| a.0 == arm).count() / 2;
                for place in 0..windows {
                    for arm in 0..arms {
                        let there = blocks.iter().filter(|b| b[place].0 == arm).count();
                        assert_eq!(there, share(arm), "arm {arm} of {arms} at {place}");
                    }
                }
            }
        }
    }

    #[test]
    fn blocks_differ_from_one_another() {
        let order = mirrored(6, 3);
        let different = (0..20)
            .filter(|&b| order.block(b) != order.block(b + 1))
            .count();
        assert!(different > 10, "{different} of 20");
    }
}
