//! The engine: targets and their connections, kept open between runs.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use nix::errno::Errno;

use crate::clock::monotonic_ns;
use crate::connection::{Connection, Phase};
use crate::endpoint::Endpoint;
use crate::epoll::{Epoll, Readiness};
use crate::lane::{Lane, State};
use crate::own::OwnThread;
use crate::pace::{BACKLOG_BOUND, ClosedPacer, OpenPacer, Pace};
use crate::progress::Progress;
use crate::recording::Recording;
use crate::run::{Run, RunReport};
use crate::tls::TlsClient;
use crate::wakeup::{ExactTimers, Wakeup};
use crate::work::{Draws, Protocol, Share, Work};

/// Longest stretch without a look at the stop handle.
pub(crate) const LONGEST_WAIT_NS: u64 = 20_000_000;
/// Read at once, at most; bodies are discarded, so it need not hold an answer.
const BUFFER_BYTES: usize = 64 * 1024;
/// Attempts to connect under way at a time while connections are opened: fewer than the shortest
/// usual listen queue, beyond which a SYN is dropped and sent again only after a second.
const ATTEMPTS_AT_ONCE: usize = 64;

/// What is asked for, and where.
#[derive(Clone, Debug)]
pub struct Target {
    /// The server's address.
    pub endpoint: Endpoint,
    /// Whom to trust, where the connection is encrypted.
    pub tls: Option<TlsClient>,
    /// Exchanges under way at once on one connection of HTTP/2; 1 with HTTP/1.1.
    pub streams: usize,
    /// The requests, and the protocol they are put in.
    pub work: Work,
}

/// How many connections a target has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connections {
    /// Opened before anything is sent.
    pub first: usize,
    /// An open loop opens more, up to so many, while starts wait for a free one.
    pub most: usize,
}

impl From<usize> for Connections {
    /// So many, and never more.
    fn from(count: usize) -> Connections {
        Connections {
            first: count,
            most: count,
        }
    }
}

/// Names a target of the engine that gave it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TargetId(pub(crate) usize);

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

/// What [`Engine::connect`] did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConnectReport {
    /// Connections opened for the first time.
    pub opened: usize,
    /// Connections that had died since they were last used, opened again.
    pub reopened: usize,
    /// Connections that could not be opened.
    pub failed: usize,
    /// Why the first of them could not, in words.
    pub first_error: Option<String>,
}

impl ConnectReport {
    /// Adds what another did.
    pub(crate) fn add(&mut self, other: ConnectReport) {
        self.opened += other.opened;
        self.reopened += other.reopened;
        self.failed += other.failed;
        self.first_error = self.first_error.take().or(other.first_error);
    }

    fn fail(&mut self, why: &io::Error) {
        self.failed += 1;
        self.first_error.get_or_insert_with(|| why.to_string());
    }
}

/// Stops a run from another thread or a signal handler.
#[derive(Clone, Debug, Default)]
pub struct StopHandle(Arc<AtomicBool>);

impl StopHandle {
    /// Makes the present run, and any later one, return within a few hundredths of a second.
    pub fn stop(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Allows runs again.
    pub fn clear(&self) {
        self.0.store(false, Ordering::Relaxed);
    }

    /// Whether it is set.
    #[must_use]
    #[inline]
    pub fn is_stopped(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// The flag itself, for libraries that set one when a signal comes.
    #[must_use]
    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.0)
    }
}

/// A target, where its connections are, and what changes as it is used.
#[derive(Debug)]
pub(crate) struct TargetSlot {
    pub target: Target,
    /// All that it may have.
    pub connections: Range<usize>,
    /// How many of them are in use, from the first; the others are room to grow.
    pub in_use: usize,
    pub draws: Draws,
}

impl TargetSlot {
    pub(crate) fn members(&self) -> Range<usize> {
        self.connections.start..self.connections.start + self.in_use
    }
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

