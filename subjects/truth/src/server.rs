//! The server: one thread, one epoll instance, a heap of answers ordered by due time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::time::TimeSpec;

use crate::account::{Account, Bookkeeper};
use crate::answering::Answering;
use crate::clock::{POLLED_NS, monotonic_ns, sleep_until};
use crate::request::Head;
use crate::socket::{self, Received};

/// Longest time without checking the stop flag.
const LONGEST_WAIT_NS: u64 = 50_000_000;
const BUFFER_BYTES: usize = 4096;
const BATCH: usize = 64;

const LISTENER: u64 = u64::MAX;
const INPUT: u64 = u64::MAX - 1;

const ANSWER: &[u8] =
    b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 6\r\n\r\ntruth\n";
const LAST_ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\
    Content-Length: 6\r\nConnection: close\r\n\r\ntruth\n";

/// An error of the server itself. A client's error only closes its connection.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The address can't be listened on.
    #[error("can't listen on {address}: {source}; give another address with --listen")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// A connection can't be taken.
    #[error("can't accept a connection: {0}; see `ulimit -n` if it speaks of too many open files")]
    Accept(io::Error),
    /// Standard input can't be watched for its end.
    #[error("can't watch standard input: {0}; with --until-eof it has to be a pipe or a terminal")]
    Input(Errno),
    /// Waiting for events failed.
    #[error("{call} failed: {source}")]
    Wait {
        /// The call.
        call: &'static str,
        /// Why.
        source: Errno,
    },
}

/// A connection. Its slot is reused only when no answer is due on it any more, so there are never
/// more answers due than slots.
#[derive(Debug)]
struct Connection {
    /// `None`: closed, with its answer still due.
    socket: Option<TcpStream>,
    head: Head,
    /// When it was accepted or last answered; its next request can't be earlier.
    since_ns: u64,
    /// Whether the connection stays open after the answer that is due, if one is.
    pending: Option<KeepAlive>,
}

type KeepAlive = bool;

/// A server that answers by the clock, see [`Answering`].
#[derive(Debug)]
pub struct Server {
    epoll: Epoll,
    listener: TcpListener,
    answering: Answering,
    most_connections: usize,
    stop: Arc<AtomicBool>,
    input_ended: bool,
    places: Vec<Option<Connection>>,
    vacant: Vec<usize>,
    /// When the next answers are due, and on which connections.
    due: BinaryHeap<Reverse<(u64, usize)>>,
    books: Bookkeeper,
    buffer: Box<[u8; BUFFER_BYTES]>,
}

