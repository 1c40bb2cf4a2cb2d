//! How long the parts of a run last.

use std::time::Duration;

use windage_model::ArmIndex;
use windage_plan::Plan;

use crate::RunOrder;
use crate::eta::{Eta, Planned};
use crate::rig::{attaching, sets_of, warm_up};

/// The lengths of the parts of a run, as planned.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lengths {
    pub(crate) window_and_settle: Duration,
    /// The time that attaching and detaching agents adds to each block, without their launch.
    pub(crate) attaching: Duration,
    /// The time that each round takes before its windows, without launches.
    pub(crate) warm_up: Duration,
    /// The length of a block of turns.
    pub(crate) turn_block: Duration,
    /// The time for deferred work: after each round's windows, and after its turns.
    pub(crate) drain: Duration,
    /// The idle stretch after each round's windows, with the pause before it.
    pub(crate) idle: Duration,
}

impl Lengths {
    pub(crate) fn of(plan: &Plan, sets: &[Vec<ArmIndex>]) -> Lengths {
        let design = &plan.design;
        Lengths {
            window_and_settle: design.window + design.settle,
            attaching: attaching(plan),
            warm_up: warm_up(plan, sets),
            turn_block: design.interleaving.map_or(Duration::ZERO, |of| of.block),
            drain: design.drain,
            // The pause before it is random, up to as long again.
            idle: design.idle.mul_f64(1.5),
        }
    }

    /// The parts of a round, for a run that begins at this block.
    pub(crate) fn of_round(&self, order: &RunOrder, first_block: u32) -> Planned {
        // A resumed run may begin at a block of turns, which has no windows.
        let round = first_block - first_block % order.blocks_per_round().max(1);
        let windows = u32::try_from(order.block(round).len()).unwrap_or(u32::MAX);
        let has_turns = order.turn_blocks_per_round() > 0;
        Planned {
            before: self.warm_up,
            windows: self.window_and_settle * windows + self.attaching,
            first_turns: self.drain + self.idle + self.turn_block,
            turns: self.turn_block,
            // The idle stretch comes before the turns.
            after: match has_turns {
                true => self.drain,
                false => self.drain + self.idle,
            },
        }
    }
}

/// How long a run of a plan lasts, without launches; with a `stop`, at most.
#[must_use]
pub fn expected_duration(plan: &Plan) -> Duration {
    let order = RunOrder::of(plan);
    let lengths = Lengths::of(plan, &sets_of(plan));
    let eta = Eta::planned(&|| Duration::ZERO, lengths.of_round(&order, 0));
    eta.of(order.in_a_round().times(order.rounds()), order.rounds())
}
