//! One connection: its socket, what it is doing, and the exchange it carries.

use std::net::SocketAddr;
use std::os::fd::OwnedFd;

use nix::errno::Errno;

use crate::epoll::Epoll;
use crate::pace::Start;
use crate::response::ResponseParser;
use crate::socket;

/// Pause before a connection that gave no answer is tried again; doubled each time.
const FIRST_PAUSE_NS: u64 = 10_000_000;
/// A dead server is asked five times a second by each connection.
const LONGEST_PAUSE_NS: u64 = 200_000_000;

/// What a connection is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Nothing; there is no socket.
    Closed,
    /// Waiting, without a socket, until it may be tried again.
    Paused { until_ns: u64 },
    /// The attempt has begun.
    Connecting { since_ns: u64 },
    /// Open and free.
    Idle { since_ns: u64 },
    /// A request is out, or on its way out, and its answer is awaited.
    Exchanging,
}

/// An exchange under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exchange {
    pub intended_ns: u64,
    pub sent_ns: u64,
    /// Bytes of the request that the kernel has taken.
    pub sent_bytes: usize,
}

/// A connection of a target, through all its sockets.
#[derive(Debug)]
pub(crate) struct Connection {
    pub target: usize,
    pub state: State,
    pub exchange: Exchange,
    pub parser: ResponseParser,
    socket: Option<OwnedFd>,
    /// Counts sockets, so that a late report on the one before is told apart.
    generation: u32,
    has_been_open: bool,
    /// Attempts and sockets in a row that led to no answer.
    barren: u32,
}

impl Connection {
    pub(crate) fn new(target: usize, is_head: bool) -> Connection {
        Connection {
            target,
            state: State::Closed,
            exchange: Exchange {
                intended_ns: 0,
                sent_ns: 0,
                sent_bytes: 0,
            },
            parser: ResponseParser::new(is_head),
            socket: None,
            generation: 0,
            has_been_open: false,
            barren: 0,
        }
    }

    /// The socket. Without one, the error of a connection that is not there.
    #[inline]
    pub(crate) fn socket(&self) -> Result<&OwnedFd, Errno> {
        self.socket.as_ref().ok_or(Errno::ENOTCONN)
    }

    /// Begins to connect; the epoll instance reports the end of the attempt.
    pub(crate) fn open(
        &mut self,
        index: usize,
        address: SocketAddr,
        epoll: &Epoll,
        now_ns: u64,
    ) -> Result<(), Errno> {
        self.close();
        let socket = socket::open(address)?;
        self.generation = self.generation.wrapping_add(1);
        epoll.add(&socket, self.token(index))?;
        self.socket = Some(socket);
        self.state = State::Connecting { since_ns: now_ns };
        self.parser.reset();
        Ok(())
    }

    /// Notes that the attempt succeeded. Tells whether the connection had been open before.
    pub(crate) fn opened(&mut self, now_ns: u64) -> bool {
        self.state = State::Idle { since_ns: now_ns };
        // Until an answer comes: a server that accepts and closes at once is as dead as any.
        self.barren = self.barren.saturating_add(1);
        std::mem::replace(&mut self.has_been_open, true)
    }

    /// Closes the socket, which also ends its registration.
    pub(crate) fn close(&mut self) {
        self.socket = None;
        self.state = State::Closed;
    }

    /// Notes that a whole answer came.
    #[inline]
    pub(crate) fn answered(&mut self) {
        self.barren = 0;
    }

    /// Notes that an attempt failed.
    pub(crate) fn attempt_failed(&mut self) {
        self.close();
        self.barren = self.barren.saturating_add(1);
    }

    /// How long to wait before the next attempt, so that a dead server is not hammered.
    pub(crate) fn pause_ns(&self) -> u64 {
        match self.barren {
            0 => 0,
            n => (FIRST_PAUSE_NS << (n - 1).min(8)).min(LONGEST_PAUSE_NS),
        }
    }

    /// Sets out on an exchange; nothing is sent yet.
    #[inline]
    pub(crate) fn begin(&mut self, start: Start, now_ns: u64) {
        let intended_ns = match start {
            Start::Now => now_ns,
            Start::At(intended_ns) => intended_ns,
        };
        self.exchange = Exchange {
            intended_ns,
            sent_ns: now_ns,
            sent_bytes: 0,
        };
        self.state = State::Exchanging;
    }

    /// What epoll reports for the present socket.
    #[inline]
    pub(crate) fn token(&self, index: usize) -> u64 {
        // Indices are far below 2³², see `Engine::add_target`.
        u64::from(self.generation) << 32 | index as u64
    }

    /// The connection's index in a token, whether or not its socket is still the same.
    #[inline]
    pub(crate) fn index_of(token: u64) -> usize {
        (token & u64::from(u32::MAX)) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_their_bound_and_an_answer_ends_them() {
        let mut connection = Connection::new(0, false);
        assert_eq!(connection.pause_ns(), 0);
        let pauses_ms: Vec<u64> = (0..7)
            .map(|_| {
                connection.attempt_failed();
                connection.pause_ns() / 1_000_000
            })
            .collect();
        assert_eq!(pauses_ms, [10, 20, 40, 80, 160, 200, 200]);
        connection.answered();
        assert_eq!(connection.pause_ns(), 0);
    }

    #[test]
    fn tokens_carry_the_index_and_change_with_the_socket() {
        let mut connection = Connection::new(0, false);
        let before = connection.token(77);
        connection.generation += 1;
        assert_eq!(
            Connection::index_of(before),
            Connection::index_of(connection.token(77))
        );
        assert_ne!(before, connection.token(77));
    }
}
