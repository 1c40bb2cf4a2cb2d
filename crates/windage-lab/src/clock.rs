//! The run's clock, shared by all of its records.

use std::time::{Duration, Instant};

/// A duration in whole nanoseconds, saturating after 584 years.
pub(crate) fn whole_ns(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// Nanoseconds since the run began. A resumed run continues where the earlier part ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunClock {
    zero: Instant,
    offset_ns: u64,
}

impl RunClock {
    /// Starts at `offset_ns`.
    pub(crate) fn starting_at(offset_ns: u64) -> RunClock {
        RunClock {
            zero: Instant::now(),
            offset_ns,
        }
    }

    pub(crate) fn now_ns(&self) -> u64 {
        self.offset_ns.saturating_add(whole_ns(self.zero.elapsed()))
    }
}
