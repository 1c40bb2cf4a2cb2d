//! A sender that retries every batch, with the same bytes, until the receiver accepts it.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use nix::sys::socket::{setsockopt, sockopt};
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

use super::payload;
use crate::bench::study::SEED;

/// After so many refused attempts at one batch the receiver will never accept it.
const MOST_ATTEMPTS: u32 = 20_000;

/// The pause after an attempt that got no answer.
const PAUSE: Duration = Duration::from_millis(1);

/// Timeout of an answer, and of a silent receiver.
const PATIENCE: Duration = Duration::from_secs(30);

/// The outcomes of all attempts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Attempts {
    /// Batches that the receiver acknowledged.
    pub(super) acknowledged: u64,
    /// Answered with anything but success.
    pub(super) refused: u64,
    /// Not answered: the connection was refused, closed or reset.
    pub(super) broken: u64,
    /// Cut by the sender itself, in the middle of a body.
    pub(super) cut: u64,
}

impl std::ops::AddAssign for Attempts {
    fn add_assign(&mut self, other: Attempts) {
        self.acknowledged += other.acknowledged;
        self.refused += other.refused;
        self.broken += other.broken;
        self.cut += other.cut;
    }
}

/// One connection that sends over HTTP/1.1.
pub(super) struct Sender {
    address: SocketAddr,
    connection: Option<TcpStream>,
    request: Request,
    /// The share of batches whose first attempt is cut.
    cut_share: f64,
    random: ChaCha8Rng,
    pub(super) attempts: Attempts,
}

impl Sender {
    /// A sender of batches of that many spans; `index` seeds its random numbers.
    pub(super) fn new(
        address: SocketAddr,
        spans: usize,
        cut_share: f64,
        index: u64,
    ) -> Result<Sender> {
        let mut random = ChaCha8Rng::seed_from_u64(SEED);
        random.set_stream(index);
        Ok(Sender {
            address,
            connection: None,
            request: Request::new(address, spans)?,
            cut_share,
            random,
            attempts: Attempts::default(),
        })
    }

    /// Sends a batch until it is accepted.
    pub(super) fn deliver(&mut self, batch: u64) -> Result<()> {
        self.request.number(batch);
        if self.random.random::<f64>() < self.cut_share {
            self.cut().context("cut a request")?;
        }
        for _ in 0..MOST_ATTEMPTS {
            match self.attempt() {
                Ok(200) => {
                    self.attempts.acknowledged += 1;
                    return Ok(());
                }
                Ok(_) => self.attempts.refused += 1,
                Err(_) => {
                    self.attempts.broken += 1;
                    self.connection = None;
                    thread::sleep(PAUSE);
                }
            }
        }
        bail!("{MOST_ATTEMPTS} attempts at one batch, none of them accepted");
    }

    /// One attempt, on the open connection or a new one. Returns the status.
    fn attempt(&mut self) -> io::Result<u16> {
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => connect(self.address)?,
        };
        connection.write_all(&self.request.bytes)?;
        let (status, is_kept) = answer(&connection)?;
        self.connection = is_kept.then_some(connection);
        Ok(status)
    }

    /// Sends a part of the body on a new connection, and resets it.
    fn cut(&mut self) -> io::Result<()> {
        let body_bytes = self.request.bytes.len() - self.request.head_bytes;
        let part = (self.random.random::<f64>() * body_bytes as f64) as usize;
        let end = self.request.head_bytes + part;
        let Ok(mut connection) = connect(self.address) else {
            return Ok(());
        };
        // The receiver may refuse before everything is sent, and reset the connection itself.
        let _ = connection.write_all(&self.request.bytes[..end]);
        // Time for some of it to be read; a reset discards the rest.
        thread::sleep(PAUSE);
        let at_once = libc::linger {
            l_onoff: 1,
            l_linger: 0,
        };
        setsockopt(&connection, sockopt::Linger, &at_once)?;
        self.attempts.cut += 1;
        Ok(())
    }
}

fn connect(address: SocketAddr) -> io::Result<TcpStream> {
    let connection = TcpStream::connect(address)?;
    connection.set_nodelay(true)?;
    connection.set_read_timeout(Some(PATIENCE))?;
    connection.set_write_timeout(Some(PATIENCE))?;
    Ok(connection)
}

/// The status of an answer, and whether the connection stays open.
fn answer(connection: impl io::Read) -> io::Result<(u16, bool)> {
    let mut reader = BufReader::new(connection);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let is_http = line.starts_with("HTTP/1.1 ");
    let status = line.split(' ').nth(1).filter(|_| is_http);
    let status = status.and_then(|status| status.parse().ok());
    let (mut length, mut is_kept) = (0, true);
    while line != "\r\n" {
        line.clear();
        if reader.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let field = line.to_ascii_lowercase();
        if let Some(value) = field.strip_prefix("content-length:") {
            length = value.trim().parse().map_err(io::Error::other)?;
        }
        is_kept &= field.trim_end() != "connection: close";
    }
    reader.read_exact(&mut vec![0; length])?;
    Ok((status.ok_or(io::ErrorKind::InvalidData)?, is_kept))
}

