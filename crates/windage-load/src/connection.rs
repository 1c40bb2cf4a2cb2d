//! One connection of a target, through all its sockets: what it is doing and what carries it.

use std::io;
use std::ops::Range;

use crate::endpoint::Endpoint;
use crate::epoll::Epoll;
use crate::http2::Session;
use crate::response::ResponseParser;
use crate::tls::TlsClient;
use crate::transport::Transport;
use crate::work::Protocol;

/// Pause before a connection that gave no answer is tried again; doubled each time.
const FIRST_PAUSE_NS: u64 = 10_000_000;
/// A dead server is asked five times per second by each connection.
const LONGEST_PAUSE_NS: u64 = 200_000_000;

/// What a connection is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Nothing; there is no socket.
    Closed,
    /// Waiting, without a socket, until it may be tried again.
    Paused { until_ns: u64 },
    /// The attempt has begun: connecting, then shaking hands.
    Connecting { since_ns: u64 },
    /// Ready for exchanges.
    Open,
}

/// What a connection speaks over its socket.
#[derive(Debug)]
enum Carrier {
    /// Bytes: HTTP/1.1, or anything while it is still shaking hands.
    Bytes(Transport),
    /// HTTP/2, and gRPC over it.
    Streams(Box<Session>),
}

/// A connection of a target, through all its sockets.
#[derive(Debug)]
pub(crate) struct Connection {
    pub target: usize,
    /// The lanes that it carries: one, or with HTTP/2 one for each stream.
    pub lanes: Range<usize>,
    pub phase: Phase,
    /// Of HTTP/1.1.
    pub parser: ResponseParser,
    /// Streams have something to send that the socket has not been offered.
    pub is_stirred: bool,
    carrier: Option<Carrier>,
    /// Bytes sent and received by streams, as far as they were asked for.
    moved: (u64, u64),
    /// Counts sockets, so that a late report on the one before is told apart.
    generation: u32,
    has_been_open: bool,
    /// Attempts and sockets in a row that led to no answer.
    barren: u32,
}

impl Connection {
    pub(crate) fn new(target: usize, lanes: Range<usize>) -> Connection {
        Connection {
            target,
            lanes,
            phase: Phase::Closed,
            parser: ResponseParser::new(false),
            is_stirred: false,
            carrier: None,
            moved: (0, 0),
            generation: 0,
            has_been_open: false,
            barren: 0,
        }
    }

    /// The bytes that go over the socket. Without one, the error of a connection that is not
    /// there.
    #[inline]
    pub(crate) fn transport(&mut self) -> io::Result<&mut Transport> {
        match &mut self.carrier {
            Some(Carrier::Bytes(transport)) => Ok(transport),
            _ => Err(io::ErrorKind::NotConnected.into()),
        }
    }

    /// The transport and the parser of its answers, for one who needs both.
    #[inline]
    pub(crate) fn bytes(&mut self) -> io::Result<(&mut Transport, &mut ResponseParser)> {
        match &mut self.carrier {
            Some(Carrier::Bytes(transport)) => Ok((transport, &mut self.parser)),
            _ => Err(io::ErrorKind::NotConnected.into()),
        }
    }

    /// The streams, of a connection that has them.
    #[inline]
    pub(crate) fn session(&mut self) -> Option<&mut Session> {
        match &mut self.carrier {
            Some(Carrier::Streams(session)) => Some(session),
            _ => None,
        }
    }

    /// Bytes that streams have sent and received since this was last asked.
    pub(crate) fn take_bytes(&mut self) -> (u64, u64) {
        let Some(Carrier::Streams(session)) = &self.carrier else {
            return (0, 0);
        };
        let moved = (session.sent_bytes(), session.received_bytes());
        let before = std::mem::replace(&mut self.moved, moved);
        (moved.0 - before.0, moved.1 - before.1)
    }

    /// Begins to connect; the epoll instance reports how it goes on.
    pub(crate) fn open(
        &mut self,
        index: usize,
        endpoint: &Endpoint,
        tls: Option<&TlsClient>,
        epoll: &Epoll,
        now_ns: u64,
    ) -> io::Result<()> {
        self.close();
        let transport = Transport::open(endpoint, tls)?;
        self.generation = self.generation.wrapping_add(1);
        epoll.add(transport.fd(), self.token(index))?;
        self.carrier = Some(Carrier::Bytes(transport));
        self.moved = (0, 0);
        self.phase = Phase::Connecting { since_ns: now_ns };
        self.parser.reset();
        Ok(())
    }

    /// Goes on connecting after a report; whether exchanges may begin.
    pub(crate) fn establish(&mut self, protocol: Protocol, hung_up: bool) -> io::Result<bool> {
        if !self.transport_established()? {
            return Ok(false);
        }
        if protocol == Protocol::Http1 {
            return Ok(true);
        }
        let streams = self.lanes.len();
        self.carrier = self.carrier.take().map(|carrier| match carrier {
            Carrier::Bytes(transport) => {
                Carrier::Streams(Box::new(Session::new(transport, streams)))
            }
            streams => streams,
        });
        let Some(session) = self.session() else {
            return Err(io::ErrorKind::NotConnected.into());
        };
        session.drive_through(hung_up);
        match session.ended() {
            Some(why) => Err(io::Error::other(why.to_owned())),
            None => Ok(session.is_ready()),
        }
    }

    fn transport_established(&mut self) -> io::Result<bool> {
        match &mut self.carrier {
            Some(Carrier::Bytes(transport)) => transport.establish(),
            Some(Carrier::Streams(_)) => Ok(true),
            None => Err(io::ErrorKind::NotConnected.into()),
        }
    }

    /// How many of its lanes the server lets it use.
    pub(crate) fn usable_lanes(&mut self) -> usize {
        let lanes = self.lanes.len();
        self.session()
            .map_or(lanes, |s| s.free_streams().min(lanes))
    }

    /// Notes that the attempt succeeded. Tells whether the connection had been open before.
    pub(crate) fn opened(&mut self) -> bool {
        self.phase = Phase::Open;
        // Until an answer comes: a server that accepts and closes at once is as dead as any.
        self.barren = self.barren.saturating_add(1);
        std::mem::replace(&mut self.has_been_open, true)
    }

    /// Closes the socket, which also ends its registration.
    pub(crate) fn close(&mut self) {
        self.carrier = None;
        self.phase = Phase::Closed;
        self.is_stirred = false;
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
        let mut connection = Connection::new(0, 0..1);
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
        let mut connection = Connection::new(0, 0..1);
        let before = connection.token(77);
        connection.generation += 1;
        assert_eq!(
            Connection::index_of(before),
            Connection::index_of(connection.token(77))
        );
        assert_ne!(before, connection.token(77));
    }
}
