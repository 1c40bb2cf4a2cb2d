//! `windage run PLAN…` and what `windage demo` shares with it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use signal_hook::consts::{SIGINT, SIGTERM};
use windage_analysis::{Analysis, of_run_directory, wire};
use windage_lab::{Finished, LabError, RunOptions, Stopping, manifest_of};
use windage_model::Soundness;
use windage_plan::{Depth, Length, Plan, PlanError, Stop};
use windage_record::{Ending, RecordError, RunDir};

use crate::cli::{OutputFlags, RunFlags};
use crate::exit::Exit;
use crate::message;
use crate::progress::Progress;
use crate::run_name::{RUNS, find, unused};
use crate::verbs::calibrate;
use crate::verbs::report::{on_terminal, print};
use crate::watch::{Watch, choose};

/// Measures every plan, or goes on with one run.
pub(crate) fn run(flags: &RunFlags) -> Exit {
    let Some(signals) = Signals::install() else {
        return Exit::CouldNotMeasure;
    };
    if let Some(directory) = &flags.resume {
        let directory = &find(directory);
        return match plan_of_run(directory) {
            Ok(plan) => {
                let measured = measure(&plan, directory, Start::Resumed, &flags.output, &signals);
                show(&[measured], false, &flags.output)
            }
            Err(exit) => exit,
        };
    }
    let plans = match load_all(flags) {
        Ok(plans) => plans,
        Err(exit) => return exit,
    };
    let several = plans.len() > 1 || flags.plans.iter().any(|path| path.is_dir());
    let mut measured = Vec::with_capacity(plans.len());
    for plan in &plans {
        let directory = directory_for(plan, flags.out.as_deref(), plans.len() > 1);
        measured.push(measure(
            plan,
            &directory,
            Start::New,
            &flags.output,
            &signals,
        ));
        if signals.came() {
            break;
        }
    }
    show(&measured, several, &flags.output)
}

/// Where a run starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    New,
    Resumed,
}

/// A run that was made, or tried.
pub(crate) struct Measured {
    directory: PathBuf,
    /// `None` when there is not even a run directory.
    analysis: Option<Analysis>,
    exit: Exit,
}

impl Measured {
    /// How it ended.
    pub(crate) fn exit(&self) -> Exit {
        self.exit
    }
}

/// Ctrl-C and SIGTERM: the first one asks the run to end in order, the second one ends it.
pub(crate) struct Signals(Arc<AtomicBool>);

