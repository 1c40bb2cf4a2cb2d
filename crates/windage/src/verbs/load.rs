//! `windage load URL`: the load generator as a tool of its own.

mod attack;
mod design;
mod error;
mod flags;
mod header;
mod json;
mod live;
mod outcome;
mod starts;
mod target;
mod text;
mod url;
mod validity;

use windage_model::Soundness;

pub(crate) use flags::LoadFlags;

use crate::descriptors;
use crate::exit::Exit;
use crate::message;
use crate::signals::Signals;
use crate::verbs::report::print;
use design::Design;
use error::LoadError;
use live::Live;
use outcome::Outcome;

/// Puts load on a URL and prints the results.
pub(crate) fn load(flags: &LoadFlags) -> Exit {
    let Some(signals) = Signals::install() else {
        return Exit::CouldNotMeasure;
    };
    let (design, outcome) = match measured(flags, &signals) {
        Ok(measured) => measured,
        Err(error) => {
            message::error(&error);
            return error.exit();
        }
    };
    let text = if flags.output.json {
        format!("{:#}\n", json::document(&design, &outcome))
    } else {
        text::text(&design, &outcome, message::colors_on_stdout())
    };
    exit_of(&outcome).max(print(&text))
}

fn measured(flags: &LoadFlags, signals: &Signals) -> Result<(Design, Outcome), LoadError> {
    let design = Design::of(flags)?;
    let target = target::target(flags, &design)?;
    descriptors::reserve(design.max_connections, design.threads)?;
    let mut live = Live::new(&design, flags.output.quiet);
    let done = attack::run(&design, &target, &signals.flag(), |phase| live.look(phase));
    live.finish();
    let outcome = Outcome::of(&design, done?, signals.came());
    Ok((design, outcome))
}

fn exit_of(outcome: &Outcome) -> Exit {
    if outcome.interrupted {
        return Exit::Interrupted;
    }
    if outcome.exchanges.completed == 0 {
        let why = outcome.first_error.as_deref().map_or_else(
            || "no request was due; lengthen --for or raise --rate".to_owned(),
            windage_report::one_line,
        );
        message::error(format_args!("nothing was completed: {why}"));
        return Exit::CouldNotMeasure;
    }
    match outcome.validity.soundness() {
        Soundness::Void => Exit::Void,
        Soundness::Valid | Soundness::Suspect => Exit::Success,
    }
}
