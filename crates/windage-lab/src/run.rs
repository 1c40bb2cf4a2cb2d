//! A run from beginning to end.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{SystemTime, UNIX_EPOCH};

use windage_keeper::{Keeper, KeeperOptions};
use windage_model::{ArmId, ArmIndex, Event};
use windage_plan::{Arm, Plan};
use windage_record::{
    DesignScope, Ending, Entry, Expected, JournalWriter, LoadScope, Manifest, ManifestArm,
    RecordError, RunDir,
};

use crate::clock::{RunClock, whole_ns};
use crate::command_line::run_shell;
use crate::conduct::{Journal, Measured, Start, Terms, conduct};
use crate::log_tail::log_tail;
use crate::names::Names;
use crate::order::RunOrder;
use crate::pin::Pinned;
use crate::rig::{RealRig, RigParts};
use crate::{LabError, host_json};

/// What a run needs besides its plan.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// The running executable, which is executed again as the keeper and fills `{windage}`.
    pub executable: PathBuf,
    /// The directory that is to become the run directory.
    pub directory: PathBuf,
    /// The command line, secrets removed, for the record.
    pub command: String,
    /// Set by a signal: the run ends in order as soon as it can.
    pub interrupted: Arc<AtomicBool>,
}

/// A run that was ended in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finished {
    /// How it ended.
    pub ending: Ending,
}

/// Measures a plan into a new run directory.
///
/// # Errors
/// When the subject does not come up or the record can't be written. The run directory stays,
/// with what was measured until then and the services' logs.
pub fn run(plan: &Plan, options: &RunOptions, emit: &dyn Fn(Event)) -> Result<Finished, LabError> {
    let order = run_order(plan);
    let manifest = manifest(plan, &order, options);
    let directory = RunDir::create(
        &options.directory,
        &manifest,
        &plan.source,
        &plan.to_resolved_toml(),
        &host_json(),
    )?;
    let journal = JournalWriter::create(&directory)?;
    let site = Site {
        plan,
        order: &order,
        options,
        emit,
    };
    site.carry_out(&directory, journal, Start::default(), 0)
}

/// Goes on with a run that was interrupted or killed: measures the blocks that are missing,
/// with processes launched afresh.
///
/// # Errors
/// As for [`run`]; also when the plan is not the one that the run was made from.
pub fn resume(
    plan: &Plan,
    options: &RunOptions,
    emit: &dyn Fn(Event),
) -> Result<Finished, LabError> {
    let directory = RunDir::open(&options.directory)?;
    let order = run_order(plan);
    let (journal, resumed) = JournalWriter::append_to(&directory)?;
    if let Some(cut) = resumed.cut {
        let text = format!(
            "{} bytes at the journal's end were damaged or of no whole block; cut off",
            cut.bytes
        );
        emit(Event::Note { text });
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
    site.carry_out(&directory, journal, start, resumed.measured_until_ns)
}

/// The run order of a plan.
#[must_use]
pub fn run_order(plan: &Plan) -> RunOrder {
    RunOrder::new(
        &plan.design,
        u16::try_from(plan.arms.len()).unwrap_or(u16::MAX),
    )
}

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
    ) -> Result<Finished, LabError> {
        let (plan, options) = (self.plan, self.options);
        let mut keeper = Keeper::start(KeeperOptions {
            executable: options.executable.clone(),
            containment: None,
            run_id: run_id(&directory.manifest().run),
        })?;
        let versions = self
            .build(&mut keeper, directory)
            .and_then(|()| self.versions(&mut keeper, directory));
        let versions = match versions {
            Ok(versions) => versions,
            Err(error) => return Err(self.failed(&mut journal, error)),
        };
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
        let rig = RealRig::new(RigParts {
            plan,
            run: directory,
            keeper,
            clock: RunClock::starting_at(since_ns),
            names: Names::of_run(&plan.folder, &options.executable),
            subject_cores: directory.manifest().design.subject_cores,
            interrupted: Arc::clone(&options.interrupted),
            emit: self.emit,
        });
        let mut rig = match rig {
            Ok(rig) => rig,
            Err(error) => return Err(self.failed(&mut journal, error)),
        };
        let ids: Vec<ArmId> = plan.arms.iter().map(|arm| arm.id.clone()).collect();
        let terms = Terms {
            order: self.order,
            start,
            on_death: plan.design.on_death,
            arms: &ids,
            interrupted: &options.interrupted,
            window_and_settle: plan.design.window + plan.design.settle,
            warm_up: plan.design.warmup * u32::try_from(ids.len()).unwrap_or(u32::MAX),
            drain: plan.design.drain + plan.design.idle,
        };
        let ending = conduct(&mut rig, &mut journal, &terms, self.emit);
        let closed = rig.close();
        let ending = ending?;
        closed?;
        Ok(Finished { ending })
    }

    /// Records as far as it can how a run ended that has not begun to measure.
    fn failed(&self, journal: &mut JournalWriter, error: LabError) -> LabError {
        let how = match error {
            LabError::Interrupted => Ending::Interrupted,
            _ => Ending::Died {
                text: error.to_string(),
            },
        };
        // Where this fails as well, the first error is the one to tell.
        let _ = journal
            .push(&Entry::RunEnded(how))
            .and_then(|()| journal.commit());
        error
    }

    /// What programs say of their versions. A command that fails leaves its version unknown: it
    /// changes no figure.
    fn versions(
        &self,
        keeper: &mut Keeper,
        directory: &RunDir,
    ) -> Result<Vec<(String, String)>, LabError> {
        let build = &self.plan.build;
        let mut versions = Vec::new();
        for (number, (of, command)) in build.versions.iter().enumerate() {
            let log = directory
                .path()
                .join("logs")
                .join(format!("version-{number}.log"));
            // A resumed run asks again.
            let _ = std::fs::remove_file(&log);
            let failed = self.shell(keeper, command, log.clone())?;
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
        command: &str,
        log: PathBuf,
    ) -> Result<Option<String>, LabError> {
        let (folder, within) = (&self.plan.folder, self.plan.build.within);
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
        for command in &self.plan.build.commands {
            (self.emit)(Event::Building {
                command: command.clone(),
            });
            if let Some(how) = self.shell(keeper, command, log.clone())? {
                return Err(LabError::Build {
                    command: command.clone(),
                    how,
                    log_tail: log_tail(&log),
                });
            }
        }
        Ok(())
    }
}