/// A request whose first span's trace id contains the number of the batch, so that no two batches
/// have the same bytes.
struct Request {
    bytes: Vec<u8>,
    head_bytes: usize,
    number_at: usize,
}

/// Searched for in the body, where it is unique.
const TRACE_ID: [u8; 16] = [0xa5; 16];

impl Request {
    fn new(address: SocketAddr, spans: usize) -> Result<Request> {
        let body = payload::minimal(spans, TRACE_ID);
        let mut bytes = format!(
            "POST /v1/traces HTTP/1.1\r\nHost: {address}\r\n\
             Content-Type: application/x-protobuf\r\nContent-Length: {}\r\n\r\n",
            body.len()
        )
        .into_bytes();
        let head_bytes = bytes.len();
        bytes.extend_from_slice(&body);
        let number_at = bytes
            .windows(TRACE_ID.len())
            .position(|window| window == TRACE_ID)
            .context("a batch has no span")?;
        Ok(Request {
            bytes,
            head_bytes,
            number_at,
        })
    }

    fn number(&mut self, batch: u64) {
        self.bytes[self.number_at..][..8].copy_from_slice(&batch.to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn answers_are_read_completely() {
        let table = [
            (
                "HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nabc",
                Some((200, true)),
            ),
            (
                "HTTP/1.1 503 No\r\nConnection: close\r\n\r\n",
                Some((503, false)),
            ),
            ("HTTP/1.1 200 OK\r\nContent-", None),
            ("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab", None),
            ("SSH-2.0 200 x\r\n\r\n", None),
            ("", None),
        ];
        for (text, expected) in table {
            assert_eq!(answer(text.as_bytes()).ok(), expected, "{text:?}");
        }
    }

    #[test]
    fn batches_differ_only_in_their_number() {
        let address = SocketAddr::from(([127, 0, 0, 1], 81));
        let mut request = Request::new(address, 3).unwrap();
        request.number(1);
        let first = request.bytes.clone();
        request.number(2);
        let differ = first.iter().zip(&request.bytes).filter(|(a, b)| a != b);
        assert_eq!((differ.count(), first.len()), (1, request.bytes.len()));
    }

    /// What the receiver of the next test does with a request.
    enum Turn {
        Answer(&'static [u8]),
        HangUp,
    }

    /// A receiver that reads complete requests and answers each as in `turns`. Returns the
    /// bodies' first bytes.
    fn receive(listener: &TcpListener, request_bytes: usize, turns: &[Turn]) -> Vec<Vec<u8>> {
        let mut requests = Vec::new();
        let mut connection = None;
        for turn in turns {
            let mut socket: TcpStream = connection
                .take()
                .unwrap_or_else(|| listener.accept().unwrap().0);
            let mut request = vec![0; request_bytes];
            socket.read_exact(&mut request).unwrap();
            requests.push(request);
            if let Turn::Answer(answer) = turn {
                socket.write_all(answer).unwrap();
                connection = answer.starts_with(b"HTTP/1.1 2").then_some(socket);
            }
        }
        requests
    }

    #[test]
    fn the_same_bytes_are_retried_until_accepted() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let mut sender = Sender::new(address, 2, 0.0, 1).unwrap();
        let request_bytes = sender.request.bytes.len();
        let turns = [
            Turn::Answer(b"HTTP/1.1 503 Busy\r\nConnection: close\r\n\r\n"),
            Turn::HangUp,
            Turn::Answer(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
            Turn::Answer(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
        ];
        let requests = thread::scope(|scope| {
            let receiver = scope.spawn(|| receive(&listener, request_bytes, &turns));
            sender.deliver(7).unwrap();
            sender.deliver(8).unwrap();
            receiver.join().unwrap()
        });
        assert!(requests[0] == requests[1] && requests[1] == requests[2]);
        assert_ne!(requests[2], requests[3]);
        let expected = Attempts {
            acknowledged: 2,
            refused: 1,
            broken: 1,
            cut: 0,
        };
        assert_eq!(sender.attempts, expected);
    }

    #[test]
    fn a_cut_request_never_ends() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let mut sender = Sender::new(address, 100, 1.0, 1).unwrap();
        let request_bytes = sender.request.bytes.len();
        sender.cut().unwrap();
        assert_eq!(sender.attempts.cut, 1);
        let mut socket = listener.accept().unwrap().0;
        let mut received = Vec::new();
        let error = socket.read_to_end(&mut received).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
        assert!(received.len() < request_bytes);
    }
}
