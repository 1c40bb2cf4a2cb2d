//! A web server behind a proxy under test that is never the bottleneck.
//!
//! One thread, edge-triggered epoll, one receive and one send per request, no allocation. Every
//! request gets the same page.

#![forbid(unsafe_code)]

use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd};
use std::process::ExitCode;

use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};

mod heads;

use heads::Heads;

const USAGE: &str = "usage: origin --listen ADDRESS

A web server for behind a proxy: answers every request on ADDRESS, such as 127.0.0.1:8000, with the
same page of 50 bytes, over HTTP/1.1, and keeps connections. Requests may not have a body. Tells the
address on standard error. Ends with a signal.";

/// The page has 50 bytes, as that of public measurements of proxies.
const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 50\r\n\r\n\
    The same page, and again, and again: fifty bytes.\n";

/// Room for the head of a proxy's request, with the fields that a tracer adds.
const BUFFER_BYTES: usize = 16 * 1024;

const BATCH: usize = 64;

struct Connection {
    socket: TcpStream,
    heads: Heads,
}

fn main() -> ExitCode {
    let words: Vec<_> = std::env::args().collect();
    let outcome = match &words[..] {
        [_, flag, address] if flag == "--listen" => {
            serve(address).map_err(|error| format!("origin: {address}: {error}"))
        }
        _ => Err(USAGE.to_owned()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "{error}");
            ExitCode::from(2)
        }
    }
}

/// Serves until a signal ends the process.
fn serve(address: &str) -> io::Result<()> {
    let listener = TcpListener::bind(address)?;
    listener.set_nonblocking(true)?;
    let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
    watch(&epoll, &listener, EpollFlags::EPOLLIN)?;
    writeln!(io::stderr(), "listening on {}", listener.local_addr()?)?;

    let listener_id = id(&listener);
    let mut connections = HashMap::new();
    let mut events = [EpollEvent::empty(); BATCH];
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        let ready = match epoll.wait(&mut events, EpollTimeout::NONE) {
            Err(Errno::EINTR) => 0,
            ready => ready?,
        };
        for event in &events[..ready] {
            let which = event.data();
            if which == listener_id {
                accept(&epoll, &listener, &mut connections)?;
            } else if let Some(connection) = connections.get_mut(&which)
                // After any error this connection is useless, but the others are not.
                && !connection.answer(&mut buffer).unwrap_or(false)
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
            // The peer disconnected before it was accepted.
            Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => continue,
            Err(error) => return Err(error),
        };
        socket.set_nodelay(true)?;
        socket.set_nonblocking(true)?;
        watch(
            epoll,
            &socket,
            EpollFlags::EPOLLIN | EpollFlags::EPOLLRDHUP | EpollFlags::EPOLLET,
        )?;
        let heads = Heads::default();
        connections.insert(id(&socket), Connection { socket, heads });
    }
}

impl Connection {
    /// Reads everything and answers the requests that ended in it. False when the peer has
    /// disconnected.
    fn answer(&mut self, buffer: &mut [u8]) -> io::Result<bool> {
        loop {
            let received = match self.socket.read(buffer) {
                Ok(0) => return Ok(false),
                Ok(received) => received,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(true),
                Err(error) => return Err(error),
            };
            for _ in 0..self.heads.take(&buffer[..received]) {
                // An answer is short and the socket buffer empty, so it is sent in one call.
                self.socket.write_all(ANSWER)?;
            }
            // A short read has emptied the socket; later data is a new event, and so is the end of
            // the connection.
            if received < buffer.len() {
                return Ok(true);
            }
        }
    }
}
