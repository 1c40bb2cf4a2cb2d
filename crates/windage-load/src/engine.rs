//! The engine: what it holds, and how a run is begun.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use nix::errno::Errno;

use crate::clock::monotonic_ns;
use crate::connection::Connection;
use crate::endpoint::Endpoint;
use crate::epoll::Epoll;
use crate::lane::Lane;
use crate::own::OwnThread;
use crate::pace::{BACKLOG_BOUND, ClosedPacer, OpenPacer, Pace};
use crate::progress::Progress;
use crate::recording::Recording;
use crate::run::{Run, RunReport};
use crate::stop::StopHandle;
use crate::target::{Connections, Target, TargetId, TargetSlot};
use crate::wakeup::{ExactTimers, Wakeup};
use crate::work::{Draws, Protocol, Share};

/// Longest stretch without a look at the stop handle.
pub(crate) const LONGEST_WAIT_NS: u64 = 20_000_000;
/// Read at once, at most; bodies are discarded, so it need not hold an answer.
const BUFFER_BYTES: usize = 64 * 1024;

/// Settings of an engine.
#[derive(Clone, Copy, Debug)]
pub struct EngineConfig {
    /// Bound for one exchange, and for one attempt to connect.
    pub timeout: Duration,
}

/// What the engine itself could not do. What servers do wrong is counted, not an error.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The epoll instance could not be made or asked.
    #[error("{call} failed: {source}; see `ulimit -n` if it speaks of too many open files")]
    Epoll {
        /// The call that failed.
        call: &'static str,
        /// Why.
        source: Errno,
    },
    /// Sockets ran out before anything was sent.
    #[error(
        "can't open {wanted} connections to {endpoint}: {source}; raise `ulimit -n` or lower `connections`"
    )]
    Sockets {
        /// The target's address.
        endpoint: Endpoint,
        /// Connections asked for.
        wanted: usize,
        /// Why.
        source: io::Error,
    },
    /// A thread of the generator could not be started.
    #[error("can't start a thread of the load generator: {0}; lower `threads`, or see `ulimit -u`")]
    Thread(#[source] io::Error),
    /// A thread of the generator has died, which only a defect of its own can bring about.
    #[error("a thread of the load generator has died; please report it")]
    ThreadDied,
    /// The target is not one of this engine.
    #[error("target {0} is not one of this engine; use the id that `add_target` gave")]
    UnknownTarget(usize),
}

/// A load generator for one thread.
///
/// One request at a time is out on each connection (no pipelining), or on each stream of it.
/// Everything that a run needs is set up before it: runs over HTTP/1.1 allocate nothing once each
/// connection has seen an answer.
#[derive(Debug)]
pub struct Engine {
    pub(crate) timeout_ns: u64,
    pub(crate) epoll: Epoll,
    pub(crate) wakeup: Wakeup,
    pub(crate) own: OwnThread,
    pub(crate) buffer: Box<[u8]>,
    pub(crate) targets: Vec<TargetSlot>,
    pub(crate) connections: Vec<Connection>,
    pub(crate) lanes: Vec<Lane>,
    /// Free lanes of the target under load, the longest free first.
    pub(crate) idle: VecDeque<usize>,
    /// When users have thought enough, and on which lanes they are; the soonest first.
    pub(crate) thinkers: BinaryHeap<Reverse<(u64, usize)>>,
    /// Connections with streams that have something to send.
    pub(crate) stirred: VecDeque<usize>,
    pub(crate) stop: StopHandle,
    pub(crate) progress: Option<Arc<Progress>>,
    share: Share,
    backlog: VecDeque<u64>,
}

impl Engine {
    /// Sets up an engine, which takes some 10 ms: it measures how late this machine wakes up.
    ///
    /// # Errors
    /// When the kernel gives no epoll instance.
    pub fn new(config: EngineConfig) -> Result<Engine, EngineError> {
        let mut epoll = Epoll::new().map_err(|source| EngineError::Epoll {
            call: "epoll_create1",
            source,
        })?;
        let wakeup = Wakeup::measure(&mut epoll).map_err(waiting_failed)?;
        Ok(Engine {
            timeout_ns: whole_ns(config.timeout),
            epoll,
            wakeup,
            own: OwnThread::new(),
            buffer: vec![0; BUFFER_BYTES].into_boxed_slice(),
            targets: Vec::new(),
            connections: Vec::new(),
            lanes: Vec::new(),
            idle: VecDeque::new(),
            thinkers: BinaryHeap::new(),
            stirred: VecDeque::new(),
            stop: StopHandle::default(),
            progress: None,
            share: Share { index: 0, of: 1 },
            backlog: VecDeque::with_capacity(BACKLOG_BOUND),
        })
    }

    /// Stops runs by a flag that others set as well, such as one that a signal sets.
    #[must_use]
    pub fn stopped_by(mut self, flag: Arc<AtomicBool>) -> Engine {
        self.stop = StopHandle(flag);
        self
    }

