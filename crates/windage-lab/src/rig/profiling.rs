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

use windage_keeper::{Child, ExitStatusKind, KeeperError, Spawn};
use windage_model::{ArmIndex, Event, Place};
use windage_plan::{Profile, Profiler};
use windage_profile::Stacks;
use windage_record::{ProfileFailure, Profiled, RecordedProfile};

use super::driver::Driver;
use super::launched::RealLaunched;
use super::{Live, RealRig};
use crate::LabError;
use crate::clock::whole_ns;
use crate::command_line::{describe, see_through};
use crate::conduct::Launched;
use crate::log_tail::{log_tail, read_end};
use crate::stretch::Stretch;
use profiler::{Recorder, failure, perf_script, recorders};

/// Extra time for a profiler to attach, read symbols and write.
const BESIDES: Duration = Duration::from_secs(60);
/// Load on an arm comes in pieces of this length. Between them, the profiler's end and Ctrl-C are
/// checked.
const PIECE: Duration = Duration::from_millis(250);

/// The result of one arm's profile; the outer error is Windage's own.
type Outcome = Result<Result<Profiled, ProfileFailure>, LabError>;

impl<'a> RealRig<'a> {
    /// Takes the profiles that the plan asks for, in launches with numbers from `first_launch`. If
    /// an arm can't be profiled, the reason is recorded; that is not an error.
    ///
    /// # Errors
    /// When the keeper has ended, a profile can't be written, or a signal came.
    pub(crate) fn profile(&mut self, first_launch: u32) -> Result<(), LabError> {
        let Some(wish) = self.setting.plan.profile.clone() else {
            return Ok(());
        };
        let (with, arms, lasts) = (wish.with.as_str(), self.setting.plan.arms.len(), wish.lasts);
        (self.setting.emit)(Event::Note {
            text: format!("profiles: {with} records each of {arms} arms for {lasts:?}"),
        });
        let version = match self.version_of(&wish)? {
            Ok(version) => version,
            Err(why) => return self.record_all(&wish, &why),
        };
        let loads = u32::try_from(self.setting.plan.loads().count()).unwrap_or(u32::MAX);
        for round in 0..loads {
            self.profile_under_load(&wish, &version, first_launch + round, round)?;
        }
        Ok(())
    }

    fn profile_under_load(
        &mut self,
        wish: &Profile,
        version: &str,
        launch: u32,
        round: u32,
    ) -> Result<(), LabError> {
        let up = self.bring_up(launch, round);
        if self.setting.is_interrupted() {
            return Err(LabError::Interrupted);
        }
        let mut live = match up {
            Ok((_, live)) => live,
            Err(error) => {
                let why = format!("the arms could not be launched again: {error}");
                // Services that did come up end before the next launch.
                self.keeper.kill_all()?;
                return self.record_under_load(wish, Some(version), &failure(wish, why));
            }
        };
        for arm in self.setting.arms() {
            let outcome = self.profile_arm(wish, &mut live, arm)?;
            self.record(wish, Some(version), arm, outcome)?;
        }
        (self.setting.emit)(Event::TakingDown);
        // Deliveries and findings of a profile belong to no window.
        RealLaunched { rig: self, live }.take_down()?;
        self.findings.clear();
        Ok(())
    }

    /// Gives an arm load while the profiler records it.
    fn profile_arm(&mut self, wish: &Profile, live: &mut Live<'a>, arm: ArmIndex) -> Outcome {
        let own = self.setting.set_of(arm);
        if matches!(live.driver, Driver::Process) {
            return Ok(Err(ProfileFailure {
                text: "each window is a process of its own, which ends before a profiler has \
                       attached"
                    .to_owned(),
                remedy: "profile the program with `batch = \"resident\"`".to_owned(),
            }));
        }
        if let Some(death) = live.death(own) {
            return Ok(Err(failure(wish, death.what_happened())));
        }
        let place = Place {
            launch: live.number,
            round: 0,
            block: 0,
            position: 0,
            arm,
        };
        if let Some(warning) = self.attend(live, place)? {
            return Ok(Err(failure(wish, warning.text)));
        }
        if let Some(warning) = self.switch(live, arm)? {
            return Ok(Err(failure(wish, warning.text)));
        }
        self.enter(own, Stretch::unmeasured(arm));
        live.instances[own].probe.refresh_tasks()?;
        let listed: Vec<u32> = live.instances[own].probe.process_ids().collect();
        let found = processes::look_up(&listed, self.keeper.containment());
        if found.all.is_empty() {
            let why = "the profiler can see no process of the arm".to_owned();
            return Ok(Err(ProfileFailure {
                text: why,
                remedy: "profile services that Windage launches".to_owned(),
            }));
        }
        (self.setting.emit)(Event::Profiling {
            arm: self.setting.plan.arms[arm.get()].id.clone(),
            with: wish.with.as_str().to_owned(),
            lasts: wish.lasts,
        });
        let folder = self.profiler_folder(live, arm)?;
        let recorders = recorders(wish, &found, &folder);
        let looked = self.look(wish, live, arm, &recorders);
        let outcome = match looked {
            Ok(Ok(seen)) => {
                let log = self.profiler_log(live, arm);
                if wish.with == Profiler::Perf {
                    self.write_maps(&found.java, &log)?;
                }
                self.read(wish, live, arm, &recorders, seen)
            }
            Ok(Err(why)) => Ok(Err(why)),
            Err(error) => Err(error),
        };
        // Raw outputs contain command lines of processes, which may contain secrets.
        let _ = fs::remove_dir_all(&folder);
        maps::remove_maps(&found.java);
        if outcome.is_ok() {
            // This arm's remaining exports must not appear in the next arm's profile.
            self.setting.rest(self.setting.plan.design.drain);
        }
        outcome
    }

