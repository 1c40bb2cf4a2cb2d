//! What a sink counted of one arm in one launch.

use windage_model::ArmIndex;

/// What a sink counted of one arm from launch to final flush.
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
    /// Spans without a parent: one for each trace that is whole.
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
    /// Bytes as they were on the wire: compressed, headers included.
    pub wire_bytes: u64,
    /// Bytes of the bodies, uncompressed.
    pub body_bytes: u64,
    /// Export requests that the sink did not take: a wrong path, type or encoding, a body too
    /// large or not whole.
    pub rejected: u64,
    /// Export requests that the sink could not read.
    pub malformed: u64,
    /// Every request that the subject answered since launch, warm-up and readiness included.
    pub completed_requests: u64,
    /// Profiles.
    pub profiles: u64,
    /// Accepted requests without telemetry of the service itself, such as statistics about spans.
    pub side_requests: u64,
    /// Sound export requests that the backend's behaviour refused on purpose.
    pub refused: u64,
    /// Spans in those, and spans that a partial success refused. One that is sent again and
    /// accepted is in `spans`, too.
    pub refused_spans: u64,
    /// Metric points and log records that were refused in the same way.
    pub refused_others: u64,
    /// Export requests with the very bytes of an earlier one that had no success.
    pub retried_requests: u64,
    /// Spans in those that had been counted already, and were not again.
    pub repeated_spans: u64,
    /// Spans by the measured window in which they ended; empty when that was not counted.
    pub in_windows: Vec<DeliveredInWindow>,
    /// The same by protocol; empty when that was not counted.
    pub by_protocol: Vec<DeliveredByProtocol>,
    /// The same by the service and scope that made it; empty when that was not counted.
    pub sources: Vec<DeliveredSource>,
    /// From the end of spans to their arrival; `None` when none said when it ended.
    pub delay: Option<ExportDelay>,
    /// How whole traces came; `None` when that was not looked at.
    pub traces: Option<TraceSample>,
    /// What the subject itself said that it dropped, in its log or its own counters.
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

/// What came by one protocol.
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
    /// Bytes as they were on the wire.
    pub wire_bytes: u64,
    /// Bytes of the bodies, uncompressed.
    pub body_bytes: u64,
}

/// What one service and instrumentation scope made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeliveredSource {
    /// The service's name.
    pub service: String,
    /// The instrumentation scope; empty when there is none.
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

/// How long spans took from their end to the sink, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExportDelay {
    /// Spans that say when they ended.
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

/// What a sample of traces says of all: one in `one_in`, chosen by a hash of the trace's id.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TraceSample {
    /// One trace in so many was looked at.
    pub one_in: u64,
    /// Traces in the sample.
    pub traces: u64,
    /// Those that have a root, and of whose spans every parent has arrived.
    pub complete: u64,
    /// Different spans in the sample.
    pub spans: u64,
    /// Spans that came again, each time counted.
    pub duplicates: u64,
}

/// What the subject said that it dropped, for one reason.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Drops {
    /// The reason, in the plan's words.
    pub reason: String,
    /// Items that were dropped for it.
    pub lost: u64,
}
