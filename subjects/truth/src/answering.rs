//! When a server answers.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::facts::{FactsError, fact};

/// Service times and stalls beyond an hour are errors, and their sums would overflow.
const LONGEST: Duration = Duration::from_secs(3600);

/// Invalid times.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidTimes {
    /// A time is longer than an hour.
    #[error("{what} is {given:?}; give at most {LONGEST:?}")]
    TooLong {
        /// Which time.
        what: &'static str,
        /// What it was.
        given: Duration,
    },
    /// Stalls would leave no time between them, or have no length.
    #[error(
        "stalls of {lasts:?} every {every:?}; give a length above zero and shorter than the distance"
    )]
    NoPause {
        /// Length of a stall.
        lasts: Duration,
        /// From the start of one to the start of the next.
        every: Duration,
    },
}

/// When a server does nothing: from `first_ns` on, for `lasts_ns` at the start of every period.
/// Times are nanoseconds of `CLOCK_MONOTONIC`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stalls {
    first_ns: u64,
    every_ns: u64,
    lasts_ns: u64,
}

impl Stalls {
    /// Stalls of length `lasts`, the first one at `first_ns`, each begun `every` after the last.
    ///
    /// # Errors
    /// When a time is longer than an hour, or `lasts` is zero or not shorter than `every`.
    pub fn new(first_ns: u64, every: Duration, lasts: Duration) -> Result<Stalls, InvalidTimes> {
        if lasts.is_zero() || lasts >= every {
            return Err(InvalidTimes::NoPause { lasts, every });
        }
        Ok(Stalls {
            first_ns,
            every_ns: bounded_ns("the distance of stalls", every)?,
            lasts_ns: bounded_ns("the length of stalls", lasts)?,
        })
    }

    /// The first moment from `at_ns` on that lies in no stall: `at_ns` itself, or the end of the
    /// stall that it lies in. A stall's start belongs to it and its end does not.
    #[must_use]
    pub fn awake_ns(&self, at_ns: u64) -> u64 {
        let Some(since_first_ns) = at_ns.checked_sub(self.first_ns) else {
            return at_ns;
        };
        let into_period_ns = since_first_ns % self.every_ns;
        if into_period_ns < self.lasts_ns {
            at_ns + (self.lasts_ns - into_period_ns)
        } else {
            at_ns
        }
    }
}

/// As the server prints it for other programs: `first_ns=… every_ns=… lasts_ns=…`.
impl fmt::Display for Stalls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Stalls {
            first_ns,
            every_ns,
            lasts_ns,
        } = self;
        write!(
            f,
            "first_ns={first_ns} every_ns={every_ns} lasts_ns={lasts_ns}"
        )
    }
}

impl FromStr for Stalls {
    type Err = FactsError;

    fn from_str(line: &str) -> Result<Stalls, FactsError> {
        let first_ns = fact(line, "first_ns")?;
        let every = Duration::from_nanos(fact(line, "every_ns")?);
        let lasts = Duration::from_nanos(fact(line, "lasts_ns")?);
        Stalls::new(first_ns, every, lasts).map_err(|_| FactsError {
            line: line.to_owned(),
            key: "lasts_ns",
        })
    }
}

/// When a server answers: a constant time after it accepted the request, however many are in
/// progress. In a stall it neither accepts nor answers requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answering {
    service_ns: u64,
    stalls: Option<Stalls>,
}

impl Answering {
    /// Answers `service` after a request came.
    ///
    /// # Errors
    /// When `service` is longer than an hour.
    pub fn constant(service: Duration) -> Result<Answering, InvalidTimes> {
        Ok(Answering {
            service_ns: bounded_ns("the service time", service)?,
            stalls: None,
        })
    }

    /// The same, but nothing happens while a stall lasts.
    #[must_use]
    pub fn with_stalls(self, stalls: Stalls) -> Answering {
        Answering {
            stalls: Some(stalls),
            ..self
        }
    }

