//! The work of a request, and the injected work.

use std::hint::black_box;
use std::num::NonZeroU64;
use std::time::{Duration, Instant};

/// Iterations of the loop in every request: some 50 µs on a core of 3 to 4 GHz, so that a request
/// takes 60 to 80 µs of CPU in total.
pub const BASE_ITERATIONS: u64 = 25_000;

/// What is injected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Injection {
    /// Nothing: the baseline.
    Nothing,
    /// Further iterations of the loop that every request runs. Their cost scales with the machine's
    /// speed as the request's does, so it is known as a ratio.
    Iterations(u64),
    /// A busy wait until this time has passed on the monotonic clock: a cost known in seconds.
    BusyWait(Duration),
    /// A sleep, which blocks the service: latency without CPU.
    Sleep(Duration),
    /// Further iterations in every n-th request only: a cost that a trimmed mean would leave out.
    Burst {
        /// Iterations in such a request.
        iterations: u64,
        /// The n of "every n-th".
        every: NonZeroU64,
    },
    /// Iterations on a timer's own thread, with or without requests: a cost outside all requests.
    Timer {
        /// Iterations each time.
        iterations: u64,
        /// The timer's period.
        every: Duration,
    },
}

impl Injection {
    /// What a request gets, given its number, which counts from 1.
    pub(crate) fn inject(self, request: u64) {
        match self {
            Injection::Nothing | Injection::Timer { .. } => {}
            Injection::Iterations(_) | Injection::Burst { .. } => spin(self.iterations_of(request)),
            Injection::BusyWait(wait) => {
                let began = Instant::now();
                while began.elapsed() < wait {}
            }
            Injection::Sleep(pause) => std::thread::sleep(pause),
        }
    }

    /// Iterations injected into a request, given its number.
    pub(crate) fn iterations_of(self, request: u64) -> u64 {
        match self {
            Injection::Iterations(iterations) => iterations,
            Injection::Burst { iterations, every } if request.is_multiple_of(every.get()) => {
                iterations
            }
            _ => 0,
        }
    }
}

/// Runs the loop: one chain of dependent steps in registers, which no compiler shortens and no
/// cache slows. Never inlined, so that base and injected work are the same machine code.
#[inline(never)]
pub(crate) fn spin(iterations: u64) {
    let mut state = black_box(0x2545_f491_4f6c_dd1d_u64);
    for _ in 0..black_box(iterations) {
        // The steps of a xorshift generator (Marsaglia 2003).
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
    }
    black_box(state);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_last_at_least_as_long_as_requested() {
        let wait = Duration::from_micros(300);
        for injection in [Injection::BusyWait(wait), Injection::Sleep(wait)] {
            let began = Instant::now();
            injection.inject(1);
            assert!(began.elapsed() >= wait, "{injection:?}");
        }
    }

    #[test]
    fn bursts_are_in_every_nth_request() {
        let burst = |every| Injection::Burst {
            iterations: 7,
            every: NonZeroU64::new(every).unwrap(),
        };
        let table = [
            (Injection::Nothing, 0),
            (Injection::Iterations(7), 70),
            (burst(1), 70),
            (burst(3), 21),
            (burst(10), 7),
            (burst(11), 0),
            (
                Injection::Timer {
                    iterations: 7,
                    every: Duration::from_secs(1),
                },
                0,
            ),
        ];
        for (injection, expected) in table {
            let all: u64 = (1..=10)
                .map(|request| injection.iterations_of(request))
                .sum();
            assert_eq!(all, expected, "{injection:?}");
        }
    }
}
