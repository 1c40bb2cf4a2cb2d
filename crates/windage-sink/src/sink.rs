//! The sink's thread and its listeners.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::unix::thread::JoinHandleExt as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use nix::errno::Errno;
use thiserror::Error;
use tokio::sync::{Semaphore, mpsc as tokio_mpsc, oneshot};
use tokio::task::LocalSet;
use windage_model::{ArmIndex, Backend};

use crate::account::{Account, Delivery};
use crate::behaviour::Behaviour;
use crate::datadog::DatadogOptions;
use crate::keep::{Keep, KeepOptions};
use crate::listener::{self, Listening};
use crate::receipt::Detail;
use crate::receiver::Receiver;
use crate::room::Budget;
use crate::scrape::{Job, ScrapeTarget, Scraper};
use crate::sys::{self, ThreadClock};
use crate::{Counts, Protocol};

/// Limits of the sink, and how much it evaluates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SinkOptions {
    /// The largest body, in bytes, as sent and after decompression.
    pub max_body_bytes: usize,
    /// What all requests of one arm may hold at a time, in bytes. Protobuf bodies are counted as
    /// they arrive and hold next to nothing.
    pub max_held_bytes: usize,
    /// Connections of one arm at a time; further ones are closed at once and counted.
    pub max_connections: usize,
    /// The cores of the sink's thread; `None`: those of the thread that starts it.
    pub cpus: Option<Vec<u32>>,
    /// How much is evaluated.
    pub detail: Detail,
    /// Whether Datadog's tracers may drop traces that were not sampled.
    pub client_drop_p0s: bool,
    /// Where bodies are kept; `None`: nowhere.
    pub keep: Option<KeepOptions>,
    /// Where [`Sink::start`] listens.
    pub ip: IpAddr,
}

impl Default for SinkOptions {
    fn default() -> Self {
        SinkOptions {
            // The largest that a Datadog agent accepts, which is more than the Collector's limit.
            max_body_bytes: 25 << 20,
            max_held_bytes: 28 << 20,
            max_connections: 1024,
            cpus: None,
            detail: Detail::Full,
            client_drop_p0s: false,
            keep: None,
            ip: Ipv4Addr::LOCALHOST.into(),
        }
    }
}

/// Why the sink could not start.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SinkError {
    /// A listener could not be opened.
    #[error("the sink can't receive {protocol} at {address}: {source}; {}", remedy(.source))]
    Listen {
        /// The protocol of the listener.
        protocol: Protocol,
        /// Its address.
        address: SocketAddr,
        /// The kernel's error.
        source: io::Error,
    },
    /// The directory for bodies can't be created.
    #[error("the sink can't keep bodies in {}: {source}; name a directory that can be written to", dir.display())]
    Keep {
        /// The directory.
        dir: std::path::PathBuf,
        /// The kernel's error.
        source: io::Error,
    },
    /// The thread can't be started.
    #[error("the sink's thread can't be started: {source}; raise `ulimit -u`")]
    Thread {
        /// The kernel's error.
        source: io::Error,
    },
    /// The thread's event loop can't be set up.
    #[error("the sink's event loop can't be set up: {source}; raise `ulimit -n`")]
    Runtime {
        /// The kernel's error.
        source: io::Error,
    },
    /// The thread can't be pinned to its cores.
    #[error(
        "the sink can't be pinned to cores {cpus:?}: {source}; name cores that exist and that this process may use"
    )]
    Pin {
        /// The cores asked for.
        cpus: Vec<u32>,
        /// The kernel's error.
        source: Errno,
    },
    /// The thread has no CPU clock.
    #[error(
        "the CPU clock of the sink's thread can't be had (pthread_getcpuclockid): {source}; the kernel must have POSIX timers (CONFIG_POSIX_TIMERS)"
    )]
    Clock {
        /// The C library's error.
        source: Errno,
    },
    /// The thread ended before it was ready.
    #[error(
        "the sink's thread ended before it was ready; this is a bug in Windage, please report it"
    )]
    Died,
}

fn remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::AddrInUse => {
            "another program listens there: name another port, or 0 for a free one"
        }
        io::ErrorKind::AddrNotAvailable => "name an address of this machine",
        io::ErrorKind::PermissionDenied => "ports below 1024 need privileges: name a higher one",
        _ => "raise `ulimit -n` or free some ports",
    }
}

