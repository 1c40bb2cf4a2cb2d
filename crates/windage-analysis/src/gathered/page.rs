//! Counters that are kept together.

use windage_record::TimeCount;

/// How many counters a page has.
pub(super) const PAGE: usize = 256;
/// How many are summed up at a stroke when one of them is looked for.
const GROUP: usize = 16;

/// Counters of neighbouring times.
#[derive(Clone, Debug)]
pub(super) struct Page {
    /// Half the width is enough for all but the longest runs, and is added up twice as fast.
    low: [u32; PAGE],
    /// The sum of `low`.
    low_total: u32,
    /// What `low` has no room for.
    high: Option<Box<[u64; PAGE]>>,
    total: u64,
}

impl Default for Page {
    fn default() -> Page {
        Page {
            low: [0; PAGE],
            low_total: 0,
            high: None,
            total: 0,
        }
    }
}

impl Page {
    /// Adds counts, each to the counter that `counter_of` says.
    pub(super) fn add(&mut self, counts: &[TimeCount], counter_of: impl Fn(u64) -> usize) {
        let all = counts.iter().map(|counted| counted.count);
        let more = all.fold(0, u64::saturating_add);
        if let Some(low_total) = self.low_total_with(more) {
            for counted in counts {
                #[expect(clippy::cast_possible_truncation, reason = "their sum has room")]
                let count = counted.count as u32;
                self.low[counter_of(counted.ns) % PAGE] += count;
            }
            self.low_total = low_total;
        } else {
            let high = self.high.get_or_insert_with(|| Box::new([0; PAGE]));
            for counted in counts {
                let count = &mut high[counter_of(counted.ns) % PAGE];
                *count = count.saturating_add(counted.count);
            }
        }
        // Only a damaged log holds so many that this is ever less than their sum.
        self.total = self.total.saturating_add(more);
    }

    /// Adds what another page of the same times has counted.
    pub(super) fn merge(&mut self, other: &Page) {
        if let Some(low_total) = self.low_total_with(u64::from(other.low_total)) {
            for (count, more) in self.low.iter_mut().zip(&other.low) {
                *count += more;
            }
            self.low_total = low_total;
        } else {
            self.add_high(|counter| u64::from(other.low[counter]));
        }
        if let Some(high) = &other.high {
            self.add_high(|counter| high[counter]);
        }
        self.total = self.total.saturating_add(other.total);
    }

    fn add_high(&mut self, more: impl Fn(usize) -> u64) {
        let high = self.high.get_or_insert_with(|| Box::new([0; PAGE]));
        for (counter, count) in high.iter_mut().enumerate() {
            *count = count.saturating_add(more(counter));
        }
    }

    fn low_total_with(&self, more: u64) -> Option<u32> {
        self.low_total.checked_add(u32::try_from(more).ok()?)
    }

    /// The sum of all counts.
    pub(super) fn total(&self) -> u64 {
        self.total
    }

    pub(super) fn is_empty(&self) -> bool {
        self.total == 0
    }

    /// Forgets all counts.
    pub(super) fn clear(&mut self) {
        if !self.is_empty() {
            *self = Page::default();
        }
    }

    /// The counts in the order of their times.
    pub(super) fn counts(&self) -> impl Iterator<Item = u64> {
        let high = |counter: usize| self.high.as_ref().map_or(0, |high| high[counter]);
        let low = self.low.iter().enumerate();
        low.map(move |(counter, low)| high(counter).saturating_add(u64::from(*low)))
    }

    /// Which counter has the time of a rank, counted from 1 among this page's.
    pub(super) fn counter_at(&self, rank: u64) -> Option<usize> {
        if self.high.is_some() {
            let mut passed = 0_u64;
            return self.counts().position(|count| {
                passed = passed.saturating_add(count);
                passed >= rank
            });
        }
        let mut left = u32::try_from(rank).ok()?;
        let (groups, _) = self.low.as_chunks::<GROUP>();
        let group = groups.iter().position(|group| {
            let sum = group.iter().sum();
            let is_within = left <= sum;
            if !is_within {
                left -= sum;
            }
            is_within
        })?;
        let within = groups[group].iter().position(|count| {
            let is_reached = left <= *count;
            left = left.saturating_sub(*count);
            is_reached
        })?;
        Some(group * GROUP + within)
    }
}
