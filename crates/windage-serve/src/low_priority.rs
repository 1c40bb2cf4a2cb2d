//! How to read what a run writes while it is measured: giving way to all other threads, and resting for
//! many times the CPU that it took.
//!
//! By the CPU and not by the time: whoever gives way waits for a core, which costs the run nothing.

use std::time::{Duration, Instant};

use rustix::process::setpriority_process;
use rustix::time::{ClockId, clock_gettime};

/// They take their turn when nobody else wants the core, least of all what is measured.
const NICENESS: i32 = 19;
/// What was read is left alone for so many times the CPU that it took to read.
const REST: u32 = 99;

/// Gives every other thread the precedence over the calling one. Without it the answer is the same.
pub fn be_nice() {
    // On Linux this is about the calling thread alone.
    let _ = setpriority_process(None, NICENESS);
}

/// CPU that the calling thread has used since it began.
#[must_use]
pub fn cpu_of_this_thread() -> Duration {
    let used = clock_gettime(ClockId::ThreadCPUTime);
    // The kernel's seconds and nanoseconds are never negative.
    Duration::try_from(used).unwrap_or_default()
}

/// Does some work, and says what CPU the calling thread used for it. Threads that an analysis spreads
/// over are not counted; on each further core they may take as much again.
pub(crate) fn cpu_of<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let before = cpu_of_this_thread();
    let done = work();
    (done, cpu_of_this_thread().saturating_sub(before))
}

/// When what took so much CPU to read may be read again.
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
    fn a_rest_is_99_times_the_work_and_no_less_than_asked() {
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
    fn work_that_waits_for_its_core_or_its_disk_is_rested_for_no_longer() {
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
