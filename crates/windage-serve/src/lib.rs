//! What runs offer to other programs and to browsers: metrics for Prometheus during a run, results
//! for an OTLP receiver after it, a page over all runs of a directory.
//!
//! Everything is read from the run directory and computed by the analysis that makes the report, so
//! it can't disagree with the report. `docs/FORMAT.md` lists the names.

#![forbid(unsafe_code)]

mod concluded;
mod exposition;
mod families;
#[cfg(test)]
mod fixture;
mod host;
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
pub use runs::{RunsError, RunsServer, reopen_index};
pub use server::MetricsServer;

/// The Grafana dashboard for `/metrics`, ready to import.
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
        /// The kernel's error.
        source: io::Error,
    },
    /// The thread or its event loop can't be started.
    #[error("the thread for --metrics can't be started: {0}; raise `ulimit -n` or `ulimit -u`")]
    Thread(io::Error),
}

/// Locks a mutex, ignoring whether another thread panicked while it held it.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Records are in nanoseconds, metrics in seconds.
fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}
