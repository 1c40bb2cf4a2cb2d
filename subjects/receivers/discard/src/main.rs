//! The minimum cost of a receiver over HTTP/1.1.
//!
//! One thread waits on epoll, reads into one buffer that all connections share, finds the end of
//! the request, and answers 200 without a body. It reads the bytes of a body and ignores them, so
//! its cost is a lower bound for receivers that process them.

use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd};
use std::process::ExitCode;

use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};

mod reader;

use reader::Reader;

const USAGE: &str = "usage: discard ADDRESS

Reads requests over HTTP/1.1 on ADDRESS, such as 127.0.0.1:0, throws them away and answers 200. Tells
the address on standard error and, at SIGTERM, requests and bytes as one line of JSON. Requests
must tell their length.";

/// Large enough that the copy outweighs the call, and small enough for a core's cache.
const BUFFER_BYTES: usize = 256 * 1024;

const BATCH: usize = 64;

const ANSWER: &[u8] =
    b"HTTP/1.1 200 OK\r\nContent-Type: application/x-protobuf\r\nContent-Length: 0\r\n\r\n";

/// What was received, heads included.
#[derive(Debug, Default)]
struct Counts {
    requests: u64,
    bytes: u64,
}

struct Connection {
    socket: TcpStream,
    reader: Reader,
}

fn main() -> ExitCode {
    let mut words = std::env::args();
    let _program = words.next();
    let outcome = match (words.next(), words.next()) {
        (Some(address), None) if !address.starts_with('-') => {
            run(&address).map_err(|error| format!("discard: {address}: {error}"))
        }
        _ => Err(USAGE.to_owned()),
    };
    match outcome {
        Ok(Counts { requests, bytes }) => {
            let _ = writeln!(
                io::stdout(),
                "{{\"requests\":{requests},\"bytes\":{bytes}}}"
            );
            ExitCode::SUCCESS
        }
        Err(error) => {
            let _ = writeln!(io::stderr(), "{error}");
            ExitCode::from(2)
        }
    }
}

/// Receives until SIGTERM.
fn run(address: &str) -> io::Result<Counts> {
    let mut terminate = SigSet::empty();
    terminate.add(Signal::SIGTERM);
    terminate.thread_block()?;
    let signals = SignalFd::with_flags(&terminate, SfdFlags::SFD_CLOEXEC)?;

    let listener = TcpListener::bind(address)?;
    listener.set_nonblocking(true)?;
    let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
    watch(&epoll, &signals, EpollFlags::EPOLLIN)?;
    watch(&epoll, &listener, EpollFlags::EPOLLIN)?;
    writeln!(io::stderr(), "otlp-http {}", listener.local_addr()?)?;

    let (signal_id, listener_id) = (id(&signals), id(&listener));
    let mut connections = HashMap::new();
    let mut events = [EpollEvent::empty(); BATCH];
    let mut buffer = vec![0; BUFFER_BYTES];
    let mut counts = Counts::default();
    loop {
        let ready = match epoll.wait(&mut events, EpollTimeout::NONE) {
            Err(Errno::EINTR) => 0,
            ready => ready?,
        };
        for event in &events[..ready] {
            let which = event.data();
            if which == signal_id {
                return Ok(counts);
            } else if which == listener_id {
                accept(&epoll, &listener, &mut connections)?;
            } else if let Some(connection) = connections.get_mut(&which)
                && !connection.receive(&mut buffer, &mut counts)?
            {
                connections.remove(&which);
            }
        }
    }
}

fn watch(epoll: &Epoll, source: &impl AsFd, flags: EpollFlags) -> io::Result<()> {
    let which = id(source);
    Ok(epoll.add(source, EpollEvent::new(flags, which))?)
}

/// A descriptor's number is unique while it is open.
fn id(source: &impl AsFd) -> u64 {
    u64::from(source.as_fd().as_raw_fd().unsigned_abs())
}

fn accept(
    epoll: &Epoll,
    listener: &TcpListener,
    connections: &mut HashMap<u64, Connection>,
) -> io::Result<()> {
    loop {
        let socket = match listener.accept() {
            Ok((socket, _)) => socket,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
            Err(error) => return Err(error),
        };
        socket.set_nodelay(true)?;
        socket.set_nonblocking(true)?;
        watch(epoll, &socket, EpollFlags::EPOLLIN | EpollFlags::EPOLLET)?;
        let reader = Reader::default();
        connections.insert(id(&socket), Connection { socket, reader });
    }
}

impl Connection {
    /// Reads everything and answers the requests that ended in it. False when the sender has
    /// disconnected.
    fn receive(&mut self, buffer: &mut [u8], counts: &mut Counts) -> io::Result<bool> {
        loop {
            let received = match self.socket.read(buffer) {
                Ok(0) => return Ok(false),
                Ok(received) => received,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(true),
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Ok(false),
                Err(error) => return Err(error),
            };
            counts.bytes += received as u64;
            let requests = self
                .reader
                .take(&buffer[..received])
                .map_err(io::Error::other)?;
            counts.requests += requests;
            for _ in 0..requests {
                // An answer is short and the socket buffer empty, so it is sent in one call.
                self.socket.write_all(ANSWER)?;
            }
            // A short read has emptied the socket; later data is a new event.
            if received < buffer.len() {
                return Ok(true);
            }
        }
    }
}
