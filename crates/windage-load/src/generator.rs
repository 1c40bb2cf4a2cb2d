//! The generator: one engine on the calling thread, plus engines on threads of their own where one
//! core can't produce enough load.

use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::clock::monotonic_ns;
use crate::engine::{Engine, EngineConfig, EngineError};
use crate::pace::Pace;
use crate::progress::Progress;
use crate::recording::Recording;
use crate::run::RunReport;
use crate::schedule::Schedule;
use crate::target::{Connections, Target, TargetId};
use crate::turns::{TurnRhythm, Turns, TurnsReport};
use crate::upkeep::ConnectReport;
use crate::work::Share;

/// Settings of a generator.
#[derive(Clone, Debug)]
pub struct GeneratorConfig {
    /// Timeout of one exchange, and of one attempt to connect.
    pub timeout: Duration,
    /// Number of engines, each on its own thread; connections and starts are dealt out evenly. At
    /// least 1.
    pub threads: usize,
    /// Ends runs when it is set.
    pub stop: Arc<AtomicBool>,
    /// Receives the progress of runs.
    pub progress: Option<Arc<Progress>>,
}

/// The pace of a whole generator's run; see [`Pace`].
#[derive(Clone, Debug)]
pub enum Rhythm {
    /// Each lane sends, waits for the answer and sends again.
    Closed {
        /// No request is sent after this time.
        lasts: Duration,
    },
    /// Starts follow a schedule, whatever the answers do.
    Open {
        /// The intended starts.
        schedule: Schedule,
        /// The length of the schedule.
        lasts: Duration,
    },
}

/// A load generator of one thread or several, used like an [`Engine`].
///
/// With one thread everything happens on the calling thread.
#[derive(Debug)]
pub struct Generator {
    own: Engine,
    others: Vec<Worker>,
    /// By target: how many threads have a connection to it.
    sharers: Vec<usize>,
}

impl Generator {
    /// Sets up the engines, which takes some 10 ms each.
    ///
    /// # Errors
    /// As [`Engine::new`].
    pub fn new(config: &GeneratorConfig) -> Result<Generator, EngineError> {
        let of = u32::try_from(config.threads.max(1)).unwrap_or(u32::MAX);
        let engine = |index| {
            let settings = EngineConfig {
                timeout: config.timeout,
            };
            let engine = Engine::new(settings)?
                .stopped_by(Arc::clone(&config.stop))
                .sharing(Share { index, of });
            Ok(match &config.progress {
                Some(progress) => engine.watched_by(Arc::clone(progress)),
                None => engine,
            })
        };
        Ok(Generator {
            own: engine(0)?,
            others: (1..of)
                .map(|index| Worker::start(engine(index)?))
                .collect::<Result<_, _>>()?,
            sharers: Vec::new(),
        })
    }

    /// Adds a target and deals its connections out to the threads. With fewer connections than
    /// threads, some threads get none.
    pub fn add_target(&mut self, target: &Target, connections: impl Into<Connections>) -> TargetId {
        let connections = connections.into();
        let threads = (self.others.len() + 1).min(connections.first).max(1);
        self.sharers.push(threads);
        for (worker, number) in self.others.iter().zip(1..) {
            let (target, share) = (target.clone(), part(connections, number, threads));
            worker.give(move |engine, _| {
                engine.add_target(target, share);
                Ok(Done::default())
            });
        }
        let id = self
            .own
            .add_target(target.clone(), part(connections, 0, threads));
        for worker in &self.others {
            // Adding can't fail; waiting for the answer keeps the workers in step.
            let _ = worker.answer();
        }
        id
    }

