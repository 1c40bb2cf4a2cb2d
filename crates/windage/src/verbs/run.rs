//! `windage run PLAN…`, and what `windage demo` shares with it.

mod dry_run;
mod plans;

use std::path::{Path, PathBuf};

use windage_analysis::detailed;
use windage_analysis::{Analysis, wire};
use windage_lab::{Finished, LabError, RunOptions, Stopping, manifest_of};
use windage_model::{Soundness, WarningCode};
use windage_plan::Plan;
use windage_record::{Ending, RecordError, RunDir};
use windage_report::PageSource;

use crate::calibration_file;
use crate::exit::Exit;
use crate::flags::{OutputFlags, RunFlags};
use crate::message;
use crate::progress::Progress;
use crate::run_name::find;
use crate::signals::Signals;
use crate::verbs::clean::size;
use crate::verbs::cluster;
use crate::verbs::publish::Publishing;
use crate::verbs::report::{on_terminal, print};
use crate::watch::Watch;
pub(crate) use plans::{
    directory_for, files, may_be_several, show_plan_error, show_plan_warnings, today,
};
use plans::{load_all, plan_of_run};

/// Measures every plan, or continues one run.
pub(crate) fn run(flags: &RunFlags) -> Exit {
    if flags.dry_run {
        return match load_all(flags) {
            Ok(plans) => print(dry_run::text(&plans, &executable())),
            Err(exit) => exit,
        };
    }
    let Some(signals) = Signals::install() else {
        return Exit::CouldNotMeasure;
    };
    let publishing = match Publishing::start(&flags.publish) {
        Ok(publishing) => publishing,
        Err(exit) => return exit,
    };
    if let Some(directory) = &flags.resume {
        let directory = &find(directory);
        return match plan_of_run(directory) {
            Ok(plan) => {
                publishing.follow(directory);
                let measured = measure(&plan, directory, Start::Resumed, &flags.output, &signals)
                    .tidied(flags.keep_work);
                show(&[measured], false, flags.all, &flags.output, &publishing)
            }
            Err(exit) => exit,
        };
    }
    let plans = match load_all(flags) {
        Ok(plans) => plans,
        Err(exit) => return exit,
    };
    let several = may_be_several(&flags.plans);
    let measure_one = |plan: &Plan| {
        let directory = directory_for(plan, flags.out.as_deref(), plans.len() > 1);
        publishing.follow(&directory);
        let start = Start::New {
            is_shared: flags.shared,
        };
        measure(plan, &directory, start, &flags.output, &signals).tidied(flags.keep_work)
    };
    let measured = until(|| signals.came(), &plans, measure_one);
    let shown = show(&measured, several, flags.all, &flags.output, &publishing);
    shown.max(left_out(plans.len(), measured.len()))
}

/// Measures one plan after another, and stops once a signal `came`.
pub(crate) fn until<P, M>(
    came: impl Fn() -> bool,
    plans: &[P],
    mut measure: impl FnMut(&P) -> M,
) -> Vec<M> {
    let mut measured = Vec::with_capacity(plans.len());
    for plan in plans {
        measured.push(measure(plan));
        if came() {
            break;
        }
    }
    measured
}

/// Reports plans that a signal left out, even if it came too late for the run before them.
fn left_out(plans: usize, measured: usize) -> Exit {
    if measured == plans {
        return Exit::Success;
    }
    let left = plans - measured;
    message::warning(format_args!(
        "interrupted: {left} of {plans} plans were not measured"
    ));
    Exit::Interrupted
}

/// How a run starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    New {
        /// Whether others may read the run directory, as far as the umask allows.
        is_shared: bool,
    },
    Resumed,
}

/// A run that was measured, or attempted.
pub(crate) struct Measured {
    directory: PathBuf,
    /// `None` if there is not even a run directory.
    analysis: Option<Analysis>,
    exit: Exit,
    /// The size of the run directory, in words.
    size: Option<String>,
}

impl Measured {
    /// Its analysis; `None` if there is none.
    pub(crate) fn analysis(&self) -> Option<&Analysis> {
        self.analysis.as_ref()
    }

    /// Of a run that could not begin.
    fn nothing(directory: &Path) -> Measured {
        Measured {
            directory: directory.to_owned(),
            analysis: None,
            exit: Exit::CouldNotMeasure,
            size: None,
        }
    }

    /// The exit code of this run.
    pub(crate) fn exit(&self) -> Exit {
        self.exit
    }

