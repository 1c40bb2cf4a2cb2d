//! Which commit to check next, and which are left.

use std::collections::BTreeSet;
use std::ops::Range;

/// So many checks without a verdict end a search: each takes minutes.
const MOST_UNKNOWN: usize = 5;

/// What a check said of a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Within all budgets.
    Good,
    /// One is exceeded, in two runs.
    Bad,
    /// Undecided, void, or it does not build.
    Unknown,
}

impl Verdict {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Verdict::Good => "within",
            Verdict::Bad => "exceeded",
            Verdict::Unknown => "unknown",
        }
    }

    pub(super) fn in_words(self) -> &'static str {
        match self {
            Verdict::Good => "within all budgets",
            Verdict::Bad => "exceeds a budget",
            Verdict::Unknown => "could not be decided",
        }
    }
}

/// A search for the first bad one among commits from oldest to newest.
#[derive(Debug)]
pub(super) struct Search {
    /// All before it are good.
    from: usize,
    /// The first that is known to be bad; the number of commits until the newest was checked.
    until: usize,
    count: usize,
    unknown: BTreeSet<usize>,
}

impl Search {
    pub(super) fn among(count: usize) -> Search {
        Search {
            from: 0,
            until: count,
            count,
            unknown: BTreeSet::new(),
        }
    }

    /// The commit to check next: the newest first, since nothing is to be found if that is good, then
    /// the one that halves what is left. `None` at the end.
    pub(super) fn next(&self) -> Option<usize> {
        if self.until == self.count {
            let newest = self.count.checked_sub(1)?;
            let is_open = self.from < self.count && !self.unknown.contains(&newest);
            return is_open.then_some(newest);
        }
        if self.unknown.len() >= MOST_UNKNOWN {
            return None;
        }
        let open = (self.from..self.until).filter(|number| !self.unknown.contains(number));
        // The middle of the range, or what is nearest to it. If the last before the bad one is good,
        // the bad one is the first.
        let middle = usize::midpoint(self.from, self.until);
        open.min_by_key(|number| number.abs_diff(middle))
    }

    pub(super) fn learn(&mut self, number: usize, verdict: Verdict) {
        match verdict {
            Verdict::Good => self.from = number + 1,
            Verdict::Bad => self.until = number,
            Verdict::Unknown => {
                self.unknown.insert(number);
            }
        }
    }

    /// The commits of which one is the first bad one; none if the newest is not bad.
    pub(super) fn suspects(&self) -> Range<usize> {
        match self.until == self.count {
            true => 0..0,
            false => self.from..self.until + 1,
        }
    }

    pub(super) fn left(&self) -> String {
        match self.until == self.count {
            true => format!("{} commits in the range", self.count),
            false => format!("{} left", self.suspects().len()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Searches with answers from a table, and returns what is left and the number of checks.
    fn search(count: usize, answer: impl Fn(usize) -> Verdict) -> (Range<usize>, usize) {
        let mut search = Search::among(count);
        let mut checks = 0;
        while let Some(number) = search.next() {
            search.learn(number, answer(number));
            checks += 1;
        }
        (search.suspects(), checks)
    }

    fn bad_from(first: usize) -> impl Fn(usize) -> Verdict {
        move |number| {
            if number < first {
                Verdict::Good
            } else {
                Verdict::Bad
            }
        }
    }

    #[test]
    fn a_range_of_one_is_checked_once() {
        assert_eq!(search(1, bad_from(0)), (0..1, 1));
        assert_eq!(search(1, bad_from(1)), (0..0, 1), "nothing to find");
        assert_eq!(search(1, |_| Verdict::Unknown), (0..0, 1));
    }

    #[test]
    fn commits_that_can_not_be_decided_are_passed_over() {
        let broken = |number| match number {
            3..=5 => Verdict::Unknown,
            other => bad_from(4)(other),
        };
        assert_eq!(search(10, broken).0, 3..7, "any of these is the first");
        let elsewhere = |number| match number {
            1 => Verdict::Unknown,
            other => bad_from(7)(other),
        };
        assert_eq!(search(10, elsewhere).0, 7..8);
    }

    proptest! {
        #[test]
        fn the_first_bad_one_is_found_in_few_checks(count in 1..400usize, part in 0.0..1.0f64) {
            let first = (part * count as f64) as usize;
            let (left, checks) = search(count, bad_from(first));
            prop_assert_eq!(left, first..first + 1);
            let most = 1 + (count as f64).log2().ceil() as usize;
            prop_assert!(checks <= most, "{} checks of {}", checks, count);
        }

        #[test]
        fn it_is_never_lost(first in 0..40usize, unknown in prop::collection::btree_set(0..39usize, 0..20)) {
            let answer = |number: usize| match unknown.contains(&number) {
                true => Verdict::Unknown,
                false => bad_from(first)(number),
            };
            let (left, _) = search(40, answer);
            prop_assert!(left.contains(&first), "{left:?}");
        }
    }
}