    /// Opens the target's closed connections.
    ///
    /// # Errors
    /// As [`Engine::connect`].
    pub fn connect(&mut self, target: TargetId) -> Result<ConnectReport, EngineError> {
        for worker in &self.others {
            worker.give(move |engine, _| {
                Ok(Done {
                    connected: engine.connect(target)?,
                    ..Done::default()
                })
            });
        }
        let mut connected = self.own.connect(target);
        for worker in &self.others {
            match (worker.answer(), &mut connected) {
                (Ok(done), Ok(report)) => report.add(done.connected),
                (Err(error), Ok(_)) => connected = Err(error),
                (_, Err(_)) => {}
            }
        }
        connected
    }

    /// Seeds everything random in later runs.
    pub fn reseed(&mut self, target: TargetId, seed: u64) {
        for worker in &self.others {
            worker.give(move |engine, _| {
                engine.reseed(target, seed);
                Ok(Done::default())
            });
            let _ = worker.answer();
        }
        self.own.reseed(target, seed);
    }

    /// Loads a target, see [`Engine::run`].
    ///
    /// # Errors
    /// As [`Engine::run`].
    pub fn run(
        &mut self,
        target: TargetId,
        rhythm: &Rhythm,
        recording: &mut Recording,
    ) -> Result<RunReport, EngineError> {
        let (began_ns, rhythm) = (monotonic_ns(), rhythm.clone());
        let threads = self.sharers.get(target.0).copied().unwrap_or(1);
        let ran = self.run_on(threads, recording, move |engine, number, recording| {
            let rhythm = rhythm.clone();
            let report = run_part(engine, target, began_ns, rhythm, number, threads, recording)?;
            Ok(TurnsReport {
                members: Vec::new(),
                report,
            })
        })?;
        Ok(ran.report)
    }

    /// Loads several targets in turns, see [`Engine::run_turns`].
    ///
    /// Only as many threads take part as have a connection to every target, so targets should have
    /// at least as many connections as there are threads. Open loop: each thread handles every n-th
    /// start; the start's place in the whole schedule decides whose turn it is. Closed loop: each
    /// thread goes through all turns on its own, with its share of each turn's requests. That is at
    /// least one, so turns of fewer requests than threads become longer.
    ///
    /// # Errors
    /// As [`Engine::run_turns`].
    pub fn run_turns(
        &mut self,
        turns: &Turns,
        rhythm: &TurnRhythm,
        recording: &mut Recording,
    ) -> Result<TurnsReport, EngineError> {
        let (began_ns, turns, rhythm) = (monotonic_ns(), turns.clone(), rhythm.clone());
        let sharers = |target: &TargetId| self.sharers.get(target.0).copied();
        let threads = turns.targets.iter().filter_map(sharers).min().unwrap_or(1);
        self.run_on(threads, recording, move |engine, number, recording| {
            // There are fewer than 2³² threads, see `Generator::new`.
            let share = Share {
                index: number as u32,
                of: threads as u32,
            };
            engine.run_turns_from(&turns, began_ns, rhythm.clone(), share, recording)
        })
    }

    /// Runs each thread's part, whose number it is given, and merges the results.
    fn run_on<F>(
        &mut self,
        threads: usize,
        recording: &mut Recording,
        part: F,
    ) -> Result<TurnsReport, EngineError>
    where
        F: Fn(&mut Engine, usize, &mut Recording) -> Result<TurnsReport, EngineError>,
        F: Clone + Send + 'static,
    {
        for (worker, number) in self.others.iter().zip(1..threads) {
            let part = part.clone();
            worker.give(move |engine, recording| {
                recording.clear();
                Ok(Done {
                    ran: part(engine, number, recording)?,
                    ..Done::default()
                })
            });
        }
        let mut ran = part(&mut self.own, 0, recording);
        for worker in &self.others[..threads - 1] {
            match (worker.answer(), &mut ran) {
                (Ok(done), Ok(report)) => {
                    recording.merge(&worker.recording());
                    report.add(done.ran);
                }
                (Err(error), Ok(_)) => ran = Err(error),
                (_, Err(_)) => {}
            }
        }
        if threads > 1
            && let Ok(ran) = &mut ran
        {
            ran.report.take_lag_of(recording);
        }
        ran
    }
}

