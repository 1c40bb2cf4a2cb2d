//! The slowest exchanges of a run with their times, to match a spike with what else happened at
//! that moment.

use windage_model::Outlier;

/// Exchanges kept per run, at most.
pub const OUTLIERS_KEPT: usize = 8;

/// The slowest exchanges by response time. Times are nanoseconds of `CLOCK_MONOTONIC`.
///
/// Allocates nothing; an exchange that is not among the slowest costs one comparison.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outliers {
    kept: [Outlier; OUTLIERS_KEPT],
    count: usize,
    /// The shortest response time that is kept: zero while there is room, then 1 ns more than the
    /// shortest one kept.
    bar_ns: u64,
}

impl Outliers {
    /// Empty.
    #[must_use]
    pub fn new() -> Outliers {
        Outliers::default()
    }

    /// Keeps the exchange if it is among the slowest so far. Among equals, the earliest stay.
    #[inline]
    pub fn note(&mut self, outlier: Outlier) {
        if outlier.response_time_ns() >= self.bar_ns {
            self.keep(outlier);
        }
    }

    /// Rare: of *n* exchanges in random order about *k* ln(*n* / *k*) get here.
    #[cold]
    fn keep(&mut self, outlier: Outlier) {
        if self.count < OUTLIERS_KEPT {
            self.kept[self.count] = outlier;
            self.count += 1;
        } else if let Some(least) = self.kept.iter_mut().min_by_key(|o| o.response_time_ns()) {
            *least = outlier;
        }
        if self.count == OUTLIERS_KEPT {
            let least_ns = self.kept.iter().map(Outlier::response_time_ns).min();
            self.bar_ns = least_ns.map_or(0, |ns| ns.saturating_add(1));
        }
    }

    /// Merges another thread's outliers.
    pub fn merge(&mut self, other: &Outliers) {
        for &outlier in other.kept() {
            self.note(outlier);
        }
    }

    /// Removes all.
    pub fn clear(&mut self) {
        self.count = 0;
        self.bar_ns = 0;
    }

    /// The kept exchanges, the slowest first.
    #[must_use]
    pub fn slowest(&self) -> Vec<Outlier> {
        let mut slowest = self.kept().to_vec();
        slowest.sort_by_key(|o| std::cmp::Reverse(o.response_time_ns()));
        slowest
    }

    fn kept(&self) -> &[Outlier] {
        &self.kept[..self.count]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn lasting(at_ns: u64, response_time_ns: u64) -> Outlier {
        Outlier {
            intended_ns: at_ns,
            sent_ns: at_ns,
            completed_ns: at_ns + response_time_ns,
        }
    }

    fn times(outliers: &Outliers) -> Vec<u64> {
        let slowest = outliers.slowest();
        slowest.iter().map(Outlier::response_time_ns).collect()
    }

    fn noted(times_ns: &[u64]) -> Outliers {
        let mut outliers = Outliers::new();
        for (at_ns, &time_ns) in (0u64..).zip(times_ns) {
            outliers.note(lasting(at_ns, time_ns));
        }
        outliers
    }

    #[test]
    fn all_are_kept_while_there_is_room() {
        assert_eq!(times(&noted(&[])), [0u64; 0]);
        assert_eq!(times(&noted(&[0, 5, 3])), [5, 3, 0]);
    }

    #[test]
    fn the_earliest_of_equals_stay() {
        let outliers = noted(&[7; 20]);
        let mut begun: Vec<u64> = outliers.slowest().iter().map(|o| o.intended_ns).collect();
        begun.sort_unstable();
        assert_eq!(begun, (0..8).collect::<Vec<_>>());
    }

    #[test]
    fn clearing_removes_all() {
        let mut outliers = noted(&[100; 9]);
        outliers.clear();
        outliers.note(lasting(0, 1));
        assert_eq!(times(&outliers), [1]);
    }

    #[test]
    fn a_clock_that_went_backwards_is_no_outlier() {
        let mut outliers = noted(&[9; 8]);
        outliers.note(Outlier {
            intended_ns: 50,
            sent_ns: 50,
            completed_ns: 40,
        });
        assert_eq!(times(&outliers), [9; 8]);
    }

    proptest! {
        #[test]
        fn the_slowest_are_kept_in_any_order_and_over_threads(
            first in prop::collection::vec(0u64..1000, 0..60),
            second in prop::collection::vec(0u64..1000, 0..60),
        ) {
            let mut outliers = noted(&first);
            outliers.merge(&noted(&second));
            let mut expected = [first, second].concat();
            expected.sort_unstable_by_key(|&ns| std::cmp::Reverse(ns));
            expected.truncate(OUTLIERS_KEPT);
            prop_assert_eq!(times(&outliers), expected);
        }
    }
}
