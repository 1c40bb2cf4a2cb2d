//! The sink's thread and its listeners.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::thread::JoinHandleExt as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use nix::errno::Errno;
use thiserror::Error;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::sync::{Semaphore, oneshot};
use windage_model::ArmIndex;

use crate::body::Limits;
use crate::counts::Tally;
use crate::sys::{self, ThreadClock};
use crate::{Counts, connection};

/// How long a listener rests after the kernel refused it a connection (no descriptors left):
/// the refusal repeats at once until something is closed.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// What the sink may take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SinkOptions {
    /// The largest body that is received, in bytes, as sent and after decompression. At most
    /// eight of that size are held at a time.
    pub max_body_bytes: usize,
    /// Connections at a time, over all arms; further ones are closed at once and counted.
    pub max_connections: usize,
    /// The cores that the sink's thread may use; `None`: those of the thread that starts it.
    pub cpus: Option<Vec<u32>>,
}

impl Default for SinkOptions {
    fn default() -> Self {
        SinkOptions {
            max_body_bytes: 16 << 20,
            max_connections: 1024,
            cpus: None,
        }
    }
}

/// Why the sink could not be started.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SinkError {
    /// No listener for an arm.
    #[error(
        "the sink can't listen on loopback for arm {arm}: {source}; raise `ulimit -n` or free some ports"
    )]
    Listen {
        /// The arm's index.
        arm: usize,
        /// What the kernel said.
        source: io::Error,
    },
    /// No thread.
    #[error("the sink's thread can't be started: {source}; raise `ulimit -u`")]
    Thread {
        /// What the kernel said.
        source: io::Error,
    },
    /// No event loop in the thread.
    #[error("the sink's event loop can't be set up: {source}; raise `ulimit -n`")]
    Runtime {
        /// What the kernel said.
        source: io::Error,
    },
    /// The cores asked for can't be had.
    #[error(
        "the sink can't be pinned to cores {cpus:?}: {source}; name cores that exist and that this process may use"
    )]
    Pin {
        /// The cores asked for.
        cpus: Vec<u32>,
        /// What the kernel said.
        source: Errno,
    },
    /// The thread has no CPU clock.
    #[error(
        "the CPU clock of the sink's thread can't be had (pthread_getcpuclockid): {source}; the kernel must have POSIX timers (CONFIG_POSIX_TIMERS)"
    )]
    Clock {
        /// What the C library said.
        source: Errno,
    },
    /// The thread ended before it was ready.
    #[error(
        "the sink's thread ended before it was ready; this is a fault of Windage's, please report it"
    )]
    Died,
}

/// Receivers for all arms, on one thread of their own. Dropping it ends them.
#[derive(Debug)]
pub struct Sink {
    arms: Vec<Arm>,
    clock: ThreadClock,
    last_cpu_ns: AtomicU64,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Clone, Debug)]
struct Arm {
    address: SocketAddr,
    tally: Arc<Tally>,
}

