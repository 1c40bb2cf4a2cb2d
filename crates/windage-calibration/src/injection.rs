//! The work of a request, and the injected work.

use std::hint::black_box;
use std::time::{Duration, Instant};

/// Iterations of the loop in every request: some 50 µs on a core of 3 to 4 GHz, so that a request
/// takes 60 to 80 µs of CPU in total.
pub const BASE_ITERATIONS: u64 = 25_000;

/// What is injected into every request.
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
}

impl Injection {
    pub(crate) fn inject(self) {
        match self {
            Injection::Nothing => {}
            Injection::Iterations(iterations) => spin(iterations),
            Injection::BusyWait(wait) => {
                let began = Instant::now();
                while began.elapsed() < wait {}
            }
            Injection::Sleep(pause) => std::thread::sleep(pause),
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
            injection.inject();
            assert!(began.elapsed() >= wait, "{injection:?}");
        }
    }
}
