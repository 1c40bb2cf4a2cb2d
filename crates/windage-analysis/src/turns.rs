//! What is kept of a run's blocks of turns, and the totals of each launch.

use std::collections::BTreeMap;

use windage_model::{ArmIndex, Bottleneck, Soundness, TurnBlock, TurnOrder, Warning};
use windage_record::LaunchEnd;

use crate::windows::{Noted, OwnCpu};

/// What is compared of one block of turns.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct KeptBlock {
    pub(crate) order: TurnOrder,
    pub(crate) is_void: bool,
    /// Between its readings, in nanoseconds.
    lasted_ns: f64,
    /// The length of its load, in nanoseconds.
    load_ns: f64,
    /// By arm.
    arms: Vec<ArmBlock>,
}

/// One arm in a block of turns.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct ArmBlock {
    turns: u32,
    completed: u64,
    /// `None` when unreadable.
    cpu_ns: Option<u64>,
}

impl KeptBlock {
    /// Whether its figures count as what arms cost: short turns cost more.
    pub(crate) fn counts(&self) -> bool {
        !self.is_void && self.order != TurnOrder::ShortTurns
    }

    /// Whether an arm had a turn.
    fn has(&self, arm: ArmIndex) -> bool {
        self.arms.get(arm.get()).is_some_and(|of| of.turns > 0)
    }

    /// What an arm used and completed between the block's readings; `None` when unreadable.
    pub(crate) fn totals(&self, arm: ArmIndex) -> Option<Totals> {
        let of = self.arms.get(arm.get())?;
        Some(Totals {
            cpu_ns: of.cpu_ns? as f64,
            time_ns: self.lasted_ns,
            requests: of.completed as f64,
        })
    }

    /// The time in which an arm had load, in nanoseconds: the arms that take turns share the block's
    /// load in equal parts. `None` without a turn.
    fn load_of_ns(&self, arm: ArmIndex) -> Option<f64> {
        let takers = self.arms.iter().filter(|of| of.turns > 0).count();
        self.has(arm).then(|| self.load_ns / takers as f64)
    }
}

/// The blocks of turns of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Turns {
    /// Arms of the manifest; others are left out.
    arms: usize,
    /// In order, by launch.
    launches: BTreeMap<u32, Vec<KeptBlock>>,
    /// All blocks.
    pub(crate) count: usize,
    /// Blocks that are not void.
    pub(crate) usable: usize,
    /// Blocks with a warning about the run.
    pub(crate) with_warnings: usize,
    /// Warnings by kind.
    pub(crate) warnings: Noted,
    /// Requests of a turn in the first block, see [`TurnBlock::turn`].
    pub(crate) turn: u64,
    /// The length of all load, in nanoseconds.
    pub(crate) load_ns: u64,
    /// Starts that the schedule asked for in usable blocks, and requests completed there.
    pub(crate) intended: u64,
    pub(crate) completed: u64,
    /// How many blocks below their rate name each bottleneck.
    pub(crate) bottlenecks: BTreeMap<Bottleneck, usize>,
    /// CPU of Windage in all blocks.
    pub(crate) own: OwnCpu,
    /// Failed requests and requests sent, by arm.
    failed: BTreeMap<ArmIndex, (u64, u64)>,
    /// After the last block of each launch until nothing was deferred any more: time and CPU.
    after: BTreeMap<(u32, ArmIndex), (u64, Option<u64>)>,
}

/// The totals of an arm in one launch, from empty queues to empty queues, or in one of its blocks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Totals {
    /// All CPU, in nanoseconds.
    pub(crate) cpu_ns: f64,
    /// The time that it covers, in nanoseconds.
    pub(crate) time_ns: f64,
    /// Requests completed.
    pub(crate) requests: f64,
}

impl Turns {
    /// Empty, for so many arms.
    pub(crate) fn of_arms(arms: usize) -> Turns {
        Turns {
            arms,
            ..Turns::default()
        }
    }

