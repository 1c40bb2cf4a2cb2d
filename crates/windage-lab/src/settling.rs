//! When an arm is warm: its CPU per request no longer falls.
//!
//! A compiler at run time needs requests, not time, and how many depends on the program. So load
//! before the first measurement goes on, piece by piece, until the arm's own cost has settled.

/// A piece must cost at least this share of the one before it …
const SETTLED_SHARE: f64 = 0.95;
/// … so many times in a row. A noisy piece can hide a fall once.
const TIMES: u32 = 2;
/// Pieces of the planned warm-up.
pub(crate) const PIECES: u32 = 3;
/// The most pieces: ten times the planned warm-up.
pub(crate) const PIECES_MAX: u32 = 10 * PIECES;

/// Follows the cost of an arm through its warm-up.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Settling {
    last_per_request: Option<f64>,
    settled: u32,
    pieces: u32,
}

impl Settling {
    /// Adds a piece: its CPU, `None` when unreadable, and its requests. Returns whether the warm-up
    /// is over.
    pub(crate) fn take(&mut self, cpu_ns: Option<u64>, requests: u64) -> bool {
        self.pieces += 1;
        let per_request = cpu_ns
            .filter(|_| requests > 0)
            .map(|cpu_ns| cpu_ns as f64 / requests as f64);
        let holds = match (self.last_per_request, per_request) {
            (Some(last), Some(now)) => now >= last * SETTLED_SHARE,
            // The first piece has nothing before it.
            (None, Some(_)) => false,
            // Without a counter there is only the plan's time.
            (_, None) => self.pieces >= PIECES,
        };
        self.settled = if holds { self.settled + 1 } else { 0 };
        self.last_per_request = per_request.or(self.last_per_request);
        let is_unreadable = per_request.is_none() && self.pieces >= PIECES;
        self.settled >= TIMES || is_unreadable || self.pieces >= PIECES_MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warm_up_lasts_until_the_cost_no_longer_falls() {
        // CPU per request of each piece, in µs, and how many pieces it takes.
        let steady = [100.0; 3];
        let cold_first = [300.0, 100.0, 100.0, 100.0];
        let compiles = [900.0, 600.0, 400.0, 300.0, 250.0, 240.0, 236.0, 235.0];
        let noisy = [100.0, 120.0, 90.0, 110.0, 108.0];
        let table: [(&str, &[f64], usize); 4] = [
            ("steady from the first", &steady, 3),
            ("only the first piece is cold", &cold_first, 4),
            ("a compiler at work", &compiles, 7),
            ("a fall after a noisy piece", &noisy, 5),
        ];
        for (why, pieces, expected) in table {
            let mut settling = Settling::default();
            let over = pieces
                .iter()
                .position(|us| settling.take(Some((us * 1e6) as u64), 1000));
            assert_eq!(over.map(|at| at + 1), Some(expected), "{why}");
        }
    }

    #[test]
    fn a_warm_up_ends_without_a_counter_and_without_an_end_of_the_fall() {
        let taken = |next: fn(u32) -> (Option<u64>, u64)| {
            let mut settling = Settling::default();
            (1..).find(|&piece| {
                let (cpu_ns, requests) = next(piece);
                settling.take(cpu_ns, requests)
            })
        };
        assert_eq!(taken(|_| (None, 100)), Some(PIECES), "no counter");
        assert_eq!(taken(|_| (Some(5), 0)), Some(PIECES), "no request");
        let falls = |piece: u32| (Some(u64::MAX >> piece), 1);
        assert_eq!(taken(falls), Some(PIECES_MAX), "it falls for ever");
    }
}
