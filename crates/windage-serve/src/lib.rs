//! What runs say to other programs and to browsers: metrics for Prometheus while one goes on, results
//! for an OTLP receiver when it has ended, a page over all runs of a directory.
//!
//! All of it is read from the run directory and computed by the analysis that makes the report, so that
//! there is nothing that could disagree with it. `docs/FORMAT.md` has the names.

mod concluded;
mod exposition;
mod families;
#[cfg(test)]
mod fixture;
mod journal_reader;
mod listening;
mod low_priority;
mod push;
mod run_watcher;
mod runs;
mod server;
mod tally;

use std::io;
use std::net::SocketAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

pub use families::{FAMILIES, Family, Kind, Unit};
pub use low_priority::{be_nice, cpu_of_this_thread};
pub use push::{EndpointError, OtlpEndpoint, PushError, push};
pub use runs::{RunsError, RunsServer};
pub use server::MetricsServer;

/// The Grafana dashboard for `/metrics`, as it is imported.
pub const DASHBOARD: &str = include_str!("../dashboard/windage.json");

/// Why there are no metrics.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The address can't be listened on.
    #[error(
        "can't listen on {address}: {source}; name another --metrics, such as 127.0.0.1:0 for any \
         free port"
    )]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the kernel said.
        source: io::Error,
    },
    /// There is no thread or event loop to be had.
    #[error("the thread for --metrics can't be started: {0}; raise `ulimit -n` or `ulimit -u`")]
    Thread(io::Error),
}

/// What a lock guards; of a thread that panicked, as that left it.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Records count in nanoseconds, what is said in seconds.
fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}
