//! The service's flags.

use std::net::SocketAddr;
use std::time::Duration;

use clap::Parser;

use crate::{BASE_ITERATIONS, CalibrationOptions, Injection};

#[derive(Debug, Parser)]
#[command(
    name = "windage-calibration",
    about = "Injects a known cost into every request"
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
}

impl Flags {
    pub(crate) fn options(&self) -> CalibrationOptions {
        let given = (self.extra_iterations, self.busy_wait_ns, self.sleep_ns);
        let injection = match given {
            (Some(iterations), ..) if iterations > 0 => Injection::Iterations(iterations),
            (_, Some(ns), _) if ns > 0 => Injection::BusyWait(Duration::from_nanos(ns)),
            (.., Some(ns)) if ns > 0 => Injection::Sleep(Duration::from_nanos(ns)),
            _ => Injection::Nothing,
        };
        CalibrationOptions {
            listen: self.listen,
            iterations: self.iterations,
            injection,
        }
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
            // A level of zero runs the same program as the baseline.
            ("--extra-iterations 0", Injection::Nothing),
            ("--busy-wait-ns 0", Injection::Nothing),
            ("--sleep-ns 0", Injection::Nothing),
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
            "--listen here",
            "",
        ] {
            assert!(parsed(line).is_err(), "{line}");
        }
    }
}
