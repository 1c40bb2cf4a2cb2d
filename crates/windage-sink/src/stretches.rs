//! Spans by the stretch of the run in which they ended.
//!
//! The caller announces each stretch with a label: a window, an arm's warm-up. A span
//! that arrives seconds later, in a batch, still belongs to the stretch in which it ended.

use std::sync::Arc;

/// Boundaries that are kept; spans that ended before the oldest of them are not attributed.
const MAX_BOUNDARIES: usize = 1 << 15;

/// The moments at which stretches began, by the wall clock, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Boundaries(Arc<Vec<Boundary>>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Boundary {
    from_unix_ns: u64,
    label: u64,
}

/// Spans that ended in one stretch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stretch {
    /// The label given when it began.
    pub label: u64,
    /// Spans.
    pub spans: u64,
    /// Spans without a parent.
    pub root_spans: u64,
}

impl Boundaries {
    /// Spans that end from now on belong to `label`.
    pub(crate) fn begin(&mut self, label: u64, now_unix_ns: u64) {
        let boundaries = Arc::make_mut(&mut self.0);
        if boundaries.len() >= MAX_BOUNDARIES {
            boundaries.drain(..MAX_BOUNDARIES / 2);
        }
        // Keeps the order when the wall clock is set back.
        let last = boundaries.last().map_or(0, |last| last.from_unix_ns);
        boundaries.push(Boundary {
            from_unix_ns: now_unix_ns.max(last),
            label,
        });
    }

    pub(crate) fn clear(&mut self) {
        self.0 = Arc::default();
    }

    fn at(&self, end_unix_ns: u64) -> Option<&Boundary> {
        let after = self
            .0
            .partition_point(|boundary| boundary.from_unix_ns <= end_unix_ns);
        self.0.get(after.checked_sub(1)?)
    }
}

/// Counts by label, of one request or of an arm.
#[derive(Clone, Debug, Default)]
pub(crate) struct StretchTally {
    stretches: Vec<Stretch>,
    /// The stretch of the last span, with its time range: spans in a batch are nearly in order.
    last: Option<Last>,
}

#[derive(Clone, Copy, Debug)]
struct Last {
    from_unix_ns: u64,
    until_unix_ns: u64,
    at: usize,
}

impl StretchTally {
    #[inline]
    pub(crate) fn add(&mut self, boundaries: &Boundaries, end_unix_ns: u64, is_root: bool) {
        let last = self
            .last
            .filter(|last| (last.from_unix_ns..last.until_unix_ns).contains(&end_unix_ns));
        let Some(at) = last
            .map(|last| last.at)
            .or_else(|| self.find(boundaries, end_unix_ns))
        else {
            return;
        };
        self.stretches[at].spans += 1;
        self.stretches[at].root_spans += u64::from(is_root);
    }

    fn find(&mut self, boundaries: &Boundaries, end_unix_ns: u64) -> Option<usize> {
        let boundary = boundaries.at(end_unix_ns)?;
        let next = boundaries
            .0
            .partition_point(|other| other.from_unix_ns <= end_unix_ns);
        let at = self.place(boundary.label);
        self.last = Some(Last {
            from_unix_ns: boundary.from_unix_ns,
            until_unix_ns: boundaries
                .0
                .get(next)
                .map_or(u64::MAX, |next| next.from_unix_ns),
            at,
        });
        Some(at)
    }

    fn place(&mut self, label: u64) -> usize {
        let known = self.stretches.iter().rposition(|s| s.label == label);
        known.unwrap_or_else(|| {
            self.stretches.push(Stretch {
                label,
                ..Stretch::default()
            });
            self.stretches.len() - 1
        })
    }

    pub(crate) fn held_bytes(&self) -> usize {
        self.stretches.capacity() * size_of::<Stretch>()
    }

    pub(crate) fn merge(&mut self, more: &StretchTally) {
        for stretch in &more.stretches {
            let at = self.place(stretch.label);
            self.stretches[at].spans += stretch.spans;
            self.stretches[at].root_spans += stretch.root_spans;
        }
    }

    pub(crate) fn into_stretches(self) -> Vec<Stretch> {
        self.stretches
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_belong_to_the_stretch_in_which_they_ended() {
        let mut boundaries = Boundaries::default();
        let mut tally = StretchTally::default();
        tally.add(&boundaries, 5, true);
        for (label, from) in [(7, 10), (8, 20), (7, 30)] {
            boundaries.begin(label, from);
        }
        // End time, and the label that it belongs to.
        let table = [
            (9, None),
            (10, Some(7)),
            (19, Some(7)),
            (20, Some(8)),
            (35, Some(7)),
            (12, Some(7)),
        ];
        for (end, _) in table {
            tally.add(&boundaries, end, end % 2 == 0);
        }
        let count = |label| table.iter().filter(|(_, of)| *of == Some(label)).count() as u64;
        let mut stretches = tally.clone().into_stretches();
        stretches.sort_by_key(|s| s.label);
        let found: Vec<_> = stretches
            .iter()
            .map(|s| (s.label, s.spans, s.root_spans))
            .collect();
        assert_eq!(found, [(7, count(7), 2), (8, count(8), 1)]);
        let mut both = tally.clone();
        both.merge(&tally);
        assert_eq!(both.into_stretches()[0].spans, 2 * count(7));
    }

    #[test]
    fn a_request_keeps_the_boundaries_that_it_began_with() {
        let mut boundaries = Boundaries::default();
        boundaries.begin(1, 10);
        let snapshot = boundaries.clone();
        boundaries.begin(2, 20);
        let mut tally = StretchTally::default();
        tally.add(&snapshot, 25, false);
        assert_eq!(tally.into_stretches()[0].label, 1);
    }

    #[test]
    fn boundaries_are_bounded_and_stay_in_order() {
        let mut boundaries = Boundaries::default();
        for label in 0..MAX_BOUNDARIES as u64 + 10 {
            boundaries.begin(label, label);
        }
        assert!(boundaries.0.len() < MAX_BOUNDARIES);
        boundaries.begin(9, 3);
        assert!(boundaries.0.is_sorted_by_key(|b| b.from_unix_ns));
    }
}