    /// When the answer goes out to a request that came at `came_ns`: the request is taken up once
    /// no stall lasts, and the answer follows after the service time, or at the end of the stall
    /// in which that would be. Of two requests the one that came first is never answered later.
    #[must_use]
    pub fn answered_ns(&self, came_ns: u64) -> u64 {
        let taken_up_ns = self.awake_ns(came_ns);
        self.awake_ns(taken_up_ns + self.service_ns)
    }

    /// The first moment from `at_ns` on at which the server does anything.
    #[must_use]
    pub fn awake_ns(&self, at_ns: u64) -> u64 {
        self.stalls.map_or(at_ns, |stalls| stalls.awake_ns(at_ns))
    }
}

fn bounded_ns(what: &'static str, given: Duration) -> Result<u64, InvalidTimes> {
    u64::try_from(given.as_nanos())
        .ok()
        .filter(|_| given <= LONGEST)
        .ok_or(InvalidTimes::TooLong { what, given })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MS: u64 = 1_000_000;

    fn stalls(first_ms: u64, every_ms: u64, lasts_ms: u64) -> Stalls {
        let (every, lasts) = (
            Duration::from_millis(every_ms),
            Duration::from_millis(lasts_ms),
        );
        Stalls::new(first_ms * MS, every, lasts).unwrap()
    }

    #[test]
    fn a_stall_holds_its_start_and_not_its_end() {
        let stalls = stalls(100, 50, 10);
        let table = [
            (0, 0, "before the first"),
            (99, 99, "just before"),
            (100, 110, "its start"),
            (109, 110, "its last"),
            (110, 110, "its end"),
            (149, 149, "between two"),
            (150, 160, "the second"),
            (5_105, 5_110, "the hundredth"),
        ];
        for (at, expected, why) in table {
            assert_eq!(stalls.awake_ns(at * MS), expected * MS, "{why}");
        }
    }

    #[test]
    fn answers_follow_after_the_service_time_unless_a_stall_is_in_the_way() {
        let three = Duration::from_millis(3);
        let answering = Answering::constant(three)
            .unwrap()
            .with_stalls(stalls(100, 50, 10));
        let table = [
            (96, 99, "over before the stall"),
            (97, 110, "due at the stall's start"),
            (99, 110, "due within it"),
            (100, 113, "came within it"),
            (110, 113, "came at its end"),
            (120, 123, "came after it"),
        ];
        for (came, expected, why) in table {
            assert_eq!(answering.answered_ns(came * MS), expected * MS, "{why}");
        }
    }

    #[test]
    fn a_service_time_may_be_longer_than_the_pause_between_stalls() {
        let answering = Answering::constant(Duration::from_millis(45))
            .unwrap()
            .with_stalls(stalls(100, 50, 10));
        assert_eq!(answering.answered_ns(110 * MS), 160 * MS);
    }

    #[test]
    fn what_the_server_prints_can_be_read() {
        let stalls = stalls(7, 2_000, 200);
        assert_eq!(format!("stalls {stalls}").parse(), Ok(stalls));
        assert!("stalls first_ns=7 every_ns=20".parse::<Stalls>().is_err());
        let overlapping = "first_ns=7 every_ns=20 lasts_ns=30";
        assert!(overlapping.parse::<Stalls>().is_err());
    }

    #[test]
    fn invalid_times_are_refused() {
        let ms = Duration::from_millis;
        let hours = Duration::from_secs(2 * 3600);
        assert!(Stalls::new(0, ms(10), ms(0)).is_err());
        assert!(Stalls::new(0, ms(10), ms(10)).is_err());
        let error = Stalls::new(0, hours, ms(10)).unwrap_err().to_string();
        assert!(error.contains("the distance of stalls"), "{error}");
        assert!(Answering::constant(hours).is_err());
    }

    proptest! {
        #[test]
        fn order_is_kept(a in 0u64..10_000, b in 0u64..10_000, service in 0u64..80) {
            let answering = Answering::constant(Duration::from_millis(service))
                .unwrap()
                .with_stalls(stalls(100, 50, 10));
            let (first, second) = (a.min(b), a.max(b));
            prop_assert!(answering.answered_ns(first) <= answering.answered_ns(second));
            prop_assert!(answering.answered_ns(first) >= first + service);
        }
    }
}
