//! Puts the plan's load, of any kind, on one arm.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use windage_keeper::{Exit, ExitStatusKind, Keeper, Spawn};
use windage_load::{
    ConnectReport, Connections, Generator, GeneratorConfig, Recording, RunReport, Target, TargetId,
    Turns, monotonic_ns, thread_cpu_ns,
};
use windage_model::{ArmIndex, Exchanges, StatusClasses};
use windage_plan::Load;

use crate::LabError;
use crate::command_line::{describe, wait};
use crate::pace::Pace;
use crate::resident::self_report::{Listener, Told};
use crate::resident::{Patience, Resident};
use crate::starts::Starts;

/// The result of a stretch of load.
#[derive(Debug, Default)]
pub(crate) struct Driven {
    pub(crate) report: RunReport,
    /// Connections that were reopened before it.
    pub(crate) reopened: u64,
    /// The exit of a process that was a window.
    pub(crate) exit: Option<Exit>,
    /// What that process reported.
    pub(crate) told: Told,
    /// What the program of a batch load did instead of its iterations.
    pub(crate) trouble: Option<String>,
}

/// The result of a block of turns.
#[derive(Debug, Default)]
pub(crate) struct DrivenTurns {
    /// All arms together.
    pub(crate) report: RunReport,
    /// Each of the arms that take turns.
    pub(crate) members: Vec<Exchanges>,
}

/// A stretch of load.
#[derive(Clone, Copy)]
pub(crate) struct Loaded<'a> {
    pub(crate) load: &'a Load,
    pub(crate) lasts: Duration,
    /// Draws everything random: arrivals, flows, fields.
    pub(crate) seed: u64,
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

    /// Makes one arm use the connections of another.
    pub(crate) fn share(&mut self, of: usize, with: usize) {
        self.targets[with] = self.targets[of];
    }

    /// Load for `lasts`; `seed` draws everything random: arrivals, flows, fields.
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

impl HttpDriver {
    /// Load for which arms take turns of `requests` each; `turns` are positions among `arms`.
    pub(crate) fn take_turns(
        &mut self,
        loaded: Loaded<'_>,
        arms: &[ArmIndex],
        turns: &[u16],
        requests: u64,
        recording: &mut Recording,
    ) -> Result<DrivenTurns, LabError> {
        let targets = arms.iter().map(|arm| self.targets[arm.get()]);
        let Some(targets) = targets.collect::<Option<Vec<TargetId>>>() else {
            return Ok(DrivenTurns::default());
        };
        let mut reopened = Vec::with_capacity(targets.len());
        for &target in &targets {
            reopened.push(self.generator.connect(target)?.reopened as u64);
            self.generator.reseed(target, loaded.seed);
        }
        recording.clear();
        let turns = Turns {
            targets: targets.into(),
            order: turns.into(),
            requests: u32::try_from(requests).unwrap_or(u32::MAX),
        };
        let rhythm = Starts::new(loaded.load).turn_rhythm(loaded.lasts, loaded.seed)?;
        let mut driven = self.generator.run_turns(&turns, &rhythm, recording)?;
        for (member, reopened) in driven.members.iter_mut().zip(reopened) {
            member.reopened += reopened;
            driven.report.exchanges.reopened += reopened;
        }
        Ok(DrivenTurns {
            report: driven.report,
            members: driven.members,
        })
    }
}

/// A block of turns of resident programs, each asked for iterations through `iterate`, which returns
/// whether it can go on.
pub(crate) fn iterate_in_turns(
    turns: &[u16],
    iterations: &[u64],
    mut iterate: impl FnMut(usize, u64) -> Result<bool, LabError>,
) -> Result<DrivenTurns, LabError> {
    let began = Began::now();
    let mut members = vec![Exchanges::default(); iterations.len()];
    let mut has_failed = vec![false; iterations.len()];
    for position in turns.iter().map(|position| usize::from(*position)) {
        if has_failed[position] {
            continue;
        }
        let asked = iterations[position];
        let is_done = iterate(position, asked)?;
        has_failed[position] = !is_done;
        let of = &mut members[position];
        of.intended += asked;
        of.sent += asked;
        of.completed += if is_done { asked } else { 0 };
    }
    let sum = |of: fn(&Exchanges) -> u64| members.iter().map(of).sum();
    Ok(DrivenTurns {
        report: began.report(sum(|of| of.sent), sum(|of| of.completed)),
        members,
    })
}

/// A number of iterations of a resident program.
pub(crate) fn iterate(
    program: Option<&mut Resident>,
    iterations: u64,
    patience: &mut Patience<'_>,
) -> Driven {
    let began = Began::now();
    let result = ask(program, iterations, patience);
    let done = if result.is_ok() { iterations } else { 0 };
    Driven {
        report: began.report(iterations, done),
        trouble: result.err(),
        ..Driven::default()
    }
}

