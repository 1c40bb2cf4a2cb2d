//! Putting the plan's load on one arm, whatever kind it is.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use windage_keeper::{ExitStatusKind, Keeper, Spawn};
use windage_load::{
    ConnectReport, Connections, Generator, GeneratorConfig, Recording, RunReport, Target, TargetId,
    monotonic_ns, thread_cpu_ns,
};
use windage_model::{Exchanges, StatusClasses};
use windage_plan::Load;

use crate::LabError;
use crate::command_line::{describe, wait};
use crate::resident::Resident;
use crate::starts::Starts;

/// What a stretch of load did.
#[derive(Debug, Default)]
pub(crate) struct Driven {
    pub(crate) report: RunReport,
    /// Connections that had to be opened again before it.
    pub(crate) reopened: u64,
    /// CPU of a process that was reaped; for batch loads whose CPU no cgroup counts.
    pub(crate) rusage_ns: Option<u64>,
    /// What the program of a batch load did instead of its iterations.
    pub(crate) trouble: Option<String>,
}

/// How a stretch of load is driven.
pub(crate) enum Driver {
    /// Requests over kept-alive connections; one target an arm.
    Http(HttpDriver),
    /// Iterations asked of a program that stays.
    Resident(Vec<Option<Resident>>),
    /// A whole process for each window.
    Process,
}

/// The generator with a target for each arm.
pub(crate) struct HttpDriver {
    generator: Box<Generator>,
    connections: Connections,
    targets: Vec<Option<TargetId>>,
}

impl HttpDriver {
    pub(crate) fn new(
        load: &Load,
        arms: usize,
        stop: &Arc<AtomicBool>,
    ) -> Result<HttpDriver, LabError> {
        let config = GeneratorConfig {
            timeout: load.timeout,
            threads: load.threads as usize,
            stop: Arc::clone(stop),
            progress: None,
        };
        Ok(HttpDriver {
            generator: Box::new(Generator::new(&config)?),
            connections: Connections {
                first: load.connections as usize,
                most: load.connections_max as usize,
            },
            targets: vec![None; arms],
        })
    }

    /// Adds an arm's target and connects to it.
    pub(crate) fn connect(
        &mut self,
        arm: usize,
        target: &Target,
    ) -> Result<ConnectReport, LabError> {
        let id = self.generator.add_target(target, self.connections);
        self.targets[arm] = Some(id);
        Ok(self.generator.connect(id)?)
    }

    /// Load for `lasts`; `seed` draws what comes by chance: arrivals, flows, fields.
    pub(crate) fn drive(
        &mut self,
        load: &Load,
        arm: usize,
        lasts: Duration,
        seed: u64,
        recording: &mut Recording,
    ) -> Result<Driven, LabError> {
        let Some(target) = self.targets.get(arm).copied().flatten() else {
            return Ok(Driven::default());
        };
        let reopened = self.generator.connect(target)?.reopened;
        recording.clear();
        self.generator.reseed(target, seed);
        let rhythm = Starts::new(load).rhythm(lasts, seed)?;
        let report = self.generator.run(target, &rhythm, recording)?;
        Ok(Driven {
            report,
            reopened: reopened as u64,
            ..Driven::default()
        })
    }
}

/// N iterations of a resident program.
pub(crate) fn drive_resident(
    program: Option<&mut Resident>,
    iterations: u64,
    within: Duration,
) -> Driven {
    let started_ns = monotonic_ns();
    let cpu_ns = thread_cpu_ns();
    let result = match program {
        Some(program) => program.run(iterations, within),
        None => Err("is not there".to_owned()),
    };
    let done = if result.is_ok() { iterations } else { 0 };
    Driven {
        report: iterations_report(started_ns, cpu_ns, iterations, done),
        trouble: result.err(),
        ..Driven::default()
    }
}

/// One whole process.
pub(crate) fn drive_process(
    keeper: &mut Keeper,
    spawn: Spawn,
    iterations: u64,
    within: Duration,
    interrupted: &AtomicBool,
) -> Result<Driven, LabError> {
    let started_ns = monotonic_ns();
    let cpu_ns = thread_cpu_ns();
    let child = keeper.spawn(spawn)?;
    let exit = wait(keeper, &child, within, interrupted)?;
    let succeeded = exit.is_some_and(|exit| exit.status == ExitStatusKind::Code(0));
    let mut report = iterations_report(
        started_ns,
        cpu_ns,
        iterations,
        if succeeded { iterations } else { 0 },
    );
    report.exchanges.errors.timeout = u64::from(exit.is_none());
    let trouble = match exit {
        Some(_) if succeeded => None,
        Some(exit) => Some(describe(exit.status)),
        None => {
            keeper.signal_group(&child, libc::SIGKILL)?;
            keeper.wait(&child, Duration::from_secs(5))?;
            Some(format!("did not end within {within:?} (`load.timeout`)"))
        }
    };
    Ok(Driven {
        report,
        reopened: 0,
        rusage_ns: exit.map(|exit| exit.cpu_ns),
        trouble,
    })
}

fn iterations_report(started_ns: u64, cpu_ns: u64, asked: u64, done: u64) -> RunReport {
    let ended_ns = monotonic_ns();
    RunReport {
        exchanges: Exchanges {
            intended: asked,
            sent: asked,
            completed: done,
            status: StatusClasses::default(),
            ..Exchanges::default()
        },
        started_ns,
        ended_ns,
        duration_ns: ended_ns.saturating_sub(started_ns),
        generator_cpu_ns: thread_cpu_ns().saturating_sub(cpu_ns),
        first_error: None,
    }
}
