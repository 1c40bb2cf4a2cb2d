//! Runs the load: the generator on its own thread, observed by this one.
//!
//! The load is one piece from its first start to its last. The live view reads counters that the
//! generator updates now and then; it never interferes with the schedule.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;
use windage_load::{
    Connections, EngineError, Generator, GeneratorConfig, Recording, Rhythm, RunProgress,
    RunReport, Target, monotonic_ns,
};
use windage_model::MachineDelta;
use windage_probe::{Linux, MachineProbe};

use super::design::{Design, Model};
use super::error::LoadError;

/// Interval between two looks at the progress.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Seeds the warm-up, so that its arrivals differ from those measured.
const WARMUP_SALT: u64 = 0x7761_726d;

/// What the generator did.
#[derive(Debug)]
pub(super) struct Done {
    pub(super) report: RunReport,
    pub(super) recording: Recording,
    /// What the machine did meanwhile; `None` if unreadable.
    pub(super) machine: Option<MachineDelta>,
}

/// The phase of the load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Connections are opened and warmed up.
    Preparing,
    /// Measuring, with the counts so far.
    Measuring(Seen),
}

/// The state of a load in progress.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) completed: u64,
    pub(super) failed: u64,
    /// Response times so far, in nanoseconds; 0 before the first.
    pub(super) p50_ns: u64,
    pub(super) p99_ns: u64,
}

impl Seen {
    fn of(progress: &RunProgress) -> Seen {
        Seen {
            completed: progress.completed(),
            failed: progress.failed(),
            p50_ns: progress.p50_ns(),
            p99_ns: progress.p99_ns(),
        }
    }

    fn since(self, earlier: Seen) -> Seen {
        Seen {
            completed: self.completed - earlier.completed,
            failed: self.failed - earlier.failed,
            ..self
        }
    }
}

/// A message from the generator's thread to the observer.
enum Word {
    /// The warm-up is over.
    Warm,
    Ended(Box<Result<Done, LoadError>>),
}

/// Runs the load and returns the results. `look` is called about ten times per second.
pub(super) fn run(
    design: &Design,
    target: &Target,
    stop: &Arc<AtomicBool>,
    look: impl FnMut(Phase),
) -> Result<Done, LoadError> {
    let progress = Arc::new(RunProgress::default());
    let watched = Arc::clone(&progress);
    thread::scope(|scope| {
        let (say, words) = channel();
        let thread = thread::Builder::new().name("load".to_owned());
        let work = move || {
            let ended = Load { design, stop }.put_on(target, watched, &say);
            // The receiver waits until it gets this message.
            let _ = say.send(Word::Ended(Box::new(ended)));
        };
        thread
            .spawn_scoped(scope, work)
            .map_err(LoadError::Thread)?;
        listen(&words, &progress, look)
    })
}

/// Observes until the generator's thread is done.
fn listen(
    words: &Receiver<Word>,
    progress: &RunProgress,
    mut look: impl FnMut(Phase),
) -> Result<Done, LoadError> {
    // The counts of the warm-up are discarded.
    let mut before = None;
    loop {
        match words.recv_timeout(LOOK_EVERY) {
            Ok(Word::Warm) => before = Some(Seen::of(progress)),
            Ok(Word::Ended(ended)) => return *ended,
            Err(RecvTimeoutError::Timeout) => look(match before {
                Some(before) => Phase::Measuring(Seen::of(progress).since(before)),
                None => Phase::Preparing,
            }),
            Err(RecvTimeoutError::Disconnected) => return Err(EngineError::ThreadDied.into()),
        }
    }
}

/// The generator's side.
struct Load<'d> {
    design: &'d Design,
    stop: &'d Arc<AtomicBool>,
}

impl Load<'_> {
    fn put_on(
        self,
        target: &Target,
        progress: Arc<RunProgress>,
        say: &Sender<Word>,
    ) -> Result<Done, LoadError> {
        let design = self.design;
        // Threads inherit the affinity of the thread that starts them.
        pin(&design.cpus)?;
        let mut generator = Generator::new(&GeneratorConfig {
            timeout: design.timeout,
            threads: design.threads,
            stop: Arc::clone(self.stop),
            progress: Some(progress),
        })?;
        let connections = Connections {
            first: design.connections,
            most: design.max_connections,
        };
        let target = generator.add_target(target, connections);
        let mut recording = Recording::new();
        let connected = generator.connect(target)?;
        if connected.opened == 0 {
            return Ok(Done {
                report: refused(
                    connected.failed as u64,
                    connected.first_error.map(|why| why_not(design, &why)),
                ),
                recording,
                machine: None,
            });
        }
        if !design.warmup.is_zero() {
            let rhythm = rhythm(&design.model, design.warmup, WARMUP_SALT);
            generator.run(target, &rhythm, &mut recording)?;
            recording.clear();
        }
        let rhythm = rhythm(&design.model, design.lasts, 0);
        let mut machine = MachineProbe::new(&Linux).ok();
        let mut snapshot = || machine.as_mut()?.snapshot().ok();
        let before = snapshot();
        let _ = say.send(Word::Warm);
        let report = generator.run(target, &rhythm, &mut recording)?;
        let machine = snapshot().zip(before).map(|(now, then)| now.delta(&then));
        Ok(Done {
            report,
            recording,
            machine,
        })
    }
}

/// Why no connection could be opened, in words.
fn why_not(design: &Design, why: &str) -> String {
    let remedy = match why.contains("refused") {
        true => "; does it listen there?",
        false => "",
    };
    format!("connecting to {}: {why}{remedy}", design.endpoint)
}

/// The report of a load that found no server: there is nothing to wait for.
fn refused(attempts: u64, why: Option<String>) -> RunReport {
    let now_ns = monotonic_ns();
    let mut report = RunReport {
        started_ns: now_ns,
        ended_ns: now_ns,
        first_error: why,
        ..RunReport::default()
    };
    report.exchanges.errors.connect = attempts;
    report
}

fn rhythm(model: &Model, lasts: Duration, salt: u64) -> Rhythm {
    match model {
        Model::Closed => Rhythm::Closed { lasts },
        Model::Open {
            starts,
            arrivals,
            seed,
        } => Rhythm::Open {
            schedule: starts.schedule(*arrivals, seed ^ salt),
            lasts,
        },
    }
}

/// Pins the calling thread to some cores, or to all if none are named.
fn pin(cores: &[u32]) -> Result<(), LoadError> {
    if cores.is_empty() {
        return Ok(());
    }
    let refused = |source| LoadError::Cores {
        cores: cores
            .iter()
            .map(u32::to_string)
            .collect::<Vec<_>>()
            .join(","),
        source,
    };
    let mut set = CpuSet::new();
    for &core in cores {
        set.set(core as usize).map_err(refused)?;
    }
    sched_setaffinity(Pid::from_raw(0), &set).map_err(refused)
}
