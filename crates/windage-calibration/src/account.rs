//! The account of what was injected, by the thread's own clocks.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use hdrhistogram::Histogram;
use nix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

/// Empty brackets by which the cost of a bracket is found.
const EMPTY_BRACKETS: usize = 10_000;

/// What the service did and injected since its first request, as it is printed at its end.
///
/// What was injected into a request of one arm is `injected_cpu_ns / requests` (or
/// `injected_wall_ns / requests` for sleeps) less the same of the baseline: a bracket costs a
/// little more between two pieces of other work than in the loop by which its cost was found,
/// and that excess is in both.
///
/// Injected iterations are known better as a ratio: they cost
/// `base_cpu_ns × injected_iterations / iterations`, and no reading of a clock is in that which
/// an interruption could have hit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    /// Requests for `/`.
    pub requests: u64,
    /// Iterations of the loop in the work that every request does.
    pub iterations: u64,
    /// Iterations injected into every request.
    pub injected_iterations: u64,
    /// CPU time of the thread in the work that every request does, less that of as many empty
    /// brackets, in ns.
    pub base_cpu_ns: i64,
    /// CPU time of the thread in the injected part, less that of as many empty brackets,
    /// in ns. Below 0 when nothing was injected and the empty ones happened to be slower.
    pub injected_cpu_ns: i64,
    /// The same by the monotonic clock: what injected sleeps took.
    pub injected_wall_ns: i64,
    /// The median over requests of the time in the injected part, in ns, that of an empty bracket
    /// included: what an injected sleep adds to the median request.
    pub injected_wall_p50_ns: u64,
    /// What an empty bracket shows on the thread's CPU clock (median), in ns.
    pub bracket_cpu_ns: u64,
    /// What an empty bracket shows on the monotonic clock (median), in ns.
    pub bracket_wall_ns: u64,
    /// The thread's CPU time since the first request, in ns.
    pub cpu_ns: u64,
}

/// Keeps the account. For one thread: the CPU clock is that of the thread that reads it.
#[derive(Debug)]
pub(crate) struct Ledger {
    bracket: Span,
    requests: Cell<u64>,
    base_cpu: Cell<Duration>,
    injected: Cell<Span>,
    injected_wall_ns: RefCell<Histogram<u64>>,
    first_request_cpu: Cell<Option<Duration>>,
}

/// Time on both clocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Span {
    cpu: Duration,
    wall: Duration,
}

impl Ledger {
    /// Opens an account and measures, for some milliseconds, what an empty bracket costs.
    pub(crate) fn open() -> Ledger {
        let (mut cpu, mut wall): (Vec<_>, Vec<_>) = (0..EMPTY_BRACKETS)
            .map(|_| bracketed(|| {}, || {}).1)
            .map(|injected| (injected.cpu, injected.wall))
            .unzip();
        Ledger {
            bracket: Span {
                cpu: median(&mut cpu),
                wall: median(&mut wall),
            },
            requests: Cell::new(0),
            base_cpu: Cell::default(),
            injected: Cell::default(),
            injected_wall_ns: RefCell::new(walls()),
            first_request_cpu: Cell::new(None),
        }
    }

    /// Does a request's work and the injected work, and takes account of both.
    pub(crate) fn request(&self, base: impl FnOnce(), injected: impl FnOnce()) {
        if self.requests.get() == 0 {
            self.first_request_cpu.set(Some(thread_cpu()));
        }
        self.requests.set(self.requests.get() + 1);
        let (base_cpu, span) = bracketed(base, injected);
        self.base_cpu.set(self.base_cpu.get() + base_cpu);
        self.injected.set(self.injected.get().plus(span));
        let mut walls = self.injected_wall_ns.borrow_mut();
        walls.saturating_record(ns(span.wall));
    }