impl Sink {
    /// Opens a listener on 127.0.0.1 for each of `arms` and receives on a thread named `sink`.
    ///
    /// # Errors
    ///
    /// When listeners, thread, cores or clock can't be had; nothing is left behind then.
    pub fn start(arms: usize, options: SinkOptions) -> Result<Sink, SinkError> {
        let (arms, listeners) = listen(arms)?;
        let (stop, stopped) = oneshot::channel();
        let (ready, is_ready) = mpsc::sync_channel(1);
        let served: Vec<_> = listeners
            .into_iter()
            .zip(arms.iter().map(|a| Arc::clone(&a.tally)))
            .collect();
        let thread = thread::Builder::new()
            .name("sink".to_owned())
            .spawn(move || run(served, &options, &ready, stopped))
            .map_err(|source| SinkError::Thread { source })?;
        is_ready.recv().unwrap_or(Err(SinkError::Died))?;
        let clock =
            ThreadClock::of(thread.as_pthread_t()).map_err(|source| SinkError::Clock { source })?;
        let last_cpu_ns = AtomicU64::new(0);
        Ok(Sink {
            arms,
            clock,
            last_cpu_ns,
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    /// Where `arm` sends OTLP/HTTP to: the base, to which `/v1/traces` and so on are added.
    ///
    /// # Panics
    ///
    /// When `arm` is not one of those the sink was started for.
    #[must_use]
    pub fn otlp_http(&self, arm: ArmIndex) -> SocketAddr {
        self.arms[arm.get()].address
    }

    /// What has been delivered for `arm` so far. A request is in it whole or not at all (its
    /// `wire_bytes` come as they are read), and it is in it once its sender has the answer.
    ///
    /// # Panics
    ///
    /// When `arm` is not one of those the sink was started for.
    #[must_use]
    pub fn counts(&self, arm: ArmIndex) -> Counts {
        self.arms[arm.get()].tally.read()
    }

    /// CPU time that the sink's thread has used, in nanoseconds. Never goes back.
    #[must_use]
    pub fn cpu_ns(&self) -> u64 {
        let now = self.clock.read_ns().unwrap_or(0);
        self.last_cpu_ns.fetch_max(now, Ordering::Relaxed).max(now)
    }

    /// Closes all listeners and connections and waits for the thread to end. A request that has
    /// not been read whole by then is counted as rejected.
    pub fn shut_down(self) {
        drop(self);
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic in the thread has been reported on stderr; there is nothing to undo.
            let _ = thread.join();
        }
    }
}

type Served = (std::net::TcpListener, Arc<Tally>);

fn listen(arms: usize) -> Result<(Vec<Arm>, Vec<std::net::TcpListener>), SinkError> {
    let one = |arm: usize| -> Result<(Arm, std::net::TcpListener), SinkError> {
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .and_then(|listener| listener.set_nonblocking(true).map(|()| listener))
            .map_err(|source| SinkError::Listen { arm, source })?;
        let address = listener
            .local_addr()
            .map_err(|source| SinkError::Listen { arm, source })?;
        Ok((
            Arm {
                address,
                tally: Arc::default(),
            },
            listener,
        ))
    };
    (0..arms).map(one).collect()
}

/// The thread: says through `ready` how its start went, then serves until `stopped`.
fn run(
    served: Vec<Served>,
    options: &SinkOptions,
    ready: &mpsc::SyncSender<Result<(), SinkError>>,
    stopped: oneshot::Receiver<()>,
) {
    let runtime = match set_up(options) {
        Ok(runtime) => runtime,
        Err(error) => {
            // `start` waits for this message and outlives it.
            let _ = ready.send(Err(error));
            return;
        }
    };
    let _ = ready.send(receive(&runtime, served, options));
    // Both a message and a dropped sender mean the end.
    let _ = runtime.block_on(stopped);
}

fn set_up(options: &SinkOptions) -> Result<Runtime, SinkError> {
    if let Some(cpus) = &options.cpus {
        sys::pin_this_thread(cpus).map_err(|source| SinkError::Pin {
            cpus: cpus.clone(),
            source,
        })?;
    }
    tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .build()
        .map_err(|source| SinkError::Runtime { source })
}

fn receive(runtime: &Runtime, served: Vec<Served>, options: &SinkOptions) -> Result<(), SinkError> {
    let _entered = runtime.enter();
    let limits = Limits::new(options.max_body_bytes);
    let places = Arc::new(Semaphore::new(
        options.max_connections.min(Semaphore::MAX_PERMITS),
    ));
    for (listener, tally) in served {
        let listener =
            TcpListener::from_std(listener).map_err(|source| SinkError::Runtime { source })?;
        runtime.spawn(accept(listener, tally, limits.clone(), Arc::clone(&places)));
    }
    Ok(())
}

async fn accept(listener: TcpListener, tally: Arc<Tally>, limits: Limits, places: Arc<Semaphore>) {
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        match Arc::clone(&places).try_acquire_owned() {
            Ok(place) => {
                let serving = connection::serve(stream, Arc::clone(&tally), limits.clone());
                tokio::spawn(async move {
                    serving.await;
                    drop(place);
                });
            }
            Err(_) => tally.add(&Counts {
                refused_connections: 1,
                ..Counts::default()
            }),
        }
    }
}
