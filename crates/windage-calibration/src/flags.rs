//! The service's flags.

use std::net::SocketAddr;
use std::num::NonZeroU64;
use std::time::Duration;

use clap::Parser;

use crate::{BASE_ITERATIONS, CalibrationOptions, Injection};

#[derive(Debug, Parser)]
#[command(
    name = "windage-calibration",
    about = "Injects a known cost into requests, or beside them"
)]
pub(crate) struct Flags {
    /// Where to listen, such as 127.0.0.1:8080
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: SocketAddr,
    /// Iterations of the loop in every request
    #[arg(long, value_name = "N", default_value_t = BASE_ITERATIONS)]
    iterations: u64,
    /// Inject further iterations of the same loop
    #[arg(long, value_name = "N", group = "injection")]
    extra_iterations: Option<u64>,
    /// Inject a busy wait of this many nanoseconds by the monotonic clock
    #[arg(long, value_name = "NS", group = "injection")]
    busy_wait_ns: Option<u64>,
    /// Inject a sleep of this many nanoseconds
    #[arg(long, value_name = "NS", group = "injection")]
    sleep_ns: Option<u64>,
    /// Inject this many iterations into every K-th request (--burst-every)
    #[arg(long, value_name = "N", group = "injection", requires = "burst_every")]
    burst_iterations: Option<u64>,
    /// Which requests get a burst
    #[arg(long, value_name = "K", requires = "burst_iterations")]
    burst_every: Option<NonZeroU64>,
    /// Run this many iterations on a thread of their own, every MS milliseconds (--timer-every)
    #[arg(long, value_name = "N", group = "injection", requires = "timer_every")]
    timer_iterations: Option<u64>,
    /// The period of that thread
    #[arg(long, value_name = "MS", requires = "timer_iterations",
          value_parser = clap::value_parser!(u64).range(1..=3_600_000))]
    timer_every: Option<u64>,
}

impl Flags {
    pub(crate) fn options(&self) -> CalibrationOptions {
        CalibrationOptions {
            listen: self.listen,
            iterations: self.iterations,
            injection: self.injection().unwrap_or(Injection::Nothing),
        }
    }

    /// A level of zero injects nothing.
    fn injection(&self) -> Option<Injection> {
        let given = |level: Option<u64>| level.filter(|level| *level > 0);
        let waiting = |level| given(level).map(Duration::from_nanos);
        let burst = given(self.burst_iterations).zip(self.burst_every);
        let timer = given(self.timer_iterations).zip(self.timer_every);
        let steady = given(self.extra_iterations).map(Injection::Iterations);
        steady
            .or_else(|| waiting(self.busy_wait_ns).map(Injection::BusyWait))
            .or_else(|| waiting(self.sleep_ns).map(Injection::Sleep))
            .or_else(|| burst.map(|(iterations, every)| Injection::Burst { iterations, every }))
            .or_else(|| {
                timer.map(|(iterations, every_ms)| Injection::Timer {
                    iterations,
                    every: Duration::from_millis(every_ms),
                })
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<CalibrationOptions, clap::Error> {
        let words = std::iter::once("service").chain(line.split_whitespace());
        Flags::try_parse_from(words).map(|flags| flags.options())
    }

    #[test]
    fn flags_become_an_injection() {
        let ns = Duration::from_nanos;
        let table = [
            ("", Injection::Nothing),
            ("--extra-iterations 250", Injection::Iterations(250)),
            ("--busy-wait-ns=500", Injection::BusyWait(ns(500))),
            ("--sleep-ns 20000", Injection::Sleep(ns(20_000))),
            (
                "--burst-iterations 5000 --burst-every 200",
                Injection::Burst {
                    iterations: 5_000,
                    every: NonZeroU64::new(200).unwrap(),
                },
            ),
            (
                "--timer-iterations 9000 --timer-every 70",
                Injection::Timer {
                    iterations: 9_000,
                    every: Duration::from_millis(70),
                },
            ),
            // A level of zero runs the same program as the baseline.
            ("--extra-iterations 0", Injection::Nothing),
            ("--busy-wait-ns 0", Injection::Nothing),
            ("--sleep-ns 0", Injection::Nothing),
            ("--burst-iterations 0 --burst-every 2", Injection::Nothing),
            ("--timer-iterations 0 --timer-every 2", Injection::Nothing),
        ];
        for (line, injection) in table {
            let options = parsed(&format!("--listen 127.0.0.1:80 {line}")).unwrap();
            assert_eq!(options.injection, injection, "{line}");
            assert_eq!(options.iterations, BASE_ITERATIONS, "{line}");
        }
    }

    #[test]
    fn one_injection_at_a_time() {
        for line in [
            "--listen 127.0.0.1:80 --sleep-ns 1 --busy-wait-ns 1",
            "--listen 127.0.0.1:80 --extra-iterations 1 --busy-wait-ns 1",
            "--listen 127.0.0.1:80 --extra-iterations 1 --burst-iterations 1 --burst-every 2",
            "--listen 127.0.0.1:80 --burst-iterations 1",
            "--listen 127.0.0.1:80 --burst-every 2",
            "--listen 127.0.0.1:80 --burst-iterations 1 --burst-every 0",
            "--listen 127.0.0.1:80 --timer-iterations 1",
            "--listen 127.0.0.1:80 --timer-iterations 1 --timer-every 0",
            "--listen here",
            "",
        ] {
            assert!(parsed(line).is_err(), "{line}");
        }
    }
}
