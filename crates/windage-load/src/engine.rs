//! The engine: targets and their connections, kept open between runs.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use nix::errno::Errno;

use crate::clock::monotonic_ns;
use crate::connection::{Connection, State};
use crate::epoll::{Epoll, Readiness};
use crate::pace::{BACKLOG_BOUND, ClosedPacer, OpenPacer, Pace};
use crate::recording::Recording;
use crate::run::{Run, RunReport};
use crate::socket;
use crate::wakeup::{ExactTimers, Wakeup};

/// Longest stretch without a look at the stop handle.
pub(crate) const LONGEST_WAIT_NS: u64 = 20_000_000;
/// Read at once, at most; bodies are discarded, so it need not hold an answer.
const BUFFER_BYTES: usize = 64 * 1024;
/// Attempts to connect under way at a time while connections are opened: fewer than the shortest
/// usual listen queue, beyond which a SYN is dropped and sent again only after a second.
const ATTEMPTS_AT_ONCE: usize = 64;

/// What is sent, and where to.
#[derive(Clone, Debug)]
pub struct Target {
    /// The server's address.
    pub address: SocketAddr,
    /// The request as it goes over the wire, see [`serialise_request`](crate::serialise_request).
    pub request: Vec<u8>,
    /// Whether the method is HEAD, so that answers have no body.
    pub is_head: bool,
}

/// Names a target of the engine that gave it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TargetId(usize);

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
        "can't open {wanted} connections to {address}: {source}; raise `ulimit -n` or lower `connections`"
    )]
    Sockets {
        /// The target's address.
        address: SocketAddr,
        /// Connections asked for.
        wanted: usize,
        /// Why.
        source: Errno,
    },
    /// The target is not one of this engine.
    #[error("target {0} is not one of this engine; use the id that `add_target` gave")]
    UnknownTarget(usize),
}

/// What [`Engine::connect`] did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConnectReport {
    /// Connections opened for the first time.
    pub opened: usize,
    /// Connections that had died since they were last used, opened again.
    pub reopened: usize,
    /// Connections that could not be opened.
    pub failed: usize,
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

/// A target and where its connections are.
#[derive(Debug)]
pub(crate) struct TargetSlot {
    pub target: Target,
    pub connections: Range<usize>,
}