impl Server {
    /// Listens on `address`; port 0 stands for one that the kernel picks. Connections queue up
    /// until [`serve`](Server::serve) is called. What is beyond `most_connections` at a time is
    /// closed as soon as it is accepted.
    ///
    /// # Errors
    /// When the address can't be listened on, or the kernel gives no epoll instance.
    pub fn bind(
        address: SocketAddr,
        answering: Answering,
        most_connections: usize,
    ) -> Result<Server, ServeError> {
        let listen_failed = |source| ServeError::Listen { address, source };
        let listener = TcpListener::bind(address).map_err(listen_failed)?;
        listener.set_nonblocking(true).map_err(listen_failed)?;
        let epoll =
            Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).map_err(wait_failed("epoll_create1"))?;
        epoll
            .add(&listener, EpollEvent::new(EpollFlags::EPOLLIN, LISTENER))
            .map_err(wait_failed("epoll_ctl"))?;
        Ok(Server {
            epoll,
            listener,
            answering,
            most_connections,
            stop: Arc::default(),
            input_ended: false,
            places: Vec::new(),
            vacant: Vec::new(),
            due: BinaryHeap::new(),
            books: Bookkeeper::new(),
            buffer: Box::new([0; BUFFER_BYTES]),
        })
    }

    /// Where it listens.
    ///
    /// # Errors
    /// When the kernel can't report it.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Ends soon after this flag is set, as by a signal.
    #[must_use]
    pub fn stopped_by(mut self, flag: Arc<AtomicBool>) -> Server {
        self.stop = flag;
        self
    }

    /// Ends when standard input does.
    ///
    /// # Errors
    /// When standard input is a file or `/dev/null`, which can't be waited for.
    pub fn until_end_of_input(self) -> Result<Server, ServeError> {
        let event = EpollEvent::new(EpollFlags::EPOLLIN, INPUT);
        self.epoll
            .add(io::stdin().as_fd(), event)
            .map_err(ServeError::Input)?;
        Ok(self)
    }

    /// Serves until it is stopped, and returns how late its answers were.
    ///
    /// # Errors
    /// When it runs out of descriptors, or waiting fails.
    pub fn serve(mut self) -> Result<Account, ServeError> {
        let mut events = [EpollEvent::empty(); BATCH];
        while !self.input_ended && !self.stop.load(Ordering::Relaxed) {
            self.answer_due();
            let ready = self.wait(&mut events)?;
            for event in &events[..ready] {
                // In a stall, events are not handled.
                self.awake();
                self.handle(event.data())?;
            }
        }
        Ok(self.books.account())
    }

    /// The current time, after waiting for the end of a stall.
    fn awake(&self) -> u64 {
        loop {
            let now_ns = monotonic_ns();
            let awake_ns = self.answering.awake_ns(now_ns);
            if awake_ns == now_ns {
                return now_ns;
            }
            sleep_until(awake_ns);
        }
    }

    fn answer_due(&mut self) {
        while let Some(&Reverse((due_ns, place))) = self.due.peek() {
            let now_ns = self.awake();
            if due_ns > now_ns {
                return;
            }
            self.due.pop();
            self.answer(place, due_ns, now_ns);
        }
    }

    fn answer(&mut self, place: usize, due_ns: u64, now_ns: u64) {
        let Some(connection) = &mut self.places[place] else {
            return;
        };
        let keep_alive = connection.pending.take().unwrap_or(false);
        connection.since_ns = now_ns;
        let answer = if keep_alive { ANSWER } else { LAST_ANSWER };
        let is_sent = connection
            .socket
            .as_ref()
            .is_some_and(|socket| socket::send(socket, answer));
        if is_sent {
            self.books.answered(now_ns - due_ns);
        }
        if !is_sent || !keep_alive {
            self.close(place);
        }
    }

    /// Waits for events, at most until the next answer is nearly due: the rest is polled for.
    fn wait(&self, events: &mut [EpollEvent]) -> Result<usize, ServeError> {
        let next_ns = self.due.peek().map(|Reverse((due_ns, _))| *due_ns);
        let sleep_ns = next_ns.map_or(LONGEST_WAIT_NS, |due_ns| {
            due_ns.saturating_sub(monotonic_ns() + POLLED_NS)
        });
        if sleep_ns > 0 {
            let mut watched = [PollFd::new(self.epoll.0.as_fd(), PollFlags::POLLIN)];
            let timeout = Duration::from_nanos(sleep_ns.min(LONGEST_WAIT_NS));
            // epoll_wait knows only whole milliseconds.
            unless_interrupted(ppoll(
                &mut watched,
                Some(TimeSpec::from_duration(timeout)),
                None,
            ))
            .map_err(wait_failed("ppoll"))?;
        }
        unless_interrupted(self.epoll.wait(events, EpollTimeout::ZERO))
            .map_err(wait_failed("epoll_wait"))
    }

    fn handle(&mut self, token: u64) -> Result<(), ServeError> {
        match token {
            LISTENER => self.accept(),
            INPUT => {
                self.input_ended = socket::input_has_ended();
                Ok(())
            }
            place => {
                // Slots count up from 0, so the cast is lossless.
                self.read(place as usize);
                Ok(())
            }
        }
    }

    /// Takes one connection; the listener is reported again while there are more.
    fn accept(&mut self) -> Result<(), ServeError> {
        let socket = match self.listener.accept() {
            Ok((socket, _)) => socket,
            Err(error) if is_the_clients_doing(&error) => return Ok(()),
            Err(error) => return Err(ServeError::Accept(error)),
        };
        let is_full = self.vacant.is_empty() && self.places.len() >= self.most_connections;
        // The socket of a client that has already disconnected can't be set up.
        if is_full || socket::prepare(&socket).is_err() {
            return Ok(());
        }
        let place = self.vacant.pop().unwrap_or(self.places.len());
        let event = EpollEvent::new(EpollFlags::EPOLLIN | EpollFlags::EPOLLRDHUP, place as u64);
        self.epoll
            .add(&socket, event)
            .map_err(wait_failed("epoll_ctl"))?;
        let connection = Connection {
            socket: Some(socket),
            head: Head::default(),
            // Its request may have arrived before the accept.
            since_ns: 0,
            pending: None,
        };
        if place == self.places.len() {
            self.places.push(Some(connection));
        } else {
            self.places[place] = Some(connection);
        }
        Ok(())
    }

    fn read(&mut self, place: usize) {
        let Some(connection) = self.places.get_mut(place).and_then(Option::as_mut) else {
            return;
        };
        let Some(socket) = &connection.socket else {
            return;
        };
        let (length, came_ns) = match socket::receive(socket, &mut self.buffer[..]) {
            Received::Bytes { length, came_ns } => (length, came_ns),
            Received::Nothing => return,
            Received::End => return self.close(place),
        };
        if connection.pending.is_some() {
            // A pipelined request: the answer would no longer depend only on the arrival.
            return self.close(place);
        }
        match connection.head.feed(&self.buffer[..length]) {
            Ok(None) => {}
            Ok(Some(request)) => {
                connection.pending = Some(request.keep_alive);
                let came_ns = came_ns.max(connection.since_ns);
                let due_ns = self.answering.answered_ns(came_ns);
                self.due.push(Reverse((due_ns, place)));
            }
            Err(_) => self.close(place),
        }
    }

    /// Closes a connection. Its slot is free at once, or when its answer would have been due.
    fn close(&mut self, place: usize) {
        let slot = &mut self.places[place];
        if let Some(connection) = slot {
            connection.socket = None;
            if connection.pending.is_none() {
                *slot = None;
                self.vacant.push(place);
            }
        }
    }
}

/// The connection ended between the two handshakes, or there was none.
fn is_the_clients_doing(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionReset, Interrupted, WouldBlock};
    matches!(
        error.kind(),
        WouldBlock | ConnectionAborted | ConnectionReset | Interrupted
    )
}

fn wait_failed(call: &'static str) -> impl Fn(Errno) -> ServeError {
    move |source| ServeError::Wait { call, source }
}

/// A signal ends a wait early, which only causes another iteration.
fn unless_interrupted<T: Default>(result: Result<T, Errno>) -> Result<T, Errno> {
    match result {
        Err(Errno::EINTR) => Ok(T::default()),
        other => other,
    }
}
