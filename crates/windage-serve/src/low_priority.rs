//! How to read a run while it is being measured: give way to all other threads, and rest for many
//! times the CPU that was used.
//!
//! The rest depends on CPU and not on time: a thread that gives way waits for a core, which costs
//! the run nothing.

use std::time::{Duration, Instant};

use rustix::process::setpriority_process;
use rustix::time::{ClockId, clock_gettime};

/// The lowest priority: the thread runs when no other wants the core, least of all a measured one.
const NICENESS: i32 = 19;
/// The rest after a read, as a multiple of the CPU that it used.
const REST: u32 = 99;

/// Gives the calling thread the lowest priority. If that fails, results are the same.
pub fn be_nice() {
    // On Linux this applies to the calling thread only.
    let _ = setpriority_process(None, NICENESS);
}

/// CPU that the calling thread has used since it began.
#[must_use]
pub fn cpu_of_this_thread() -> Duration {
    let used = clock_gettime(ClockId::ThreadCPUTime);
    // The kernel's seconds and nanoseconds are never negative.
    Duration::try_from(used).unwrap_or_default()
}

/// Runs `work`, and returns the CPU time that the calling thread used for it. Other threads of an
/// analysis are not counted; each of them may use as much again.
pub(crate) fn cpu_of<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let before = cpu_of_this_thread();
    let done = work();
    (done, cpu_of_this_thread().saturating_sub(before))
}

/// When something that took this much CPU to read may be read again.
pub(crate) fn due_after(took: Duration, at_least: Duration) -> Instant {
    Instant::now() + rest_after(took, at_least)
}

fn rest_after(took: Duration, at_least: Duration) -> Duration {
    took.saturating_mul(REST).max(at_least)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rest_is_99_times_the_work_and_at_least_the_minimum() {
        for (took_ms, at_least_ms, expected_ms) in [
            (0, 1000, 1000),
            (10, 1000, 1000),
            (50, 1000, 4950),
            (50, 5000, 5000),
        ] {
            let [took, at_least, expected] =
                [took_ms, at_least_ms, expected_ms].map(Duration::from_millis);
            assert_eq!(rest_after(took, at_least), expected, "{took_ms} ms");
        }
    }

    #[test]
    fn waiting_for_a_core_or_the_disk_does_not_extend_the_rest() {
        let waits = Duration::from_millis(200);
        let ((), took) = cpu_of(|| std::thread::sleep(waits));
        assert!(took < waits / 4, "{took:?}");
    }

    #[test]
    fn work_is_counted() {
        let enough = Duration::from_millis(20);
        let ((), took) = cpu_of(|| {
            let before = cpu_of_this_thread();
            while cpu_of_this_thread() < before + enough {}
        });
        assert!(took >= enough, "{took:?}");
    }
}
