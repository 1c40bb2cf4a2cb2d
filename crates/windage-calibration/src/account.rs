//! Measures what was injected, with the thread's own clocks. A *bracket* is a pair of clock reads
//! around a piece of work.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use hdrhistogram::Histogram;
use nix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

use crate::injection::Injection;

/// Number of empty brackets timed to find the cost of a bracket.
const EMPTY_BRACKETS: usize = 10_000;

/// What the service did and injected since its first request, as printed at its end.
///
/// The injected cost per request of an arm is its `injected_cpu_ns / requests` (for sleeps
/// `injected_wall_ns / requests`) minus the same figure of the baseline. The subtraction is needed
/// because a bracket between two pieces of other work costs slightly more than in the loop that
/// measures its cost; both figures include that excess.
///
/// The cost of iterations injected into requests is known better as a ratio: `base_cpu_ns ×
/// injected_iterations / (iterations × requests)`. It contains no clock read that an interruption
/// could have affected.
///
/// The cost of a timer is not part of any request: it is `timer_cpu_ns / timer_wall_ns` cores, with
/// or without load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    /// Requests for `/`.
    pub requests: u64,
    /// Iterations of the loop in the base work of every request.
    pub iterations: u64,
    /// Iterations injected into all requests together.
    pub injected_iterations: u64,
    /// CPU time of the thread in the base work, minus the cost of the brackets, in ns.
    pub base_cpu_ns: i64,
    /// CPU time of the thread in the injected part, minus the cost of the brackets, in ns. Negative
    /// when nothing was injected and the empty brackets happened to be slower.
    pub injected_cpu_ns: i64,
    /// The same by the monotonic clock: the duration of injected sleeps.
    pub injected_wall_ns: i64,
    /// Median time in the injected part over all requests, in ns, including an empty bracket: what
    /// an injected sleep adds to the median request.
    pub injected_wall_p50_ns: u64,
    /// Median reading of an empty bracket on the thread's CPU clock, in ns.
    pub bracket_cpu_ns: u64,
    /// Median reading of an empty bracket on the monotonic clock, in ns.
    pub bracket_wall_ns: u64,
    /// The thread's CPU time since the first request, in ns.
    pub cpu_ns: u64,
    /// How often the timer ran; 0 without one.
    pub timer_runs: u64,
    /// Iterations of all its runs.
    pub timer_iterations: u64,
    /// CPU time of the timer's thread over its runs, waking up included, in ns.
    pub timer_cpu_ns: u64,
    /// The time that these runs stand for, a period each, by the monotonic clock, in ns.
    pub timer_wall_ns: u64,
}

/// Collects the account. Only for one thread: the CPU clock is that of the thread that reads it.
#[derive(Debug)]
pub(crate) struct Ledger {
    bracket: Span,
    requests: Cell<u64>,
    injected_iterations: Cell<u64>,
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
    /// Opens an account and measures the cost of an empty bracket, for some milliseconds.
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
            injected_iterations: Cell::new(0),
            base_cpu: Cell::default(),
            injected: Cell::default(),
            injected_wall_ns: RefCell::new(walls()),
            first_request_cpu: Cell::new(None),
        }
    }

    /// Does a request's base work and the injection, and accounts for both.
    pub(crate) fn request(&self, base: impl FnOnce(), injection: Injection) {
        if self.requests.get() == 0 {
            self.first_request_cpu.set(Some(thread_cpu()));
        }
        let request = self.requests.get() + 1;
        self.requests.set(request);
        let iterations = self.injected_iterations.get() + injection.iterations_of(request);
        self.injected_iterations.set(iterations);
        let (base_cpu, span) = bracketed(base, || injection.inject(request));
        self.base_cpu.set(self.base_cpu.get() + base_cpu);
        self.injected.set(self.injected.get().plus(span));
        let mut walls = self.injected_wall_ns.borrow_mut();
        walls.saturating_record(ns(span.wall));
    }

    /// The account of requests so far; the caller fills in the base iterations and the timer.
    pub(crate) fn account(&self) -> Account {
        let requests = self.requests.get();
        let began = self.first_request_cpu.get();
        let cpu = began.map_or(Duration::ZERO, |began| thread_cpu().saturating_sub(began));
        let injected = self.injected.get();
        Account {
            requests,
            injected_iterations: self.injected_iterations.get(),
            base_cpu_ns: less_brackets(self.base_cpu.get(), self.bracket.cpu, requests),
            injected_cpu_ns: less_brackets(injected.cpu, self.bracket.cpu, requests),
            injected_wall_ns: less_brackets(injected.wall, self.bracket.wall, requests),
            injected_wall_p50_ns: self.injected_wall_ns.borrow().value_at_quantile(0.5),
            bracket_cpu_ns: ns(self.bracket.cpu),
            bracket_wall_ns: ns(self.bracket.wall),
            cpu_ns: ns(cpu),
            ..Account::default()
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

/// Times of up to a minute with three digits; never grows, so that no request pays for growth.
fn walls() -> Histogram<u64> {
    Histogram::new_with_max(60_000_000_000, 3).expect("valid bounds of a histogram")
}

/// Runs both parts of a request between clock reads: CPU time of the first, time on both clocks of
/// the second.
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

/// The median, because an interruption between two reads is not part of a bracket's cost.
fn median(durations: &mut [Duration]) -> Duration {
    let middle = durations.len() / 2;
    *durations.select_nth_unstable(middle).1
}

fn less_brackets(bracketed: Duration, bracket: Duration, requests: u64) -> i64 {
    let signed = |ns: u64| i64::try_from(ns).unwrap_or(i64::MAX);
    signed(ns(bracketed)) - signed(ns(bracket).saturating_mul(requests))
}

pub(crate) fn thread_cpu() -> Duration {
    read(ClockId::CLOCK_THREAD_CPUTIME_ID)
}

pub(crate) fn monotonic() -> Duration {
    read(ClockId::CLOCK_MONOTONIC)
}

/// Every Linux has both clocks. One that can't be read would count no time.
fn read(clock: ClockId) -> Duration {
    clock_gettime(clock).map_or(Duration::ZERO, Duration::from)
}

pub(crate) fn ns(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU64;

    use super::*;
    use crate::injection::spin;

    const REQUESTS: i64 = 200;

    fn served(injection: Injection) -> Account {
        let ledger = Ledger::open();
        for _ in 0..REQUESTS {
            ledger.request(|| spin(1_000), injection);
        }
        ledger.account()
    }

    #[test]
    fn a_busy_wait_shows_on_both_clocks_and_a_sleep_on_one() {
        let wait = Duration::from_micros(200);
        let asked_ns = REQUESTS * 200_000;

        let busy = served(Injection::BusyWait(wait));
        assert!(busy.injected_wall_ns >= asked_ns * 99 / 100, "{busy:?}");
        // A busy wait by the monotonic clock continues while another thread has the core. The reads
        // of one clock lie between those of the other.
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
        // Three digits: within a thousandth.
        assert!(sleeping.injected_wall_p50_ns >= 199_800, "{sleeping:?}");
    }

    #[test]
    fn injected_iterations_are_counted() {
        let every = NonZeroU64::new(8).unwrap();
        let table = [
            (Injection::Nothing, 0),
            (Injection::Iterations(30), 6_000),
            (
                Injection::Burst {
                    iterations: 40,
                    every,
                },
                1_000,
            ),
        ];
        for (injection, expected) in table {
            let account = served(injection);
            assert_eq!(account.injected_iterations, expected, "{injection:?}");
            assert_eq!(account.requests, REQUESTS.unsigned_abs());
        }
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
