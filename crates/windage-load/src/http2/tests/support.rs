//! Scripted servers, and a client that waits for a session as the engine does.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use bytes::Bytes;
use h2::RecvStream;
use h2::server::SendResponse;
use http::{Request, Response};
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};

use crate::endpoint::Endpoint;
use crate::http2::{Event, Session};
use crate::transport::Transport;

/// Far longer than any exchange here takes.
const PATIENCE: Duration = Duration::from_secs(20);

/// A server for one connection, on a thread of its own.
pub(super) struct Server {
    pub(super) address: SocketAddr,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Bytes written by hand.
    pub(super) fn raw(act: impl FnOnce(TcpStream) + Send + 'static) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let thread = std::thread::spawn(move || {
            let (socket, _) = listener.accept().unwrap();
            socket.set_read_timeout(Some(PATIENCE)).unwrap();
            act(socket);
        });
        Server {
            address,
            thread: Some(thread),
        }
    }

    /// HTTP/2; `respond` answers each request in a task of its own.
    pub(super) fn new<F, A>(builder: h2::server::Builder, respond: F) -> Server
    where
        F: Fn(Request<RecvStream>, SendResponse<Bytes>) -> A + Send + 'static,
        A: Future<Output = ()> + Send + 'static,
    {
        Server::raw(move |socket| {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            runtime.block_on(async move {
                socket.set_nonblocking(true).unwrap();
                let socket = tokio::net::TcpStream::from_std(socket).unwrap();
                let mut connection = builder.handshake::<_, Bytes>(socket).await.unwrap();
                while let Some(Ok((request, answer))) = connection.accept().await {
                    tokio::spawn(respond(request, answer));
                }
            });
        })
    }

    /// HTTP/2 that answers every request with 200 and no body.
    pub(super) fn plain() -> Server {
        Server::new(h2::server::Builder::new(), |_, mut answer| async move {
            answer.send_response(Response::new(()), true).unwrap();
        })
    }

    /// Waits for the server to end; its failures fail the test here.
    pub(super) fn join(mut self) {
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

/// A session on a socket that is watched edge-triggered.
pub(super) struct Client {
    pub(super) session: Session,
    epoll: Epoll,
}

impl Client {
    /// Connects. The session has not been driven yet.
    pub(super) fn open(address: SocketAddr, streams: usize) -> Client {
        let mut transport = Transport::open(&Endpoint::Tcp(address), None).unwrap();
        let epoll = Epoll::new(EpollCreateFlags::empty()).unwrap();
        let flags = EpollFlags::EPOLLIN
            | EpollFlags::EPOLLOUT
            | EpollFlags::EPOLLRDHUP
            | EpollFlags::EPOLLET;
        epoll
            .add(transport.fd(), EpollEvent::new(flags, 0))
            .unwrap();
        let deadline = Instant::now() + PATIENCE;
        loop {
            epoll
                .wait(&mut [EpollEvent::empty()], EpollTimeout::from(100u16))
                .unwrap();
            if transport.establish().unwrap() {
                break;
            }
            assert!(Instant::now() < deadline, "no connection");
        }
        Client {
            session: Session::new(transport, streams),
            epoll,
        }
    }

    /// Connects and waits for the server's preface.
    pub(super) fn ready(address: SocketAddr, streams: usize) -> Client {
        let mut client = Client::open(address, streams);
        client.until(Session::is_ready);
        client
    }

    /// Drives the session until `is_done`.
    pub(super) fn until(&mut self, is_done: impl Fn(&Session) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        let mut wants_more = self.session.drive(false);
        while !is_done(&self.session) {
            assert!(
                Instant::now() < deadline,
                "nothing happened to {:?}",
                self.session
            );
            let mut events = [EpollEvent::empty()];
            let timeout = if wants_more { 0u16 } else { 100 };
            let reported = self
                .epoll
                .wait(&mut events, EpollTimeout::from(timeout))
                .unwrap();
            let hung_up = events[0]
                .events()
                .intersects(EpollFlags::EPOLLRDHUP | EpollFlags::EPOLLHUP | EpollFlags::EPOLLERR);
            // Driven only after an event, so that a missed event shows up.
            if reported == 1 {
                wants_more = self.session.drive(hung_up);
            } else if wants_more {
                wants_more = self.session.push();
            }
        }
    }

    /// Waits for this many events and sorts them by lane.
    pub(super) fn events(&mut self, count: usize) -> Vec<(usize, Event)> {
        self.until(|session| session.events.len() >= count);
        let mut events: Vec<_> = std::iter::from_fn(|| self.session.next_event()).collect();
        assert_eq!(events.len(), count, "{events:?}");
        events.sort_by_key(|&(lane, _)| lane);
        events
    }

    /// Waits for the only event.
    pub(super) fn event(&mut self) -> Event {
        self.events(1).remove(0).1
    }

    pub(super) fn get(&mut self, lane: usize, path: &str) {
        self.send(lane, "GET", path, Bytes::new());
    }

    pub(super) fn post(&mut self, lane: usize, path: &str, body: Bytes) {
        self.send(lane, "POST", path, body);
    }

    pub(super) fn call(&mut self, lane: usize, path: &str) {
        let body = crate::grpc::frame(b"message").unwrap();
        self.session
            .send(lane, request("POST", path), body, true)
            .unwrap();
    }

    pub(super) fn send(&mut self, lane: usize, method: &str, path: &str, body: Bytes) {
        self.session
            .send(lane, request(method, path), body, false)
            .unwrap();
    }
}

pub(super) fn request(method: &str, path: &str) -> Request<()> {
    Request::builder()
        .method(method)
        .uri(format!("http://127.0.0.1{path}"))
        .version(http::Version::HTTP_2)
        .body(())
        .unwrap()
}

pub(super) fn answer(status: u16) -> Event {
    Event::Answer { status, grpc: None }
}

/// Whether the protocol was violated, and the message. Panics unless it is a failure.
#[track_caller]
pub(super) fn failure(event: Event) -> (bool, String) {
    match event {
        Event::Failed { protocol, why } => (protocol, why),
        Event::Answer { .. } => panic!("{event:?}"),
    }
}

/// Reads a body to its end and returns its length.
pub(super) async fn swallow(mut body: RecvStream) -> usize {
    let mut length = 0;
    while let Some(data) = body.data().await {
        let data = data.unwrap();
        length += data.len();
        body.flow_control().release_capacity(data.len()).unwrap();
    }
    length
}

pub(super) const SETTINGS: u8 = 4;
pub(super) const HEADERS: u8 = 1;
pub(super) const END_STREAM: u8 = 1;
pub(super) const END_HEADERS: u8 = 4;
/// `:status: 200` and `:status: 204` in HPACK's static table.
pub(super) const STATUS_200: u8 = 0x88;

/// A frame as it goes over the wire.
pub(super) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let mut frame = length[1..].to_vec();
    frame.extend([kind, flags]);
    frame.extend(stream.to_be_bytes());
    frame.extend(payload);
    frame
}

/// Reads frames until one of this kind; returns its flags and stream.
pub(super) fn await_frame(socket: &mut TcpStream, wanted: u8) -> (u8, u32) {
    loop {
        let mut head = [0; 9];
        socket.read_exact(&mut head).unwrap();
        let [_, a, b, c, kind, flags, d, e, f] = [
            0, head[0], head[1], head[2], head[3], head[4], head[5], head[6], head[7],
        ];
        let stream = u32::from_be_bytes([d & 0x7f, e, f, head[8]]);
        let length = u32::from_be_bytes([0, a, b, c]) as usize;
        socket.read_exact(&mut vec![0; length]).unwrap();
        if kind == wanted {
            return (flags, stream);
        }
    }
}

/// Starts a hand-written server: reads the client's preface and sends settings.
pub(super) fn begin_by_hand(socket: &mut TcpStream) {
    socket.read_exact(&mut [0; 24]).unwrap();
    socket.write_all(&frame(SETTINGS, 0, 0, &[])).unwrap();
}
