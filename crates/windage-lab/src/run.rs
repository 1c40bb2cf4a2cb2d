//! A run from beginning to end.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use windage_files::Access;
use windage_keeper::{Containment, Keeper, KeeperError, KeeperOptions};
use windage_model::{ArmId, Event};
use windage_plan::Plan;
use windage_probe::bpf::KernelBpf;
use windage_record::{Ending, Entry, JournalWriter, RecordError, Resumed, RunDir};

use crate::attached::attached;
use crate::clock::RunClock;
use crate::command_line::run_shell;
use crate::conduct::{Journal, Measured, Start, Terms, conduct};
use crate::lengths::Lengths;
use crate::log_tail::log_tail;
use crate::names::Names;
use crate::order::RunOrder;
use crate::pin::Pinned;
use crate::pods::Node;
use crate::rig::{RealRig, Setting, profile, sets_of};
use crate::stop::replay;
use crate::user::invoking_user;
use crate::warnings::bpf_left_behind;
use crate::{LabError, Stopping, host_json, manifest, needs, user, variables};

/// What a run needs in addition to its plan.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// The running executable. It is executed again as the keeper, and fills `{windage}`.
    pub executable: PathBuf,
    /// The run directory to create.
    pub directory: PathBuf,
    /// Whether others may read the run directory, as far as the umask allows.
    pub is_shared: bool,
    /// The command line, without secrets, for the record.
    pub command: String,
    /// The node that this machine is, for plans with pods.
    pub node: Option<Node>,
    /// Set by a signal: the run ends in order as soon as it can.
    pub interrupted: Arc<AtomicBool>,
    /// The latest calibration of this machine, recorded with the facts about it so that a report of
    /// the run can always quote it; null when there is none.
    pub calibration: serde_json::Value,
}

impl RunOptions {
    /// Facts about the machine, including its calibration.
    fn host(&self) -> serde_json::Value {
        let mut host = host_json();
        if !self.calibration.is_null() {
            host["calibration"] = self.calibration.clone();
        }
        host
    }
}

/// A run that ended in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finished {
    /// How it ended.
    pub ending: Ending,
}

/// Measures a plan into a new run directory: all of it, or as much as `stopping` asks for.
///
/// # Errors
/// When the subject does not start or the record can't be written. The run directory stays, with
/// the services' logs and what was measured so far.
pub fn run(
    plan: &Plan,
    options: &RunOptions,
    stopping: Option<&mut dyn Stopping>,
    emit: &dyn Fn(Event),
) -> Result<Finished, LabError> {
    RunDir::check_free(&options.directory)?;
    look(plan)?;
    let access = Access {
        is_shared: options.is_shared,
        owner: invoking_user(),
    };
    RunDir::make(&options.directory, access)?;
    let order = run_order(plan);
    let directory = RunDir::create(
        &options.directory,
        &manifest::of(plan, &order, options),
        &plan.source,
        &plan.to_resolved_toml(),
        &options.host(),
    )?;
    let journal = JournalWriter::create(&directory)?;
    let site = Site {
        plan,
        order: &order,
        options,
        emit,
    };
    let start = Start::default();
    site.carry_out(&directory, journal, start, 0, stopping)
}

/// Continues a run that was interrupted or killed: launches processes anew and measures the missing
/// blocks.
///
/// # Errors
/// As for [`run`]; also when the plan is not the one that the run was made from.
pub fn resume(
    plan: &Plan,
    options: &RunOptions,
    mut stopping: Option<&mut dyn Stopping>,
    emit: &dyn Fn(Event),
) -> Result<Finished, LabError> {
    look(plan)?;
    let directory = RunDir::open(&options.directory)?;
    let order = run_order(plan);
    let made = &directory.manifest().design;
    if (made.rounds, made.blocks_per_round) != (order.rounds(), order.blocks_per_round()) {
        return Err(LabError::Unsupported(
            "this run was not made in the order of its plan, so it can't be resumed; see what it \
             recorded with `windage report`"
                .into(),
        ));
    }
    let (journal, resumed) = JournalWriter::append_to(&directory)?;
    tell_loss(&resumed, emit);
    if let Some(stopping) = stopping.as_deref_mut() {
        replay(&directory, stopping)?;
        let is_left = (1..order.blocks_per_round()).contains(&resumed.next_block);
        if order.rounds() == 1 && is_left && stopping.enough().is_none() {
            return Err(LabError::Unsupported(
                "a run of one round that stops when it has enough can't continue in another \
                 launch: its intervals hold for the interrupted launch only. See what it recorded \
                 with `windage report`, or run the plan again"
                    .into(),
            ));
        }
    }
    let start = Start {
        block: resumed.next_block,
        launch: resumed.next_launch,
    };
    let site = Site {
        plan,
        order: &order,
        options,
        emit,
    };
    let since_ns = resumed.measured_until_ns;
    site.carry_out(&directory, journal, start, since_ns, stopping)
}

