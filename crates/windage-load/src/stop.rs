//! Stopping a run from outside.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Stops a run from another thread or a signal handler.
#[derive(Clone, Debug, Default)]
pub struct StopHandle(pub(crate) Arc<AtomicBool>);

impl StopHandle {
    /// Makes the current run, and any later one, return within a few hundredths of a second.
    pub fn stop(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Allows runs again.
    pub fn clear(&self) {
        self.0.store(false, Ordering::Relaxed);
    }

    /// Whether it is set.
    #[must_use]
    #[inline]
    pub fn is_stopped(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// The flag itself, for libraries that set one on a signal.
    #[must_use]
    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.0)
    }
}
