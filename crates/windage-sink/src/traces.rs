//! Whether traces arrive completely and once, judged on a sample.
//!
//! A trace is in the sample when a hash of its id ends in `k` zeros. So all its spans are in it,
//! the same ones whenever and however often they arrive. When the table is full, `k` grows by one
//! and half of the table is dropped: distinct sampling (Gibbons, 2001), in bounded memory.

use std::collections::HashMap;

use xxhash_rust::xxh3::xxh3_64;

/// Spans kept of one arm, about a megabyte.
const MAX_SPANS: usize = 16_384;

/// Which traces are in the sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sampling {
    /// One trace in 2^k.
    k: u32,
}

/// A span of a sampled trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SampledSpan {
    pub(crate) trace_id: u128,
    pub(crate) span_id: u64,
    /// 0 for a root.
    pub(crate) parent_id: u64,
}

impl Sampling {
    /// Every second trace of this sample.
    pub(crate) fn halved(self) -> Sampling {
        Sampling { k: self.k + 1 }
    }

    /// Whether this trace is in the sample; a trace without an id never is.
    #[inline]
    pub(crate) fn takes(self, trace_id: u128) -> bool {
        trace_id != 0 && xxh3_64(&trace_id.to_ne_bytes()).trailing_zeros() >= self.k
    }
}

/// The sampled spans of one arm.
#[derive(Debug, Default)]
pub(crate) struct TraceTable {
    sampling: Sampling,
    /// By trace and span.
    spans: HashMap<(u128, u64), Seen>,
}

/// What is known of one span.
#[derive(Clone, Copy, Debug)]
struct Seen {
    parent_id: u64,
    /// How often it arrived again.
    again: u32,
}

/// What the sample says about all traces of an arm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TraceSample {
    /// One in this many traces was sampled.
    pub one_in: u64,
    /// Traces in the sample.
    pub traces: u64,
    /// Traces that have a root and whose spans' parents have all arrived.
    pub complete: u64,
    /// Distinct spans in the sample.
    pub spans: u64,
    /// Repeated arrivals of a span.
    pub duplicates: u64,
}

impl TraceTable {
    pub(crate) fn sampling(&self) -> Sampling {
        self.sampling
    }

    /// Adds a request's sampled spans. Either sample may have been halved since; both are reduced
    /// to the smaller one.
    pub(crate) fn add(&mut self, spans: &[SampledSpan], sampling: Sampling) {
        if sampling.k > self.sampling.k {
            self.sampling = sampling;
            self.spans
                .retain(|(trace_id, _), _| sampling.takes(*trace_id));
        }
        for span in spans {
            if !self.sampling.takes(span.trace_id) {
                continue;
            }
            let parent_id = span.parent_id;
            self.spans
                .entry((span.trace_id, span.span_id))
                .and_modify(|seen| seen.again = seen.again.saturating_add(1))
                .or_insert(Seen {
                    parent_id,
                    again: 0,
                });
            if self.spans.len() > MAX_SPANS {
                self.halve();
            }
        }
    }

    /// Reduces the sample to every second trace. If a single trace is larger than the table,
    /// halving does not help, so the sample is given up.
    fn halve(&mut self) {
        while self.spans.len() > MAX_SPANS {
            let sampling = self.sampling.halved();
            self.sampling = sampling;
            self.spans
                .retain(|(trace_id, _), _| sampling.takes(*trace_id));
        }
    }

    pub(crate) fn summary(&self) -> TraceSample {
        let mut whole: HashMap<u128, (bool, bool)> = HashMap::new();
        for (&(trace_id, _), &Seen { parent_id, .. }) in &self.spans {
            let (has_root, has_parents) = whole.entry(trace_id).or_insert((false, true));
            *has_root |= parent_id == 0;
            *has_parents &= parent_id == 0 || self.spans.contains_key(&(trace_id, parent_id));
        }
        TraceSample {
            one_in: 1 << self.sampling.k.min(63),
            traces: whole.len() as u64,
            complete: whole
                .values()
                .filter(|(has_root, has_parents)| *has_root && *has_parents)
                .count() as u64,
            spans: self.spans.len() as u64,
            duplicates: self.spans.values().map(|seen| u64::from(seen.again)).sum(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(trace_id: u128, span_id: u64, parent_id: u64) -> SampledSpan {
        SampledSpan {
            trace_id,
            span_id,
            parent_id,
        }
    }

    #[test]
    fn complete_and_incomplete_traces_and_repeated_spans_are_distinguished() {
        let mut table = TraceTable::default();
        table.add(
            &[span(1, 1, 0), span(1, 2, 1), span(1, 3, 2)],
            Sampling::default(),
        );
        // A child whose parent never arrived, a trace without a root.
        table.add(
            &[span(2, 1, 0), span(2, 3, 9), span(3, 5, 4)],
            Sampling::default(),
        );
        table.add(&[span(1, 2, 1)], Sampling::default());
        assert_eq!(
            table.summary(),
            TraceSample {
                one_in: 1,
                traces: 3,
                complete: 1,
                spans: 6,
                duplicates: 1
            }
        );
    }

    #[test]
    fn memory_is_bounded_and_sampled_traces_stay_complete() {
        let mut table = TraceTable::default();
        for trace_id in 1..=100_000_u128 {
            table.add(
                &[span(trace_id, 1, 0), span(trace_id, 2, 1)],
                Sampling::default(),
            );
        }
        let sample = table.summary();
        assert!(sample.spans <= MAX_SPANS as u64);
        assert_eq!((sample.complete, sample.duplicates), (sample.traces, 0));
        assert_eq!(sample.spans, 2 * sample.traces);
        let estimated = sample.traces * sample.one_in;
        assert!((95_000..=105_000).contains(&estimated), "{estimated}");
    }

    #[test]
    fn an_endless_trace_ends_the_sample() {
        let mut table = TraceTable::default();
        for span_id in 1..=40_000 {
            table.add(&[span(7, span_id, 0)], Sampling::default());
        }
        assert!(table.summary().spans <= MAX_SPANS as u64);
    }

    #[test]
    fn sequential_ids_are_sampled_evenly() {
        let sampling = Sampling { k: 4 };
        for shift in [0, 64] {
            let taken = (1..=16_000_u128)
                .filter(|id| sampling.takes(id << shift))
                .count();
            assert!((800..=1200).contains(&taken), "{taken}");
        }
        assert!(!Sampling::default().takes(0), "no id, no trace");
    }

    #[test]
    fn a_halved_sample_of_a_request_halves_the_arms_sample() {
        let mut table = TraceTable::default();
        for trace_id in 1..=1000_u128 {
            table.add(&[span(trace_id, 1, 0)], Sampling::default());
        }
        let halved = Sampling::default().halved();
        let rest: Vec<_> = (1001..=2000_u128)
            .filter(|id| halved.takes(*id))
            .map(|id| span(id, 1, 0))
            .collect();
        table.add(&rest, halved);
        let sample = table.summary();
        assert_eq!(sample.one_in, 2);
        assert!((900..=1100).contains(&sample.traces), "{}", sample.traces);
        assert!(table.spans.keys().all(|(id, _)| halved.takes(*id)));
    }
}
