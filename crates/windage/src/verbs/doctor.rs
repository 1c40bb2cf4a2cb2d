//! `windage doctor`: reports what this machine can and can't measure, or lacks for a plan, and what
//! to do about it.

mod facts;
mod finding;
mod look;
mod plans;
mod render;
mod rules;

use std::io::IsTerminal;
use std::path::PathBuf;

use windage_probe::Linux;
use windage_probe::facility::KernelTrials;

use crate::exit::Exit;
use crate::flags::DoctorFlags;
use crate::message;
use crate::verbs::report::print;
use finding::Diagnosis;
use plans::PlanNeeds;

/// Examines the machine, in general or for plans, and prints the result.
pub(crate) fn doctor(flags: &DoctorFlags) -> Exit {
    if flags.plans.is_empty() {
        diagnose(flags.json)
    } else {
        look_for(&flags.plans, flags.json).unwrap_or_else(|exit| exit)
    }
}

/// Checks whether this machine has what these plans need.
fn look_for(paths: &[PathBuf], json: bool) -> Result<Exit, Exit> {
    let plans = plans::look(paths, &Linux, &KernelTrials)?;
    let text = if json {
        format!("{:#}\n", plans::json(&plans))
    } else {
        plans::text(&plans)
    };
    let exit = if plans.iter().all(PlanNeeds::runs_here) {
        Exit::Success
    } else {
        Exit::CouldNotMeasure
    };
    Ok(exit.max(print(&text)))
}

fn diagnose(json: bool) -> Exit {
    if std::io::stderr().is_terminal() {
        anstream::eprintln!("examining this machine, about two seconds …");
    }
    let seen = look::look(&Linux, &KernelTrials);
    let diagnosis = Diagnosis::of(rules::findings(&seen));
    let text = if json {
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
