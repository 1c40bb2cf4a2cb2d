//! The run order: which arm is measured when. A pure function of the design and its seed, so that a
//! resumed run continues in the same order.

mod agent_stretches;
mod turns;

use std::time::Duration;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use windage_model::{ArmIndex, Order};
use windage_plan::{Design, Length, Plan};

use crate::eta::Blocks;
use agent_stretches::Stretches;
use turns::TurnBlocks;
pub(crate) use turns::{TurnDraw, takers};

/// The most treatments in a block. With more, the block's ends are too far apart to be compared.
const TREATMENTS_IN_A_BLOCK: usize = 6;
/// The time that reading counters and waiting for the service to sleep adds to each window.
const OVERHEAD: Duration = Duration::from_millis(2);

/// Windows of a sequential order that are committed together.
const WINDOWS_IN_A_STRETCH: u32 = 10;

/// The order of a whole run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunOrder {
    order: Order,
    seed: u64,
    arms: u16,
    /// The number of loads; rounds take turns between them.
    loads: u32,
    rounds: u32,
    /// Blocks of windows in each round.
    windowed_per_round: u32,
    windows_in_sequence: u32,
    /// Where agents attach and detach.
    stretches: Option<Stretches>,
    /// The blocks of turns, after those of windows.
    turns: Option<TurnBlocks>,
}

