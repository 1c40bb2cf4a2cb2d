//! Stored form of what an arm delivered.

use windage_model::ArmIndex;

use super::stored::stored;
use crate::{
    Delivered, DeliveredByProtocol, DeliveredInWindow, DeliveredSource, Drops, ExportDelay,
    TraceSample,
};

stored!(Delivered as StoredDelivered {
    launch: u32,
    arm: ArmIndex,
    export_requests: u64,
    spans: u64,
    root_spans: u64,
    span_events: u64,
    links: u64,
    attributes: u64,
    metric_points: u64,
    log_records: u64,
    wire_bytes: u64,
    body_bytes: u64,
    rejected: u64,
    malformed: u64,
    completed_requests: u64,
    profiles: u64,
    side_requests: u64,
    refused: u64,
    refused_spans: u64,
    refused_others: u64,
    retried_requests: u64,
    repeated_spans: u64,
    in_windows: Vec<DeliveredInWindow>,
    by_protocol: Vec<DeliveredByProtocol>,
    sources: Vec<DeliveredSource>,
    delay: Option<ExportDelay>,
    traces: Option<TraceSample>,
    drops: Vec<Drops>,
});

stored!(DeliveredInWindow as StoredInWindow {
    block: u32,
    position: u32,
    spans: u64,
    root_spans: u64,
});

stored!(DeliveredByProtocol as StoredByProtocol {
    protocol: String,
    export_requests: u64,
    spans: u64,
    metric_points: u64,
    log_records: u64,
    wire_bytes: u64,
    body_bytes: u64,
});

stored!(DeliveredSource as StoredSource {
    service: String,
    scope: String,
    spans: u64,
    span_events: u64,
    metric_points: u64,
    log_records: u64,
});

stored!(ExportDelay as StoredDelay {
    spans: u64,
    p50_ns: u64,
    p90_ns: u64,
    p99_ns: u64,
    max_ns: u64,
});

stored!(TraceSample as StoredTraces {
    one_in: u64,
    traces: u64,
    complete: u64,
    spans: u64,
    duplicates: u64,
});

stored!(Drops as StoredDrops {
    reason: String,
    lost: u64,
});
