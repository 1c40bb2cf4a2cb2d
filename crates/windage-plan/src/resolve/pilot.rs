//! `window = "auto"` and `settle = "auto"`.

use windage_model::LoadModel;

use super::stop::Ground;
use super::{Checker, Problem};
use crate::PilotWish;
use crate::wire::{self, Text};

/// The word for what a pilot is to choose.
pub(crate) const AUTO: &str = "auto";

/// What is given; `None` as well for what a pilot is to choose.
pub(super) fn given(text: Option<&Text>) -> Option<&Text> {
    text.filter(|text| text.get_ref() != AUTO)
}

/// What a pilot is to choose; `None` when it is nothing.
pub(super) fn resolve(
    checker: &mut Checker<'_>,
    design: &wire::Design,
    ground: &Ground<'_>,
) -> Option<PilotWish> {
    let is_auto = |text: &&Text| text.get_ref() == AUTO;
    let window = design.window.as_ref().filter(is_auto);
    let settle = design.settle.as_ref().filter(is_auto);
    for (key, text) in [("window", window), ("settle", settle)] {
        if let Some(text) = text {
            refuse_batches(checker, key, text, ground);
            refuse_profiles(checker, text, ground);
        }
    }
    (window.is_some() || settle.is_some()).then_some(PilotWish {
        window: window.is_some(),
        settle: settle.is_some(),
    })
}

fn refuse_batches(checker: &mut Checker<'_>, key: &str, text: &Text, ground: &Ground<'_>) {
    if ground.model == Some(LoadModel::Batch) {
        let message =
            format!("`{key}` has no meaning for a batch load, whose windows are iterations");
        let problem = Problem::new(text.span(), message, "nothing to choose");
        checker.report(problem.help(format!(
            "leave `{key}` out; `load.iterations` sets the length"
        )));
    }
}

/// They are made for windows of one length, and a pilot measures in short ones.
fn refuse_profiles(checker: &mut Checker<'_>, auto: &Text, ground: &Ground<'_>) {
    let load = ground.load;
    let profile = load.profile.is_some().then_some("profile");
    let replay = load.replay.is_some().then_some("replay");
    if let Some(key) = profile.or(replay) {
        checker.report(
            Problem::new(
                auto.span(),
                format!("`{key}` is made for windows of one length, which has to be given"),
                "can't be chosen",
            )
            .help(format!("give the time that the `{key}` lasts")),
        );
    }
}
