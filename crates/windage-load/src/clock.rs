//! The generator's two clocks. Each read costs at most one cheap system call.

use nix::time::{ClockId, clock_gettime};

/// `CLOCK_MONOTONIC`, in nanoseconds.
#[must_use]
pub fn monotonic_ns() -> u64 {
    read_ns(ClockId::CLOCK_MONOTONIC)
}

/// CPU time of the calling thread, user and system, in nanoseconds (`CLOCK_THREAD_CPUTIME_ID`).
/// Exact for the calling thread.
#[must_use]
pub fn thread_cpu_ns() -> u64 {
    read_ns(ClockId::CLOCK_THREAD_CPUTIME_ID)
}

fn read_ns(clock: ClockId) -> u64 {
    // Both clocks exist since Linux 2.6.12 and count up from zero, so neither branch is taken.
    let Ok(time) = clock_gettime(clock) else {
        return 0;
    };
    let seconds = u64::try_from(time.tv_sec()).unwrap_or(0);
    let nanoseconds = u64::try_from(time.tv_nsec()).unwrap_or(0);
    seconds * 1_000_000_000 + nanoseconds
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_clocks_move_forward() {
        let (wall, cpu) = (monotonic_ns(), thread_cpu_ns());
        let mut sum = 0u64;
        while monotonic_ns() - wall < 2_000_000 {
            sum = std::hint::black_box(sum.wrapping_add(1));
        }
        assert!(monotonic_ns() > wall);
        assert!(thread_cpu_ns() > cpu);
    }
}
