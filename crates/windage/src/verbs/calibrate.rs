//! `windage calibrate`: how well Windage finds known costs on this machine, today.

mod bias;
mod document;
mod findings;
mod observed;
mod part;
mod text;
mod truth;

use std::path::Path;
use std::time::SystemTime;

use windage_plan::Length;
use windage_record::{RUNS, RunDir};

use crate::calibration_file;
use crate::exit::Exit;
use crate::flags::{CalibrateFlags, OutputFlags};
use crate::message;
use crate::run_name::unused;
use crate::signals::Signals;
use crate::verbs::demo::share_cores;
use crate::verbs::report::print;
use crate::verbs::run::{Start, measure, show_plan_error};
use findings::Findings;
use observed::{ObserveError, Observed};
pub(crate) use part::Part;
use part::PlannedRun;

/// The hidden verb that runs the calibration service.
pub(crate) const SERVICE_VERB: &str = "__calibration-service";

/// Runs the plans, compares what was found with the truth, prints that and keeps it for this
/// machine.
pub(crate) fn calibrate(flags: &CalibrateFlags) -> Exit {
    let Some(signals) = Signals::install() else {
        return Exit::CouldNotMeasure;
    };
    let began = SystemTime::now();
    let directory = match &flags.out {
        Some(out) => out.clone(),
        None => unused(Path::new(RUNS), "calibration", began),
    };
    let (mut cpu, mut latency) = (Vec::new(), None);
    let mut worst = Exit::Success;
    for run in part::runs(flags.only, flags.runs) {
        match measured(&run, &directory.join(&run.name), flags, &signals) {
            Ok((found, exit)) => {
                match run.part {
                    Part::Cpu | Part::Small => cpu.push(found),
                    Part::Latency => latency = Some(found),
                }
                worst = worst.max(exit);
            }
            Err(exit) => return exit,
        }
    }
    let findings = Findings::of(&cpu, latency.as_ref());
    conclude(&findings, began, &directory, &flags.output, worst)
}

/// Measures one run and reads its directory.
fn measured(
    run: &PlannedRun,
    directory: &Path,
    flags: &CalibrateFlags,
    signals: &Signals,
) -> Result<(Observed, Exit), Exit> {
    let part = run.part;
    let mut plan = part.plan().map_err(|error| {
        show_plan_error(&error);
        Exit::Usage
    })?;
    plan.design.length = Length::MeasuringTime(part.share_of(flags.length, flags.only));
    plan.design.rounds = flags.rounds;
    let seed = flags.seed.unwrap_or(plan.design.seed);
    plan.design.seed = seed.wrapping_add(u64::from(run.repeats));
    share_cores(&mut plan);
    let exit = measure(
        &plan,
        directory,
        Start::New { is_shared: false },
        &flags.output,
        signals,
    )
    .exit();
    match exit {
        Exit::Interrupted | Exit::CouldNotMeasure | Exit::Usage => return Err(exit),
        Exit::Void => message::warning(format_args!(
            "the run {} is void, so the figures below are not reliable",
            directory.display()
        )),
        Exit::Success | Exit::Exceeded | Exit::Inconclusive => {}
    }
    let observed = RunDir::open(directory)
        .map_err(ObserveError::from)
        .and_then(|run| Observed::of(part, &run));
    match observed {
        Ok(observed) => Ok((observed, exit)),
        Err(error) => {
            message::error(error);
            Err(Exit::CouldNotMeasure)
        }
    }
}

fn conclude(
    findings: &Findings,
    began: SystemTime,
    runs: &Path,
    output: &OutputFlags,
    worst: Exit,
) -> Exit {
    let document = document::json(findings, began, runs);
    let printed = if output.json {
        print(format!("{document:#}\n"))
    } else {
        print(text::text(findings))
    };
    let printed = printed.max(worst);
    if worst == Exit::Void || findings.headline().is_none() {
        message::warning(
            "the result is not kept for reports: a run is void, or CPU was not measured in \
             enough launches for an experiment; without --only, 14 --rounds are enough",
        );
        return printed;
    }
    match calibration_file::keep(&document) {
        Ok(file) => {
            if !output.json && !output.quiet {
                anstream::eprintln!("result kept in {}", file.display());
            }
            printed
        }
        Err(error) => {
            message::error(error);
            printed.max(Exit::CouldNotMeasure)
        }
    }
}
