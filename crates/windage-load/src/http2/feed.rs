//! Runs a session over memory, on bytes from a fuzzer.

use std::io;

use bytes::Bytes;

use super::wire::Carrier;
use super::{Event, Session};

/// Concurrent streams: enough to mix up identifiers.
const LANES: usize = 3;
/// Exchanges in total, so that a server which answers well gets more requests.
const EXCHANGES: usize = 12;
/// Longer than a stream's initial window.
const BODY: &[u8] = &[b'x'; 100_000];
/// Bytes per send of a narrow carrier.
const NARROW_BYTES: usize = 1000;

/// Runs an HTTP/2 session with `input` as the server's bytes until the connection ends. Returns how
/// many exchanges were answered and how many failed.
///
/// Public only because a fuzz target is a crate of its own. The first byte of the input sets the
/// mode:
///
/// | bits | meaning |
/// |---|---|
/// | 0–3 | bytes come in pieces of 1, 2, 4 … 32768 |
/// | 4 | after each piece one read finds nothing |
/// | 5 | at most 1,000 bytes can be sent at a time, and none every other time |
/// | 6 | gRPC with a body longer than a window, instead of GET |
/// | 7 | every fourth exchange is given up |
///
/// # Panics
/// When the session violates its contract: it stalls, or an exchange does not have exactly one
/// event.
#[doc(hidden)]
pub fn feed_http2(input: &[u8]) -> (usize, usize) {
    let Some((&first, rest)) = input.split_first() else {
        return (0, 0);
    };
    let script = Script::of(first);
    let mut client = Client {
        session: Session::over(Tape::new(rest.to_vec(), script), LANES),
        script,
        open: [false; LANES],
        begun: 0,
        answered: 0,
        failed: 0,
    };
    // Each round moves bytes or meets one pause.
    let rounds = 4 * input.len() + 4 * EXCHANGES * BODY.len() / NARROW_BYTES + 64;
    for _ in 0..rounds {
        if !client.go_round() {
            return (client.answered, client.failed);
        }
    }
    panic!("the session stalls: {:?}", client.session);
}

/// The mode from an input's first byte.
#[derive(Clone, Copy, Debug)]
struct Script {
    piece_bytes: usize,
    pauses: bool,
    is_narrow: bool,
    is_grpc: bool,
    gives_up: bool,
}

impl Script {
    fn of(byte: u8) -> Script {
        let bit = |bit: u8| byte >> bit & 1 == 1;
        Script {
            piece_bytes: 1 << (byte & 15),
            pauses: bit(4),
            is_narrow: bit(5),
            is_grpc: bit(6),
            gives_up: bit(7),
        }
    }
}

/// A running session and the state expected of it.
struct Client {
    session: Session<Tape>,
    script: Script,
    open: [bool; LANES],
    begun: usize,
    answered: usize,
    failed: usize,
}

impl Client {
    /// Drives the session once, as an engine does. Returns whether it goes on.
    fn go_round(&mut self) -> bool {
        let _ = self.session.drive(false);
        while let Some((lane, event)) = self.session.next_event() {
            assert!(self.open[lane], "{event:?} on a free lane");
            self.open[lane] = false;
            match event {
                Event::Answer { .. } => self.answered += 1,
                Event::Failed { .. } => self.failed += 1,
            }
        }
        if self.session.ended().is_some() {
            assert_eq!(self.open, [false; LANES], "an exchange without an event");
            return false;
        }
        for lane in 0..LANES {
            self.use_lane(lane);
        }
        let _ = self.session.push();
        true
    }

    fn use_lane(&mut self, lane: usize) {
        if self.open[lane] && self.script.gives_up && self.begun % 4 == 3 {
            self.session.cancel(lane);
            self.open[lane] = false;
        }
        if self.open[lane] || self.begun == EXCHANGES || self.session.free_streams() == 0 {
            return;
        }
        let (method, body) = if self.script.is_grpc {
            ("POST", Bytes::from_static(BODY))
        } else {
            ("GET", Bytes::new())
        };
        let mut request = http::Request::new(());
        *request.method_mut() = method.parse().expect("a method");
        *request.uri_mut() = http::Uri::from_static("http://host/path");
        self.session
            .send(lane, request, body, self.script.is_grpc)
            .expect("a session with a free stream takes a request");
        self.open[lane] = true;
        self.begun += 1;
    }
}

/// A carrier that plays back bytes and discards what is sent.
struct Tape {
    bytes: Vec<u8>,
    at: usize,
    script: Script,
    piece_left: usize,
    was_sent: bool,
}

impl Tape {
    fn new(bytes: Vec<u8>, script: Script) -> Tape {
        Tape {
            bytes,
            at: 0,
            script,
            piece_left: script.piece_bytes,
            was_sent: false,
        }
    }
}

impl Carrier for Tape {
    fn send_some(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.script.is_narrow {
            return Ok(bytes.len());
        }
        self.was_sent = !self.was_sent;
        if self.was_sent {
            Ok(bytes.len().min(NARROW_BYTES))
        } else {
            Err(io::ErrorKind::WouldBlock.into())
        }
    }

    fn flush(&mut self) -> io::Result<bool> {
        Ok(true)
    }

    fn receive_some(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.piece_left == 0 {
            self.piece_left = self.script.piece_bytes;
            if self.script.pauses {
                return Err(io::ErrorKind::WouldBlock.into());
            }
        }
        let rest = &self.bytes[self.at..];
        let length = rest.len().min(buffer.len()).min(self.piece_left);
        buffer[..length].copy_from_slice(&rest[..length]);
        self.at += length;
        self.piece_left -= length;
        Ok(length)
    }

    fn short_read_drains(&self) -> bool {
        false
    }
}
