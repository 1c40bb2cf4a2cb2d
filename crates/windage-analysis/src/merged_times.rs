//! Times of many windows together, to three digits.

use windage_record::Times;

/// Times below 2^11 ns have a counter each; each doubling above has 2^10 counters. That is three
/// digits, as in the generator's histograms.
const FINE_BITS: u32 = 11;
/// Counters per page.
const PAGE: usize = 256;

/// How often each time occurred.
///
/// Counters are allocated in pages, because a hundred arms gather for several quantiles at once:
/// memory is only used for times that occur.
#[derive(Clone, Debug, Default)]
pub(crate) struct Gathered {
    pages: Vec<Option<Box<Page>>>,
    total: u64,
}

/// Counters of neighbouring times, and their sum. Only a damaged log contains so many times that a
/// sum overflows.
#[derive(Clone, Debug)]
struct Page {
    counts: [u64; PAGE],
    total: u64,
}

impl Gathered {
    /// Adds a window's times.
    pub(crate) fn add(&mut self, times: &Times) {
        for counted in times.counts() {
            let counter = counter_of(counted.ns);
            let page = self.page(counter / PAGE);
            page.total = page.total.saturating_add(counted.count);
            let count = &mut page.counts[counter % PAGE];
            *count = count.saturating_add(counted.count);
        }
        self.total = self.total.saturating_add(times.len());
    }

    /// Adds another's times.
    pub(crate) fn merge(&mut self, other: &Gathered) {
        for (number, theirs) in other.pages() {
            let mine = self.page(number);
            for (count, more) in mine.counts.iter_mut().zip(&theirs.counts) {
                *count = count.saturating_add(*more);
            }
            mine.total = mine.total.saturating_add(theirs.total);
        }
        self.total = self.total.saturating_add(other.total);
    }

    /// The page with that number, allocated if absent.
    fn page(&mut self, number: usize) -> &mut Page {
        if number >= self.pages.len() {
            self.pages.resize(number + 1, None);
        }
        self.pages[number].get_or_insert_with(|| {
            Box::new(Page {
                counts: [0; PAGE],
                total: 0,
            })
        })
    }

    /// The pages that contain any times.
    fn pages(&self) -> impl Iterator<Item = (usize, &Page)> {
        let pages = self.pages.iter().enumerate();
        let there = pages.filter_map(|(number, page)| Some((number, page.as_deref()?)));
        there.filter(|(_, page)| page.total > 0)
    }

    /// How many times there are.
    pub(crate) fn len(&self) -> u64 {
        self.total
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.total == 0
    }

    /// The time that a share of all times does not exceed, in nanoseconds: the upper end of its
    /// counter, as in HdrHistogram. 0 when there are none.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share of a count"
    )]
    pub(crate) fn at_quantile(&self, quantile: f64) -> u64 {
        let rank = ((quantile * self.total as f64).ceil() as u64).clamp(1, self.total.max(1));
        let mut passed = 0_u64;
        for (number, page) in self.pages() {
            let with_page = passed.saturating_add(page.total);
            if with_page < rank {
                passed = with_page;
                continue;
            }
            let found = page.counts.iter().position(|count| {
                passed = passed.saturating_add(*count);
                passed >= rank
            });
            return found.map_or(0, |counter| highest_ns(number * PAGE + counter));
        }
        0
    }

    /// The mean of all times, in nanoseconds, with each time taken as the middle of its counter;
    /// `None` when there are none.
    pub(crate) fn mean_ns(&self) -> Option<f64> {
        let sum_ns: f64 = self
            .pages()
            .flat_map(|(number, page)| (number * PAGE..).zip(&page.counts))
            .map(|(counter, count)| middle_ns(counter) * *count as f64)
            .sum();
        (self.total > 0).then(|| sum_ns / self.total as f64)
    }

    /// Removes all times but keeps the memory.
    pub(crate) fn clear(&mut self) {
        for page in self
            .pages
            .iter_mut()
            .flatten()
            .filter(|page| page.total > 0)
        {
            page.counts = [0; PAGE];
            page.total = 0;
        }
        self.total = 0;
    }
}

