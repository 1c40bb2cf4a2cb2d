//! A session over memory, for bytes that a fuzzer makes up.

use std::io;

use bytes::Bytes;

use super::wire::Carrier;
use super::{Event, Session};

/// Streams at once: enough for identifiers to be mixed up.
const LANES: usize = 3;
/// Exchanges in all, so that a server which answers well is asked again.
const EXCHANGES: usize = 12;
/// Longer than the window that every stream begins with.
const BODY: &[u8] = &[b'x'; 100_000];
/// Taken at a time by a narrow carrier.
const NARROW_BYTES: usize = 1000;

/// Runs an HTTP/2 session on `input` as what a server sends, until the connection is over, and
/// gives how many exchanges were answered and how many failed.
///
/// Not part of the crate's interface: it is public because a fuzz target is a crate of its own.
/// The first byte says how the rest comes in and what is asked for:
///
/// | bits | meaning |
/// |---|---|
/// | 0–3 | bytes come in pieces of 1, 2, 4 … 32768 |
/// | 4 | behind each piece nothing can be read for once |
/// | 5 | at most 1,000 bytes can be sent at a time, and every other time none |
/// | 6 | gRPC with a body longer than a window, instead of GET |
/// | 7 | every fourth exchange is given up |
///
/// # Panics
/// When the session breaks a promise: it stands still, or an exchange has not exactly one event.
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
    // Each round moves bytes, or meets one pause.
    let rounds = 4 * input.len() + 4 * EXCHANGES * BODY.len() / NARROW_BYTES + 64;
    for _ in 0..rounds {
        if !client.go_round() {
            return (client.answered, client.failed);
        }
    }
    panic!("the session stands still: {:?}", client.session);
}

/// What the first byte of an input says.
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

/// A session under way, and what is expected of it.
struct Client {
    session: Session<Tape>,
    script: Script,
    open: [bool; LANES],
    begun: usize,
    answered: usize,
    failed: usize,
}

impl Client {
    /// Drives the session once, as an engine does. Tells whether it goes on.
    fn go_round(&mut self) -> bool {
        let _ = self.session.drive(false);
        while let Some((lane, event)) = self.session.next_event() {
            assert!(self.open[lane], "{event:?} on a lane that is free");
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

/// A carrier that plays bytes and forgets what is sent.
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
