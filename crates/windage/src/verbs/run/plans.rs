//! Turns flags into plans and their run directories.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use nix::unistd::geteuid;
use windage_plan::{Depth, Length, Plan, PlanError, Stop, listed_plans};
use windage_record::{RUNS, RunDir};
use windage_stats::totals::FEWEST_LAUNCHES;

use crate::exit::Exit;
use crate::flags::RunFlags;
use crate::git::commit;
use crate::message;
use crate::run_name::unused;
use crate::verbs::cluster;

/// Reads every plan before the first is measured, so that a typo in the last costs no time.
pub(super) fn load_all(flags: &RunFlags) -> Result<Vec<Plan>, Exit> {
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
                Ok(()) => {
                    plan.commit = cluster::commit_of_plan().or_else(|| commit(&plan.folder));
                    show_plan_warnings(&path, &plan);
                    for why in plan.end_overrides(&today()) {
                        message::warning(format_args!("{}: {why}", path.display()));
                    }
                    if flags.quick {
                        warn_of_quick(&path, &plan);
                    }
                    plans.push(plan);
                }
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

pub(crate) fn show_plan_warnings(path: &Path, plan: &Plan) {
    for warning in plan.warnings() {
        message::warning(format_args!("{}: {warning}", path.display()));
    }
}

/// Replaces parts of the plan's design by flags; an error says why that is impossible.
fn change(plan: &mut Plan, flags: &RunFlags) -> Result<(), String> {
    if flags.no_profile {
        plan.profile = None;
    }
    if flags.quick {
        *plan = windage_lab::quick(plan, launches_for_verdict());
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
            "--rounds {} is too few for the plan's `stop`, which needs 1, or {} or more; use \
             --for instead, or another --rounds",
            design.rounds,
            Stop::FEWEST_ROUNDS,
        ));
    }
    // As the plan layer decides for such a plan: one launch, which ends at any block.
    if design.stop.is_some() && design.rounds == 1 {
        design.interleaving = None;
    }
    Ok(())
}

/// Today in UTC, such as `2027-01-31`.
pub(crate) fn today() -> String {
    let now = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    now.chars().take_while(|c| *c != 'T').collect()
}

fn launches_for_verdict() -> u32 {
    u32::try_from(FEWEST_LAUNCHES).unwrap_or(u32::MAX)
}

/// What a first look leaves out.
fn warn_of_quick(path: &Path, plan: &Plan) {
    let (rounds, needed) = (plan.design.rounds, launches_for_verdict());
    if rounds < needed {
        message::warning(format_args!(
            "{}: --quick has time for {rounds} launches, and a verdict needs {needed}: leave it out \
             for a verdict",
            path.display()
        ));
    }
}

/// Plan files; a folder means all its `*.toml` files, sorted, and a file that lists plans these.
pub(crate) fn files(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Exit> {
    let mut files = Vec::new();
    for path in in_folders(paths)? {
        match listed_plans(&path) {
            Ok(Some(plans)) => files.extend(plans),
            Ok(None) => files.push(path),
            Err(error) => {
                show_plan_error(&error);
                return Err(Exit::Usage);
            }
        }
    }
    // A folder may have plans and a list of them; each is measured once.
    let mut seen = BTreeSet::new();
    files.retain(|path| path.canonicalize().map_or(true, |path| seen.insert(path)));
    Ok(files)
}

/// Whether what was named may be several plans, however many it is: then JSON is a list.
pub(crate) fn may_be_several(paths: &[PathBuf]) -> bool {
    let is_list = |path: &Path| listed_plans(path).is_ok_and(|plans| plans.is_some());
    paths.len() > 1 || paths.iter().any(|path| path.is_dir() || is_list(path))
}

fn in_folders(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Exit> {
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
                "the folder {} has no *.toml plan",
                path.display()
            ));
            return Err(Exit::Usage);
        }
        files.extend(found);
    }
    Ok(files)
}

pub(crate) fn directory_for(plan: &Plan, out: Option<&Path>, several: bool) -> PathBuf {
    match out {
        Some(out) if several => unused(out, &plan.name, SystemTime::now()),
        Some(out) => out.to_owned(),
        None => unused(Path::new(RUNS), &plan.name, SystemTime::now()),
    }
}

/// The resolved plan of an existing run, which is trusted: it will be executed.
pub(super) fn plan_of_run(directory: &Path) -> Result<Plan, Exit> {
    let read = RunDir::open(directory).and_then(|run| {
        if geteuid().is_root() {
            run.check_writers(windage_lab::invoking_user())?;
        }
        let text = run.plan_to_resume()?;
        Ok((text, run.manifest().plan_folder.clone()))
    });
    let (text, folder) = read.map_err(|error| {
        message::error(error);
        Exit::Usage
    })?;
    let name = directory.join("resolved.toml").display().to_string();
    let mut plan = Plan::parse(&text, &name, &folder).map_err(|error| {
        show_plan_error(&error);
        Exit::Usage
    })?;
    plan.commit = commit(&folder);
    Ok(plan)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    use crate::cli::{Cli, Verb};

    #[test]
    fn flags_that_contradict_a_stop_are_refused() {
        let text = "name = 'p'\n[[service]]\nname = 'app'\ncommand = ['x', '{listen}']\n\
            [load]\nmodel = 'closed'\nrequest = 'GET http://{app}/'\n\
            [[arm]]\nname = 'off'\nbaseline = true\n\
            [design]\nstop = { metric = 'throughput', half_width = '1%', within = '5m' }\n";
        let plan = Plan::parse(text, "plan.toml", Path::new("/")).unwrap();
        let changed = |args: &[&str]| {
            let words = ["windage", "run", "plan.toml"].iter().chain(args);
            let Verb::Run(flags) = Cli::parse_from(words).verb else {
                panic!("it was accepted")
            };
            let mut plan = plan.clone();
            let design = change(&mut plan, &flags).map(|()| plan.design)?;
            let has_turns = design.interleaving.is_some();
            Ok::<_, String>((design.stop.is_some(), design.rounds, has_turns))
        };
        assert_eq!(changed(&[]), Ok((true, 30, true)));
        assert_eq!(
            changed(&["--rounds", "1"]),
            Ok((true, 1, false)),
            "one launch that may stop early has no turns"
        );
        assert_eq!(
            changed(&["--for", "60s", "--rounds", "3"]),
            Ok((false, 3, true)),
            "--for replaces the stop"
        );
        assert_eq!(
            changed(&["--quick"]),
            Ok((false, 13, true)),
            "a first look does not stop early"
        );
        let why = changed(&["--rounds", "3"]).unwrap_err();
        assert!(why.contains("--rounds 3") && why.contains("--for"), "{why}");
    }
}