fn first_line(path: &Path) -> Option<String> {
    let text = std::fs::read(path).ok()?;
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

fn manifest(plan: &Plan, order: &RunOrder, options: &RunOptions) -> Manifest {
    let run = options.directory.file_name().map_or_else(
        || plan.name.clone(),
        |name| name.to_string_lossy().into_owned(),
    );
    let load = &plan.load;
    let design = &plan.design;
    let batch = load.model == windage_model::LoadModel::Batch;
    Manifest {
        windage: env!("CARGO_PKG_VERSION").to_owned(),
        run,
        plan: plan.name.clone(),
        about: plan.about.clone(),
        plan_folder: plan.folder.clone(),
        command: options.command.clone(),
        started_unix_ns: SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, whole_ns),
        seed: design.seed,
        arms: (0u16..)
            .zip(&plan.arms)
            .map(|(index, arm)| manifest_arm(ArmIndex(index), arm))
            .collect(),
        load: LoadScope {
            model: load.model,
            rate_per_s: load.rate_per_s,
            connections: if batch { 0 } else { load.connections },
            request: load.summary(),
            iterations: batch.then_some(load.iterations),
        },
        design: DesignScope {
            window_ns: whole_ns(design.window),
            settle_ns: whole_ns(design.settle),
            rounds: design.rounds,
            blocks_per_round: order.blocks_per_round(),
            warmup_ns: whole_ns(design.warmup),
            drain_ns: whole_ns(design.drain),
            idle_ns: whole_ns(design.idle),
            order: design.order,
            interest: design.interest,
            subject_cores: subject_cores(plan),
        },
    }
}

fn manifest_arm(index: ArmIndex, arm: &Arm) -> ManifestArm {
    ManifestArm {
        index,
        id: arm.id.clone(),
        name: arm.name.clone(),
        about: arm.about.clone(),
        role: arm.role,
        levels: arm.levels.iter().cloned().collect(),
        expected: arm.expect.map(|expect| Expected {
            traces_per_request: expect.traces_per_request,
            spans_per_request: expect.spans_per_request,
        }),
    }
}

/// Cores that the services of one arm may keep busy at once.
fn subject_cores(plan: &Plan) -> u32 {
    let online = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let mut cores: Vec<u32> = Vec::new();
    for service in plan.services.iter().filter(|service| !service.shared) {
        match &service.cpus {
            Some(cpus) => cores.extend(cpus),
            None => cores.extend(0..u32::try_from(online).unwrap_or(u32::MAX)),
        }
    }
    cores.sort_unstable();
    cores.dedup();
    u32::try_from(cores.len()).unwrap_or(u32::MAX).max(1)
}

/// The keeper's name for a run: what it allows of the run's own.
fn run_id(run: &str) -> String {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let id: String = run.chars().filter(|c| allowed(*c)).take(64).collect();
    let id = id.trim_start_matches('.').to_owned();
    if id.is_empty() { "run".to_owned() } else { id }
}
