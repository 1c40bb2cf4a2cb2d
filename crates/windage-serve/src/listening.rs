//! A router at an address, on its own thread that sleeps until a request arrives.

use std::io;
use std::net::{SocketAddr, TcpListener as StdTcpListener};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, oneshot};

use crate::low_priority::be_nice;

/// How long a connection may stay open without a request.
const IDLE_FOR: Duration = Duration::from_secs(60);
/// The longest life of a connection, so that a client that does not read can't hold it.
const KEPT_FOR: Duration = Duration::from_mins(10);
/// How long to pause when the kernel has no descriptor for a new connection.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// Buffer for a connection's bytes in each direction. Valid requests stay far below it.
const BUFFERED_BYTES_MAX: usize = 64 << 10;
/// Threads for slow work such as reading files.
const BLOCKING_THREADS_MAX: usize = 4;

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
    /// Begins to answer, on up to that many connections at a time; further ones wait in the
    /// kernel's queue.
    pub(crate) fn start(
        thread: &str,
        listener: StdTcpListener,
        router: Router,
        connections_max: usize,
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
                    () = accept(listener, router, connections_max) => {}
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

async fn accept(listener: StdTcpListener, router: Router, connections_max: usize) {
    // The socket was set up for this, so it does not fail; if it did, there would be nothing to
    // serve.
    let Ok(listener) = TcpListener::from_std(listener) else {
        return std::future::pending().await;
    };
    let places = Arc::new(Semaphore::new(connections_max));
    while let Ok(place) = Arc::clone(&places).acquire_owned().await {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let serving = connection(stream, router.clone());
        tokio::spawn(async move {
            serving.await;
            drop(place);
        });
    }
}

async fn connection(stream: TcpStream, router: Router) {
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(IDLE_FOR)
        .max_buf_size(BUFFERED_BYTES_MAX)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    // It does not matter how a client disconnects.
    let _ = tokio::time::timeout(KEPT_FOR, served).await;
}
