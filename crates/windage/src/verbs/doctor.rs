//! `windage doctor`: what this machine can and can't measure, and what to do about it.

mod finding;
mod look;
mod render;
mod rules;
mod seen;

use std::io::IsTerminal;

use windage_probe::Linux;

use crate::cli::DoctorFlags;
use crate::exit::Exit;
use crate::message;
use crate::verbs::report::print;
use finding::Diagnosis;

/// Looks at the machine and tells what was found.
pub(crate) fn doctor(flags: &DoctorFlags) -> Exit {
    if std::io::stderr().is_terminal() {
        anstream::eprintln!("looking at this machine, about two seconds …");
    }
    let seen = look::look(&Linux);
    let diagnosis = Diagnosis::of(rules::findings(&seen));
    let text = if flags.json {
        format!("{:#}\n", render::json(&diagnosis))
    } else {
        render::text(&diagnosis, message::colors_on_stdout())
    };
    let exit = if diagnosis.can_measure() {
        Exit::Success
    } else {
        Exit::CouldNotMeasure
    };
    exit.max(print(&text))
}