    /// Starts the profiler, and gives load until it is done.
    fn look(
        &mut self,
        wish: &Profile,
        live: &mut Live,
        arm: ArmIndex,
        recorders: &[Recorder],
    ) -> Result<Result<Profiled, ProfileFailure>, LabError> {
        let own = self.setting.set_of(arm);
        let log = self.profiler_log(live, arm);
        // The message must quote this attempt's output only.
        let _ = fs::remove_file(&log);
        let mut going = Vec::with_capacity(recorders.len());
        for recorder in recorders {
            let program = self.profiler_program(wish);
            match self.start(program, recorder.args.clone(), &log)? {
                Ok(child) => going.push(child),
                Err(why) => {
                    self.kill(&going)?;
                    return Ok(Err(failure(wish, why)));
                }
            }
        }
        let (began, cpu_before) = (Instant::now(), live.instances[own].probe.cpu_ns().ok());
        let mut seen = Profiled::default();
        let mut piece = 0;
        let (mut left, mut failed) = (going.clone(), Vec::new());
        while !left.is_empty() {
            piece += 1;
            let driven = self.drive(live, arm, PIECE, piece, true)?;
            seen.iterations += driven.report.exchanges.completed;
            self.notice_deaths(live)?;
            let trouble = driven.trouble.or_else(|| {
                let death = live.death(own)?;
                Some(death.what_happened())
            });
            let is_late = began.elapsed() > wish.lasts + BESIDES;
            if self.setting.is_interrupted() || trouble.is_some() || is_late {
                self.kill(&left)?;
            }
            if self.setting.is_interrupted() {
                return Err(LabError::Interrupted);
            }
            if let Some(trouble) = trouble {
                return Ok(Err(failure(wish, format!("the program {trouble}"))));
            }
            if is_late {
                let why = format!("{} did not end by itself", wish.with.as_str());
                return Ok(Err(failure(wish, why)));
            }
            failed.extend(self.ended(&mut left)?);
        }
        seen.lasts_ns = whole_ns(began.elapsed());
        let cpu_after = live.instances[own].probe.cpu_ns().ok();
        seen.cpu_ns = cpu_before
            .zip(cpu_after)
            .and_then(|(before, after)| after.checked_sub(before));
        // Of several services, some may not suit the profiler.
        if failed.len() < going.len() {
            return Ok(Ok(seen));
        }
        let how = failed.first().map_or_else(String::new, Clone::clone);
        let said = read_end(&log).unwrap_or_default();
        let text = format!("{} {how}: {}", wish.with.as_str(), first_words(&said));
        Ok(Err(failure(wish, text)))
    }

    /// Removes those that have ended from `left`, and returns how any of them failed.
    fn ended(&mut self, left: &mut Vec<Child>) -> Result<Vec<String>, LabError> {
        let mut failed = Vec::new();
        let mut still = Vec::with_capacity(left.len());
        for child in left.drain(..) {
            match self.keeper.wait(&child, Duration::ZERO)? {
                None => still.push(child),
                Some(exit) if exit.status == ExitStatusKind::Code(0) => {}
                Some(exit) => failed.push(describe(exit.status)),
            }
        }
        *left = still;
        Ok(failed)
    }