/// Receivers for all arms, on one thread. Dropping it stops them.
#[derive(Debug)]
pub struct Sink {
    accounts: Vec<Arc<Account>>,
    addresses: Vec<Vec<(Protocol, SocketAddr)>>,
    clock: ThreadClock,
    last_cpu_ns: AtomicU64,
    scrape: tokio_mpsc::UnboundedSender<Job>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// For each arm, its protocols and their addresses.
type Wanted = Vec<Vec<(Protocol, SocketAddr)>>;

impl Sink {
    /// Opens a listener (on 127.0.0.1 unless the options have another address) for each of `arms` and each of `protocols`, and receives on
    /// a thread named `sink`.
    ///
    /// # Errors
    ///
    /// When a listener, the thread, its cores or its clock can't be had; then nothing is left
    /// behind.
    pub fn start(
        arms: usize,
        protocols: &[Protocol],
        options: SinkOptions,
    ) -> Result<Sink, SinkError> {
        let free_port = SocketAddr::from((options.ip, 0));
        let of_arm: Vec<_> = protocols.iter().map(|&p| (p, free_port)).collect();
        Sink::open(vec![of_arm; arms], options)
    }

    /// Receives for one arm, number 0, at these addresses; port 0 means any free port.
    ///
    /// # Errors
    ///
    /// As [`start`](Sink::start).
    pub fn start_at(
        addresses: &[(Protocol, SocketAddr)],
        options: SinkOptions,
    ) -> Result<Sink, SinkError> {
        Sink::open(vec![addresses.to_vec()], options)
    }