/// One thread's share of the connections.
fn part(connections: Connections, number: usize, threads: usize) -> Connections {
    if number >= threads {
        return Connections::from(0);
    }
    let share = |count: usize| count / threads + usize::from(number < count % threads);
    Connections {
        first: share(connections.first),
        most: share(connections.most),
    }
}

/// One thread's share of a run: every n-th start of the schedule.
fn run_part(
    engine: &mut Engine,
    target: TargetId,
    began_ns: u64,
    rhythm: Rhythm,
    number: usize,
    threads: usize,
    recording: &mut Recording,
) -> Result<RunReport, EngineError> {
    match rhythm {
        Rhythm::Closed { lasts } => {
            engine.run_from(target, began_ns, Pace::Closed { lasts }, recording)
        }
        Rhythm::Open {
            mut schedule,
            lasts,
        } if threads == 1 => {
            let schedule = &mut schedule;
            engine.run_from(target, began_ns, Pace::Open { schedule, lasts }, recording)
        }
        Rhythm::Open {
            mut schedule,
            lasts,
        } => {
            // Earlier starts in the round belong to the other threads.
            schedule.by_ref().take(number).for_each(drop);
            let mut dealt = schedule.step_by(threads);
            let schedule = &mut dealt;
            engine.run_from(target, began_ns, Pace::Open { schedule, lasts }, recording)
        }
    }
}

/// A worker's answer to a job.
#[derive(Default)]
struct Done {
    connected: ConnectReport,
    ran: TurnsReport,
}

type Job = Box<dyn FnOnce(&mut Engine, &mut Recording) -> Result<Done, EngineError> + Send>;

/// An engine on its own thread, which does one job after another.
#[derive(Debug)]
struct Worker {
    jobs: Option<Sender<Job>>,
    answers: Receiver<Result<Done, EngineError>>,
    recording: Arc<Mutex<Recording>>,
    thread: Option<JoinHandle<()>>,
}

impl Worker {
    fn start(mut engine: Engine) -> Result<Worker, EngineError> {
        let (jobs, given) = channel::<Job>();
        let (answer, answers) = channel();
        let recording = Arc::new(Mutex::new(Recording::new()));
        let shared = Arc::clone(&recording);
        let thread = std::thread::Builder::new().name("load".to_owned());
        let thread = thread.spawn(move || {
            for job in given {
                let mut recording = shared.lock().unwrap_or_else(PoisonError::into_inner);
                let done = job(&mut engine, &mut recording);
                drop(recording);
                if answer.send(done).is_err() {
                    return;
                }
            }
        });
        Ok(Worker {
            jobs: Some(jobs),
            answers,
            recording,
            thread: Some(thread.map_err(EngineError::Thread)?),
        })
    }

    fn give(
        &self,
        job: impl FnOnce(&mut Engine, &mut Recording) -> Result<Done, EngineError> + Send + 'static,
    ) {
        if let Some(jobs) = &self.jobs {
            // A thread that died gives no answer either; that is noticed when the answer is
            // awaited.
            let _ = jobs.send(Box::new(job));
        }
    }

    fn answer(&self) -> Result<Done, EngineError> {
        self.answers.recv().unwrap_or(Err(EngineError::ThreadDied))
    }

    fn recording(&self) -> std::sync::MutexGuard<'_, Recording> {
        self.recording
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_are_dealt_out_whole() {
        for (count, threads) in [(8, 1), (8, 3), (2, 4), (10_000, 7)] {
            let whole = Connections {
                first: count,
                most: 2 * count + 1,
            };
            let parts: Vec<Connections> = (0..threads).map(|n| part(whole, n, threads)).collect();
            assert_eq!(parts.iter().map(|p| p.first).sum::<usize>(), whole.first);
            assert_eq!(parts.iter().map(|p| p.most).sum::<usize>(), whole.most);
            assert!(parts.iter().all(|p| p.first <= p.most));
        }
    }
}