    /// Adds a block.
    pub(crate) fn take(&mut self, block: &TurnBlock) {
        let is_void = block.soundness() == Soundness::Void;
        let mut of_arms = vec![ArmBlock::default(); self.arms];
        for of in &block.arms {
            let Some(kept) = of_arms.get_mut(of.arm.get()) else {
                continue;
            };
            *kept = ArmBlock {
                turns: of.turns,
                completed: of.exchanges.completed,
                cpu_ns: of.cpu_ns,
            };
            let (failed, sent) = self.failed.entry(of.arm).or_default();
            *failed = failed.saturating_add(of.exchanges.failed());
            *sent = sent.saturating_add(of.exchanges.sent);
        }
        if self.count == 0 {
            self.turn = block.turn;
        }
        self.count += 1;
        self.load_ns = self.load_ns.saturating_add(block.load_ns);
        self.own.generator_ns += block.generator_ns as f64;
        self.own.sink_ns += block.sink_ns as f64;
        self.own.all_ns += block.windage_ns as f64;
        self.own.read_over_ns += block.lasted_ns as f64;
        self.note_warnings(block);
        if !is_void {
            self.usable += 1;
            self.intended = self.intended.saturating_add(block.exchanges.intended);
            self.completed = self.completed.saturating_add(block.exchanges.completed);
        }
        self.launches
            .entry(block.launch)
            .or_default()
            .push(KeptBlock {
                order: block.order,
                is_void,
                lasted_ns: block.lasted_ns as f64,
                load_ns: block.load_ns as f64,
                arms: of_arms,
            });
    }

    fn note_warnings(&mut self, block: &TurnBlock) {
        self.with_warnings += usize::from(!block.warnings.is_empty());
        for warning in &block.warnings {
            self.warnings.note(warning);
            if let Warning::RateNotReached { bottleneck, .. } = warning {
                *self.bottlenecks.entry(*bottleneck).or_default() += 1;
            }
        }
    }

