//! `[design]`.

use crate::wire::Spanned;
use windage_model::{LoadModel, Order};

use super::agent_stretches;
use super::checker::{Checker, HOUR, INSTANT, PAUSE};
use super::interleaving;
use super::stop::{self, Ground, MAX_ROUNDS, MEASURED};
use crate::plan::{Design, Length, OnDeath};
use crate::wire::{self, Scalar};
use crate::{Problem, Stop, defaults};

const ORDERS: &[(&str, Order)] = &[
    ("mirrored", Order::Mirrored),
    ("sequential", Order::Sequential),
];
pub(super) const MAX_BLOCKS: u32 = 1_000_000;

pub(super) fn resolve(
    checker: &mut Checker<'_>,
    design: &wire::Design,
    ground: &Ground<'_>,
) -> Design {
    let stop = stop::resolve(checker, design, ground);
    agent_stretches::check(checker, design, ground);
    Design {
        interleaving: interleaving::resolve(checker, design),
        window: checker.duration(
            "window",
            design.window.as_ref(),
            defaults::WINDOW,
            INSTANT..=HOUR,
        ),
        settle: checker.duration("settle", design.settle.as_ref(), defaults::SETTLE, PAUSE),
        rounds: rounds(checker, design, stop, ground),
        length: match stop {
            Some(stop) => Length::MeasuringTime(stop.within),
            None => length(checker, design),
        },
        stop,
        agent_stretch: checker.duration(
            "agent_stretch",
            design.agent_stretch.as_ref(),
            defaults::AGENT_STRETCH,
            INSTANT..=HOUR,
        ),
        agent_warmup: checker.duration(
            "agent_warmup",
            design.agent_warmup.as_ref(),
            defaults::AGENT_WARMUP,
            PAUSE,
        ),
        bpf_statistics: checker.duration(
            "bpf_statistics",
            design.bpf_statistics.as_ref(),
            defaults::BPF_STATISTICS,
            PAUSE,
        ),
        warmup: checker.duration("warmup", design.warmup.as_ref(), defaults::WARMUP, PAUSE),
        warmup_rate_per_s: warmup_rate(checker, design, ground),
        drain: checker.duration("drain", design.drain.as_ref(), defaults::DRAIN, PAUSE),
        idle: checker.duration("idle", design.idle.as_ref(), defaults::IDLE, PAUSE),
        order: checker.word("order", design.order.as_ref(), Order::Mirrored, ORDERS),
        seed: checker.integer("seed", design.seed.as_ref(), defaults::SEED, 0..=i64::MAX),
        margin: margin(checker, design.margin.as_ref()),
        on_death: checker.word(
            "on_death",
            design.on_death.as_ref(),
            OnDeath::End,
            OnDeath::WORDS,
        ),
    }
}

fn rounds(
    checker: &mut Checker<'_>,
    design: &wire::Design,
    stop: Option<Stop>,
    ground: &Ground<'_>,
) -> u32 {
    let given = design.rounds.as_ref();
    let default = if ground.has_agents() {
        defaults::ROUNDS_WITH_AGENTS
    } else {
        defaults::ROUNDS
    };
    match stop {
        Some(stop) => stop::rounds(checker, given, stop.within),
        None => checker.integer("rounds", given, default, 1..=MAX_ROUNDS),
    }
}

fn length(checker: &mut Checker<'_>, design: &wire::Design) -> Length {
    let time = checker.duration(
        "for",
        design.measuring_time.as_ref(),
        defaults::MEASURING_TIME,
        MEASURED,
    );
    let Some(blocks) = &design.blocks else {
        return Length::MeasuringTime(time);
    };
    if design.measuring_time.is_some() {
        checker.report(
            Problem::new(
                blocks.span(),
                "`blocks` and `for` can't be combined: both set the length of the run",
                "conflicts with `for`",
            )
            .help("keep one: `for` is the total measuring time, `blocks` a count per round"),
        );
    }
    Length::Blocks(checker.integer("blocks", Some(blocks), 1, 1..=i64::from(MAX_BLOCKS)))
}

/// `None` unless given, and for an invalid one.
fn warmup_rate(
    checker: &mut Checker<'_>,
    design: &wire::Design,
    ground: &Ground<'_>,
) -> Option<f64> {
    let text = design.warmup_rate.as_ref()?;
    if ground.model.is_some_and(|model| model != LoadModel::Open) {
        let message = "`warmup_rate` needs an open load: others have no rate";
        let problem = Problem::new(text.span(), message, "no open load");
        checker.report(problem.help("remove `warmup_rate`"));
        return None;
    }
    checker.rate(text)
}

fn margin(checker: &mut Checker<'_>, given: Option<&Spanned<Scalar>>) -> f64 {
    given
        .and_then(|value| checker.share("margin", value))
        .unwrap_or(defaults::MARGIN)
}