    /// Opens all connections of a target that are in use and not open, those included that the
    /// server has closed since they were last used.
    ///
    /// # Errors
    /// When this process can't have so many sockets. A server that refuses or does not answer in
    /// time is counted in the report instead.
    pub fn connect(&mut self, target: TargetId) -> Result<ConnectReport, EngineError> {
        let members = self.slot(target)?.members();
        self.notice_dead()?;
        let mut report = ConnectReport::default();
        let mut under_way = 0;
        let mut next = members.start;
        loop {
            while next < members.end && under_way < ATTEMPTS_AT_ONCE {
                if self.connections[next].phase != Phase::Open {
                    match self.open(next) {
                        Ok(()) => under_way += 1,
                        Err(source) if is_exhaustion(&source) => {
                            let endpoint = self.targets[target.0].target.endpoint.clone();
                            return Err(EngineError::Sockets {
                                endpoint,
                                wanted: members.len(),
                                source,
                            });
                        }
                        Err(error) => report.fail(&error),
                    }
                }
                next += 1;
            }
            if under_way == 0 || self.stop.is_stopped() {
                break;
            }
            let now_ns = monotonic_ns();
            self.epoll
                .wait_until(now_ns, now_ns + LONGEST_WAIT_NS)
                .map_err(waiting_failed)?;
            for event in 0..self.epoll.ready() {
                let readiness = self.epoll.readiness(event);
                self.tend(readiness, &mut report);
            }
            if self.abandon_overdue(members.clone(), &mut report) {
                // Whoever does not answer one wave will not answer the others either.
                let missing = |c: &&Connection| c.phase != Phase::Open;
                let rest = &self.connections[next..members.end];
                report.failed += rest.iter().filter(missing).count();
                next = members.end;
            }
            let connecting = |c: &&Connection| matches!(c.phase, Phase::Connecting { .. });
            under_way = self.connections[members.clone()]
                .iter()
                .filter(connecting)
                .count();
        }
        Ok(report)
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

    fn slot(&self, target: TargetId) -> Result<&TargetSlot, EngineError> {
        self.targets
            .get(target.0)
            .ok_or(EngineError::UnknownTarget(target.0))
    }

    /// Begins to connect; a failure leaves the connection closed.
    pub(crate) fn open(&mut self, index: usize) -> io::Result<()> {
        let connection = &mut self.connections[index];
        let Target { endpoint, tls, .. } = &self.targets[connection.target].target;
        let opened = connection.open(index, endpoint, tls.as_ref(), &self.epoll, monotonic_ns());
        if opened.is_err() {
            connection.attempt_failed();
        }
        opened
    }

    /// Closes a connection and takes its lanes down.
    pub(crate) fn close(&mut self, index: usize) {
        let connection = &mut self.connections[index];
        connection.close();
        for lane in &mut self.lanes[connection.lanes.clone()] {
            lane.go_down();
        }
    }

    /// The connection that a report is about, unless it is about a socket that is gone.
    #[inline]
    pub(crate) fn connection_of(&self, token: u64) -> Option<usize> {
        let index = Connection::index_of(token);
        let connection = self.connections.get(index)?;
        (connection.token(index) == token).then_some(index)
    }

    /// Takes note of what servers did to connections while nobody used them.
    fn notice_dead(&mut self) -> Result<(), EngineError> {
        loop {
            self.epoll.poll().map_err(waiting_failed)?;
            if self.epoll.ready() == 0 {
                return Ok(());
            }
            for event in 0..self.epoll.ready() {
                let readiness = self.epoll.readiness(event);
                self.tend(readiness, &mut ConnectReport::default());
            }
        }
    }

    /// Deals with a report on a connection that carries no exchange.
    pub(crate) fn tend(&mut self, readiness: Readiness, report: &mut ConnectReport) {
        let Some(index) = self.connection_of(readiness.token) else {
            return;
        };
        match self.connections[index].phase {
            Phase::Connecting { .. } => match self.establish(index, readiness.hung_up) {
                Ok(None) => {}
                // The server may have closed already; that is reported only once.
                Ok(Some(_)) if readiness.hung_up && self.drop_if_dead(index, true) => {
                    report.fail(&io::ErrorKind::ConnectionReset.into());
                }
                Ok(Some(true)) => report.reopened += 1,
                Ok(Some(false)) => report.opened += 1,
                Err(error) => report.fail(&error),
            },
            Phase::Open => {
                self.drop_if_dead(index, readiness.hung_up);
            }
            Phase::Closed | Phase::Paused { .. } => {}
        }
    }

    /// Goes on with an attempt to connect. Once exchanges may begin, tells whether the connection
    /// had been open before.
    pub(crate) fn establish(&mut self, index: usize, hung_up: bool) -> io::Result<Option<bool>> {
        let connection = &mut self.connections[index];
        let protocol = self.targets[connection.target].target.work.protocol();
        match connection.establish(protocol, hung_up) {
            Ok(false) => Ok(None),
            Ok(true) => {
                let since_ns = monotonic_ns();
                let first = connection.lanes.start;
                // The server may allow fewer streams than there are lanes.
                let usable = first..first + connection.usable_lanes();
                for lane in &mut self.lanes[usable] {
                    lane.state = State::Idle { since_ns };
                }
                Ok(Some(connection.opened()))
            }
            Err(error) => {
                connection.attempt_failed();
                Err(error)
            }
        }
    }

    /// Closes an idle connection that has ended, or has data that nobody asked for. Tells
    /// whether it did.
    pub(crate) fn drop_if_dead(&mut self, index: usize, hung_up: bool) -> bool {
        let connection = &mut self.connections[index];
        let is_dead = match connection.session() {
            Some(session) => {
                session.drive_through(hung_up);
                !session.is_ready()
            }
            None => !connection
                .transport()
                .and_then(|transport| transport.receive_some(&mut self.buffer))
                .is_err_and(|error| is_passing(&error)),
        };
        if is_dead {
            self.close(index);
        }
        is_dead
    }

    /// Gives up attempts that take longer than the timeout. Tells whether there were any.
    fn abandon_overdue(&mut self, members: Range<usize>, report: &mut ConnectReport) -> bool {
        let now_ns = monotonic_ns();
        let failed_before = report.failed;
        for connection in &mut self.connections[members] {
            if let Phase::Connecting { since_ns } = connection.phase
                && now_ns >= since_ns.saturating_add(self.timeout_ns)
            {
                connection.attempt_failed();
                report.fail(&io::Error::other("no connection within the timeout"));
            }
        }
        report.failed > failed_before
    }
}

/// Whether an error says only that there is nothing to do at the moment.
#[inline]
pub(crate) fn is_passing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
    )
}

/// Whether this process, or this machine, can have no further socket.
fn is_exhaustion(error: &io::Error) -> bool {
    let exhausted = [libc::EMFILE, libc::ENFILE, libc::ENOBUFS, libc::ENOMEM];
    error
        .raw_os_error()
        .is_some_and(|code| exhausted.contains(&code))
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