impl RunOrder {
    /// The order of a design for `arms` arms (including the baseline and its control) and a number
    /// of loads. Loads take turns by round.
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
            windowed_per_round: 1,
            windows_in_sequence: 1,
            stretches: None,
            turns: None,
        };
        let isolated = design.interleaving.map_or(1.0, |of| of.isolated);
        let window = design.window + design.settle + OVERHEAD;
        match (design.order, design.length) {
            // All load is in turns.
            (Order::Mirrored, _) if isolated == 0.0 => order.windowed_per_round = 0,
            (Order::Mirrored, Length::Blocks(blocks)) => order.windowed_per_round = blocks,
            (Order::Mirrored, Length::MeasuringTime(time)) => {
                let block = window * u32::from(order.mean_block_length());
                order.windowed_per_round = times((time / rounds).mul_f64(isolated), block);
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
                order.windowed_per_round =
                    order.blocks_in_sequence().saturating_mul(u32::from(arms));
            }
        }
        let in_windows = window * u32::from(order.mean_block_length());
        let in_windows = in_windows.saturating_mul(order.windowed_per_round);
        order.turns = TurnBlocks::of(design, rounds, in_windows);
        order
    }

    /// The order of a plan: its design's, in agent stretches if the plan has agents.
    #[must_use]
    pub fn of(plan: &Plan) -> RunOrder {
        let mut order = RunOrder::new(
            &plan.design,
            u16::try_from(plan.arms.len()).unwrap_or(u16::MAX),
            u32::try_from(plan.loads().count()).unwrap_or(u32::MAX),
        );
        if let Some(stretches) = Stretches::of(plan) {
            order.attach_and_detach(&plan.design, stretches);
        }
        order
    }

    /// In every round, each arm with agents is measured equally often, and at least once.
    fn attach_and_detach(&mut self, design: &Design, stretches: Stretches) {
        let cycle = stretches.cycle();
        let blocks = match design.length {
            Length::Blocks(blocks) => blocks,
            Length::MeasuringTime(time) => {
                let windows = u32::try_from(stretches.block_length()).unwrap_or(u32::MAX);
                let window = design.window + design.settle + OVERHEAD;
                times(time / self.rounds, window.saturating_mul(windows))
            }
        };
        self.windowed_per_round = blocks.next_multiple_of(cycle);
        self.stretches = Some(stretches);
    }

    /// The number of rounds.
    #[must_use]
    pub fn rounds(&self) -> u32 {
        self.rounds
    }

    /// The number of blocks in each round: those of windows, then those of turns.
    #[must_use]
    pub fn blocks_per_round(&self) -> u32 {
        self.windowed_per_round
            .saturating_add(self.turn_blocks_per_round())
    }

    /// The number of blocks of turns in each round.
    #[must_use]
    pub fn turn_blocks_per_round(&self) -> u32 {
        self.turns.map_or(0, |turns| turns.per_round)
    }

    /// Whether a block is one of turns.
    pub(crate) fn is_of_turns(&self, block: u32) -> bool {
        self.turns.is_some() && self.place(block).1 >= self.windowed_per_round
    }

    /// The blocks of each round.
    pub(crate) fn in_a_round(&self) -> Blocks {
        let turns = self.turn_blocks_per_round();
        Blocks {
            windows: self.windowed_per_round,
            first_turns: turns.min(1),
            turns: turns.saturating_sub(1),
        }
    }

    /// The blocks that are left in a round that goes on after `done` blocks of the run; none at a
    /// round's end.
    pub(crate) fn left_in_round(&self, done: u32) -> Blocks {
        let (_, in_round) = self.place(done);
        let all = self.in_a_round();
        if in_round == 0 {
            return Blocks::default();
        }
        let Some(turns) = in_round.checked_sub(self.windowed_per_round) else {
            return Blocks {
                windows: self.windowed_per_round - in_round,
                ..all
            };
        };
        Blocks {
            windows: 0,
            first_turns: if turns == 0 { all.first_turns } else { 0 },
            turns: all.turns.saturating_sub(turns.saturating_sub(1)),
        }
    }

    /// How the turns of a block are drawn; `None` for a block of windows.
    pub(crate) fn turns(&self, block: u32) -> Option<TurnDraw> {
        let (round, in_round) = self.place(block);
        let turn_block = in_round.checked_sub(self.windowed_per_round)?;
        let turns = self.turns?;
        Some(turns.draw(round * turns.per_round + turn_block))
    }

    /// The round of a block, and its number there.
    fn place(&self, block: u32) -> (u32, u32) {
        let per_round = self.blocks_per_round().max(1);
        (block / per_round, block % per_round)
    }

    /// The arms of a block of windows, in their order; `block` counts from 0 over the run. A block of
    /// turns has no windows.
    #[must_use]
    pub fn block(&self, block: u32) -> Vec<ArmIndex> {
        if self.place(block).1 >= self.windowed_per_round {
            return Vec::new();
        }
        if let Some(stretches) = &self.stretches {
            let block = self.under_its_load(block);
            let (cycle, at) = (block / stretches.cycle(), block % stretches.cycle());
            let drawn = self.random(u64::from(cycle), 0);
            return stretches.block(at, drawn, self.random(u64::from(block), 1));
        }
        match self.order {
            Order::Mirrored => self.mirrored(self.under_its_load(block)),
            Order::Sequential => self.sequential(block),
        }
    }

    /// The number of a block among the blocks of windows of its own load. Squares are filled separately under
    /// each load.
    fn under_its_load(&self, block: u32) -> u32 {
        let (round, in_round) = self.place(block);
        (round / self.loads) * self.windowed_per_round + in_round
    }

    /// A part of one arm's sequence, short enough that little is lost when a run is killed.
    fn sequential(&self, block: u32) -> Vec<ArmIndex> {
        let (_, in_round) = self.place(block);
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

    /// A half, followed by the same half backwards, so that linear drift cancels for each arm.
    ///
    /// The order of a half is drawn anew for each *square*. A square has as many blocks as a half
    /// has windows, and each block starts at another position of the half. Over a square, every
    /// window of the half is therefore in every position once. The block's ends follow a pause in
    /// which records are saved; every arm is there as often as its share of windows. A purely
    /// random order would keep the imbalance that its seed happens to give.
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

    /// One half of a square's blocks, in the order drawn for the square.
    fn half(&self, square: u32, part: u32) -> Vec<ArmIndex> {
        let mut treatments: Vec<ArmIndex> = (0..self.arms)
            .map(ArmIndex)
            .filter(|&a| !self.in_every_block(a))
            .collect();
        // The treatments of all parts are drawn together, so that a cycle of parts has each of them
        // once.
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

    /// Cycles in a square: the number of windows in the longest half.
    fn square(&self) -> u32 {
        let treatments = usize::from(self.arms.saturating_sub(2));
        let others = treatments.div_ceil(self.parts() as usize) + 1;
        u32::try_from(others + baselines_among(others)).unwrap_or(u32::MAX)
    }

    fn in_every_block(&self, arm: ArmIndex) -> bool {
        arm == ArmIndex::BASELINE || arm == ArmIndex::CONTROL
    }

    /// The number of blocks over which all treatments are spread.
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

/// How often a half repeats the baseline for `others` other arms: about √k. Every comparison needs
/// its mean, so the repetition pays (as for a control group against k treatments, Dunnett 1955).
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
mod tests;
