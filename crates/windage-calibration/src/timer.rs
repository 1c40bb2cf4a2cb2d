//! Work on a thread of its own, by a timer: what exporters and scrapers do beside requests.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::Account;
use crate::account::{monotonic, ns, thread_cpu};
use crate::injection::{Injection, spin};

/// A running timer. It ends with [`Timer::end`].
#[derive(Debug)]
pub(crate) struct Timer {
    end: Sender<()>,
    thread: JoinHandle<Runs>,
}

/// What a timer did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Runs {
    count: u64,
    iterations: u64,
    cpu: Duration,
    wall: Duration,
}

impl Timer {
    /// Starts the timer of an injection; `None` if it has none.
    pub(crate) fn start(injection: Injection) -> Option<Timer> {
        let Injection::Timer { iterations, every } = injection else {
            return None;
        };
        let (end, ended) = channel();
        let thread = thread::spawn(move || run(iterations, every, &ended));
        Some(Timer { end, thread })
    }

    /// Stops the timer and returns what it did. One that panicked did nothing.
    pub(crate) fn end(self) -> Runs {
        drop(self.end);
        self.thread.join().unwrap_or_default()
    }
}

impl Runs {
    /// Adds them to an account.
    pub(crate) fn enter(self, account: &mut Account) {
        account.timer_runs = self.count;
        account.timer_iterations = self.iterations;
        account.timer_cpu_ns = ns(self.cpu);
        account.timer_wall_ns = ns(self.wall);
    }
}

/// Runs are due at multiples of the period: a late one does not shift those after it.
fn run(iterations: u64, every: Duration, ended: &Receiver<()>) -> Runs {
    let began = monotonic();
    let mut runs = Runs::default();
    let mut due = began + every;
    loop {
        match ended.recv_timeout(due.saturating_sub(monotonic())) {
            Err(RecvTimeoutError::Timeout) => {}
            Ok(()) | Err(RecvTimeoutError::Disconnected) => return runs,
        }
        spin(iterations);
        runs.count += 1;
        runs.iterations += iterations;
        // Read after the work, so that CPU and time are those of whole periods.
        runs.cpu = thread_cpu();
        runs.wall = due - began;
        due += every;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timer_accounts_for_whole_periods() {
        let every = Duration::from_millis(1);
        let injection = Injection::Timer {
            iterations: 1_000,
            every,
        };
        let timer = Timer::start(injection).unwrap();
        thread::sleep(Duration::from_millis(50));
        let runs = timer.end();
        assert!(runs.count > 0, "{runs:?}");
        assert_eq!(runs.iterations, runs.count * 1_000);
        assert_eq!(runs.wall.as_millis(), u128::from(runs.count));
        assert!(runs.cpu > Duration::ZERO, "{runs:?}");
    }

    #[test]
    fn a_timer_ends_at_once() {
        let injection = Injection::Timer {
            iterations: 1,
            every: Duration::from_secs(3_600),
        };
        assert_eq!(Timer::start(injection).unwrap().end(), Runs::default());
        assert!(Timer::start(Injection::Nothing).is_none());
    }
}
