//! The server: one thread, one epoll instance, answers in a heap by when they are due.

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

/// Longest stretch without a look at the stop flag.
const LONGEST_WAIT_NS: u64 = 50_000_000;
const BUFFER_BYTES: usize = 4096;
const BATCH: usize = 64;

const LISTENER: u64 = u64::MAX;
const INPUT: u64 = u64::MAX - 1;

const ANSWER: &[u8] =
    b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 6\r\n\r\ntruth\n";
const LAST_ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\
    Content-Length: 6\r\nConnection: close\r\n\r\ntruth\n";

/// What the server itself could not do. What clients do wrong costs them their connection.
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

/// A connection. Its place is given to another one only when no answer is due on it any more, so
/// that there are never more answers due than places.
#[derive(Debug)]
struct Connection {
    /// None: closed, and its answer still due.
    socket: Option<TcpStream>,
    head: Head,
    /// When it was accepted or last answered, before which its next request can't have come.
    since_ns: u64,
    /// An answer is due, and whether the connection goes on after it.
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
    /// When the next answers go out, and where.
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
    /// When the kernel doesn't say.
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

    /// Serves until it is stopped, and says how true it was.
    ///
    /// # Errors
    /// When it runs out of descriptors, or waiting fails.
    pub fn serve(mut self) -> Result<Account, ServeError> {
        let mut events = [EpollEvent::empty(); BATCH];
        while !self.input_ended && !self.stop.load(Ordering::Relaxed) {
            self.answer_due();
            let ready = self.wait(&mut events)?;
            for event in &events[..ready] {
                // Whatever woke it, in a stall nothing is done about it.
                self.awake();
                self.handle(event.data())?;
            }
        }
        Ok(self.books.account())
    }

    /// The present, once no stall lasts.
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
                // Places count up from 0, so the cast gives back what was cast before.
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
        // A client that has gone already leaves a socket that can't be set up.
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
            // Its request may have come before it was accepted.
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
            // A request sent ahead: answers would no longer follow from when requests came.
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

    /// Closes a connection. Its place is vacant at once, or when its answer would have been due.
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

/// A signal ends a wait early, which costs no more than another turn.
fn unless_interrupted<T: Default>(result: Result<T, Errno>) -> Result<T, Errno> {
    match result {
        Err(Errno::EINTR) => Ok(T::default()),
        other => other,
    }
}