    fn open(wanted: Wanted, options: SinkOptions) -> Result<Sink, SinkError> {
        let account = |_: &_| {
            let budget = Budget::new(options.max_held_bytes);
            Arc::new(Account::new(options.detail, budget))
        };
        let accounts: Vec<_> = wanted.iter().map(account).collect();
        let (stop, stopped) = oneshot::channel();
        let (scrape, jobs) = tokio_mpsc::unbounded_channel();
        let (ready, is_ready) = mpsc::sync_channel(1);
        let served = accounts.clone();
        let thread = thread::Builder::new()
            .name("sink".to_owned())
            .spawn(move || run(&served, &wanted, &options, &ready, (stopped, jobs)))
            .map_err(|source| SinkError::Thread { source })?;
        let addresses = is_ready.recv().unwrap_or(Err(SinkError::Died))?;
        let clock =
            ThreadClock::of(thread.as_pthread_t()).map_err(|source| SinkError::Clock { source })?;
        Ok(Sink {
            accounts,
            addresses,
            clock,
            last_cpu_ns: AtomicU64::new(0),
            scrape,
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    /// Where `arm` receives `protocol`; `None` when the sink was not started for it.
    #[must_use]
    pub fn address(&self, arm: ArmIndex, protocol: Protocol) -> Option<SocketAddr> {
        let of_arm = self.addresses.get(arm.get())?;
        let found = of_arm.iter().find(|(served, _)| *served == protocol);
        found.map(|(_, address)| *address)
    }

    /// Every protocol of `arm` and its address.
    ///
    /// # Panics
    ///
    /// When the sink was not started for `arm`.
    #[must_use]
    pub fn addresses(&self, arm: ArmIndex) -> &[(Protocol, SocketAddr)] {
        &self.addresses[arm.get()]
    }

    /// What has been delivered for `arm` so far. A request is included completely or not at all
    /// (its `wire_bytes` are added as they are read), and is included before its sender gets the
    /// answer.
    ///
    /// # Panics
    ///
    /// When the sink was not started for `arm`.
    #[must_use]
    pub fn counts(&self, arm: ArmIndex) -> Counts {
        self.accounts[arm.get()].counts()
    }

    /// The same by protocol.
    ///
    /// # Panics
    ///
    /// As [`counts`](Sink::counts).
    #[must_use]
    pub fn counts_by_protocol(&self, arm: ArmIndex) -> [(Protocol, Counts); Protocol::ALL.len()] {
        self.accounts[arm.get()].by_protocol()
    }

    /// Spans of `arm` that end from now on belong to the stretch `label`. A label may be repeated.
    ///
    /// # Panics
    ///
    /// As [`counts`](Sink::counts).
    pub fn begin_stretch(&self, arm: ArmIndex, label: u64) {
        self.accounts[arm.get()].begin_stretch(label);
    }

    /// Changes how the receivers of `arm` behave.
    ///
    /// # Panics
    ///
    /// As [`counts`](Sink::counts).
    pub fn set_backend(&self, arm: ArmIndex, backend: Backend) {
        let behaviour = Behaviour::of(backend);
        self.accounts[arm.get()].behaviour.send_replace(behaviour);
    }

    /// Everything received for `arm` since the last call, or since the start.
    ///
    /// # Panics
    ///
    /// As [`counts`](Sink::counts).
    #[must_use]
    pub fn take(&self, arm: ArmIndex) -> Delivery {
        self.accounts[arm.get()].take()
    }

    /// Scrapes a target for the first time `after` so long, and then until the scraper is dropped or
    /// the sink ends.
    #[must_use]
    pub fn scrape(&self, target: ScrapeTarget, after: Duration) -> Scraper {
        let (scraper, job) = Scraper::of(target, after);
        // Only a thread that has panicked no longer takes it; there is nothing to scrape then.
        let _ = self.scrape.send(job);
        scraper
    }

    /// CPU time that the sink's thread has used, in nanoseconds. Never goes back.
    #[must_use]
    pub fn cpu_ns(&self) -> u64 {
        let now = self.clock.read_ns().unwrap_or(0);
        self.last_cpu_ns.fetch_max(now, Ordering::Relaxed).max(now)
    }

    /// Closes all listeners and connections and waits for the thread to end. Requests still
    /// arriving are counted as rejected.
    pub fn shut_down(mut self) -> Vec<Delivery> {
        self.end();
        self.accounts.iter().map(|account| account.take()).collect()
    }

    fn end(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic in the thread has been reported on stderr; there is nothing to undo.
            let _ = thread.join();
        }
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        self.end();
    }
}

/// The thread: reports through `ready` whether it started, then serves until `stopped`.
fn run(
    accounts: &[Arc<Account>],
    wanted: &Wanted,
    options: &SinkOptions,
    ready: &mpsc::SyncSender<Result<Wanted, SinkError>>,
    (stopped, mut jobs): (oneshot::Receiver<()>, tokio_mpsc::UnboundedReceiver<Job>),
) {
    let runtime = match set_up(options) {
        Ok(runtime) => runtime,
        Err(error) => {
            // `open` waits for this message and outlives it.
            let _ = ready.send(Err(error));
            return;
        }
    };
    let local = LocalSet::new();
    local.block_on(&runtime, async {
        let _ = ready.send(receive(accounts, wanted, options));
        let scraping = async {
            while let Some(job) = jobs.recv().await {
                tokio::task::spawn_local(job.run());
            }
        };
        tokio::select! {
            // Both a message and a dropped sender mean the end.
            _ = stopped => {}
            // The sink has been dropped.
            () = scraping => {}
        }
    });
}

fn set_up(options: &SinkOptions) -> Result<tokio::runtime::Runtime, SinkError> {
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

/// Opens every listener. Returns their addresses.
fn receive(
    accounts: &[Arc<Account>],
    wanted: &Wanted,
    options: &SinkOptions,
) -> Result<Wanted, SinkError> {
    let mut opened = Vec::with_capacity(wanted.len());
    for (index, (account, of_arm)) in accounts.iter().zip(wanted).enumerate() {
        let places = Arc::new(Semaphore::new(
            options.max_connections.min(Semaphore::MAX_PERMITS),
        ));
        let mut addresses = Vec::with_capacity(of_arm.len());
        for &(protocol, address) in of_arm {
            let listening = Listening {
                receiver: Arc::new(receiver(account, protocol, options, index)?),
                places: Arc::clone(&places),
            };
            let cannot = |source| SinkError::Listen {
                protocol,
                address,
                source,
            };
            let listener = listener::bind(address)
                .and_then(listener::listen)
                .map_err(cannot)?;
            let address = listener.local_addr().map_err(cannot)?;
            addresses.push((protocol, address));
            tokio::task::spawn_local(listening.run(listener, address));
        }
        opened.push(addresses);
    }
    Ok(opened)
}

fn receiver(
    account: &Arc<Account>,
    protocol: Protocol,
    options: &SinkOptions,
    arm: usize,
) -> Result<Receiver, SinkError> {
    let keep = |options: &KeepOptions| {
        Keep::new(options, arm, protocol).map_err(|source| SinkError::Keep {
            dir: options.dir.clone(),
            source,
        })
    };
    Ok(Receiver {
        account: Arc::clone(account),
        protocol,
        max_body_bytes: options.max_body_bytes,
        datadog: DatadogOptions {
            client_drop_p0s: options.client_drop_p0s,
        },
        keep: options.keep.as_ref().map(keep).transpose()?,
    })
}
