//! What is kept of a run's blocks of turns, and the totals of each launch.

use std::collections::BTreeMap;

use windage_model::{ArmIndex, Soundness, TurnBlock, TurnOrder};
use windage_record::LaunchEnd;

use crate::windows::Noted;

/// What is compared of one block of turns.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct KeptBlock {
    pub(crate) launch: u32,
    pub(crate) order: TurnOrder,
    pub(crate) is_void: bool,
    /// Requests of a turn, see [`TurnBlock::turn`].
    pub(crate) turn: u64,
    /// Between its readings, in nanoseconds.
    lasted_ns: f64,
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
    /// Whether an arm had a turn.
    fn has(&self, arm: ArmIndex) -> bool {
        self.arms.get(arm.get()).is_some_and(|of| of.turns > 0)
    }

    /// An arm's CPU per request within the block, in microseconds; `None` without requests.
    pub(crate) fn cpu_us(&self, arm: ArmIndex) -> Option<f64> {
        let of = self.arms.get(arm.get()).filter(|of| of.completed > 0)?;
        Some(of.cpu_ns? as f64 / 1e3 / of.completed as f64)
    }
}

/// The blocks of turns of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Turns {
    pub(crate) blocks: Vec<KeptBlock>,
    /// Blocks with a warning about the run.
    pub(crate) with_warnings: usize,
    /// Warnings by kind.
    pub(crate) warnings: Noted,
    /// The length of all load, in nanoseconds.
    pub(crate) load_ns: u64,
    /// Failed requests and requests sent, by arm.
    failed: BTreeMap<ArmIndex, (u64, u64)>,
    /// After the last block of each launch until nothing was deferred any more: time and CPU.
    after: BTreeMap<(u32, ArmIndex), (u64, Option<u64>)>,
}

/// The totals of an arm in one launch, from empty queues to empty queues.
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
    /// Adds a block.
    pub(crate) fn take(&mut self, block: &TurnBlock) {
        let arms = block.arms.iter().map(|of| of.arm.get() + 1).max();
        let mut of_arms = vec![ArmBlock::default(); arms.unwrap_or(0)];
        for of in &block.arms {
            of_arms[of.arm.get()] = ArmBlock {
                turns: of.turns,
                completed: of.exchanges.completed,
                cpu_ns: of.cpu_ns,
            };
            let (failed, sent) = self.failed.entry(of.arm).or_default();
            *failed += of.exchanges.failed();
            *sent += of.exchanges.sent;
        }
        self.load_ns = self.load_ns.saturating_add(block.load_ns);
        self.with_warnings += usize::from(!block.warnings.is_empty());
        block.warnings.iter().for_each(|of| self.warnings.note(of));
        self.blocks.push(KeptBlock {
            launch: block.launch,
            order: block.order,
            is_void: block.soundness() == Soundness::Void,
            turn: block.turn,
            lasted_ns: block.lasted_ns as f64,
            arms: of_arms,
        });
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
        self.blocks.is_empty()
    }

    /// Usable blocks in which an arm had turns.
    pub(crate) fn usable(&self, arm: ArmIndex) -> usize {
        let usable = |block: &&KeptBlock| !block.is_void && block.has(arm);
        self.blocks.iter().filter(usable).count()
    }

    /// The totals of an arm by launch, over the blocks in which `with` had turns as well: arms are
    /// compared over the same blocks. A launch whose end was not recorded has none, because what its
    /// last block deferred is unknown.
    pub(crate) fn totals(&self, arm: ArmIndex, with: ArmIndex) -> BTreeMap<u32, Totals> {
        let mut found: BTreeMap<u32, Option<Totals>> = BTreeMap::new();
        let compared = |block: &&KeptBlock| !block.is_void && (block.has(with) || !block.has(arm));
        for block in self.blocks.iter().filter(compared) {
            let of = block.arms.get(arm.get()).copied().unwrap_or_default();
            let totals = found
                .entry(block.launch)
                .or_insert_with(|| self.after(block.launch, arm));
            *totals = totals.zip(of.cpu_ns).map(|(sum, cpu_ns)| Totals {
                cpu_ns: sum.cpu_ns + cpu_ns as f64,
                time_ns: sum.time_ns + block.lasted_ns,
                requests: sum.requests + of.completed as f64,
            });
        }
        let known = found
            .into_iter()
            .filter_map(|(launch, of)| Some((launch, of?)));
        known.filter(|(_, of)| of.requests > 0.0).collect()
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

    /// Failed requests of an arm, and requests sent to it.
    pub(crate) fn failed_and_sent(&self, arm: ArmIndex) -> (u64, u64) {
        self.failed.get(&arm).copied().unwrap_or_default()
    }

    /// Usable blocks by launch, in order.
    pub(crate) fn by_launch(&self) -> impl Iterator<Item = (u32, &[KeptBlock])> {
        let launches = self.blocks.chunk_by(|a, b| a.launch == b.launch);
        launches.filter_map(|blocks| Some((blocks.first()?.launch, blocks)))
    }
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
        let mut turns = Turns::default();
        for block in 0..3 {
            turns.take(&turn_block(0, block, &[0, 1, 2]));
        }
        turns.launch_ended(&end(0, 10_000_000));
        let totals = turns.totals(ArmIndex(2), ArmIndex(2));
        let expected = Totals {
            cpu_ns: 130e6,
            time_ns: 3.5e9,
            requests: 1200.0,
        };
        assert_eq!(totals, BTreeMap::from([(0, expected)]));
        assert_eq!(turns.usable(ArmIndex(2)), 3);
    }

    #[test]
    fn arms_are_compared_over_the_same_blocks() {
        let mut turns = Turns::default();
        turns.take(&turn_block(0, 0, &[0, 1, 2]));
        let mut without = turn_block(0, 1, &[0, 1, 2]);
        without.order = TurnOrder::WithoutHeaviest;
        without.arms[2].turns = 0;
        without.arms[2].exchanges = Default::default();
        without.arms[2].cpu_ns = Some(3_000_000);
        turns.take(&without);
        turns.launch_ended(&end(0, 0));
        let of = |arm, with| turns.totals(ArmIndex(arm), ArmIndex(with))[&0];
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
            let mut turns = Turns::default();
            turns.take(&block);
            turns.launch_ended(&end);
            let found = turns.totals(ArmIndex(0), ArmIndex(0));
            assert_eq!(!found.is_empty(), expected, "{why}");
        }
    }
}
