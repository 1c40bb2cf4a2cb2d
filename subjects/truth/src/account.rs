//! How late a server's answers were, by its own measurement.

use std::fmt;
use std::str::FromStr;

use hdrhistogram::Histogram;

use crate::facts::{FactsError, fact};

/// How late answers were sent: sent − due. On a quiet machine a few microseconds; if it is more,
/// the server did not get its core in time, and its answers were not as specified.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// Answers sent.
    pub answered: u64,
    /// Median lateness, in nanoseconds.
    pub late_ns_p50: u64,
    /// Lateness that one answer in a hundred exceeds, in nanoseconds.
    pub late_ns_p99: u64,
    /// Greatest lateness, in nanoseconds.
    pub late_ns_max: u64,
}

/// As the server prints it for other programs: `answered=… late_ns_p50=…` and so on.
impl fmt::Display for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Account {
            answered,
            late_ns_p50,
            late_ns_p99,
            late_ns_max,
        } = self;
        write!(
            f,
            "answered={answered} late_ns_p50={late_ns_p50} late_ns_p99={late_ns_p99} \
             late_ns_max={late_ns_max}"
        )
    }
}

impl FromStr for Account {
    type Err = FactsError;

    fn from_str(line: &str) -> Result<Account, FactsError> {
        Ok(Account {
            answered: fact(line, "answered")?,
            late_ns_p50: fact(line, "late_ns_p50")?,
            late_ns_p99: fact(line, "late_ns_p99")?,
            late_ns_max: fact(line, "late_ns_max")?,
        })
    }
}

/// Collects an account; of fixed size.
#[derive(Debug)]
pub(crate) struct Bookkeeper(Histogram<u64>);

impl Bookkeeper {
    pub(crate) fn new() -> Bookkeeper {
        match Histogram::new_with_bounds(1, 60_000_000_000, 3) {
            Ok(histogram) => Bookkeeper(histogram),
            Err(error) => {
                unreachable!("the bounds are constants that the library accepts: {error}")
            }
        }
    }

    pub(crate) fn answered(&mut self, late_ns: u64) {
        self.0.saturating_record(late_ns);
    }

    pub(crate) fn account(&self) -> Account {
        Account {
            answered: self.0.len(),
            late_ns_p50: self.0.value_at_quantile(0.5),
            late_ns_p99: self.0.value_at_quantile(0.99),
            late_ns_max: self.0.max(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_can_be_read() {
        let mut books = Bookkeeper::new();
        assert_eq!(books.account(), Account::default());
        for late_ns in 1..=100 {
            books.answered(late_ns);
        }
        let account = books.account();
        assert_eq!((account.answered, account.late_ns_p50), (100, 50));
        assert_eq!((account.late_ns_p99, account.late_ns_max), (99, 100));
        assert_eq!(account.to_string().parse(), Ok(account));
    }
}
