//! `agent_stretch`, `agent_warmup` and `bpf_statistics` of `[design]`, and what agents rule out there.

use windage_model::Order;

use super::Checker;
use super::stop::Ground;
use crate::wire::{self, Text};
use crate::{Problem, defaults, units};

/// Refuses what has no meaning with agents, or without any.
pub(super) fn check(checker: &mut Checker<'_>, design: &wire::Design, ground: &Ground<'_>) {
    if ground.has_agents() {
        refuse_sequences(checker, design);
        refuse_long_turns(checker, design);
        return;
    }
    let keys = [
        ("agent_stretch", &design.agent_stretch),
        ("agent_warmup", &design.agent_warmup),
        ("bpf_statistics", &design.bpf_statistics),
    ];
    for (key, given) in keys {
        if let Some(given) = given {
            let message = format!("`{key}` in a plan without agents");
            let problem = Problem::new(given.span(), message, "nothing is attached");
            checker.report(problem.help(format!("remove `{key}`, or add an [[agent]]")));
        }
    }
}

/// An arm measured as a whole is not close to the stretches in which its agents are gone.
fn refuse_sequences(checker: &mut Checker<'_>, design: &wire::Design) {
    let sequential = Order::Sequential.as_str();
    if let Some(order) = design.order.as_ref().filter(|o| o.get_ref() == sequential) {
        checker.report(
            Problem::new(
                order.span(),
                format!(
                    "agents are attached and gone in turns, which a `{sequential}` run has none of"
                ),
                "beside agents",
            )
            .help("leave `order` out"),
        );
    }
}

/// What a block measures waits in memory until it is whole.
fn refuse_long_turns(checker: &mut Checker<'_>, design: &wire::Design) {
    const WINDOWS_MAX: u128 = 4000;
    let given = |text: Option<&Text>, default| {
        let parsed = text.map(|text| units::parse_duration(text.get_ref()));
        // What is no duration is told elsewhere.
        parsed.map_or(Some(default), Result::ok)
    };
    let window = given(design.window.as_ref(), defaults::WINDOW);
    let settle = given(design.settle.as_ref(), defaults::SETTLE);
    let (Some(turn), Some(window), Some(settle)) = (&design.agent_stretch, window, settle) else {
        return;
    };
    let Some(lasts) = given(Some(turn), defaults::AGENT_STRETCH) else {
        return;
    };
    let windows = lasts.as_nanos() / (window + settle).as_nanos().max(1);
    if windows > WINDOWS_MAX {
        let message = format!("a turn of {windows} windows; {WINDOWS_MAX} at most");
        let problem = Problem::new(turn.span(), message, "too long for its windows");
        checker.report(problem.help("shorten `agent_stretch`, or lengthen `window`"));
    }
}