    /// Adds the readings at the end of a launch.
    pub(crate) fn launch_ended(&mut self, end: &LaunchEnd) {
        for of in end.arms.iter().filter(|of| of.turns_drain_ns > 0) {
            let key = (end.launch, of.arm);
            self.after
                .insert(key, (of.turns_drain_ns, of.after_turns_ns));
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Usable blocks in which an arm had turns of the usual length.
    pub(crate) fn usable_of(&self, arm: ArmIndex) -> usize {
        let blocks = self.launches.values().flatten();
        blocks.filter(|block| is_usable(block, arm)).count()
    }

    /// Launches with a usable block in which an arm had turns of the usual length.
    pub(crate) fn launches_of(&self, arm: ArmIndex) -> usize {
        let has = |blocks: &&Vec<KeptBlock>| blocks.iter().any(|block| is_usable(block, arm));
        self.launches.values().filter(has).count()
    }

    /// The totals of an arm by launch, over the blocks in which all of `with` had turns as well:
    /// arms are compared over the same blocks. What an arm that was left out used there was deferred
    /// by its turns in others, and counts. A launch whose end was not recorded has no totals,
    /// because what its last block deferred is unknown.
    ///
    /// Void blocks and those of short turns are left out with their requests and their time. What
    /// they deferred to the next block counts there, as what was deferred to them does not: over a
    /// launch both are alike.
    pub(crate) fn totals(&self, arm: ArmIndex, with: &[ArmIndex]) -> BTreeMap<u32, Totals> {
        let compared = |block: &&KeptBlock| {
            block.counts() && (!block.has(arm) || with.iter().all(|with| block.has(*with)))
        };
        let of_launch = |(&launch, blocks): (&u32, &Vec<KeptBlock>)| {
            let mut sum = self.after(launch, arm)?;
            for block in blocks.iter().filter(compared) {
                let of = block.totals(arm)?;
                sum.cpu_ns += of.cpu_ns;
                sum.time_ns += of.time_ns;
                sum.requests += of.requests;
            }
            (sum.requests > 0.0).then_some((launch, sum))
        };
        self.launches.iter().filter_map(of_launch).collect()
    }

    /// What an arm used after the last block of a launch.
    fn after(&self, launch: u32, arm: ArmIndex) -> Option<Totals> {
        let (time_ns, cpu_ns) = self.after.get(&(launch, arm))?;
        Some(Totals {
            cpu_ns: (*cpu_ns)? as f64,
            time_ns: *time_ns as f64,
            requests: 0.0,
        })
    }

    /// The length of a launch's blocks, readings included, in seconds.
    pub(crate) fn lasted_s(&self, launch: u32) -> f64 {
        let blocks = self.launches.get(&launch).into_iter().flatten();
        blocks.map(|block| block.lasted_ns / 1e9).sum()
    }

    /// Requests per second that an arm gets while it has load; `None` without any.
    pub(crate) fn rate_per_s(&self, arm: ArmIndex) -> Option<f64> {
        let (mut completed, mut load_ns) = (0.0, 0.0);
        let blocks = self.launches.values().flatten();
        for block in blocks.filter(|block| !block.is_void) {
            if let Some(of_arm_ns) = block.load_of_ns(arm) {
                completed += block.arms[arm.get()].completed as f64;
                load_ns += of_arm_ns;
            }
        }
        (load_ns > 0.0).then(|| completed * 1e9 / load_ns)
    }

    /// The mean requests of an arm's turns in blocks that were drawn so; `None` without any.
    pub(crate) fn requests_per_turn(&self, arm: ArmIndex, order: TurnOrder) -> Option<f64> {
        let blocks = self.launches.values().flatten();
        let blocks = blocks.filter(|block| !block.is_void && block.order == order);
        let (turns, completed) = blocks
            .filter_map(|block| block.arms.get(arm.get()))
            .fold((0.0, 0.0), |(turns, completed), of| {
                (turns + f64::from(of.turns), completed + of.completed as f64)
            });
        (completed > 0.0 && turns > 0.0).then(|| completed / turns)
    }

    /// Failed requests of an arm, and requests sent to it.
    pub(crate) fn failed_and_sent(&self, arm: ArmIndex) -> (u64, u64) {
        self.failed.get(&arm).copied().unwrap_or_default()
    }

    /// All blocks by launch, in order.
    pub(crate) fn by_launch(&self) -> impl Iterator<Item = (u32, &[KeptBlock])> {
        let launches = self.launches.iter();
        launches.map(|(launch, blocks)| (*launch, blocks.as_slice()))
    }
}

fn is_usable(block: &KeptBlock, arm: ArmIndex) -> bool {
    block.counts() && block.has(arm)
}

#[cfg(test)]
mod tests {
    use super::*;
    use windage_model::WarningCode;
    use windage_model::fixtures::turn_block;
    use windage_record::LaunchArmEnd;

    fn end(launch: u32, after_ns: u64) -> LaunchEnd {
        let arms = [0, 1, 2].map(|arm| LaunchArmEnd {
            arm: ArmIndex(arm),
            after_turns_ns: Some(after_ns),
            turns_drain_ns: 500_000_000,
            ..LaunchArmEnd::default()
        });
        LaunchEnd {
            launch,
            arms: arms.to_vec(),
            ..LaunchEnd::default()
        }
    }

    #[test]
    fn totals_are_of_all_blocks_and_of_what_they_deferred() {
        let mut turns = Turns::of_arms(3);
        for block in 0..3 {
            turns.take(&turn_block(0, block, &[0, 1, 2]));
        }
        turns.launch_ended(&end(0, 10_000_000));
        let totals = turns.totals(ArmIndex(2), &[ArmIndex(2)]);
        let expected = Totals {
            cpu_ns: 130e6,
            time_ns: 3.5e9,
            requests: 1200.0,
        };
        assert_eq!(totals, BTreeMap::from([(0, expected)]));
        assert_eq!(turns.usable_of(ArmIndex(2)), 3);
    }

    #[test]
    fn arms_are_compared_over_the_same_blocks() {
        let mut turns = Turns::of_arms(3);
        turns.take(&turn_block(0, 0, &[0, 1, 2]));
        let mut without = turn_block(0, 1, &[0, 1, 2]);
        without.order = TurnOrder::WithoutHeaviest;
        without.arms[2].turns = 0;
        without.arms[2].exchanges = Default::default();
        without.arms[2].cpu_ns = Some(3_000_000);
        turns.take(&without);
        turns.launch_ended(&end(0, 0));
        let of = |arm, with| turns.totals(ArmIndex(arm), &[ArmIndex(with)])[&0];
        assert_eq!(of(0, 1).requests, 800.0, "both have both blocks");
        assert_eq!(of(0, 2).requests, 400.0, "the other block has no arm 2");
        // What the left-out arm did in that block was deferred by its earlier turns.
        assert_eq!((of(2, 2).requests, of(2, 2).cpu_ns), (400.0, 43e6));
    }

    #[test]
    fn what_is_unknown_gives_no_totals() {
        type Spoil = fn(&mut TurnBlock, &mut LaunchEnd);
        let table: [(&str, Spoil, bool); 4] = [
            ("nothing is missing", |_, _| {}, true),
            ("no reading", |block, _| block.arms[0].cpu_ns = None, false),
            (
                "no reading after the last block",
                |_, end| end.arms[0].after_turns_ns = None,
                false,
            ),
            (
                "a void block is left out, and there is no other",
                |block, _| {
                    block
                        .warnings
                        .push(windage_model::fixtures::warning(WarningCode::ServiceDied))
                },
                false,
            ),
        ];
        for (why, spoil, expected) in table {
            let (mut block, mut end) = (turn_block(0, 0, &[0, 1]), end(0, 5));
            spoil(&mut block, &mut end);
            let mut turns = Turns::of_arms(3);
            turns.take(&block);
            turns.launch_ended(&end);
            let found = turns.totals(ArmIndex(0), &[ArmIndex(0)]);
            assert_eq!(!found.is_empty(), expected, "{why}");
        }
    }
}