/// Checks, before anything is launched or written, what a plan needs of this machine.
fn look(plan: &Plan) -> Result<(), LabError> {
    needs::look(plan)?;
    let mut lacking = variables::lacking(plan).chain(user::lacking(plan));
    lacking.next().map_or(Ok(()), Err)
}

/// Reports what a resumed run can't keep of its record.
pub(crate) fn tell_loss(resumed: &Resumed, emit: &dyn Fn(Event)) {
    let warnings = resumed.damage();
    if !warnings.is_empty() {
        let copies = resumed.copies.clone();
        emit(Event::RecordDamaged { warnings, copies });
    } else if let Some(cut) = resumed.cut {
        let text = format!(
            "{} bytes at the journal's end were torn or an unfinished block; cut off",
            cut.bytes
        );
        emit(Event::Note { text });
    }
}

/// The run order of a plan.
#[must_use]
pub fn run_order(plan: &Plan) -> RunOrder {
    RunOrder::of(plan)
}

/// A run that has its directory.
struct Site<'a> {
    plan: &'a Plan,
    order: &'a RunOrder,
    options: &'a RunOptions,
    emit: &'a dyn Fn(Event),
}

impl Site<'_> {
    fn carry_out(
        &self,
        directory: &RunDir,
        mut journal: JournalWriter,
        start: Start,
        since_ns: u64,
        stopping: Option<&mut dyn Stopping>,
    ) -> Result<Finished, LabError> {
        let (plan, options) = (self.plan, self.options);
        let mut keeper = self.start_keeper(&directory.manifest().run)?;
        let versions = self
            .build(&mut keeper, directory)
            .and_then(|()| self.versions(&mut keeper, directory));
        let versions = match versions {
            Ok(versions) => versions,
            Err(error) => return Err(self.failed(&mut journal, error)),
        };
        if let Some(warning) = bpf_left_behind(&KernelBpf) {
            journal.push(&Entry::Warning(warning))?;
        }
        for (of, text) in versions {
            journal.push(&Entry::Version { of, text })?;
        }
        let pinned = Pinned::this_thread(plan.load.cpus.as_deref());
        if let Some(error) = &pinned.refused {
            let text = format!(
                "the generator could not be pinned to `load.cpus`: {error}; it runs on any core"
            );
            (self.emit)(Event::Note { text });
        }
        let setting = Setting {
            plan,
            run: directory,
            sets: sets_of(plan),
            clock: RunClock::starting_at(since_ns),
            executable: options.executable.clone(),
            node: options.node.clone(),
            names: Names::of_run(&plan.folder, &options.executable),
            interrupted: Arc::clone(&options.interrupted),
            emit: self.emit,
        };
        let mut rig = match RealRig::new(&setting, keeper) {
            Ok(rig) => rig,
            Err(error) => return Err(self.failed(&mut journal, error)),
        };
        let ids: Vec<ArmId> = plan.arms.iter().map(|arm| arm.id.clone()).collect();
        let zero = Instant::now();
        let terms = Terms {
            order: self.order,
            start,
            on_death: plan.design.on_death,
            arms: &ids,
            interrupted: &options.interrupted,
            lengths: Lengths::of(plan, &setting.sets),
            clock: &|| zero.elapsed(),
            directory: directory.path(),
            // Where it can't be found out, a full disk shows when something is written.
            free_bytes: &|| windage_files::free_bytes(directory.path()).ok(),
        };
        let ending = conduct(&mut rig, &mut journal, &terms, stopping, self.emit);
        if let Ok(Ending::Complete | Ending::StoppedEarly { .. }) = ending {
            // Launches of the rounds have the lower numbers.
            self.profile(&mut rig, start.launch + self.order.rounds());
        }
        let closed = rig.close();
        let ending = ending?;
        closed?;
        Ok(Finished { ending })
    }

    /// Agents find processes by the machine's pids, and so do switches of a service that runs already.
    /// So such runs use no pid namespace.
    fn start_keeper(&self, run: &str) -> Result<Keeper, KeeperError> {
        let options = |containment| KeeperOptions {
            executable: self.options.executable.clone(),
            containment,
            run_id: run_id(run),
        };
        if self.plan.agents.is_empty() && attached(self.plan).is_none() {
            return Keeper::start(options(None));
        }
        match Keeper::start(options(Some(Containment::Cgroup))) {
            Err(KeeperError::Unavailable { .. }) => {
                Keeper::start(options(Some(Containment::Subreaper)))
            }
            started => started,
        }
    }

    /// Takes profiles. The run is complete without them.
    fn profile(&self, rig: &mut RealRig<'_>, first_launch: u32) {
        if let Err(error) = profile(rig, first_launch) {
            let text = format!("profiles were not finished: {error}; the run itself is complete");
            (self.emit)(Event::Note { text });
        }
    }

    /// Records, as far as possible, how a run ended that has not begun to measure.
    fn failed(&self, journal: &mut JournalWriter, error: LabError) -> LabError {
        let how = match error {
            LabError::Interrupted => Ending::Interrupted,
            _ => Ending::Died {
                text: error.to_string(),
            },
        };
        // If this fails as well, the first error is the one to report.
        let _ = journal
            .push(&Entry::RunEnded(how))
            .and_then(|()| journal.commit());
        error
    }

    /// The versions that programs report. If a command fails, its version is unknown, which changes
    /// no figure.
    fn versions(
        &self,
        keeper: &mut Keeper,
        directory: &RunDir,
    ) -> Result<Vec<(String, String)>, LabError> {
        let build = &self.plan.build;
        let mut versions = Vec::new();
        let of_folder = self.plan.commit.iter();
        versions.extend(of_folder.map(|commit| ("commit".to_owned(), commit.clone())));
        // A plan's own `commit` comes later, so that it is the one that is reported.
        for (number, (of, command)) in build.versions.iter().enumerate() {
            let log = directory
                .path()
                .join("logs")
                .join(format!("version-{number}.log"));
            // A resumed run asks again.
            let _ = std::fs::remove_file(&log);
            let failed = self.shell(keeper, &self.plan.folder, command, log.clone())?;
            let text = match failed {
                None => first_line(&log).unwrap_or_default(),
                Some(how) => format!("unknown: `{command}` {how}"),
            };
            versions.push((of.clone(), text));
        }
        Ok(versions)
    }

    fn shell(
        &self,
        keeper: &mut Keeper,
        folder: &Path,
        command: &str,
        log: PathBuf,
    ) -> Result<Option<String>, LabError> {
        let within = self.plan.build.within;
        run_shell(
            keeper,
            command,
            folder,
            log,
            within,
            &self.options.interrupted,
        )
    }

    fn build(&self, keeper: &mut Keeper, directory: &RunDir) -> Result<(), LabError> {
        let log = directory.path().join("logs").join("build.log");
        let folders = self.plan.build_folders();
        for folder in &folders {
            for command in &self.plan.build.commands {
                let shown = match self.plan.revisions {
                    Some(_) => format!("{command} (in {})", folder.display()),
                    None => command.clone(),
                };
                (self.emit)(Event::Building {
                    command: shown.clone(),
                });
                if let Some(how) = self.shell(keeper, folder, command, log.clone())? {
                    return Err(LabError::Build {
                        command: shown,
                        how,
                        log_tail: log_tail(&log),
                    });
                }
            }
        }
        Ok(())
    }
}

fn first_line(path: &Path) -> Option<String> {
    let text = windage_files::read(path).ok()?;
    let text = String::from_utf8_lossy(&text).into_owned();
    text.lines()
        .map(str::trim)
        .find(|line| !line.is_empty())
        .map(str::to_owned)
}

impl Journal for JournalWriter {
    fn window(&mut self, measured: &Measured) -> Result<(), RecordError> {
        JournalWriter::window(
            self,
            &measured.window,
            &measured.response_time,
            &measured.service_time,
        )
    }

    fn push(&mut self, entry: Entry) -> Result<(), RecordError> {
        JournalWriter::push(self, &entry)
    }

    fn commit_block(&mut self, block: u32) -> Result<(), RecordError> {
        JournalWriter::commit_block(self, block)
    }

    fn commit(&mut self) -> Result<(), RecordError> {
        JournalWriter::commit(self)
    }
}

/// The keeper's name for a run: the allowed characters of the run's own.
fn run_id(run: &str) -> String {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let id: String = run.chars().filter(|c| allowed(*c)).take(64).collect();
    let id = id.trim_start_matches('.').to_owned();
    if id.is_empty() { "run".to_owned() } else { id }
}
