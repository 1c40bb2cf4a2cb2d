//! How a run goes, for whoever watches it from another thread.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counts of a run, or of several that share one; each only ever grows.
#[derive(Debug, Default)]
pub struct Progress {
    completed: AtomicU64,
    failed: AtomicU64,
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

    pub(crate) fn add(&self, completed: u64, failed: u64) {
        self.completed.fetch_add(completed, Ordering::Relaxed);
        self.failed.fetch_add(failed, Ordering::Relaxed);
    }
}