/// By how many bits a time of this length is shifted to keep only its significant digits.
fn halvings(ns: u64) -> u32 {
    (u64::BITS - FINE_BITS).saturating_sub(ns.leading_zeros())
}

fn counter_of(ns: u64) -> usize {
    let halvings = halvings(ns);
    let digits = ns >> halvings;
    // Above the first 2^11 counters each doubling adds the upper half of them: at most 2^16 in all.
    ((u64::from(halvings) << (FINE_BITS - 1)) + digits) as usize
}

fn highest_ns(counter: usize) -> u64 {
    let half = 1_usize << (FINE_BITS - 1);
    let halvings = (counter / half).saturating_sub(1);
    let digits = (counter - halvings * half) as u64;
    // One less than the next counter's lowest time; wrapping, because the last counter has no next.
    ((digits + 1) << halvings).wrapping_sub(1)
}

/// The middle of the times of a counter.
fn middle_ns(counter: usize) -> f64 {
    let lowest_ns = counter
        .checked_sub(1)
        .map_or(0, |below| highest_ns(below) + 1);
    f64::midpoint(lowest_ns as f64, highest_ns(counter) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::Histogram;
    use proptest::prelude::*;

    /// Usually small, sometimes more than 32 bits.
    fn counts() -> impl Strategy<Value = u64> {
        prop_oneof![20 => 1u64..5, 1 => 1u64 << 30..1 << 34]
    }

    proptest! {
        /// The same times in an HdrHistogram have the same quantiles.
        #[test]
        fn quantiles_are_those_of_one_histogram_of_all(
            windows in prop::collection::vec(
                prop::collection::vec((1u64..80_000_000_000_000, counts()), 1..50),
                1..10,
            ),
        ) {
            let empty = Histogram::<u64>::new_with_bounds(1, 86_400_000_000_000, 3).unwrap();
            let mut all = empty.clone();
            let (mut gathered, mut merged) = (Gathered::default(), Gathered::default());
            // Earlier contents are removed.
            let mut before = empty.clone();
            before.record_n(7_000_000, 1_000).unwrap();
            gathered.add(&Times::from(&before));
            gathered.clear();
            for window in windows {
                let mut histogram = empty.clone();
                for (ns, count) in window {
                    histogram.record_n(ns, count).unwrap();
                }
                gathered.add(&Times::from(&histogram));
                let mut alone = Gathered::default();
                alone.add(&Times::from(&histogram));
                merged.merge(&alone);
                all.add(&histogram).unwrap();
            }
            prop_assert_eq!([gathered.len(), merged.len()], [all.len(); 2]);
            let mean_ns = gathered.mean_ns().unwrap();
            prop_assert!((mean_ns / all.mean() - 1.0).abs() < 1e-3, "{} {}", mean_ns, all.mean());
            for quantile in [0.1, 0.5, 0.9, 0.99, 0.999, 1.0] {
                let expected = all.value_at_quantile(quantile);
                prop_assert_eq!(gathered.at_quantile(quantile), expected);
                prop_assert_eq!(merged.at_quantile(quantile), expected);
            }
        }
    }

    #[test]
    fn any_time_has_a_counter() {
        for ns in [
            0,
            1,
            2_047,
            2_048,
            2_049,
            4_096,
            1 << 40,
            u64::MAX - 1,
            u64::MAX,
        ] {
            let highest = highest_ns(counter_of(ns));
            assert!(highest >= ns, "{ns}: {highest}");
            assert!(highest - ns <= ns / 1024, "{ns}: {highest}");
        }
        assert_eq!(Gathered::default().at_quantile(0.5), 0);
        assert_eq!(Gathered::default().mean_ns(), None);
    }
}