/// An HTTP/1.1 load generator for one thread.
///
/// One request at a time is out on each connection (no pipelining). Everything that a run needs
/// is set up before it: runs allocate nothing once each connection has seen an answer.
#[derive(Debug)]
pub struct Engine {
    pub(crate) timeout_ns: u64,
    pub(crate) epoll: Epoll,
    pub(crate) wakeup: Wakeup,
    pub(crate) buffer: Box<[u8]>,
    pub(crate) targets: Vec<TargetSlot>,
    pub(crate) connections: Vec<Connection>,
    /// Free connections of the target under load, the longest free first.
    pub(crate) idle: VecDeque<usize>,
    pub(crate) stop: StopHandle,
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
            buffer: vec![0; BUFFER_BYTES].into_boxed_slice(),
            targets: Vec::new(),
            connections: Vec::new(),
            idle: VecDeque::new(),
            stop: StopHandle::default(),
            backlog: VecDeque::with_capacity(BACKLOG_BOUND),
        })
    }

    /// Stops runs by a flag that others set as well, such as one that a signal sets.
    #[must_use]
    pub fn stopped_by(mut self, flag: Arc<AtomicBool>) -> Engine {
        self.stop = StopHandle(flag);
        self
    }

    /// Adds a target with so many connections, none of them open yet.
    ///
    /// # Panics
    /// With more connections in all than a kernel has file descriptors (2³²).
    pub fn add_target(&mut self, target: Target, connections: usize) -> TargetId {
        let id = self.targets.len();
        let first = self.connections.len();
        self.connections
            .extend((0..connections).map(|_| Connection::new(id, target.is_head)));
        // File descriptors are 32-bit, so this bound is never the one that is met.
        assert!(
            u32::try_from(self.connections.len()).is_ok(),
            "more connections than any kernel holds"
        );
        self.idle.reserve(connections);
        self.targets.push(TargetSlot {
            target,
            connections: first..first + connections,
        });
        TargetId(id)
    }

    /// Opens all connections of a target that are not open, those included that the server has
    /// closed since they were last used.
    ///
    /// # Errors
    /// When this process can't have so many sockets. A server that refuses or does not answer in
    /// time is counted in the report instead.
    pub fn connect(&mut self, target: TargetId) -> Result<ConnectReport, EngineError> {
        let members = self.slot(target)?.connections.clone();
        self.notice_dead()?;
        let mut report = ConnectReport::default();
        let mut under_way = 0;
        let mut next = members.start;
        loop {
            while next < members.end && under_way < ATTEMPTS_AT_ONCE {
                if !matches!(self.connections[next].state, State::Idle { .. }) {
                    match self.open(next) {
                        Ok(()) => under_way += 1,
                        Err(
                            source @ (Errno::EMFILE
                            | Errno::ENFILE
                            | Errno::ENOBUFS
                            | Errno::ENOMEM),
                        ) => {
                            let address = self.targets[target.0].target.address;
                            return Err(EngineError::Sockets {
                                address,
                                wanted: members.len(),
                                source,
                            });
                        }
                        Err(_) => report.failed += 1,
                    }
                }
                next += 1;
            }
            if under_way == 0 || self.stop.is_stopped() {
                break;
            }
            self.epoll
                .wait(Duration::from_nanos(LONGEST_WAIT_NS))
                .map_err(waiting_failed)?;
            for event in 0..self.epoll.ready() {
                let readiness = self.epoll.readiness(event);
                self.tend(readiness, &mut report);
            }
            report.failed += self.abandon_overdue(members.clone());
            let connecting = |c: &&Connection| matches!(c.state, State::Connecting { .. });
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
        self.slot(target)?;
        // Taken out for the time of the run, so that the pacer can hold it beside the engine.
        let mut backlog = std::mem::take(&mut self.backlog);
        let result = match pace {
            Pace::Closed { lasts } => {
                let began_ns = monotonic_ns();
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
                let (began_ns, lasts_ns) = (monotonic_ns(), whole_ns(lasts));
                let mut pacer = OpenPacer::new(schedule, &mut backlog, began_ns, lasts_ns);
                let ends_ns = began_ns.saturating_add(lasts_ns);
                let result =
                    Run::new(self, target.0, &mut pacer, recording, began_ns, ends_ns).execute();
                result.map(|mut report| {
                    report.exchanges.intended = pacer.intended;
                    report.exchanges.dropped = pacer.dropped;
                    report.duration_ns = lasts_ns;
                    report
                })
            }
        };
        self.backlog = backlog;
        result
    }

    /// Closes all connections of a target. An id of another engine closes nothing.
    pub fn disconnect(&mut self, target: TargetId) {
        if let Some(slot) = self.targets.get(target.0) {
            for connection in &mut self.connections[slot.connections.clone()] {
                connection.close();
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
    pub(crate) fn open(&mut self, index: usize) -> Result<(), Errno> {
        let connection = &mut self.connections[index];
        let address = self.targets[connection.target].target.address;
        connection.open(index, address, &self.epoll, monotonic_ns())
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
        match self.connections[index].state {
            State::Connecting { .. } if readiness.writable || readiness.readable => {
                let finished = self.finish_connecting(index);
                // The server may have closed already; that is reported only once.
                let is_open = finished.is_ok() && !(readiness.readable && self.drop_if_dead(index));
                match finished {
                    Ok(true) if is_open => report.reopened += 1,
                    Ok(false) if is_open => report.opened += 1,
                    _ => report.failed += 1,
                }
            }
            State::Idle { .. } if readiness.readable => {
                self.drop_if_dead(index);
            }
            _ => {}
        }
    }

    /// Ends an attempt to connect. Tells whether the connection had been open before.
    pub(crate) fn finish_connecting(&mut self, index: usize) -> Result<bool, Errno> {
        let connection = &mut self.connections[index];
        match connection.socket().and_then(socket::connected) {
            Ok(()) => Ok(connection.opened(monotonic_ns())),
            Err(error) => {
                connection.attempt_failed();
                Err(error)
            }
        }
    }

    /// Closes an idle connection that has ended, or has data that nobody asked for. Tells
    /// whether it did.
    pub(crate) fn drop_if_dead(&mut self, index: usize) -> bool {
        let connection = &mut self.connections[index];
        let received = connection
            .socket()
            .and_then(|s| socket::receive_some(s, &mut self.buffer));
        let is_dead = !matches!(received, Err(Errno::EAGAIN | Errno::EINTR));
        if is_dead {
            connection.close();
        }
        is_dead
    }

    /// Gives up attempts that take longer than the timeout. Tells how many.
    fn abandon_overdue(&mut self, members: Range<usize>) -> usize {
        let now_ns = monotonic_ns();
        let mut abandoned = 0;
        for connection in &mut self.connections[members] {
            if let State::Connecting { since_ns } = connection.state
                && now_ns >= since_ns.saturating_add(self.timeout_ns)
            {
                connection.attempt_failed();
                abandoned += 1;
            }
        }
        abandoned
    }
}

pub(crate) fn waiting_failed(source: Errno) -> EngineError {
    EngineError::Epoll {
        call: "epoll_pwait2",
        source,
    }
}

/// Durations beyond 584 years saturate.
fn whole_ns(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
