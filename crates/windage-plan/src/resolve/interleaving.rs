//! `turn`, `block` and `isolated` of `[design]`: how arms take turns, and where they can't.

use std::ops::RangeInclusive;
use std::time::Duration;

use crate::wire::Spanned;
use windage_model::{LoadModel, Order};

use super::checker::Checker;
use super::resolved::Resolved;
use crate::plan::{Arm, Design, Interleaving, Origin, Turn};
use crate::wire::{self, PlanFile, Scalar};
use crate::{BatchKind, Load, Problem, defaults, units};

/// The bounds of a turn. Below a millisecond a turn is mostly the switch to it.
const TURNS: RangeInclusive<Duration> = Duration::from_millis(1)..=Duration::from_secs(10);
/// The bounds of a block.
const BLOCKS: RangeInclusive<Duration> = Duration::from_millis(100)..=Duration::from_secs(600);
/// The most requests in a turn.
const MAX_REQUESTS: i64 = 1_000_000;

/// What the keys ask for, wherever that is possible; `None` for isolated windows alone.
pub(super) fn resolve(checker: &mut Checker<'_>, design: &wire::Design) -> Option<Interleaving> {
    let turn = design.turn.as_ref().and_then(|given| turn(checker, given));
    let block = checker.duration("block", design.block.as_ref(), defaults::BLOCK, BLOCKS);
    let isolated = design.isolated.as_ref();
    if isolated.is_some_and(|given| is_whole(given.get_ref())) {
        return None;
    }
    let isolated = isolated.and_then(|given| checker.share("isolated", given));
    Some(Interleaving {
        turn: turn.unwrap_or(defaults::TURN),
        block,
        isolated: isolated.unwrap_or(defaults::ISOLATED),
    })
}

/// Whether a share is all of it.
fn is_whole(given: &Scalar) -> bool {
    match given {
        Scalar::Integer(number) => *number == 1,
        Scalar::Float(share) => *share == 1.0,
        Scalar::Text(text) => units::parse_share(text) == Ok(1.0),
        Scalar::Bool(_) => false,
    }
}

fn turn(checker: &mut Checker<'_>, given: &Spanned<Scalar>) -> Option<Turn> {
    let found = match given.get_ref() {
        Scalar::Integer(requests) if (1..=MAX_REQUESTS).contains(requests) => {
            u32::try_from(*requests).ok().map(Turn::Requests)
        }
        Scalar::Text(text) => units::parse_duration(text)
            .ok()
            .filter(|time| TURNS.contains(time))
            .map(Turn::Time),
        _ => None,
    };
    if found.is_none() {
        let (low, high) = (TURNS.start(), TURNS.end());
        let (low, high) = (units::print_duration(*low), units::print_duration(*high));
        let message = "`turn` must be a time or a number of requests";
        let bounds = format!("such as \"10ms\" (from {low} to {high}) or 20");
        checker
            .report(Problem::new(given.span(), message, "not the length of a turn").help(bounds));
    }
    found
}

/// Arms take turns only where each has processes of its own that stay up. Elsewhere all load is
/// isolated, and keys that ask for turns are refused with the reason.
pub(super) fn settle(
    checker: &mut Checker<'_>,
    file: &PlanFile,
    design: &mut Design,
    arms: &[Arm],
    services: &[Resolved],
    loads: &[&Load],
) {
    let Some(obstacle) = obstacle(design, arms, services, loads) else {
        return;
    };
    design.interleaving = None;
    let given = &file.design;
    let turn = given.turn.as_ref().map(|turn| ("turn", turn.span()));
    let block = given.block.as_ref().map(|block| ("block", block.span()));
    let share = given.isolated.as_ref();
    let share = share.filter(|share| !is_whole(share.get_ref()));
    let share = share.map(|share| ("isolated", share.span()));
    if let Some((key, span)) = turn.or(block).or(share) {
        let message = format!("arms can't take turns: {}", obstacle.why);
        let problem = Problem::new(span, message, "asks for turns");
        let help = format!(
            "remove `{key}`: the run then measures isolated windows; {}",
            obstacle.or
        );
        checker.report(problem.help(help));
    }
}

/// Why arms can't take turns, and what would have to change.
struct Obstacle {
    why: &'static str,
    or: &'static str,
}

fn obstacle(
    design: &Design,
    arms: &[Arm],
    services: &[Resolved],
    loads: &[&Load],
) -> Option<Obstacle> {
    let is_attached = |resolved: &Resolved| {
        !resolved.service.shared && matches!(resolved.service.origin, Origin::Attach(_))
    };
    let shares = |(at, arm): (usize, &Arm)| {
        arms[..at]
            .iter()
            .any(|earlier| earlier.instance == arm.instance)
    };
    let found = |why, or| Some(Obstacle { why, or });
    if services.iter().any(|program| program.is_agent) {
        return found(
            "agents are attached and detached between windows",
            "or measure without the agents",
        );
    }
    if services.iter().any(is_attached) {
        return found(
            "a service that is already running exists once, for all arms",
            "or let Windage launch the service",
        );
    }
    if arms.iter().enumerate().any(shares) {
        return found(
            "some arms share their processes",
            "or give each arm an `instance` of its own",
        );
    }
    let by_process =
        |load: &&Load| load.model == LoadModel::Batch && load.batch == BatchKind::Process;
    if loads.iter().any(by_process) {
        return found(
            "each window is a process of its own",
            "or use `batch = \"resident\"`",
        );
    }
    if loads.iter().any(|load| thinks(load)) {
        return found(
            "users think between requests, so a turn can't be filled",
            "or leave `think` out",
        );
    }
    if design.order == Order::Sequential {
        return found("the order is sequential", "or leave `order` out");
    }
    if design.idle.is_zero() {
        return found(
            "without an idle stretch, the CPU that arms use anyway is unknown",
            "or set `idle` to ten periods of the slowest timer, over all rounds",
        );
    }
    if design.stop.is_some() && design.rounds == 1 {
        return found(
            "a run of one round that may stop early has one launch, and launches are the sample",
            "or use more rounds",
        );
    }
    None
}

fn thinks(load: &Load) -> bool {
    let mut steps = load.flows.iter().flat_map(|flow| &flow.steps);
    steps.any(|step| !step.think.is_zero())
}
