//! `[design.thorough]`: keys that replace those of `[design]` in a thorough run.

use std::time::Duration;

use crate::wire::Spanned;

use super::checker::Checker;
use super::design;
use super::stop::{self, Ground};
use crate::plan::{Depth, Design, Length};
use crate::wire;
use crate::{Problem, defaults};

/// The design of each depth.
pub(super) struct Designs {
    usual: Design,
    thorough: Design,
}

impl Designs {
    pub(super) fn of(&self, depth: Depth) -> &Design {
        match depth {
            Depth::Usual => &self.usual,
            Depth::Thorough => &self.thorough,
        }
    }
}

/// Both depths are checked, whichever the plan is read for.
pub(super) fn resolve(
    checker: &mut Checker<'_>,
    given: &wire::Design,
    ground: &Ground<'_>,
) -> Designs {
    let before = checker.problems.len();
    let usual = design::resolve(checker, given, ground);
    // An existing problem would be reported twice.
    if checker.problems.len() > before {
        let thorough = usual.clone();
        return Designs { usual, thorough };
    }
    let thorough = match &given.thorough {
        Some(instead) => {
            refuse_nested(checker, instead);
            design::resolve(checker, &overlaid(given, instead.get_ref()), ground)
        }
        None => longer(usual.clone()),
    };
    Designs { usual, thorough }
}

fn refuse_nested(checker: &mut Checker<'_>, thorough: &Spanned<Box<wire::Design>>) {
    if let Some(nested) = &thorough.get_ref().thorough {
        let message = "`thorough` can't contain `thorough`";
        checker.report(
            Problem::new(nested.span(), message, "nested")
                .help("put its keys into [design.thorough]"),
        );
    }
}

/// Without `[design.thorough]`, a thorough run only measures for longer.
fn longer(mut design: Design) -> Design {
    design.length = match design.length {
        Length::Blocks(blocks) => {
            let blocks = blocks.saturating_mul(defaults::THOROUGH_TIMES);
            Length::Blocks(blocks.min(design::MAX_BLOCKS))
        }
        Length::MeasuringTime(time) => Length::MeasuringTime(times_longer(time)),
    };
    if let Some(stop) = &mut design.stop {
        stop.within = times_longer(stop.within);
    }
    design
}

/// The length stays within what a plan may ask for, so that the run can be resumed.
fn times_longer(time: Duration) -> Duration {
    let longer = time.saturating_mul(defaults::THOROUGH_TIMES);
    longer.min(*stop::MEASURED.end())
}

/// Keys of `over` replace those of `base`. `for`, `blocks` and `stop` all set the length, so any of
/// them in `over` replaces all three of `base`.
fn overlaid(base: &wire::Design, over: &wire::Design) -> wire::Design {
    let over = over.clone();
    let mut base = base.clone();
    if over.measuring_time.is_some() || over.blocks.is_some() || over.stop.is_some() {
        base.measuring_time = None;
        base.blocks = None;
        base.stop = None;
    }
    wire::Design {
        thorough: None,
        turn: over.turn.or(base.turn),
        block: over.block.or(base.block),
        isolated: over.isolated.or(base.isolated),
        window: over.window.or(base.window),
        settle: over.settle.or(base.settle),
        rounds: over.rounds.or(base.rounds),
        measuring_time: over.measuring_time.or(base.measuring_time),
        blocks: over.blocks.or(base.blocks),
        stop: over.stop.or(base.stop),
        agent_stretch: over.agent_stretch.or(base.agent_stretch),
        agent_warmup: over.agent_warmup.or(base.agent_warmup),
        bpf_statistics: over.bpf_statistics.or(base.bpf_statistics),
        warmup: over.warmup.or(base.warmup),
        warmup_rate: over.warmup_rate.or(base.warmup_rate),
        drain: over.drain.or(base.drain),
        idle: over.idle.or(base.idle),
        order: over.order.or(base.order),
        seed: over.seed.or(base.seed),
        margin: over.margin.or(base.margin),
        on_death: over.on_death.or(base.on_death),
    }
}
