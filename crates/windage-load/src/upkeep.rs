//! Keeps an engine's connections open between runs: opens them and notices which have died.

use std::io;
use std::ops::Range;

use crate::clock::monotonic_ns;
use crate::connection::{Connection, Phase};
use crate::engine::{Engine, EngineError, LONGEST_WAIT_NS, waiting_failed};
use crate::epoll::Readiness;
use crate::lane::State;
use crate::target::{Target, TargetId};

/// Concurrent attempts to connect: fewer than the shortest common listen queue. Beyond it, a SYN is
/// dropped and repeated only after a second.
const ATTEMPTS_AT_ONCE: usize = 64;

/// The result of [`Engine::connect`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConnectReport {
    /// Connections opened for the first time.
    pub opened: usize,
    /// Connections that had died since their last use and were reopened.
    pub reopened: usize,
    /// Connections that could not be opened.
    pub failed: usize,
    /// Why the first of them failed, for people.
    pub first_error: Option<String>,
}

impl ConnectReport {
    /// Adds another thread's report.
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

impl Engine {
    /// Opens all connections of a target that are in use and not open, including those that the
    /// server has closed since their last use.
    ///
    /// # Errors
    /// When this process can't open that many sockets. A server that refuses or does not answer in
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
            if under_way == 0 || self.is_stopped() {
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
                // A server that does not answer one wave will not answer the others either.
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

    /// Starts connecting; a failure leaves the connection closed.
    pub(crate) fn open(&mut self, index: usize) -> io::Result<()> {
        let connection = &mut self.connections[index];
        let Target { endpoint, tls, .. } = &self.targets[connection.target].target;
        let opened = connection.open(index, endpoint, tls.as_ref(), &self.epoll, monotonic_ns());
        if opened.is_err() {
            connection.attempt_failed();
        }
        opened
    }

    /// Closes a connection and its lanes.
    pub(crate) fn close(&mut self, index: usize) {
        let connection = &mut self.connections[index];
        connection.close();
        for lane in &mut self.lanes[connection.lanes.clone()] {
            lane.go_down();
        }
    }

    /// The connection of an event, unless its socket has been replaced.
    #[inline]
    pub(crate) fn connection_of(&self, token: u64) -> Option<usize> {
        let index = Connection::index_of(token);
        let connection = self.connections.get(index)?;
        (connection.token(index) == token).then_some(index)
    }

    /// Handles what servers did to idle connections.
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

    /// Handles an event on a connection without an exchange.
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

    /// Continues an attempt to connect. Once exchanges may begin, returns whether the connection
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

    /// Closes an idle connection that has ended or received unexpected data. Returns whether it
    /// did.
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

    /// Gives up attempts that exceed the timeout. Returns whether there were any.
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

/// Whether an error only means that there is nothing to do at the moment.
#[inline]
pub(crate) fn is_passing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
    )
}

/// Whether this process or this machine can open no more sockets.
fn is_exhaustion(error: &io::Error) -> bool {
    let exhausted = [libc::EMFILE, libc::ENFILE, libc::ENOBUFS, libc::ENOMEM];
    error
        .raw_os_error()
        .is_some_and(|code| exhausted.contains(&code))
}
