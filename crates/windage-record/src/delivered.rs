//! What a sink counted for one arm in one launch.

use windage_model::ArmIndex;

/// What a sink counted for one arm, from launch to final flush.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Delivered {
    /// The launch.
    pub launch: u32,
    /// The arm.
    pub arm: ArmIndex,
    /// Export requests that the subject sent.
    pub export_requests: u64,
    /// Spans.
    pub spans: u64,
    /// Spans without a parent: one per complete trace.
    pub root_spans: u64,
    /// Events on spans.
    pub span_events: u64,
    /// Links on spans.
    pub links: u64,
    /// Attributes on spans.
    pub attributes: u64,
    /// Points of metrics.
    pub metric_points: u64,
    /// Log records.
    pub log_records: u64,
    /// Bytes on the wire: compressed, headers included.
    pub wire_bytes: u64,
    /// Bytes of the bodies, uncompressed.
    pub body_bytes: u64,
    /// Export requests that the sink rejected: a wrong path, type or encoding, or a body too large
    /// or incomplete.
    pub rejected: u64,
    /// Export requests that the sink could not read.
    pub malformed: u64,
    /// Requests that the subject completed since launch, including warm-up and readiness checks.
    pub completed_requests: u64,
    /// Profiles.
    pub profiles: u64,
    /// Accepted requests without telemetry of the service, such as statistics about spans.
    pub side_requests: u64,
    /// Valid export requests that the backend refused on purpose.
    pub refused: u64,
    /// Spans in those, and spans that a partial success refused. Those accepted on a retry are also
    /// in `spans`.
    pub refused_spans: u64,
    /// Metric points and log records that were refused in the same way.
    pub refused_others: u64,
    /// Retried export requests: the same bytes as an earlier one that got no success.
    pub retried_requests: u64,
    /// Spans in those that had already been counted, and were not counted again.
    pub repeated_spans: u64,
    /// Spans by the measured window in which they ended; empty if not counted.
    pub in_windows: Vec<DeliveredInWindow>,
    /// The same by protocol; empty if not counted.
    pub by_protocol: Vec<DeliveredByProtocol>,
    /// The same by service and scope; empty if not counted.
    pub sources: Vec<DeliveredSource>,
    /// Time from the end of spans to their arrival; `None` if no span had an end time.
    pub delay: Option<ExportDelay>,
    /// Completeness of traces; `None` if not sampled.
    pub traces: Option<TraceSample>,
    /// What the subject reported as dropped, in its log or its own counters.
    pub drops: Vec<Drops>,
}

/// Spans that ended in one measured window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeliveredInWindow {
    /// The window's block.
    pub block: u32,
    /// The window's position in its block.
    pub position: u32,
    /// Spans.
    pub spans: u64,
    /// Spans without a parent.
    pub root_spans: u64,
}

/// What arrived by one protocol.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeliveredByProtocol {
    /// The protocol's name, such as `otlp-http`.
    pub protocol: String,
    /// Export requests.
    pub export_requests: u64,
    /// Spans.
    pub spans: u64,
    /// Points of metrics.
    pub metric_points: u64,
    /// Log records.
    pub log_records: u64,
    /// Bytes on the wire.
    pub wire_bytes: u64,
    /// Bytes of the bodies, uncompressed.
    pub body_bytes: u64,
}

impl DeliveredByProtocol {
    /// Adds what arrived by the same protocol at another time. Sums saturate.
    pub fn add(&mut self, more: &DeliveredByProtocol) {
        let sums = [
            (&mut self.export_requests, more.export_requests),
            (&mut self.spans, more.spans),
            (&mut self.metric_points, more.metric_points),
            (&mut self.log_records, more.log_records),
            (&mut self.wire_bytes, more.wire_bytes),
            (&mut self.body_bytes, more.body_bytes),
        ];
        for (sum, more) in sums {
            *sum = sum.saturating_add(more);
        }
    }
}

/// What one service and instrumentation scope sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeliveredSource {
    /// The service's name.
    pub service: String,
    /// The instrumentation scope; may be empty.
    pub scope: String,
    /// Spans.
    pub spans: u64,
    /// Events on spans.
    pub span_events: u64,
    /// Points of metrics.
    pub metric_points: u64,
    /// Log records.
    pub log_records: u64,
}

/// Delay from the end of spans to their arrival at the sink, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExportDelay {
    /// Spans with an end time.
    pub spans: u64,
    /// The median.
    pub p50_ns: u64,
    /// The 90th percentile.
    pub p90_ns: u64,
    /// The 99th percentile.
    pub p99_ns: u64,
    /// The longest.
    pub max_ns: u64,
}

/// Results of a sample of traces, one in `one_in`, chosen by a hash of the trace id.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TraceSample {
    /// The sampling interval: one trace in this many.
    pub one_in: u64,
    /// Traces in the sample.
    pub traces: u64,
    /// Traces that have a root and every parent that their spans name.
    pub complete: u64,
    /// Different spans in the sample.
    pub spans: u64,
    /// Duplicates: spans that arrived again, each time counted.
    pub duplicates: u64,
}

/// What the subject reported as dropped, for one reason.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Drops {
    /// The reason, named by the plan.
    pub reason: String,
    /// Number of dropped items.
    pub lost: u64,
}