    /// Adds the stacks that the profiler wrote.
    fn read(
        &mut self,
        wish: &Profile,
        live: &Live,
        arm: ArmIndex,
        recorders: &[Recorder],
        mut seen: Profiled,
    ) -> Outcome {
        let mut stacks = Stacks::default();
        for Recorder { output, .. } in recorders {
            let read = match wish.with {
                Profiler::PySpy => read_if_there(output, windage_profile::collapsed_by_py_spy),
                Profiler::Perf => {
                    let text = output.with_extension("txt");
                    if let Some(why) = self.script(wish, live, arm, output, &text)? {
                        return Ok(Err(failure(wish, why)));
                    }
                    read_if_there(&text, windage_profile::collapsed_by_perf)
                }
            };
            match read {
                Ok(more) => stacks.merge(&more),
                Err(error) => {
                    let text = format!("{}'s output can't be read: {error}", wish.with.as_str());
                    return Ok(Err(failure(wish, text)));
                }
            }
        }
        if stacks.samples() == 0 {
            return Ok(Err(ProfileFailure {
                text: format!("{} recorded no samples", wish.with.as_str()),
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
        &mut self,
        wish: &Profile,
        live: &Live,
        arm: ArmIndex,
        recorded: &Path,
        text: &Path,
    ) -> Result<Option<String>, LabError> {
        let log = self.profiler_log(live, arm);
        let args = perf_script(&self.profiler_program(wish), recorded, text);
        let child = match self.start("/bin/sh".into(), args, &log)? {
            Ok(child) => child,
            Err(why) => return Ok(Some(why)),
        };
        let failed = see_through(&mut self.keeper, &child, BESIDES, &self.setting.interrupted)?;
        Ok(failed.map(|how| format!("perf script {how}: {}", log_tail(&log).trim())))
    }

    /// The profiler's version, or why it can't be found out.
    fn version_of(&mut self, wish: &Profile) -> Result<Result<String, ProfileFailure>, LabError> {
        let log = self
            .setting
            .run
            .path()
            .join("logs")
            .join("profiler-version.log");
        let _ = fs::remove_file(&log);
        let program = self.profiler_program(wish);
        let child = match self.start(program, vec!["--version".into()], &log)? {
            Ok(child) => child,
            Err(why) => return Ok(Err(failure(wish, why))),
        };
        let failed = see_through(&mut self.keeper, &child, BESIDES, &self.setting.interrupted)?;
        let said = read_end(&log).unwrap_or_default();
        Ok(match failed {
            Some(how) => {
                let text = format!("`{} --version` {how}: {}", wish.program, first_words(&said));
                Err(failure(wish, text))
            }
            None => Ok(first_words(&said)),
        })
    }

    /// Starts a process beside the generator, away from the subject's cores; returns the reason if
    /// it can't be started.
    fn start(
        &mut self,
        program: PathBuf,
        args: Vec<OsString>,
        log: &Path,
    ) -> Result<Result<Child, String>, LabError> {
        let spawned = self.keeper.spawn(Spawn {
            program,
            args,
            env: std::env::vars_os().collect(),
            cwd: self.setting.plan.folder.clone(),
            log: log.to_owned(),
            cgroups: Vec::new(),
            cpus: self.setting.plan.load.cpus.clone(),
            inherit: None,
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

    fn kill(&mut self, going: &[Child]) -> Result<(), LabError> {
        for child in going {
            match self.keeper.signal_group(child, libc::SIGKILL) {
                Ok(()) | Err(KeeperError::Ended { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// With a `/`, the program is relative to the plan's folder; otherwise it is looked up in
    /// `PATH`.
    fn profiler_program(&self, wish: &Profile) -> PathBuf {
        let program = PathBuf::from(&wish.program);
        if wish.program.contains('/') {
            self.setting.plan.folder.join(program)
        } else {
            program
        }
    }

    fn profiler_folder(&self, live: &Live, arm: ArmIndex) -> Result<PathBuf, LabError> {
        let id = self.setting.plan.arms[arm.get()].id.as_str();
        let folder = self.setting.run.work_dir(live.number, id, "profiler");
        // The profiler may have another working directory than Windage.
        let folder = std::path::absolute(&folder).map_err(|source| LabError::Write {
            path: folder,
            source,
        })?;
        match fs::create_dir_all(&folder) {
            Ok(()) => Ok(folder),
            Err(source) => Err(LabError::Write {
                path: folder,
                source,
            }),
        }
    }

    fn profiler_log(&self, live: &Live, arm: ArmIndex) -> PathBuf {
        let id = self.setting.plan.arms[arm.get()].id.as_str();
        self.setting.run.log_path(live.number, id, "profiler")
    }

    /// Records a failure that applies to all arms under all loads.
    fn record_all(&mut self, wish: &Profile, why: &ProfileFailure) -> Result<(), LabError> {
        for load in self.setting.plan.loads() {
            self.load = load;
            self.record_under_load(wish, None, why)?;
        }
        Ok(())
    }

    fn record_under_load(
        &self,
        wish: &Profile,
        version: Option<&str>,
        why: &ProfileFailure,
    ) -> Result<(), LabError> {
        let arms = self.setting.arms();
        for arm in arms {
            self.record(wish, version, arm, Err(why.clone()))?;
        }
        Ok(())
    }

    fn record(
        &self,
        wish: &Profile,
        version: Option<&str>,
        arm: ArmIndex,
        outcome: Result<Profiled, ProfileFailure>,
    ) -> Result<(), LabError> {
        let arm = &self.setting.plan.arms[arm.get()];
        if let Err(why) = &outcome {
            let text = format!("no profile of {}: {}; {}", arm.id, why.text, why.remedy);
            (self.setting.emit)(Event::Note { text });
        }
        self.setting.run.write_profile(&RecordedProfile {
            regime: self.load.regime.clone(),
            arm: arm.id.clone(),
            profiler: wish.with.as_str().to_owned(),
            version: version.filter(|v| !v.is_empty()).map(str::to_owned),
            rate_hz: wish.rate_hz,
            outcome,
        })?;
        Ok(())
    }
}

/// A service that the profiler does not support has no output.
fn read_if_there(
    path: &Path,
    collapsed: fn(BufReader<File>) -> io::Result<Stacks>,
) -> io::Result<Stacks> {
    match File::open(path) {
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
