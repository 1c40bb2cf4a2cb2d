//! `windage calibrate`: how well Windage finds known costs on this machine, today.

mod document;
mod findings;
mod observed;
mod store;
mod text;
mod truth;

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use windage_plan::{Length, Plan};
use windage_record::RunDir;

use crate::exit::Exit;
use crate::flags::{CalibrateFlags, OutputFlags};
use crate::message;
use crate::run_name::{RUNS, unused};
use crate::signals::Signals;
use crate::verbs::demo::share_cores;
use crate::verbs::report::print;
use crate::verbs::run::{Start, measure, show_plan_error};
use findings::Findings;
use observed::{ObserveError, Observed};

/// The hidden verb that runs the calibration service.
pub(crate) const SERVICE_VERB: &str = "__calibration-service";

/// One of the two runs of a calibration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// Costs in CPU, under a closed loop.
    Cpu,
    /// Delays, at a fixed rate.
    Latency,
}

impl Part {
    const BOTH: [Part; 2] = [Part::Cpu, Part::Latency];

    /// Name of its directory.
    fn name(self) -> &'static str {
        match self {
            Part::Cpu => "cpu",
            Part::Latency => "latency",
        }
    }

    fn plan(self) -> &'static str {
        match self {
            Part::Cpu => include_str!("../../calibration/cpu.toml"),
            Part::Latency => include_str!("../../calibration/latency.toml"),
        }
    }

    /// Its share of the measuring time. CPU gets more, because it has more arms and is the usual
    /// question.
    fn share_of(self, length: Duration) -> Duration {
        match self {
            Part::Cpu => length * 2 / 3,
            Part::Latency => length / 3,
        }
    }
}

/// The latest calibration of this machine, which runs record; null if there is none.
pub(crate) fn latest() -> serde_json::Value {
    store::latest(&windage_lab::host_json()).unwrap_or_default()
}

/// Runs both plans, compares what was found with the truth, prints that and keeps it for this
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
    let mut observed = Vec::new();
    let mut worst = Exit::Success;
    for part in Part::BOTH {
        let run = directory.join(part.name());
        match measured(part, &run, flags, &signals) {
            Ok((found, exit)) => {
                observed.push(found);
                worst = worst.max(exit);
            }
            Err(exit) => return exit,
        }
    }
    let [cpu, latency] = &observed[..] else {
        return Exit::CouldNotMeasure;
    };
    let findings = Findings::of(cpu, latency);
    conclude(&findings, began, &directory, &flags.output, worst)
}

/// Measures one part and reads its run directory.
fn measured(
    part: Part,
    directory: &Path,
    flags: &CalibrateFlags,
    signals: &Signals,
) -> Result<(Observed, Exit), Exit> {
    let here = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
    let plan = Plan::parse(part.plan(), "the calibration plan", &here);
    let mut plan = plan.map_err(|error| {
        show_plan_error(&error);
        Exit::Usage
    })?;
    plan.design.length = Length::MeasuringTime(part.share_of(flags.length));
    plan.design.rounds = flags.rounds;
    plan.design.seed = flags.seed.unwrap_or(plan.design.seed);
    share_cores(&mut plan);
    let exit = measure(&plan, directory, Start::New, &flags.output, signals).exit();
    match exit {
        Exit::Interrupted | Exit::CouldNotMeasure | Exit::Usage => return Err(exit),
        Exit::Void => message::warning(format_args!(
            "the run {} is void, so the figures below are not reliable",
            directory.display()
        )),
        Exit::Success | Exit::Inconclusive => {}
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
            "the result is not kept for reports: a run is void, or too short for a single \
             experiment; `--for 3m` is long enough",
        );
        return printed;
    }
    match store::keep(&document) {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(part: Part) -> Plan {
        Plan::parse(part.plan(), "the calibration plan", Path::new("/"))
            .unwrap_or_else(|error| panic!("{}", error.render(false)))
    }

    #[test]
    fn each_arm_injects_its_level() {
        let ids = |part| {
            let plan = plan(part);
            let ids = plan.arms.iter().map(|arm| arm.id.to_string());
            ids.collect::<Vec<_>>()
        };
        let cpu = ids(Part::Cpu);
        assert_eq!(cpu.len(), 10, "{cpu:?}");
        assert_eq!(cpu[..3], ["off", "control", "spin-iterations-390"]);
        assert_eq!(cpu[3], "busy-ns-0");
        let latency = ids(Part::Latency);
        assert_eq!(latency.len(), 7, "{latency:?}");
    }

    #[test]
    fn both_parts_share_the_measuring_time() {
        let whole = Duration::from_secs(180);
        let parts = Part::BOTH.map(|part| part.share_of(whole).as_secs());
        assert_eq!(parts, [120, 60]);
    }
}
