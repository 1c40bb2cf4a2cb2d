//! Profiles: taken after everything was measured, in launches of their own, so that they affect no
//! window, no reading and no count of telemetry.

mod maps;
mod processes;
mod profiler;

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use windage_keeper::{Child, ExitStatusKind, Keeper, KeeperError, Spawn};
use windage_model::{ArmIndex, Event, Place};
use windage_plan::{Load, Profile, Profiler};
use windage_profile::Stacks;
use windage_record::{ProfileFailure, Profiled, RecordedProfile};

use super::driver::Driver;
use super::launched::RealLaunched;
use super::{RealRig, Setting};
use crate::LabError;
use crate::clock::whole_ns;
use crate::command_line::{describe, see_through};
use crate::conduct::{Launched, Rig};
use crate::error::ServiceTrouble;
use crate::log_tail::{log_tail, read_end};
use crate::stretch::Stretch;
use crate::warnings::what_failed;
use maps::remove_maps;
use processes::Processes;
use profiler::{Recorder, failure, perf_script, recorders};

/// Extra time for a profiler to attach, read symbols and write.
const BESIDES: Duration = Duration::from_secs(60);
/// Load on an arm comes in pieces of this length. Between them, the profiler's end and Ctrl-C are
/// checked.
const PIECE: Duration = Duration::from_millis(250);

/// The result of one arm's profile; the outer error is Windage's own.
type Outcome = Result<Result<Profiled, ProfileFailure>, LabError>;

/// The profiles that a plan asks for.
struct Profiling<'a> {
    setting: &'a Setting<'a>,
    wish: &'a Profile,
    /// Of the profiler; `None` while it is unknown.
    version: Option<String>,
}

/// Takes the profiles that the plan asks for, in launches with numbers from `first_launch`. If an
/// arm can't be profiled, the reason is recorded; that is not an error.
///
/// # Errors
/// When the keeper has ended, a profile can't be written, or a signal came.
pub(crate) fn profile(rig: &mut RealRig, first_launch: u32) -> Result<(), LabError> {
    let setting = rig.setting;
    let Some(wish) = &setting.plan.profile else {
        return Ok(());
    };
    let (with, arms, lasts) = (wish.with.as_str(), setting.plan.arms.len(), wish.lasts);
    (setting.emit)(Event::Note {
        text: format!("profiles: {with} records each of {arms} arms for {lasts:?}"),
    });
    let mut profiling = Profiling {
        setting,
        wish,
        version: None,
    };
    let loads = || (0..).zip(setting.plan.loads());
    match profiling.version_of(&mut rig.keeper)? {
        Ok(version) => profiling.version = Some(version),
        Err(why) => return loads().try_for_each(|(_, load)| profiling.fail(load, &why)),
    }
    for (round, load) in loads() {
        profiling.under_load(rig, load, first_launch + round, round)?;
    }
    Ok(())
}

