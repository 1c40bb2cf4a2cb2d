//! The progress of a run, for watchers on another thread.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counts of a run, or of several that share this value, which only grow; and one run's current
/// quantiles.
#[derive(Debug, Default)]
pub struct Progress {
    completed: AtomicU64,
    failed: AtomicU64,
    p50_ns: AtomicU64,
    p99_ns: AtomicU64,
}

impl Progress {
    /// Whole answers so far, of any status.
    #[must_use]
    pub fn completed(&self) -> u64 {
        self.completed.load(Ordering::Relaxed)
    }

    /// Requests and attempts to connect that failed so far.
    #[must_use]
    pub fn failed(&self) -> u64 {
        self.failed.load(Ordering::Relaxed)
    }

    /// Median response time so far, in nanoseconds; 0 before the first.
    #[must_use]
    pub fn p50_ns(&self) -> u64 {
        self.p50_ns.load(Ordering::Relaxed)
    }

    /// 99th percentile of the response times so far, in nanoseconds; 0 before the first.
    #[must_use]
    pub fn p99_ns(&self) -> u64 {
        self.p99_ns.load(Ordering::Relaxed)
    }

    pub(crate) fn times(&self, p50_ns: u64, p99_ns: u64) {
        self.p50_ns.store(p50_ns, Ordering::Relaxed);
        self.p99_ns.store(p99_ns, Ordering::Relaxed);
    }

    pub(crate) fn add(&self, completed: u64, failed: u64) {
        self.completed.fetch_add(completed, Ordering::Relaxed);
        self.failed.fetch_add(failed, Ordering::Relaxed);
    }
}
