//! Waking up in time.
//!
//! A sleeping thread wakes late: the timer fires, the core leaves its idle state, the scheduler
//! runs. On a small virtual machine that takes tens of microseconds, about as long as a fast
//! service takes to answer. An open loop that only slept would send late and report it as latency.
//! So each wait ends in polling, which begins as early as this machine has been seen to wake late:
//! measured at the start and updated at every wake-up, because a core that is busy elsewhere wakes
//! differently from an idle one.

use nix::errno::Errno;
use nix::sys::prctl;

use crate::clock::monotonic_ns;
use crate::epoll::Epoll;

const TRIALS: usize = 50;
const TRIAL_NS: u64 = 100_000;
/// Above this the machine is too busy for a margin to help, and polling would only waste its core.
const LONGEST_MARGIN_NS: u64 = 150_000;
/// How far one wake-up moves the margin: up by `UP` if it was later, otherwise down by `DOWN`. The
/// margin settles where both balance, at the quantile `UP` / (`UP` + `DOWN`) of the lateness
/// (stochastic approximation: Robbins and Monro, 1951).
const UP_NS: u64 = 300;
const DOWN_NS: u64 = 100;

/// How long before an intended start polling begins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wakeup {
    margin_ns: u64,
}

/// How a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waited {
    Asleep,
    Polling,
}

impl Wakeup {
    /// Sleeps briefly a few times (some 10 ms in total) and takes the upper quartile of the
    /// lateness as the first margin.
    pub(crate) fn measure(epoll: &mut Epoll) -> Result<Wakeup, Errno> {
        let _exact = ExactTimers::for_this_thread();
        let mut lateness_ns = [0; TRIALS];
        for late_ns in &mut lateness_ns {
            let now_ns = monotonic_ns();
            epoll.wait_until(now_ns, now_ns + TRIAL_NS)?;
            *late_ns = monotonic_ns().saturating_sub(now_ns + TRIAL_NS);
        }
        Ok(Wakeup {
            margin_ns: margin(lateness_ns),
        })
    }

    /// Waits until something is ready, or until `at_ns` (on the monotonic clock) is so near that
    /// only polling can meet it. The caller calls again until the time has come.
    #[inline]
    pub(crate) fn wait(
        &mut self,
        epoll: &mut Epoll,
        now_ns: u64,
        at_ns: u64,
    ) -> Result<Waited, Errno> {
        let wake_ns = at_ns.saturating_sub(self.margin_ns);
        if wake_ns <= now_ns {
            epoll.poll()?;
            return Ok(Waited::Polling);
        }
        epoll.wait_until(now_ns, wake_ns)?;
        // An answer that woke it before the timer teaches nothing.
        if let Some(set_ns) = epoll.went_off_ns() {
            self.woke(monotonic_ns().saturating_sub(set_ns));
        }
        Ok(Waited::Asleep)
    }

    /// Learns from a wake-up by the timer.
    #[inline]
    fn woke(&mut self, late_ns: u64) {
        self.margin_ns = if late_ns > self.margin_ns {
            (self.margin_ns + UP_NS).min(LONGEST_MARGIN_NS)
        } else {
            self.margin_ns.saturating_sub(DOWN_NS)
        };
    }
}

/// By default the kernel wakes ordinary threads up to 50 µs late, to merge wake-ups. While this
/// value lives, it does not do so to the calling thread; if the kernel refuses, the margin only
/// gets longer.
///
/// Processes that the thread starts inherit the setting, and a service with other timers than in
/// production would be a different service. So the setting ends with the run.
#[derive(Debug)]
pub(crate) struct ExactTimers(());

impl ExactTimers {
    pub(crate) fn for_this_thread() -> ExactTimers {
        let _ = prctl::set_timerslack(1);
        ExactTimers(())
    }
}

impl Drop for ExactTimers {
    fn drop(&mut self) {
        // 0 restores the thread's default.
        let _ = prctl::set_timerslack(0);
    }
}

fn margin(mut lateness_ns: [u64; TRIALS]) -> u64 {
    lateness_ns.sort_unstable();
    lateness_ns[TRIALS * 3 / 4].min(LONGEST_MARGIN_NS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_margin_is_the_upper_quartile_within_its_bound() {
        let mut one_hiccup = [30_000; TRIALS];
        one_hiccup[3] = 9_000_000;
        let table = [
            ([0; TRIALS], 0, "an exact machine"),
            (one_hiccup, 30_000, "one hiccup does not count"),
            ([9_000_000; TRIALS], LONGEST_MARGIN_NS, "a busy machine"),
        ];
        for (lateness_ns, expected, why) in table {
            assert_eq!(margin(lateness_ns), expected, "{why}");
        }
    }

    #[test]
    fn the_margin_follows_the_machine() {
        // Lateness that cycles through 1 to 20 µs has its upper quartile at 15 µs.
        let mut wakeup = Wakeup { margin_ns: 100_000 };
        for turn in 0..5_000u64 {
            wakeup.woke((turn * 7 % 20 + 1) * 1_000);
        }
        assert!(
            wakeup.margin_ns.abs_diff(15_000) <= 2_000,
            "{}",
            wakeup.margin_ns
        );
        for _ in 0..5_000 {
            wakeup.woke(u64::MAX);
        }
        assert_eq!(wakeup.margin_ns, LONGEST_MARGIN_NS);
        for _ in 0..5_000 {
            wakeup.woke(0);
        }
        assert_eq!(wakeup.margin_ns, 0);
    }

    #[test]
    fn exact_timers_end_with_their_guard() {
        let before = prctl::get_timerslack().unwrap();
        {
            let _exact = ExactTimers::for_this_thread();
            assert_eq!(prctl::get_timerslack(), Ok(1));
        }
        assert_eq!(prctl::get_timerslack(), Ok(before));
    }

    #[test]
    fn waiting_never_sleeps_into_the_margin() {
        // Within the margin the call polls, so it returns at once, whatever the load.
        let mut epoll = Epoll::new().unwrap();
        let mut wakeup = Wakeup {
            margin_ns: u64::MAX,
        };
        let waited = wakeup.wait(&mut epoll, 0, u64::MAX).unwrap();
        assert_eq!(waited, Waited::Polling);
        assert_eq!(epoll.ready(), 0);
    }
}
