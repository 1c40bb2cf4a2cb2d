//! Waking up in time.
//!
//! A sleeping thread wakes late: the timer fires, the core leaves its idle state, the scheduler
//! runs. On a small virtual machine that is tens of microseconds, about as long as a fast service
//! takes to answer, so an open loop that only slept would send late and call it latency. Waiting
//! therefore ends in polling, and the polling starts as early before the time as this machine has
//! been seen to wake late.

use std::time::Duration;

use nix::errno::Errno;
use nix::sys::prctl;

use crate::clock::monotonic_ns;
use crate::epoll::Epoll;

const TRIALS: usize = 50;
const TRIAL: Duration = Duration::from_micros(100);
const SHORTEST_MARGIN_NS: u64 = 20_000;
/// Beyond this the machine is too busy for a margin to help, and polling would only burn its core.
const LONGEST_MARGIN_NS: u64 = 150_000;

/// How long before an intended start sleeping ends and polling begins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wakeup {
    margin_ns: u64,
}

impl Wakeup {
    /// Sleeps a few times for a moment (some 10 ms in all) and takes the 90th percentile of the
    /// lateness as margin.
    pub(crate) fn measure(epoll: &mut Epoll) -> Result<Wakeup, Errno> {
        let _exact = ExactTimers::for_this_thread();
        let mut lateness_ns = [0; TRIALS];
        for late_ns in &mut lateness_ns {
            let began_ns = monotonic_ns();
            epoll.wait(TRIAL)?;
            let slept_ns = monotonic_ns() - began_ns;
            *late_ns = slept_ns.saturating_sub(TRIAL.as_nanos() as u64);
        }
        Ok(Wakeup {
            margin_ns: margin(lateness_ns),
        })
    }

    /// Waits until something is ready, or until `at_ns` (on the monotonic clock) is so near that
    /// only polling can meet it. The caller comes back until the time has come.
    #[inline]
    pub(crate) fn wait(self, epoll: &mut Epoll, now_ns: u64, at_ns: u64) -> Result<(), Errno> {
        let sleep_ns = at_ns.saturating_sub(now_ns).saturating_sub(self.margin_ns);
        if sleep_ns == 0 {
            epoll.poll()
        } else {
            epoll.wait(Duration::from_nanos(sleep_ns))
        }
    }
}

/// The kernel lets ordinary threads wake up to 50 µs late in order to join wake-ups. While this
/// lives, it does not do so to the calling thread; a refusal only makes the margin longer.
///
/// The setting is passed on to processes that the thread starts, and a service measured with
/// timers unlike those it has in production would be another service: so it ends with the run.
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
        // 0 stands for the thread's default.
        let _ = prctl::set_timerslack(0);
    }
}

fn margin(mut lateness_ns: [u64; TRIALS]) -> u64 {
    lateness_ns.sort_unstable();
    lateness_ns[TRIALS * 9 / 10].clamp(SHORTEST_MARGIN_NS, LONGEST_MARGIN_NS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_margin_is_the_usual_worst_within_bounds() {
        let mut one_hiccup = [30_000; TRIALS];
        one_hiccup[3] = 9_000_000;
        let table = [
            ([0; TRIALS], SHORTEST_MARGIN_NS, "an exact machine"),
            (one_hiccup, 30_000, "one hiccup does not count"),
            ([9_000_000; TRIALS], LONGEST_MARGIN_NS, "a busy machine"),
        ];
        for (lateness_ns, expected, why) in table {
            assert_eq!(margin(lateness_ns), expected, "{why}");
        }
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
    fn waiting_never_passes_the_margin_by_design() {
        // A time within the margin is polled for, so the call returns at once, whatever the load.
        let mut epoll = Epoll::new().unwrap();
        let wakeup = Wakeup {
            margin_ns: u64::MAX,
        };
        wakeup.wait(&mut epoll, 0, u64::MAX).unwrap();
        assert_eq!(epoll.ready(), 0);
    }
}
