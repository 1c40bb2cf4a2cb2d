//! `agent_stretch`, `agent_warmup` and `bpf_statistics` of `[design]`, and the design's limits for
//! plans with agents.

use windage_model::Order;

use super::checker::Checker;
use super::stop::Ground;
use crate::wire::{self, Text};
use crate::{Problem, defaults, units};

/// Refuses keys that don't apply to a plan with agents, or to one without.
pub(super) fn check(checker: &mut Checker<'_>, design: &wire::Design, ground: &Ground<'_>) {
    if ground.has_agents() {
        refuse_sequences(checker, design);
        refuse_long_stretches(checker, design);
        return;
    }
    let keys = [
        ("agent_stretch", &design.agent_stretch),
        ("agent_warmup", &design.agent_warmup),
        ("bpf_statistics", &design.bpf_statistics),
    ];
    for (key, given) in keys {
        if let Some(given) = given {
            let message = format!("`{key}` needs agents, and the plan has none");
            let problem = Problem::new(given.span(), message, "no agents");
            checker.report(problem.help(format!("remove `{key}`, or add an [[agent]]")));
        }
    }
}

/// In a sequential run, the windows with agents are far in time from those without.
fn refuse_sequences(checker: &mut Checker<'_>, design: &wire::Design) {
    let sequential = Order::Sequential.as_str();
    if let Some(order) = design.order.as_ref().filter(|o| o.get_ref() == sequential) {
        checker.report(
            Problem::new(
                order.span(),
                format!(
                    "a `{sequential}` run can't have agents: they are attached and detached in alternation"
                ),
                "not with agents",
            )
            .help("leave `order` out"),
        );
    }
}

/// A block is kept in memory until it is complete.
fn refuse_long_stretches(checker: &mut Checker<'_>, design: &wire::Design) {
    const WINDOWS_MAX: u128 = 4000;
    let given = |text: Option<&Text>, default| {
        let parsed = text.map(|text| units::parse_duration(text.get_ref()));
        // Bad durations are reported elsewhere.
        parsed.map_or(Some(default), Result::ok)
    };
    let window = given(design.window.as_ref(), defaults::WINDOW);
    let settle = given(design.settle.as_ref(), defaults::SETTLE);
    let (Some(stretch), Some(window), Some(settle)) = (&design.agent_stretch, window, settle)
    else {
        return;
    };
    let Some(lasts) = given(Some(stretch), defaults::AGENT_STRETCH) else {
        return;
    };
    let windows = lasts.as_nanos() / (window + settle).as_nanos().max(1);
    if windows > WINDOWS_MAX {
        let message =
            format!("`agent_stretch` holds {windows} windows; the limit is {WINDOWS_MAX}");
        let problem = Problem::new(stretch.span(), message, "too many windows");
        checker.report(problem.help("shorten `agent_stretch`, or lengthen `window`"));
    }
}