impl Profiling<'_> {
    fn under_load(
        &self,
        rig: &mut RealRig,
        load: &Load,
        launch: u32,
        round: u32,
    ) -> Result<(), LabError> {
        let up = rig.launch(launch, round);
        if self.setting.is_interrupted() {
            return Err(LabError::Interrupted);
        }
        let mut launched = match up {
            Ok((_, launched)) => launched,
            Err(error) => {
                let why = format!("the arms could not be launched again: {error}");
                // Services that did come up end before the next launch.
                rig.keeper.kill_all()?;
                return self.fail(load, &failure(self.wish, why));
            }
        };
        for arm in self.setting.arms() {
            let outcome = self.of_arm(&mut launched, arm)?;
            self.record(load, arm, outcome)?;
        }
        (self.setting.emit)(Event::TakingDown);
        // Deliveries and findings of a profile belong to no window.
        launched.take_down()?;
        rig.findings.clear();
        Ok(())
    }

    /// Gives an arm load while the profiler records it.
    fn of_arm(&self, launched: &mut RealLaunched, arm: ArmIndex) -> Outcome {
        let own = self.setting.set_of(arm);
        if matches!(launched.services.driver, Driver::Process) {
            return Ok(Err(ProfileFailure {
                text: "each window is a process of its own, which ends before a profiler has \
                       attached"
                    .to_owned(),
                remedy: "profile the program with `batch = \"resident\"`".to_owned(),
            }));
        }
        if let Some(death) = launched.services.death(own) {
            return Ok(Err(failure(self.wish, death.what_happened())));
        }
        let place = Place {
            launch: launched.services.number,
            round: 0,
            block: 0,
            position: 0,
            arm,
        };
        if let Some(warning) = launched.agents.attend(&mut launched.services, place)? {
            return Ok(Err(failure(self.wish, what_failed(&warning))));
        }
        if let Some(warning) = launched.services.switch(arm)? {
            return Ok(Err(failure(self.wish, what_failed(&warning))));
        }
        launched.services.enter(arm, Stretch::unmeasured(arm));
        launched.services.probe(arm).refresh_tasks()?;
        let listed: Vec<u32> = launched.services.probe(arm).process_ids().collect();
        let found = processes::look_up(&listed, launched.services.keeper.containment());
        if found.all.is_empty() {
            return Ok(Err(ProfileFailure {
                text: "the profiler can see no process of the arm".to_owned(),
                remedy: "profile services that Windage launches".to_owned(),
            }));
        }
        (self.setting.emit)(Event::Profiling {
            arm: self.setting.plan.arms[arm.get()].id.clone(),
            with: self.wish.with.as_str().to_owned(),
            lasts: self.wish.lasts,
        });
        let outcome = self.of_processes(launched, arm, &found)?;
        // This arm's remaining exports must not appear in the next arm's profile.
        self.setting.rest(self.setting.plan.design.drain);
        Ok(outcome)
    }

    fn of_processes(
        &self,
        launched: &mut RealLaunched,
        arm: ArmIndex,
        found: &Processes,
    ) -> Outcome {
        let id = self.setting.plan.arms[arm.get()].id.as_str();
        let run = self.setting.run;
        let folder = make_folder(&run.work_dir(launched.services.number, id, "profiler"))?;
        let log = run.log_path(launched.services.number, id, "profiler");
        let recorders = recorders(self.wish, found, &folder);
        let looked = self.look(launched, arm, &recorders, &log);
        let keeper = &mut *launched.services.keeper;
        let outcome = match looked {
            Ok(Ok(seen)) => {
                if self.wish.with == Profiler::Perf {
                    self.write_maps(keeper, &found.java, &log)?;
                }
                self.read(keeper, &recorders, &log, seen)
            }
            failed => failed,
        };
        // Raw outputs contain command lines of processes, which may contain secrets.
        let _ = fs::remove_dir_all(&folder);
        remove_maps(&found.java);
        outcome
    }

    /// Starts the profiler, and gives load until it is done.
    fn look(
        &self,
        launched: &mut RealLaunched,
        arm: ArmIndex,
        recorders: &[Recorder],
        log: &Path,
    ) -> Outcome {
        let own = self.setting.set_of(arm);
        // The message must quote this attempt's output only.
        let _ = fs::remove_file(log);
        let mut going = Vec::with_capacity(recorders.len());
        for recorder in recorders {
            let (keeper, args) = (&mut *launched.services.keeper, recorder.args.clone());
            match self.start(keeper, self.profiler_program(), args, log)? {
                Ok(child) => going.push(child),
                Err(why) => {
                    kill(keeper, &going)?;
                    return Ok(Err(failure(self.wish, why)));
                }
            }
        }
        let (began, cpu_before) = (Instant::now(), launched.services.probe(arm).cpu_ns().ok());
        let mut seen = Profiled::default();
        let mut piece = 0;
        let (mut left, mut failed) = (going.clone(), Vec::new());
        while !left.is_empty() {
            piece += 1;
            let driven = launched.services.drive(arm, PIECE, piece, true)?;
            seen.iterations += driven.report.exchanges.completed;
            launched.agents.notice_deaths(&mut launched.services)?;
            let death = launched.services.death(own);
            let trouble = driven.trouble.or(death.map(ServiceTrouble::what_happened));
            let is_late = began.elapsed() > self.wish.lasts + BESIDES;
            if self.setting.is_interrupted() || trouble.is_some() || is_late {
                kill(launched.services.keeper, &left)?;
            }
            if self.setting.is_interrupted() {
                return Err(LabError::Interrupted);
            }
            if let Some(trouble) = trouble {
                return Ok(Err(failure(self.wish, format!("the program {trouble}"))));
            }
            if is_late {
                let why = format!("{} did not end by itself", self.wish.with.as_str());
                return Ok(Err(failure(self.wish, why)));
            }
            failed.extend(ended(launched.services.keeper, &mut left)?);
        }
        seen.lasts_ns = whole_ns(began.elapsed());
        let cpu = cpu_before.zip(launched.services.probe(arm).cpu_ns().ok());
        seen.cpu_ns = cpu.and_then(|(before, after)| after.checked_sub(before));
        // Of several services, some may not suit the profiler.
        if failed.len() < going.len() {
            return Ok(Ok(seen));
        }
        let how = failed.first().cloned().unwrap_or_default();
        let said = read_end(log).unwrap_or_default();
        let text = format!("{} {how}: {}", self.wish.with.as_str(), first_words(&said));
        Ok(Err(failure(self.wish, text)))
    }

    /// Adds the stacks that the profiler wrote.
    fn read(
        &self,
        keeper: &mut Keeper,
        recorders: &[Recorder],
        log: &Path,
        mut seen: Profiled,
    ) -> Outcome {
        let mut stacks = Stacks::default();
        for Recorder { output, .. } in recorders {
            let read = match self.wish.with {
                Profiler::PySpy => read_if_there(output, windage_profile::collapsed_by_py_spy),
                Profiler::Perf => {
                    let text = output.with_extension("txt");
                    if let Some(why) = self.script(keeper, output, &text, log)? {
                        return Ok(Err(failure(self.wish, why)));
                    }
                    read_if_there(&text, windage_profile::collapsed_by_perf)
                }
            };
            match read {
                Ok(more) => stacks.merge(&more),
                Err(error) => {
                    let with = self.wish.with.as_str();
                    let text = format!("{with}'s output can't be read: {error}");
                    return Ok(Err(failure(self.wish, text)));
                }
            }
        }
        if stacks.samples() == 0 {
            return Ok(Err(ProfileFailure {
                text: format!("{} recorded no samples", self.wish.with.as_str()),
                remedy: "record longer or more often: `profile.for`, `profile.rate`".to_owned(),
            }));
        }
        seen.malformed_lines = stacks.malformed_lines();
        seen.beyond_limit = stacks.beyond_limit();
        seen.collapsed = stacks.to_collapsed();
        Ok(Ok(seen))
    }

    /// Makes perf write its recording as text; returns how that failed, or `None`.
    fn script(
        &self,
        keeper: &mut Keeper,
        recorded: &Path,
        text: &Path,
        log: &Path,
    ) -> Result<Option<String>, LabError> {
        let args = perf_script(&self.profiler_program(), recorded, text);
        let child = match self.start(keeper, "/bin/sh".into(), args, log)? {
            Ok(child) => child,
            Err(why) => return Ok(Some(why)),
        };
        let failed = see_through(keeper, &child, BESIDES, &self.setting.interrupted)?;
        Ok(failed.map(|how| format!("perf script {how}: {}", log_tail(log).trim())))
    }

    /// The profiler's version, or why it can't be found out.
    fn version_of(&self, keeper: &mut Keeper) -> Result<Result<String, ProfileFailure>, LabError> {
        let log = self.setting.run.path().join("logs/profiler-version.log");
        let _ = fs::remove_file(&log);
        let program = self.profiler_program();
        let child = match self.start(keeper, program, vec!["--version".into()], &log)? {
            Ok(child) => child,
            Err(why) => return Ok(Err(failure(self.wish, why))),
        };
        let failed = see_through(keeper, &child, BESIDES, &self.setting.interrupted)?;
        let said = read_end(&log).unwrap_or_default();
        Ok(match failed {
            Some(how) => {
                let (program, said) = (&self.wish.program, first_words(&said));
                let text = format!("`{program} --version` {how}: {said}");
                Err(failure(self.wish, text))
            }
            None => Ok(first_words(&said)),
        })
    }

    /// Starts a process beside the generator, away from the subject's cores; returns the reason if
    /// it can't be started.
    fn start(
        &self,
        keeper: &mut Keeper,
        program: PathBuf,
        args: Vec<OsString>,
        log: &Path,
    ) -> Result<Result<Child, String>, LabError> {
        let spawned = keeper.spawn(Spawn {
            program,
            args,
            env: std::env::vars_os().collect(),
            cwd: self.setting.plan.folder.clone(),
            log: log.to_owned(),
            cgroups: Vec::new(),
            cpus: self.setting.plan.load.cpus.clone(),
            inherit: None,
            user: None,
            no_new_privs: false,
        });
        match spawned {
            Ok(child) => Ok(Ok(child)),
            Err(
                error @ (KeeperError::NotFound { .. }
                | KeeperError::NoPath { .. }
                | KeeperError::Spawn { .. }),
            ) => Ok(Err(error.to_string())),
            Err(error) => Err(error.into()),
        }
    }

    /// With a `/`, the program is relative to the plan's folder; otherwise it is looked up in
    /// `PATH`.
    fn profiler_program(&self) -> PathBuf {
        let program = PathBuf::from(&self.wish.program);
        if self.wish.program.contains('/') {
            self.setting.plan.folder.join(program)
        } else {
            program
        }
    }

    /// Records a failure that applies to all arms.
    fn fail(&self, load: &Load, why: &ProfileFailure) -> Result<(), LabError> {
        let mut arms = self.setting.arms();
        arms.try_for_each(|arm| self.record(load, arm, Err(why.clone())))
    }

    fn record(
        &self,
        load: &Load,
        arm: ArmIndex,
        outcome: Result<Profiled, ProfileFailure>,
    ) -> Result<(), LabError> {
        let arm = &self.setting.plan.arms[arm.get()];
        if let Err(why) = &outcome {
            let text = format!("no profile of {}: {}; {}", arm.id, why.text, why.remedy);
            (self.setting.emit)(Event::Note { text });
        }
        self.setting.run.write_profile(&RecordedProfile {
            regime: load.regime.clone(),
            arm: arm.id.clone(),
            profiler: self.wish.with.as_str().to_owned(),
            version: self.version.clone().filter(|v| !v.is_empty()),
            rate_hz: self.wish.rate_hz,
            outcome,
        })?;
        Ok(())
    }
}

