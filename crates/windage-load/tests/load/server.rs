//! Servers on threads that answer, misbehave or stay silent.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use windage_load::{Protocol, Request, Target, Text, Work};

/// A request without headers and body, for a server at this address.
pub(crate) fn target(address: SocketAddr, method: &str) -> Target {
    let request = Request {
        method: method.to_owned(),
        authority: "test".to_owned(),
        path: Text::literal("/"),
        headers: Vec::new(),
        body: Text::literal(""),
    };
    target_of(address, request)
}

/// One plain HTTP/1.1 request, repeated.
pub(crate) fn target_of(address: SocketAddr, request: Request) -> Target {
    Target {
        endpoint: address.into(),
        tls: None,
        streams: 1,
        work: Work::single(request, Protocol::Http1).unwrap(),
    }
}

/// Repeats a run a few times at most, while a busy machine stalls and the run falls short of what
/// the test needs. Returns the last run. `run` checks what must be true of every run.
pub(crate) fn repeat_until<T>(mut run: impl FnMut() -> T, is_enough: impl Fn(&T) -> bool) -> T {
    const TIMES: usize = 3;
    let mut ran = run();
    for _ in 1..TIMES {
        if is_enough(&ran) {
            break;
        }
        ran = run();
    }
    ran
}

/// What a server does with a request, given its number on the connection and its head.
pub(crate) type Behaviour = dyn Fn(&mut TcpStream, usize, &str) -> Then + Send + Sync;

/// Records each request's path and answers everything with the same bytes.
pub(crate) fn noting(answer: &'static str, then: Then) -> (SocketAddr, Arc<Mutex<Vec<String>>>) {
    let paths = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&paths);
    let (address, _) = start_reading(move |stream, _, head| {
        let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
        noted.lock().unwrap().push(path);
        let _ = stream.write_all(answer.as_bytes());
        then
    });
    (address, paths)
}

/// A small answer, after which the connection stays open.
pub(crate) const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// What a server does after its answer.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Then {
    KeepOpen,
    Close,
    /// Closes with a reset instead of an orderly end.
    Reset,
}

/// Starts a server that ends with the test process. `behaviour` gets the number of the request on
/// its connection, from 0.
pub(crate) fn start(
    behaviour: impl Fn(&mut TcpStream, usize) -> Then + Send + Sync + 'static,
) -> (SocketAddr, Arc<AtomicUsize>) {
    start_reading(move |stream, number, _| behaviour(stream, number))
}

/// The same for a behaviour that needs the request's head.
fn start_reading(
    behaviour: impl Fn(&mut TcpStream, usize, &str) -> Then + Send + Sync + 'static,
) -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let accepted = Arc::new(AtomicUsize::new(0));
    let (counter, behaviour): (_, Arc<Behaviour>) = (Arc::clone(&accepted), Arc::new(behaviour));
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            counter.fetch_add(1, Ordering::Relaxed);
            let behaviour = Arc::clone(&behaviour);
            std::thread::spawn(move || serve(stream, &*behaviour));
        }
    });
    (address, accepted)
}

/// Answers every request with these bytes.
pub(crate) fn answering(answer: impl Into<Vec<u8>>) -> SocketAddr {
    let answer = answer.into();
    start(move |stream, _| {
        let _ = stream.write_all(&answer);
        Then::KeepOpen
    })
    .0
}

/// Longer than any test here, short enough for a leftover thread.
pub(crate) const SILENCE: Duration = Duration::from_secs(20);

fn serve(mut stream: TcpStream, behaviour: &Behaviour) {
    let _ = stream.set_nodelay(true);
    for request in 0.. {
        let Some(head) = read_head(&mut stream) else {
            return;
        };
        match behaviour(&mut stream, request, &head) {
            Then::KeepOpen => {}
            Then::Close => return,
            Then::Reset => {
                let linger = nix::libc::linger {
                    l_onoff: 1,
                    l_linger: 0,
                };
                let _ = nix::sys::socket::setsockopt(
                    &stream,
                    nix::sys::socket::sockopt::Linger,
                    &linger,
                );
                return;
            }
        }
    }
}

/// Requests here have no body and do not overlap, so the empty line ends them.
fn read_head(stream: &mut impl Read) -> Option<String> {
    let mut head = [0; 4096];
    let mut length = 0;
    while !head[..length].ends_with(b"\r\n\r\n") {
        match stream.read(&mut head[length..]) {
            Ok(0) | Err(_) => return None,
            Ok(n) => length += n,
        }
    }
    Some(String::from_utf8_lossy(&head[..length]).into_owned())
}