    /// Removes services' own files, unless they are kept: the plan may want them, and after a failure
    /// they may say why.
    pub(crate) fn tidied(mut self, keep_work: bool) -> Measured {
        let keep = keep_work || !matches!(self.exit, Exit::Success | Exit::Inconclusive);
        match RunDir::open(&self.directory).and_then(|run| tidy(&run, keep)) {
            Ok(size) => self.size = Some(size),
            Err(_) if self.analysis.is_none() => {}
            Err(error) => message::warning(error),
        }
        self
    }
}

/// Removes the services' own files unless they are kept; says how large the run is.
fn tidy(run: &RunDir, keep: bool) -> Result<String, RecordError> {
    let of_services = match keep {
        true => run.work_bytes()?,
        false => run.remove_work()?,
    };
    let (all, files) = (size(run.bytes()?), size(of_services));
    Ok(match (of_services, keep) {
        (0, _) => all,
        (_, true) => format!(
            "{all}, with {files} of services' files in work/ (`windage clean` removes them)"
        ),
        (_, false) => {
            format!("{all}, without {files} of services' files in work/ (--keep-work keeps them)")
        }
    })
}

/// Measures a plan and writes `analysis.json` and `report.html` into its run directory.
pub(crate) fn measure(
    plan: &Plan,
    directory: &Path,
    start: Start,
    output: &OutputFlags,
    signals: &Signals,
) -> Measured {
    if plan.cluster.image.is_some() && start != Start::Resumed {
        return measure_away(plan, directory, output, signals);
    }
    let order = windage_lab::run_order(plan);
    let node = match cluster::node(plan) {
        Ok(node) => node,
        Err(why) => {
            message::error(why);
            return Measured::nothing(directory);
        }
    };
    let progress = Progress::start(output.quiet, directory, signals.flag());
    let options = RunOptions {
        executable: executable(),
        directory: directory.to_owned(),
        is_shared: start == Start::New { is_shared: true },
        command: repeatable(
            std::env::args_os()
                .skip(1)
                .map(|arg| arg.to_string_lossy().into_owned()),
        ),
        node,
        interrupted: signals.flag(),
        calibration: calibration_file::latest(),
    };
    let emit = |event| progress.show(event);
    let result = match start {
        Start::New { .. } => {
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
    let exit = exit_of(&result, plan.design.stop.is_some());
    let is_others = matches!(
        &result,
        Err(LabError::Record(
            RecordError::NotEmpty { .. } | RecordError::Locked { .. }
        ))
    );
    let concluded = (!is_others).then(|| {
        progress.analysing();
        conclude(directory)
    });
    progress.finish();
    match &result {
        Err(error) => message::error(error),
        Ok(Finished {
            ending: Ending::Died { text },
        }) => message::error(text),
        Ok(_) => {}
    }
    let analysis = match concluded {
        Some(Ok(analysis)) => Some(analysis),
        Some(Err(error)) => {
            if result.is_ok() {
                message::error(error);
            }
            None
        }
        // The files there belong to another run.
        None => None,
    };
    let is_void = |a: &Analysis| a.validity.soundness() == Soundness::Void;
    let void = analysis.as_ref().is_some_and(|a| a.regimes().any(is_void));
    let exit = match (exit, &analysis) {
        (Exit::Success | Exit::Inconclusive, None) => Exit::CouldNotMeasure,
        (Exit::Success | Exit::Inconclusive, Some(_)) if void => Exit::Void,
        (Exit::CouldNotMeasure, Some(of)) if of.validity.has(WarningCode::ServiceErrors) => {
            Exit::Void
        }
        (exit, _) => exit,
    };
    Measured {
        directory: directory.to_owned(),
        analysis,
        exit,
        size: None,
    }
}

/// Measures a plan in a pod of the cluster, and fetches its run directory.
fn measure_away(
    plan: &Plan,
    directory: &Path,
    output: &OutputFlags,
    signals: &Signals,
) -> Measured {
    let say = |line: &str| {
        let is_trouble = line.starts_with("error: ") || line.starts_with("warning: ");
        // Of the run directory there.
        let is_there = line.starts_with("page: ") || line.starts_with("size: ");
        if is_trouble || !(output.quiet || is_there) {
            anstream::eprintln!("{line}");
        }
    };
    match cluster::measure_away(plan, directory, &signals.flag(), &say) {
        Ok(code) => {
            let (exit, concluded) = (Exit::of(code), conclude(directory));
            let exit = match (exit, &concluded) {
                (Exit::Success | Exit::Inconclusive, Err(error)) => {
                    message::error(error);
                    Exit::CouldNotMeasure
                }
                (exit, _) => exit,
            };
            Measured {
                directory: directory.to_owned(),
                analysis: concluded.ok(),
                exit,
                size: None,
            }
        }
        Err(why) => {
            message::error(why);
            Measured::nothing(directory)
        }
    }
}

/// The running executable.
fn executable() -> PathBuf {
    std::env::current_exe().unwrap_or_else(|_| "/proc/self/exe".into())
}

/// The command that repeats a run, without `--out`, because that directory is taken now.
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

/// The exit code of a run; `stops` says whether the plan has a `stop`.
fn exit_of(result: &Result<Finished, LabError>, stops: bool) -> Exit {
    match result {
        Ok(finished) => match finished.ending {
            // The longest allowed time was measured without reaching the precision.
            Ending::Complete if stops => Exit::Inconclusive,
            Ending::Complete | Ending::StoppedEarly { .. } => Exit::Success,
            Ending::Interrupted => Exit::Interrupted,
            Ending::Died { .. } => Exit::CouldNotMeasure,
        },
        Err(LabError::Interrupted) => Exit::Interrupted,
        Err(LabError::LeftBehind { .. }) => Exit::Void,
        Err(
            LabError::Unsupported(_)
            | LabError::Request { .. }
            | LabError::NotAllowed { .. }
            | LabError::Variable { .. }
            | LabError::User { .. }
            | LabError::Placeholder { .. },
        ) => Exit::Usage,
        Err(_) => Exit::CouldNotMeasure,
    }
}

/// Analyses a run directory and writes the analysis and the page into it.
fn conclude(directory: &Path) -> Result<Analysis, windage_record::RecordError> {
    let run = RunDir::open(directory)?;
    let detailed = detailed(&run)?;
    let analysis = &detailed.analysis;
    run.write_whole(
        "analysis.json",
        format!("{:#}\n", wire::to_json(analysis, &windage_report::Words)).as_bytes(),
    )?;
    let page = windage_report::page_html(PageSource {
        detailed: &detailed,
        directory: &run.name(),
    });
    run.write_whole("report.html", page.as_bytes())?;
    for graph in windage_report::flame_graphs(analysis) {
        run.write_beside_profile(graph.profile, "svg", graph.svg.as_bytes())?;
    }
    Ok(detailed.analysis)
}

/// Prints and pushes the results; returns the worst exit code.
pub(crate) fn show(
    measured: &[Measured],
    several: bool,
    every_figure: bool,
    output: &OutputFlags,
    publishing: &Publishing<'_>,
) -> Exit {
    let exit = measured
        .iter()
        .map(|m| m.exit)
        .max()
        .unwrap_or(Exit::Success);
    let analyses: Vec<Analysis> = measured.iter().filter_map(|m| m.analysis.clone()).collect();
    let text = match (&analyses[..], output.json, several) {
        ([], false, _) => return exit,
        ([one], true, false) => format!("{:#}\n", wire::to_json(one, &windage_report::Words)),
        (all, true, _) => format!("{:#}\n", wire::several_to_json(all, &windage_report::Words)),
        (all, false, _)
            if exit == Exit::CouldNotMeasure && all.iter().all(|a| a.design.blocks == 0) =>
        {
            // Nothing was measured: the error has been printed, and there is no report.
            return exit;
        }
        (all, false, _) => on_terminal(all, message::colors_on_stdout(), every_figure),
    };
    let printed = print(&text);
    if !output.json && !output.quiet {
        for measured in measured.iter().filter(|m| m.analysis.is_some()) {
            let page = measured.directory.join("report.html");
            anstream::eprintln!("page: {}", page.display());
            if let Some(size) = &measured.size {
                anstream::eprintln!("size: {size}");
            }
        }
    }
    exit.max(printed).max(publishing.push(analyses.iter()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_skipped_by_a_signal_are_an_interruption() {
        // plans, the one in whose analysis the signal comes, measured, exit code
        let table = [
            (3, Some(1), 1, Exit::Interrupted),
            (3, Some(2), 2, Exit::Interrupted),
            (3, Some(3), 3, Exit::Success),
            (1, Some(1), 1, Exit::Success),
            (3, None, 3, Exit::Success),
        ];
        for (count, signal, expected, exit) in table {
            let plans: Vec<i32> = (1..=count).collect();
            let last = std::cell::Cell::new(0);
            let came = || Some(last.get()) == signal;
            let measured = until(came, &plans, |plan| last.set(*plan));
            assert_eq!(measured.len(), expected, "{signal:?}");
            assert_eq!(left_out(plans.len(), measured.len()), exit, "{signal:?}");
        }
    }

    #[test]
    fn only_an_unreached_stop_is_inconclusive() {
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