/// Removes those that have ended from `left`, and returns how any of them failed.
fn ended(keeper: &mut Keeper, left: &mut Vec<Child>) -> Result<Vec<String>, LabError> {
    let mut failed = Vec::new();
    let mut still = Vec::with_capacity(left.len());
    for child in left.drain(..) {
        match keeper.wait(&child, Duration::ZERO)? {
            None => still.push(child),
            Some(exit) if exit.status == ExitStatusKind::Code(0) => {}
            Some(exit) => failed.push(describe(exit.status)),
        }
    }
    *left = still;
    Ok(failed)
}

fn kill(keeper: &mut Keeper, going: &[Child]) -> Result<(), LabError> {
    for child in going {
        match keeper.signal_group(child, libc::SIGKILL) {
            Ok(()) | Err(KeeperError::Ended { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

fn make_folder(folder: &Path) -> Result<PathBuf, LabError> {
    let write = |path: &Path, source| LabError::Write {
        path: path.to_owned(),
        source,
    };
    // The profiler may have another working directory than Windage.
    let absolute = std::path::absolute(folder).map_err(|source| write(folder, source))?;
    windage_files::create_dir_all(&absolute).map_err(|source| write(&absolute, source))?;
    Ok(absolute)
}

/// A service that the profiler does not support has no output.
fn read_if_there(
    path: &Path,
    collapsed: fn(BufReader<File>) -> io::Result<Stacks>,
) -> io::Result<Stacks> {
    match windage_files::open(path) {
        Ok(file) => collapsed(BufReader::new(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Stacks::default()),
        Err(error) => Err(error),
    }
}

/// The first lines with text, joined into one; backtraces come later.
fn first_words(said: &str) -> String {
    const LINES: usize = 3;
    let lines = said.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.take(LINES).collect::<Vec<_>>().join(" ")
}
