//! The engine and its state.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use nix::errno::Errno;

use crate::connection::Connection;
use crate::endpoint::Endpoint;
use crate::epoll::Epoll;
use crate::lane::Lane;
use crate::member::Member;
use crate::own::OwnThread;
use crate::progress::Progress;
use crate::target::{Connections, Target, TargetId, TargetSlot};
use crate::turns::TurnsError;
use crate::wakeup::Wakeup;
use crate::work::{Draws, Protocol, Share};

/// Longest time between two looks at the stop handle.
pub(crate) const LONGEST_WAIT_NS: u64 = 20_000_000;
/// Size of one read. Bodies are discarded, so it need not hold an answer.
const BUFFER_BYTES: usize = 64 * 1024;

/// Settings of an engine.
#[derive(Clone, Copy, Debug)]
pub struct EngineConfig {
    /// Timeout of one exchange, and of one attempt to connect.
    pub timeout: Duration,
}

/// Failures of the engine itself. Failures of servers are counted instead.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// An epoll call failed.
    #[error("{call} failed: {source}; if it reports too many open files, raise `ulimit -n`")]
    Epoll {
        /// The call that failed.
        call: &'static str,
        /// The kernel's error.
        source: Errno,
    },
    /// Opening a socket failed before anything was sent.
    #[error(
        "can't open {wanted} connections to {endpoint}: {source}; raise `ulimit -n` or lower `connections`"
    )]
    Sockets {
        /// The target's address.
        endpoint: Endpoint,
        /// Requested number of connections.
        wanted: usize,
        /// The kernel's error.
        source: io::Error,
    },
    /// Starting a generator thread failed.
    #[error(
        "can't start a thread of the load generator: {0}; lower `threads`, or raise `ulimit -u`"
    )]
    Thread(#[source] io::Error),
    /// A generator thread died, which is a bug.
    #[error("a thread of the load generator died; please report this bug")]
    ThreadDied,
    /// The target does not belong to this engine.
    #[error("target {0} does not belong to this engine; use the id that `add_target` returned")]
    UnknownTarget(usize),
    /// Targets can't be loaded in these turns.
    #[error(transparent)]
    Turns(TurnsError),
}

/// A load generator for one thread.
///
/// Each connection, or each stream of it, has at most one request outstanding (no pipelining).
///
/// All set-up precedes the run: over HTTP/1.1 a run allocates nothing once each connection has seen
/// an answer.
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
    /// When users finish thinking, and on which lanes; the soonest first.
    pub(crate) thinkers: BinaryHeap<Reverse<(u64, usize)>>,
    /// Connections whose streams have queued data.
    pub(crate) stirred: VecDeque<usize>,
    pub(crate) stop: Arc<AtomicBool>,
    pub(crate) progress: Option<Arc<Progress>>,
    share: Share,
}

impl Engine {
    /// Sets up an engine. Takes some 10 ms, because it measures how late this machine wakes up.
    ///
    /// # Errors
    /// When the kernel refuses an epoll instance.
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
            thinkers: BinaryHeap::new(),
            stirred: VecDeque::new(),
            stop: Arc::default(),
            progress: None,
            share: Share { index: 0, of: 1 },
        })
    }

    /// Makes runs return within a few hundredths of a second while a shared flag is set, such as
    /// by a signal handler.
    #[must_use]
    pub fn stopped_by(mut self, flag: Arc<AtomicBool>) -> Engine {
        self.stop = flag;
        self
    }

    /// Publishes the progress of runs.
    #[must_use]
    pub fn watched_by(mut self, progress: Arc<Progress>) -> Engine {
        self.progress = Some(progress);
        self
    }

    /// Makes this engine one of several that share counters and table rows.
    pub(crate) fn sharing(mut self, share: Share) -> Engine {
        self.share = share;
        self
    }

    /// Adds a target with its connections, all closed.
    ///
    /// # Panics
    /// With more connections in total than a kernel has file descriptors (2³²).
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
                .extend((0..streams).map(|_| Lane::new(id, connection)));
            self.connections
                .push(Connection::new(id, lane..lane + streams));
        }
        // File descriptors are 32-bit, so they run out first.
        assert!(
            u32::try_from(self.connections.len()).is_ok(),
            "more connections than any kernel holds"
        );
        self.thinkers.reserve(most * streams);
        self.stirred.reserve(most);
        self.targets.push(TargetSlot {
            draws: Draws::new(&target.work, self.share),
            target,
            connections: begin..begin + most,
            in_use: first,
            member: Member::new(most * streams),
        });
        TargetId(id)
    }

    /// Seeds everything random in later runs (the mix of flows, random fields). The same seed gives
    /// the same requests.
    pub fn reseed(&mut self, target: TargetId, seed: u64) {
        if let Some(slot) = self.targets.get_mut(target.0) {
            slot.draws.reseed(seed);
        }
    }

    #[inline]
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
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

/// Durations above 584 years saturate.
pub(crate) fn whole_ns(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
