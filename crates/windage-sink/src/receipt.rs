//! What one request carried, gathered while its body is decoded.

use std::fmt;

use xxhash_rust::xxh3::Xxh3;

use crate::Counts;
use crate::delay::DelayHistogram;
use crate::evenly::Evenly;
use crate::sources::{SourceItems, SourceTally};
use crate::stretches::{Boundaries, StretchTally};
use crate::traces::{SampledSpan, Sampling};

/// What a decoder passes on of one span.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SpanFacts {
    /// 0 when missing.
    pub(crate) trace_id: u128,
    /// 0 when missing.
    pub(crate) span_id: u64,
    /// 0 for a root.
    pub(crate) parent_id: u64,
    /// When it ended, by the subject's clock; 0 when unknown.
    pub(crate) end_unix_ns: u64,
    /// Events on it.
    pub(crate) events: u32,
    /// Links of it.
    pub(crate) links: u32,
    /// Its own attributes.
    pub(crate) attributes: u32,
}

/// How much is evaluated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Detail {
    /// Everything: counts, by source and stretch, delays, sampled traces, retries.
    #[default]
    Full,
    /// Requests, bytes, spans, roots, points and records only, as cheaply as possible. Events,
    /// links and attributes are not counted (in OTLP protobuf not even checked), and retries are
    /// not recognised.
    Counts,
}

/// Sampled spans that a request may hold without asking for room.
const SAMPLED_WITHOUT_ROOM: usize = 8;

/// Everything that is counted of one request. It is added to the arm's account only when the
/// request is complete: a request counts completely or not at all.
#[derive(Debug, Default)]
pub(crate) struct Receipt {
    pub(crate) detail: Detail,
    /// What the request carried, with its `body_bytes`.
    pub(crate) counts: Counts,
    /// The same by service and scope.
    pub(crate) by_source: SourceTally,
    /// Spans by the stretch in which they ended.
    pub(crate) by_stretch: StretchTally,
    /// From the end of spans to their arrival.
    pub(crate) delays: DelayHistogram,
    /// The spans of sampled traces.
    pub(crate) sampled: Vec<SampledSpan>,
    pub(crate) hash: BodyHash,
    pub(crate) sampling: Sampling,
    pub(crate) boundaries: Boundaries,
    pub(crate) arrived_unix_ns: u64,
    /// The share of items that a partial success refuses; 0 when all are accepted.
    pub(crate) partial: f64,
    pub(crate) refused: Evenly,
    current: Option<usize>,
}

/// The hash of a complete body, which identifies a retry.
#[derive(Clone, Default)]
pub(crate) struct BodyHash(Xxh3);

impl BodyHash {
    pub(crate) fn digest(&self) -> u64 {
        self.0.digest()
    }
}

impl fmt::Debug for BodyHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BodyHash({:x})", self.digest())
    }
}

impl Receipt {
    /// What follows comes from this service and instrumentation scope; both may be empty.
    pub(crate) fn source(&mut self, service: &[u8], scope: &[u8]) {
        if self.detail == Detail::Counts {
            return;
        }
        self.current = Some(self.by_source.place(service, scope));
    }

    /// One span.
    #[inline]
    pub(crate) fn span(&mut self, span: &SpanFacts) {
        if self.refuses() {
            self.counts.refused_spans += 1;
            return;
        }
        let is_root = span.parent_id == 0;
        self.counts.spans += 1;
        self.counts.root_spans += u64::from(is_root);
        if self.detail == Detail::Counts {
            return;
        }
        self.counts.span_events += u64::from(span.events);
        self.counts.links += u64::from(span.links);
        self.counts.attributes += u64::from(span.attributes);
        let items = self.items();
        items.spans += 1;
        items.span_events += u64::from(span.events);
        if span.end_unix_ns != 0 {
            self.delays
                .record(self.arrived_unix_ns.saturating_sub(span.end_unix_ns));
            self.by_stretch
                .add(&self.boundaries, span.end_unix_ns, is_root);
        }
        if self.sampling.takes(span.trace_id) {
            self.sampled.push(SampledSpan {
                trace_id: span.trace_id,
                span_id: span.span_id,
                parent_id: span.parent_id,
            });
        }
    }

    /// Data points of one metric.
    pub(crate) fn points(&mut self, count: u64) {
        if self.refuses() {
            self.counts.refused_others += count;
            return;
        }
        self.counts.metric_points += count;
        if self.detail == Detail::Full {
            self.items().metric_points += count;
        }
    }

    /// Log records.
    pub(crate) fn log_records(&mut self, count: u64) {
        if self.refuses() {
            self.counts.refused_others += count;
            return;
        }
        self.counts.log_records += count;
        if self.detail == Detail::Full {
            self.items().log_records += count;
        }
    }

    /// Profiles.
    pub(crate) fn profiles(&mut self, count: u64) {
        self.counts.profiles += count;
    }

    /// A request without telemetry of the service itself.
    pub(crate) fn side_request(&mut self) {
        self.counts.side_requests += 1;
    }

    /// A piece of the decompressed body.
    pub(crate) fn body(&mut self, piece: &[u8]) {
        self.counts.body_bytes += piece.len() as u64;
        if self.detail == Detail::Full {
            self.hash.0.update(piece);
        }
    }

    /// Whether the backend's behaviour refuses the current item.
    #[inline]
    fn refuses(&mut self) -> bool {
        self.partial > 0.0 && self.refused.takes(self.partial)
    }

    fn items(&mut self) -> &mut SourceItems {
        if self.current.is_none() {
            self.source(b"", b"");
        }
        let at = self.current.unwrap_or(0);
        self.by_source.items(at)
    }

    /// What this request has allocated.
    pub(crate) fn held_bytes(&self) -> usize {
        self.sampled.capacity() * size_of::<SampledSpan>()
            + self.by_source.held_bytes()
            + self.by_stretch.held_bytes()
    }

    /// Keeps fewer sampled traces when there is no room for more.
    pub(crate) fn thin_sample(&mut self) {
        while self.sampled.len() > SAMPLED_WITHOUT_ROOM {
            let sampling = self.sampling.halved();
            self.sampling = sampling;
            self.sampled.retain(|span| sampling.takes(span.trace_id));
        }
        self.sampled.shrink_to(SAMPLED_WITHOUT_ROOM);
    }
}