    /// Tells how runs go to whoever holds the other end.
    #[must_use]
    pub fn watched_by(mut self, progress: Arc<Progress>) -> Engine {
        self.progress = Some(progress);
        self
    }

    /// Makes it one of several that share counters and rows between them.
    pub(crate) fn sharing(mut self, share: Share) -> Engine {
        self.share = share;
        self
    }

    /// Adds a target with its connections, none of them open yet.
    ///
    /// # Panics
    /// With more connections in all than a kernel has file descriptors (2³²).
    pub fn add_target(&mut self, target: Target, connections: impl Into<Connections>) -> TargetId {
        let Connections { first, most } = connections.into();
        let most = most.max(first);
        let id = self.targets.len();
        let begin = self.connections.len();
        let streams = match target.work.protocol() {
            Protocol::Http1 => 1,
            Protocol::Http2 | Protocol::Grpc => target.streams.max(1),
        };
        for connection in begin..begin + most {
            let lane = self.lanes.len();
            self.lanes
                .extend((0..streams).map(|_| Lane::new(connection)));
            self.connections
                .push(Connection::new(id, lane..lane + streams));
        }
        // File descriptors are 32-bit, so this bound is never the one that is met.
        assert!(
            u32::try_from(self.connections.len()).is_ok(),
            "more connections than any kernel holds"
        );
        self.idle.reserve(most * streams);
        self.thinkers.reserve(most * streams);
        self.stirred.reserve(most);
        self.targets.push(TargetSlot {
            draws: Draws::new(&target.work, self.share),
            target,
            connections: begin..begin + most,
            in_use: first,
        });
        TargetId(id)
    }

    /// Puts load on a target for as long as `pace` says, then waits until no exchange is
    /// outstanding. Never takes longer than the pace's length, the timeout and a little.
    ///
    /// # Errors
    /// When waiting for events fails. All that goes wrong with exchanges is in the report.
    pub fn run(
        &mut self,
        target: TargetId,
        pace: Pace<'_>,
        recording: &mut Recording,
    ) -> Result<RunReport, EngineError> {
        self.run_from(target, monotonic_ns(), pace, recording)
    }

    /// A run whose schedule began at a given time, for several engines that share one.
    pub(crate) fn run_from(
        &mut self,
        target: TargetId,
        began_ns: u64,
        pace: Pace<'_>,
        recording: &mut Recording,
    ) -> Result<RunReport, EngineError> {
        self.slot(target)?;
        // Taken out for the time of the run, so that the pacer can hold it beside the engine.
        let mut backlog = std::mem::take(&mut self.backlog);
        let result = match pace {
            Pace::Closed { lasts } => {
                let ends_ns = began_ns.saturating_add(whole_ns(lasts));
                let mut pacer = ClosedPacer { ends_ns };
                Run::new(self, target.0, &mut pacer, recording, began_ns, ends_ns)
                    .execute()
                    .map(|mut report| {
                        report.exchanges.intended = report.exchanges.sent;
                        report
                    })
            }
            Pace::Open { schedule, lasts } => {
                let _exact = ExactTimers::for_this_thread();
                let lasts_ns = whole_ns(lasts);
                let mut pacer = OpenPacer::new(schedule, &mut backlog, began_ns, lasts_ns);
                let ends_ns = began_ns.saturating_add(lasts_ns);
                let result =
                    Run::new(self, target.0, &mut pacer, recording, began_ns, ends_ns).execute();
                result.map(|mut report| {
                    report.exchanges.intended += pacer.intended;
                    report.exchanges.dropped = pacer.dropped;
                    report.exchanges.waited = pacer.waited;
                    report.duration_ns = lasts_ns;
                    report
                })
            }
        };
        self.backlog = backlog;
        result
    }

    /// Makes what comes by chance in later runs (the mix of flows, random fields) that of a seed;
    /// the same seed asks for the same.
    pub fn reseed(&mut self, target: TargetId, seed: u64) {
        if let Some(slot) = self.targets.get_mut(target.0) {
            slot.draws.reseed(seed);
        }
    }

    /// Closes all connections of a target. An id of another engine closes nothing.
    pub fn disconnect(&mut self, target: TargetId) {
        if let Some(slot) = self.targets.get(target.0) {
            for index in slot.connections.clone() {
                self.close(index);
            }
        }
    }

    /// A handle that stops runs.
    #[must_use]
    pub fn stop_handle(&self) -> StopHandle {
        self.stop.clone()
    }

    pub(crate) fn slot(&self, target: TargetId) -> Result<&TargetSlot, EngineError> {
        self.targets
            .get(target.0)
            .ok_or(EngineError::UnknownTarget(target.0))
    }
}

pub(crate) fn waiting_failed(source: Errno) -> EngineError {
    EngineError::Epoll {
        call: "epoll_wait",
        source,
    }
}

/// Durations beyond 584 years saturate.
pub(crate) fn whole_ns(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