impl Signals {
    pub(crate) fn install() -> Option<Signals> {
        let flag = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            let second = signal_hook::flag::register_conditional_shutdown(
                signal,
                Exit::Interrupted as i32,
                Arc::clone(&flag),
            );
            let first = signal_hook::flag::register(signal, Arc::clone(&flag));
            if let Err(error) = second.and(first) {
                message::error(format_args!("can't listen for signals: {error}"));
                return None;
            }
        }
        Some(Signals(flag))
    }

    /// The flag that a signal sets.
    pub(crate) fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.0)
    }

    /// Whether one came.
    pub(crate) fn came(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Measures a plan and writes `analysis.json` and `report.html` into its run directory.
pub(crate) fn measure(
    plan: &Plan,
    directory: &Path,
    start: Start,
    output: &OutputFlags,
    signals: &Signals,
) -> Measured {
    let order = windage_lab::run_order(plan);
    let blocks = order.rounds().saturating_mul(order.blocks_per_round());
    let progress = Progress::new(output.quiet, blocks);
    let executable = std::env::current_exe().unwrap_or_else(|_| "/proc/self/exe".into());
    let options = RunOptions {
        executable,
        directory: directory.to_owned(),
        command: repeatable(
            std::env::args_os()
                .skip(1)
                .map(|arg| arg.to_string_lossy().into_owned()),
        ),
        interrupted: Arc::clone(&signals.0),
        choose: Some(choose),
        calibration: calibrate::latest(),
    };
    let emit = |event| progress.show(event);
    let result = match start {
        Start::New => {
            let mut watch = Watch::over(manifest_of(plan, &order, &options));
            let stopping = watch.as_mut().map(|watch| watch as &mut dyn Stopping);
            windage_lab::run(plan, &options, stopping, &emit)
        }
        Start::Resumed => RunDir::open(directory)
            .map_err(LabError::from)
            .and_then(|run| {
                let mut watch = Watch::over(run.manifest().clone());
                let stopping = watch.as_mut().map(|watch| watch as &mut dyn Stopping);
                windage_lab::resume(plan, &options, stopping, &emit)
            }),
    };
    progress.finish();
    let exit = exit_of(&result, plan.design.stop.is_some());
    match &result {
        Err(error) => message::error(error),
        Ok(Finished {
            ending: Ending::Died { text },
        }) => message::error(text),
        Ok(_) => {}
    }
    if let Err(LabError::Record(RecordError::NotEmpty { .. } | RecordError::Locked { .. })) =
        &result
    {
        // What is there is another run's.
        return Measured {
            directory: directory.to_owned(),
            analysis: None,
            exit,
        };
    }
    let analysis = match conclude(directory) {
        Ok(analysis) => Some(analysis),
        Err(error) => {
            if result.is_ok() {
                message::error(error);
            }
            None
        }
    };
    let is_void = |a: &Analysis| a.validity.soundness() == Soundness::Void;
    let void = analysis.as_ref().is_some_and(|a| a.regimes().any(is_void));
    let exit = match (exit, &analysis) {
        (Exit::Success | Exit::Inconclusive, None) => Exit::CouldNotMeasure,
        (Exit::Success | Exit::Inconclusive, Some(_)) if void => Exit::Void,
        (exit, _) => exit,
    };
    Measured {
        directory: directory.to_owned(),
        analysis,
        exit,
    }
}

/// The command that makes such a run again: without the directory, which is taken now.
fn repeatable(args: impl Iterator<Item = String>) -> String {
    let mut words = vec!["windage".to_owned()];
    let mut args = args.peekable();
    while let Some(arg) = args.next() {
        if arg == "--out" {
            args.next();
        } else if !arg.starts_with("--out=") {
            words.push(shlex::try_quote(&arg).map_or_else(|_| arg.clone(), Into::into));
        }
    }
    words.join(" ")
}

/// `stops` says whether the plan asks for a precision.
fn exit_of(result: &Result<Finished, LabError>, stops: bool) -> Exit {
    match result {
        Ok(finished) => match finished.ending {
            // All that was allowed was measured, and it was not enough.
            Ending::Complete if stops => Exit::Inconclusive,
            Ending::Complete | Ending::StoppedEarly { .. } => Exit::Success,
            Ending::Interrupted => Exit::Interrupted,
            Ending::Died { .. } => Exit::CouldNotMeasure,
        },
        Err(LabError::Interrupted) => Exit::Interrupted,
        Err(
            LabError::Unsupported(_)
            | LabError::Request { .. }
            | LabError::NotAllowed { .. }
            | LabError::Placeholder { .. },
        ) => Exit::Usage,
        Err(_) => Exit::CouldNotMeasure,
    }
}

/// The analysis of a run directory, kept in it beside the page.
fn conclude(directory: &Path) -> Result<Analysis, windage_record::RecordError> {
    let run = RunDir::open(directory)?;
    let analysis = of_run_directory(&run)?;
    run.write_whole(
        "analysis.json",
        format!("{:#}\n", wire::to_json(&analysis)).as_bytes(),
    )?;
    run.write_whole("report.html", windage_report::html(&analysis).as_bytes())?;
    for graph in windage_report::flame_graphs(&analysis) {
        run.write_beside_profile(graph.profile, "svg", graph.svg.as_bytes())?;
    }
    Ok(analysis)
}

/// Prints what was measured; the worst exit of all.
pub(crate) fn show(measured: &[Measured], several: bool, output: &OutputFlags) -> Exit {
    let exit = measured
        .iter()
        .map(|m| m.exit)
        .max()
        .unwrap_or(Exit::Success);
    let analyses: Vec<Analysis> = measured.iter().filter_map(|m| m.analysis.clone()).collect();
    let text = match (&analyses[..], output.json, several) {
        ([], false, _) => return exit,
        ([one], true, false) => format!("{:#}\n", wire::to_json(one)),
        (all, true, _) => format!("{:#}\n", wire::several_to_json(all)),
        (all, false, _)
            if exit == Exit::CouldNotMeasure && all.iter().all(|a| a.design.blocks == 0) =>
        {
            // Nothing was measured: the error has said why, and there is no report to read.
            return exit;
        }
        (all, false, _) => on_terminal(all, message::colors_on_stdout()),
    };
    let printed = print(&text);
    if !output.json && !output.quiet {
        for measured in measured.iter().filter(|m| m.analysis.is_some()) {
            let page = measured.directory.join("report.html");
            anstream::eprintln!("page: {}", page.display());
        }
    }
    exit.max(printed)
}

/// Reads every plan before the first is measured: a typo in the last costs no time then.
fn load_all(flags: &RunFlags) -> Result<Vec<Plan>, Exit> {
    let mut plans = Vec::new();
    let mut failed = false;
    let depth = if flags.thorough {
        Depth::Thorough
    } else {
        Depth::Usual
    };
    for path in files(&flags.plans)? {
        match Plan::load(&path, depth) {
            Ok(mut plan) => match change(&mut plan, flags) {
                Ok(()) => plans.push(plan),
                Err(why) => {
                    failed = true;
                    message::error(format_args!("{}: {why}", path.display()));
                }
            },
            Err(error) => {
                failed = true;
                show_plan_error(&error);
            }
        }
    }
    if failed { Err(Exit::Usage) } else { Ok(plans) }
}

pub(crate) fn show_plan_error(error: &PlanError) {
    anstream::eprintln!("{}", error.render(message::colors_on_stderr()));
}

/// What flags put in place of the plan's own design; why they can't, if so.
fn change(plan: &mut Plan, flags: &RunFlags) -> Result<(), String> {
    if flags.no_profile {
        plan.profile = None;
    }
    let design = &mut plan.design;
    if let Some(length) = flags.length {
        design.length = Length::MeasuringTime(length);
        design.stop = None;
    }
    design.rounds = flags.rounds.unwrap_or(design.rounds);
    design.seed = flags.seed.unwrap_or(design.seed);
    if design.stop.is_some() && !Stop::allows(design.rounds) {
        return Err(format!(
            "--rounds {} is too few for the plan's `stop`, which takes 1, or {} and more; give \
             --for instead of it, or another --rounds",
            design.rounds,
            Stop::FEWEST_ROUNDS,
        ));
    }
    Ok(())
}

/// Plan files; a folder stands for its `*.toml`, sorted.
fn files(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Exit> {
    let mut files = Vec::new();
    for path in paths {
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        let entries = std::fs::read_dir(path).map_err(|error| {
            message::error(format_args!(
                "can't read the folder {}: {error}",
                path.display()
            ));
            Exit::Usage
        })?;
        let mut found: Vec<PathBuf> = entries
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| path.extension().is_some_and(|e| e == "toml") && path.is_file())
            .collect();
        found.sort();
        if found.is_empty() {
            message::error(format_args!(
                "the folder {} holds no *.toml plan",
                path.display()
            ));
            return Err(Exit::Usage);
        }
        files.extend(found);
    }
    Ok(files)
}

fn directory_for(plan: &Plan, out: Option<&Path>, several: bool) -> PathBuf {
    match out {
        Some(out) if several => unused(out, &plan.name, SystemTime::now()),
        Some(out) => out.to_owned(),
        None => unused(Path::new(RUNS), &plan.name, SystemTime::now()),
    }
}

/// The plan that a run was made from, as it was resolved.
fn plan_of_run(directory: &Path) -> Result<Plan, Exit> {
    let read = RunDir::open(directory).and_then(|run| {
        let text = run.resolved_text()?;
        Ok((text, run.manifest().plan_folder.clone()))
    });
    let (text, folder) = read.map_err(|error| {
        message::error(error);
        Exit::Usage
    })?;
    let name = directory.join("resolved.toml").display().to_string();
    Plan::parse(&text, &name, &folder).map_err(|error| {
        show_plan_error(&error);
        Exit::Usage
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    use crate::cli::{Cli, Verb};

    #[test]
    fn only_a_stop_that_was_not_reached_is_inconclusive() {
        let stopped = Ending::StoppedEarly {
            reason: "it is known".to_owned(),
        };
        let table = [
            (Ending::Complete, false, Exit::Success),
            (Ending::Complete, true, Exit::Inconclusive),
            (stopped, true, Exit::Success),
            (Ending::Interrupted, true, Exit::Interrupted),
        ];
        for (ending, stops, expected) in table {
            let case = format!("{ending:?}");
            assert_eq!(exit_of(&Ok(Finished { ending }), stops), expected, "{case}");
        }
    }

    #[test]
    fn flags_that_do_not_go_with_a_stop_are_refused() {
        let text = "name = 'p'\n[[service]]\nname = 'app'\ncommand = ['x', '{listen}']\n\
            [load]\nmodel = 'closed'\nrequest = 'GET http://{app}/'\n\
            [[arm]]\nname = 'off'\nbaseline = true\n\
            [design]\nstop = { metric = 'throughput', half_width = '1%', within = '5m' }\n";
        let plan = Plan::parse(text, "plan.toml", Path::new("/")).unwrap();
        let changed = |args: &[&str]| {
            let words = ["windage", "run", "plan.toml"].iter().chain(args);
            let Verb::Run(flags) = Cli::parse_from(words).verb else {
                panic!("it runs")
            };
            let mut plan = plan.clone();
            change(&mut plan, &flags).map(|()| (plan.design.stop.is_some(), plan.design.rounds))
        };
        assert_eq!(changed(&[]), Ok((true, 30)));
        assert_eq!(changed(&["--rounds", "1"]), Ok((true, 1)));
        assert_eq!(
            changed(&["--for", "60s", "--rounds", "3"]),
            Ok((false, 3)),
            "a given length is measured whole"
        );
        let why = changed(&["--rounds", "3"]).unwrap_err();
        assert!(why.contains("--rounds 3") && why.contains("--for"), "{why}");
    }

    #[test]
    fn a_command_can_be_repeated_in_another_directory() {
        let table = [
            ("run a.toml --out r1 --json", "windage run a.toml --json"),
            ("run a.toml --out=r1", "windage run a.toml"),
            ("demo --for 3s", "windage demo --for 3s"),
            ("run a;b", "windage run 'a;b'"),
        ];
        for (args, command) in table {
            assert_eq!(repeatable(args.split(' ').map(str::to_owned)), command);
        }
    }
}
