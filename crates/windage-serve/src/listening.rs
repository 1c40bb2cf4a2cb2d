//! A router at an address, on its own thread that sleeps until a request arrives.

mod idle;

use std::io;
use std::net::{SocketAddr, TcpListener as StdTcpListener};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use crate::low_priority::be_nice;
use idle::{Connection, IdleConnections};

/// How long a new connection may take for the head of its first request.
const FIRST_HEAD_WITHIN: Duration = Duration::from_secs(5);
/// How long a connection may stay open without a further request.
const IDLE_FOR: Duration = Duration::from_secs(60);
/// The longest life of a connection, so that a client that does not read can't hold it.
const KEPT_FOR: Duration = Duration::from_mins(10);
/// How long to pause when the kernel has no descriptor for a new connection.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// Buffer for a connection's bytes in each direction. Valid requests stay far below it.
const BUFFERED_BYTES_MAX: usize = 64 << 10;
/// Threads for slow work such as reading files.
const BLOCKING_THREADS_MAX: usize = 4;

/// What connections may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Connections at a time. A further one takes the place of the one that has been idle longest,
    /// and waits if all are busy.
    connections_max: usize,
    first_head_within: Duration,
}

impl Limits {
    /// The usual limits, with that many connections.
    pub(crate) const fn connections(connections_max: usize) -> Limits {
        Limits {
            connections_max,
            first_head_within: FIRST_HEAD_WITHIN,
        }
    }
}

/// Answers requests until it is dropped.
#[derive(Debug)]
pub(crate) struct Listening {
    address: SocketAddr,
    end: Option<oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

/// Binds the address; port 0 lets the kernel choose. Requests are not answered yet.
pub(crate) fn bind(address: SocketAddr) -> io::Result<StdTcpListener> {
    let listener = StdTcpListener::bind(address)?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

impl Listening {
    /// Begins to answer, within these limits.
    pub(crate) fn start(
        thread: &str,
        listener: StdTcpListener,
        router: Router,
        limits: Limits,
    ) -> io::Result<Listening> {
        let address = listener.local_addr()?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .max_blocking_threads(BLOCKING_THREADS_MAX)
            .on_thread_start(be_nice)
            .build()?;
        let (end, ended) = oneshot::channel();
        let serve = move || {
            be_nice();
            runtime.block_on(async {
                tokio::select! {
                    () = accept(listener, router, limits) => {}
                    // Also when the sender is dropped.
                    _ = ended => {}
                }
            });
            // Does not wait for reads that are still in progress.
            runtime.shutdown_background();
        };
        let thread = std::thread::Builder::new()
            .name(thread.to_owned())
            .spawn(serve)?;
        Ok(Listening {
            address,
            end: Some(end),
            thread: Some(thread),
        })
    }

    /// The address that it listens on.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            // The thread returns no error.
            let _ = thread.join();
        }
    }
}

async fn accept(listener: StdTcpListener, router: Router, limits: Limits) {
    // The socket was set up for this, so it does not fail; if it did, there would be nothing to
    // serve.
    let Ok(listener) = TcpListener::from_std(listener) else {
        return std::future::pending().await;
    };
    let places = Arc::new(Semaphore::new(limits.connections_max));
    let idle = Arc::new(IdleConnections::default());
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let place = place(&places, &idle).await;
        let serving = connection(stream, router.clone(), idle.opened(), limits);
        tokio::spawn(async move {
            serving.await;
            drop(place);
        });
    }
}

/// A place for a new connection; if none is free, that of the connection that has been idle longest.
async fn place(places: &Arc<Semaphore>, idle: &IdleConnections) -> Option<OwnedSemaphorePermit> {
    if let Ok(place) = Arc::clone(places).try_acquire_owned() {
        return Some(place);
    }
    tokio::select! {
        biased;
        // Never closed.
        place = Arc::clone(places).acquire_owned() => return place.ok(),
        () = idle.evict_oldest() => {}
    }
    Arc::clone(places).acquire_owned().await.ok()
}

async fn connection(stream: TcpStream, router: Router, own: Connection, limits: Limits) {
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(IDLE_FOR)
        .max_buf_size(BUFFERED_BYTES_MAX)
        .serve_connection(TokioIo::new(stream), own.serving(router));
    tokio::select! {
        // It does not matter how a client disconnects.
        _ = tokio::time::timeout(KEPT_FOR, served) => {}
        () = own.asked_nothing_within(limits.first_head_within) => {}
        () = own.evicted() => {}
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::TcpStream;

    use axum::routing::get;

    use super::*;

    const ASK: &[u8] = b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n";

    fn listening(limits: Limits) -> Listening {
        let listener = bind(([127, 0, 0, 1], 0).into()).unwrap();
        let router = Router::new().route("/", get(async || "answer"));
        Listening::start("test", listener, router, limits).unwrap()
    }

    fn connect(to: &Listening) -> TcpStream {
        let stream = TcpStream::connect(to.address()).unwrap();
        // Anything that takes longer hangs.
        let longest = Some(Duration::from_secs(60));
        stream.set_read_timeout(longest).unwrap();
        stream
    }

    /// Sends a request and reads its answer, which ends with "answer".
    fn ask(stream: &mut TcpStream) -> io::Result<()> {
        stream.write_all(ASK)?;
        let mut found = Vec::new();
        while !found.ends_with(b"answer") {
            let mut byte = [0];
            stream.read_exact(&mut byte)?;
            found.push(byte[0]);
        }
        Ok(())
    }

    /// Everything until the server closes the connection.
    fn rest(stream: &mut TcpStream) -> Vec<u8> {
        let mut rest = Vec::new();
        // A reset is an end as well.
        let _ = stream.read_to_end(&mut rest);
        rest
    }

    #[test]
    fn a_connection_without_a_first_request_is_closed() {
        let listening = listening(Limits {
            connections_max: 9,
            first_head_within: Duration::from_millis(50),
        });
        for begun in [&b""[..], b"GET / HTTP/1.1\r\nhost: lo"] {
            let mut stream = connect(&listening);
            stream.write_all(begun).unwrap();
            assert_eq!(rest(&mut stream), b"", "{begun:?}");
        }
    }

    #[test]
    fn the_limit_of_the_first_request_does_not_end_later_ones() {
        let first_head_within = Duration::from_millis(200);
        let listening = listening(Limits {
            connections_max: 9,
            first_head_within,
        });
        // A stalled machine may send the first request too late.
        let is_kept = (0..5).any(|_| {
            let mut stream = connect(&listening);
            let is_answered = ask(&mut stream).is_ok();
            std::thread::sleep(2 * first_head_within);
            is_answered && ask(&mut stream).is_ok()
        });
        assert!(is_kept);
    }

    #[test]
    fn the_connection_that_is_idle_longest_makes_room() {
        let listening = listening(Limits::connections(2));
        let [mut first, mut second] = [(); 2].map(|()| connect(&listening));
        ask(&mut first).unwrap();
        ask(&mut second).unwrap();
        ask(&mut first).unwrap();
        let mut third = connect(&listening);
        ask(&mut third).unwrap();
        assert_eq!(rest(&mut second), b"", "it was idle longest");
        ask(&mut first).unwrap();
        ask(&mut third).unwrap();
    }
}
