//! The clocks, and waiting for a time on one of them.

use std::time::Duration;

use nix::sys::time::TimeSpec;
use nix::time::{ClockId, ClockNanosleepFlags, clock_gettime, clock_nanosleep};

/// How long before a time sleeping ends and polling begins: beyond what a small virtual machine
/// usually wakes late.
pub(crate) const POLLED_NS: u64 = 200_000;

/// `CLOCK_MONOTONIC`, in nanoseconds.
pub(crate) fn monotonic_ns() -> u64 {
    read_ns(ClockId::CLOCK_MONOTONIC)
}

/// The time of day, by which the kernel stamps what it receives, in nanoseconds.
pub(crate) fn wall_ns() -> u64 {
    read_ns(ClockId::CLOCK_REALTIME)
}

/// Does nothing until `at_ns` on the monotonic clock: sleeps, then polls.
pub(crate) fn sleep_until(at_ns: u64) {
    let until = TimeSpec::from_duration(Duration::from_nanos(at_ns.saturating_sub(POLLED_NS)));
    // An interruption only makes the polling longer.
    let _ = clock_nanosleep(
        ClockId::CLOCK_MONOTONIC,
        ClockNanosleepFlags::TIMER_ABSTIME,
        &until,
    );
    while monotonic_ns() < at_ns {
        std::hint::spin_loop();
    }
}

pub(crate) fn as_ns(time: TimeSpec) -> u64 {
    let seconds = u64::try_from(time.tv_sec()).unwrap_or(0);
    let nanoseconds = u64::try_from(time.tv_nsec()).unwrap_or(0);
    seconds * 1_000_000_000 + nanoseconds
}

fn read_ns(clock: ClockId) -> u64 {
    // Linux has both clocks since 2.6.12.
    clock_gettime(clock).map_or(0, as_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_wakes_early() {
        for ahead_ns in [0, 50_000, 2_000_000] {
            let at_ns = monotonic_ns() + ahead_ns;
            sleep_until(at_ns);
            assert!(monotonic_ns() >= at_ns, "{ahead_ns}");
        }
    }

    #[test]
    fn the_time_of_day_is_that_of_the_standard_library() {
        let elapsed = std::time::UNIX_EPOCH.elapsed().unwrap();
        let off_ns = elapsed.as_nanos().abs_diff(u128::from(wall_ns()));
        assert!(off_ns < 60_000_000_000, "{off_ns}");
    }
}
