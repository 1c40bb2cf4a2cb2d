//! One connection of a target and its state. It lives on when its socket is replaced.

use std::io;
use std::ops::Range;

use crate::endpoint::Endpoint;
use crate::epoll::Epoll;
use crate::http2::Session;
use crate::response::ResponseParser;
use crate::tls::TlsClient;
use crate::transport::Transport;
use crate::work::Protocol;

/// Pause before reconnecting after a connection that gave no answer; doubled each time.
const FIRST_PAUSE_NS: u64 = 10_000_000;
/// Upper bound of the pause: each connection tries a dead server five times per second.
const LONGEST_PAUSE_NS: u64 = 200_000_000;

/// What a connection is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Idle, without a socket.
    Closed,
    /// Waiting, without a socket, for the next attempt.
    Paused { until_ns: u64 },
    /// Connecting, then handshaking.
    Connecting { since_ns: u64 },
    /// Ready for exchanges.
    Open,
}

/// What a connection speaks over its socket.
#[derive(Debug)]
enum Carrier {
    /// Bytes: HTTP/1.1, or any protocol during the handshake.
    Bytes(Transport),
    /// HTTP/2, or gRPC over it.
    Streams(Box<Session>),
}

/// A connection of a target. It lives on when its socket is replaced.
#[derive(Debug)]
pub(crate) struct Connection {
    pub target: usize,
    /// Its lanes: one, or with HTTP/2 one per stream.
    pub lanes: Range<usize>,
    pub phase: Phase,
    /// HTTP/1.1 only.
    pub parser: ResponseParser,
    /// Streams have queued data that the socket has not been offered yet.
    pub is_stirred: bool,
    carrier: Option<Carrier>,
    /// Bytes sent and received by streams, as of the last query.
    moved: (u64, u64),
    /// Counts sockets, to recognise late events of an earlier one.
    generation: u32,
    has_been_open: bool,
    /// Consecutive attempts and sockets that led to no answer.
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

    /// The transport, or an error if there is no socket.
    #[inline]
    pub(crate) fn transport(&mut self) -> io::Result<&mut Transport> {
        match &mut self.carrier {
            Some(Carrier::Bytes(transport)) => Ok(transport),
            _ => Err(io::ErrorKind::NotConnected.into()),
        }
    }

    /// The transport and the response parser, for callers that need both.
    #[inline]
    pub(crate) fn bytes(&mut self) -> io::Result<(&mut Transport, &mut ResponseParser)> {
        match &mut self.carrier {
            Some(Carrier::Bytes(transport)) => Ok((transport, &mut self.parser)),
            _ => Err(io::ErrorKind::NotConnected.into()),
        }
    }

    /// The HTTP/2 session, if the connection has one.
    #[inline]
    pub(crate) fn session(&mut self) -> Option<&mut Session> {
        match &mut self.carrier {
            Some(Carrier::Streams(session)) => Some(session),
            _ => None,
        }
    }

    /// Bytes that streams have sent and received since the last call.
    pub(crate) fn take_bytes(&mut self) -> (u64, u64) {
        let Some(Carrier::Streams(session)) = &self.carrier else {
            return (0, 0);
        };
        let moved = (session.sent_bytes(), session.received_bytes());
        let before = std::mem::replace(&mut self.moved, moved);
        (moved.0 - before.0, moved.1 - before.1)
    }

    /// Starts connecting; epoll events drive it on.
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

    /// Continues connecting after an event. Returns whether exchanges may begin.
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

    /// How many of its lanes the server allows.
    pub(crate) fn usable_lanes(&mut self) -> usize {
        let lanes = self.lanes.len();
        self.session()
            .map_or(lanes, |s| s.free_streams().min(lanes))
    }

    /// Records that the attempt succeeded. Returns whether the connection had been open before.
    pub(crate) fn opened(&mut self) -> bool {
        self.phase = Phase::Open;
        // Only an answer resets the count: a server that accepts and closes at once counts as dead.
        self.barren = self.barren.saturating_add(1);
        std::mem::replace(&mut self.has_been_open, true)
    }

    /// Closes the socket, which also removes it from epoll.
    pub(crate) fn close(&mut self) {
        self.carrier = None;
        self.phase = Phase::Closed;
        self.is_stirred = false;
    }

    /// Records a whole answer.
    #[inline]
    pub(crate) fn answered(&mut self) {
        self.barren = 0;
    }

    /// Records a failed attempt.
    pub(crate) fn attempt_failed(&mut self) {
        self.close();
        self.barren = self.barren.saturating_add(1);
    }

    /// Pause before the next attempt, so as not to hammer a dead server.
    pub(crate) fn pause_ns(&self) -> u64 {
        match self.barren {
            0 => 0,
            n => (FIRST_PAUSE_NS << (n - 1).min(8)).min(LONGEST_PAUSE_NS),
        }
    }

    /// The epoll token of the current socket.
    #[inline]
    pub(crate) fn token(&self, index: usize) -> u64 {
        // Indices are far below 2³², see `Engine::add_target`.
        u64::from(self.generation) << 32 | index as u64
    }

    /// The connection's index in a token, even if its socket has been replaced since.
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