/// Unmeasured iterations of a resident program: as many sets as fill `lasts`, at least one. Finds
/// the number of iterations per set first, if it is unknown.
pub(crate) fn iterate_for(
    mut program: Option<&mut Resident>,
    pace: &mut Pace,
    lasts: Duration,
    patience: &mut Patience<'_>,
    interrupted: &AtomicBool,
) -> Driven {
    let began = Began::now();
    let (mut asked, mut done) = (0, 0);
    let mut trouble = None;
    let mut counts_from = Instant::now();
    while trouble.is_none() && !interrupted.load(Ordering::Relaxed) {
        let is_sought = pace.is_sought();
        let portion = pace.portion(lasts.saturating_sub(counts_from.elapsed()));
        let set = Instant::now();
        trouble = ask(program.as_deref_mut(), portion, patience).err();
        asked += portion;
        if trouble.is_none() {
            done += portion;
            pace.learn(portion, set.elapsed());
        }
        if is_sought {
            counts_from = Instant::now();
        }
        if !pace.is_sought() && counts_from.elapsed() >= lasts {
            break;
        }
    }
    Driven {
        report: began.report(asked, done),
        trouble,
        ..Driven::default()
    }
}

fn ask(
    program: Option<&mut Resident>,
    iterations: u64,
    patience: &mut Patience<'_>,
) -> Result<(), String> {
    match program {
        Some(program) => program.run(iterations, patience),
        None => Err("is not there".to_owned()),
    }
}

/// Runs one process to its end; it may report figures about itself.
pub(crate) fn drive_process(
    keeper: &mut Keeper,
    mut spawn: Spawn,
    iterations: u64,
    within: Duration,
    interrupted: &AtomicBool,
) -> Result<Driven, LabError> {
    let (listener, inherit) = Listener::start().map_err(no_socket)?;
    spawn.inherit = Some(inherit);
    let began = Began::now();
    let child = keeper.spawn(spawn)?;
    let exit = wait(keeper, &child, within, interrupted)?;
    let succeeded = exit.is_some_and(|exit| exit.status == ExitStatusKind::Code(0));
    let mut report = began.report(iterations, if succeeded { iterations } else { 0 });
    report.exchanges.errors.timeout = u64::from(exit.is_none());
    let mut trouble = match exit {
        Some(_) if succeeded => None,
        Some(exit) => Some(describe(exit.status)),
        None => {
            keeper.signal_group(&child, libc::SIGKILL)?;
            keeper.wait(&child, Duration::from_secs(5))?;
            Some(format!("did not end within {within:?} (`load.timeout`)"))
        }
    };
    let told = listener.told();
    if told.waits {
        report.exchanges.completed = 0;
        let waits = "said `ready` and waited for `run`, which is never sent with `batch = \
                     \"process\"`: let it do its iterations and exit, or set `batch = \
                     \"resident\"`";
        trouble = Some(waits.to_owned());
    }
    Ok(Driven {
        report,
        exit,
        told,
        trouble,
        ..Driven::default()
    })
}

/// No socket could be created for a batch program.
pub(crate) fn no_socket(error: io::Error) -> LabError {
    LabError::Unsupported(format!("no socket for a batch program: {error}"))
}

/// When a stretch of iterations began.
struct Began {
    at_ns: u64,
    cpu_ns: u64,
}

impl Began {
    fn now() -> Began {
        Began {
            at_ns: monotonic_ns(),
            cpu_ns: thread_cpu_ns(),
        }
    }

    /// The report of the stretch, which ends now.
    fn report(&self, asked: u64, done: u64) -> RunReport {
        iterations_report(self.at_ns, self.cpu_ns, asked, done)
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_that_take_turns_iterate_in_their_order() {
        let mut asked = Vec::new();
        let turns = [0, 1, 2, 2, 0, 1];
        let driven = iterate_in_turns(&turns, &[50, 5, 1], |position, iterations| {
            asked.push((position, iterations));
            Ok(true)
        });
        let driven = driven.unwrap();
        assert_eq!(asked, [(0, 50), (1, 5), (2, 1), (2, 1), (0, 50), (1, 5)]);
        let counts = |of: &Exchanges| (of.intended, of.sent, of.completed);
        let members = Vec::from_iter(driven.members.iter().map(counts));
        assert_eq!(members, [(100, 100, 100), (10, 10, 10), (2, 2, 2)]);
        assert_eq!(counts(&driven.report.exchanges), (112, 112, 112));
    }

    #[test]
    fn a_program_that_fails_has_no_more_turns_and_others_go_on() {
        let mut asked = Vec::new();
        // The second program dies in its second turn.
        let driven = iterate_in_turns(&[0, 1, 1, 0, 0, 1], &[4, 3], |position, _| {
            asked.push(position);
            Ok(asked != [0, 1, 1])
        });
        let driven = driven.unwrap();
        assert_eq!(asked, [0, 1, 1, 0, 0]);
        let counts = |of: &Exchanges| (of.sent, of.completed);
        let members = Vec::from_iter(driven.members.iter().map(counts));
        assert_eq!(members, [(12, 12), (6, 3)]);
        assert_eq!(counts(&driven.report.exchanges), (18, 15));
    }

    #[test]
    fn turns_end_with_an_error_of_the_lab() {
        let mut asked = 0;
        let fails = |_, _| {
            asked += 1;
            Err(LabError::Unsupported("the lab fails".to_owned()))
        };
        assert!(iterate_in_turns(&[0, 1], &[1, 1], fails).is_err());
        assert_eq!(asked, 1);
    }
}