    /// What was done until now; which iterations it was is not known here.
    pub(crate) fn account(&self) -> Account {
        let requests = self.requests.get();
        let began = self.first_request_cpu.get();
        let cpu = began.map_or(Duration::ZERO, |began| thread_cpu().saturating_sub(began));
        let injected = self.injected.get();
        Account {
            requests,
            iterations: 0,
            injected_iterations: 0,
            base_cpu_ns: less_brackets(self.base_cpu.get(), self.bracket.cpu, requests),
            injected_cpu_ns: less_brackets(injected.cpu, self.bracket.cpu, requests),
            injected_wall_ns: less_brackets(injected.wall, self.bracket.wall, requests),
            injected_wall_p50_ns: self.injected_wall_ns.borrow().value_at_quantile(0.5),
            bracket_cpu_ns: ns(self.bracket.cpu),
            bracket_wall_ns: ns(self.bracket.wall),
            cpu_ns: ns(cpu),
        }
    }
}

impl Span {
    fn plus(self, other: Span) -> Span {
        Span {
            cpu: self.cpu + other.cpu,
            wall: self.wall + other.wall,
        }
    }
}

/// Times of up to a minute to three digits; it never grows, so that no request pays for that.
fn walls() -> Histogram<u64> {
    Histogram::new_with_max(60_000_000_000, 3).expect("three digits below a minute are a histogram")
}

/// Runs both parts of a request between reads of the clocks: CPU time of the first, time on both
/// clocks of the second.
fn bracketed(base: impl FnOnce(), injected: impl FnOnce()) -> (Duration, Span) {
    let began_cpu = thread_cpu();
    base();
    let based_cpu = thread_cpu();
    let based_wall = monotonic();
    injected();
    let ended_wall = monotonic();
    let ended_cpu = thread_cpu();
    let span = Span {
        cpu: ended_cpu.saturating_sub(based_cpu),
        wall: ended_wall.saturating_sub(based_wall),
    };
    (based_cpu.saturating_sub(began_cpu), span)
}

/// An interruption between two reads is no part of a bracket's cost: not the mean.
fn median(durations: &mut [Duration]) -> Duration {
    let middle = durations.len() / 2;
    *durations.select_nth_unstable(middle).1
}

fn less_brackets(bracketed: Duration, bracket: Duration, requests: u64) -> i64 {
    let signed = |ns: u64| i64::try_from(ns).unwrap_or(i64::MAX);
    signed(ns(bracketed)) - signed(ns(bracket).saturating_mul(requests))
}

fn thread_cpu() -> Duration {
    read(ClockId::CLOCK_THREAD_CPUTIME_ID)
}

fn monotonic() -> Duration {
    read(ClockId::CLOCK_MONOTONIC)
}

/// Every Linux has both clocks; one that can't be read would stand still in the account.
fn read(clock: ClockId) -> Duration {
    clock_gettime(clock).map_or(Duration::ZERO, Duration::from)
}

fn ns(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::injection::{Injection, spin};

    const REQUESTS: i64 = 200;

    fn served(injection: Injection) -> Account {
        let ledger = Ledger::open();
        for _ in 0..REQUESTS {
            ledger.request(|| spin(1_000), || injection.inject());
        }
        ledger.account()
    }

    #[test]
    fn a_busy_wait_shows_on_both_clocks_and_a_sleep_on_one() {
        let wait = Duration::from_micros(200);
        let asked_ns = REQUESTS * 200_000;

        let busy = served(Injection::BusyWait(wait));
        assert!(busy.injected_wall_ns >= asked_ns * 99 / 100, "{busy:?}");
        // A busy wait by the monotonic clock goes on while another thread has the core. The reads of
        // the one clock lie within those of the other.
        let reads_ns = REQUESTS * 20_000;
        assert!(
            busy.injected_cpu_ns <= busy.injected_wall_ns + reads_ns,
            "{busy:?}"
        );
        assert!(busy.cpu_ns >= busy.injected_cpu_ns.unsigned_abs());

        let sleeping = served(Injection::Sleep(wait));
        assert!(
            sleeping.injected_wall_ns >= asked_ns * 99 / 100,
            "{sleeping:?}"
        );
        assert!(sleeping.injected_cpu_ns < asked_ns / 2, "{sleeping:?}");
        // Three digits: to a thousandth.
        assert!(sleeping.injected_wall_p50_ns >= 199_800, "{sleeping:?}");
    }

    #[test]
    fn an_account_without_requests_is_empty() {
        let account = Ledger::open().account();
        assert_eq!(
            Account {
                bracket_cpu_ns: 0,
                bracket_wall_ns: 0,
                ..account
            },
            Account::default()
        );
    }
}
