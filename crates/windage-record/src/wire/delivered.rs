//! Stored form of what an arm delivered.
//!
//! Version 2 has [`StoredMore`] behind the fields of version 1. A record of version 1 has nothing
//! there: its counts are nil, its lists are empty and what may be unknown is unknown.

use serde::{Deserialize, Serialize};
use windage_model::ArmIndex;

use crate::{
    Delivered, DeliveredByProtocol, DeliveredInWindow, DeliveredSource, Drops, ExportDelay,
    TraceSample,
};

#[derive(Serialize, Deserialize)]
pub(super) struct StoredDelivered {
    launch: u32,
    arm: u16,
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
}

#[derive(Serialize, Deserialize)]
pub(super) struct StoredMore {
    profiles: u64,
    side_requests: u64,
    refused: u64,
    refused_spans: u64,
    refused_others: u64,
    retried_requests: u64,
    repeated_spans: u64,
    /// Block, position.
    in_windows: Vec<([u32; 2], StoredRoots)>,
    by_protocol: Vec<StoredByProtocol>,
    sources: Vec<StoredSource>,
    delay: Option<StoredDelay>,
    traces: Option<StoredTraces>,
    /// Reason, items lost.
    drops: Vec<(String, u64)>,
}

#[derive(Serialize, Deserialize)]
struct StoredRoots {
    spans: u64,
    root_spans: u64,
}

#[derive(Serialize, Deserialize)]
struct StoredByProtocol {
    protocol: String,
    export_requests: u64,
    spans: u64,
    metric_points: u64,
    log_records: u64,
    wire_bytes: u64,
    body_bytes: u64,
}

#[derive(Serialize, Deserialize)]
struct StoredSource {
    service: String,
    scope: String,
    spans: u64,
    span_events: u64,
    metric_points: u64,
    log_records: u64,
}

#[derive(Serialize, Deserialize)]
struct StoredDelay {
    spans: u64,
    p50_ns: u64,
    p90_ns: u64,
    p99_ns: u64,
    max_ns: u64,
}

#[derive(Serialize, Deserialize)]
struct StoredTraces {
    one_in: u64,
    traces: u64,
    complete: u64,
    spans: u64,
    duplicates: u64,
}

impl From<&Delivered> for StoredDelivered {
    fn from(delivered: &Delivered) -> Self {
        StoredDelivered {
            launch: delivered.launch,
            arm: delivered.arm.0,
            export_requests: delivered.export_requests,
            spans: delivered.spans,
            root_spans: delivered.root_spans,
            span_events: delivered.span_events,
            links: delivered.links,
            attributes: delivered.attributes,
            metric_points: delivered.metric_points,
            log_records: delivered.log_records,
            wire_bytes: delivered.wire_bytes,
            body_bytes: delivered.body_bytes,
            rejected: delivered.rejected,
            malformed: delivered.malformed,
            completed_requests: delivered.completed_requests,
        }
    }
}

impl From<StoredDelivered> for Delivered {
    fn from(stored: StoredDelivered) -> Self {
        Delivered {
            launch: stored.launch,
            arm: ArmIndex(stored.arm),
            export_requests: stored.export_requests,
            spans: stored.spans,
            root_spans: stored.root_spans,
            span_events: stored.span_events,
            links: stored.links,
            attributes: stored.attributes,
            metric_points: stored.metric_points,
            log_records: stored.log_records,
            wire_bytes: stored.wire_bytes,
            body_bytes: stored.body_bytes,
            rejected: stored.rejected,
            malformed: stored.malformed,
            completed_requests: stored.completed_requests,
            ..Delivered::default()
        }
    }
}

impl From<&Delivered> for StoredMore {
    fn from(delivered: &Delivered) -> Self {
        StoredMore {
            profiles: delivered.profiles,
            side_requests: delivered.side_requests,
            refused: delivered.refused,
            refused_spans: delivered.refused_spans,
            refused_others: delivered.refused_others,
            retried_requests: delivered.retried_requests,
            repeated_spans: delivered.repeated_spans,
            in_windows: delivered.in_windows.iter().map(stored_window).collect(),
            by_protocol: delivered.by_protocol.iter().map(Into::into).collect(),
            sources: delivered.sources.iter().map(Into::into).collect(),
            delay: delivered.delay.map(Into::into),
            traces: delivered.traces.map(Into::into),
            drops: delivered
                .drops
                .iter()
                .map(|drops| (drops.reason.clone(), drops.lost))
                .collect(),
        }
    }
}

impl StoredMore {
    /// Fills in what the first version has no place for.
    pub(super) fn complete(self, delivered: &mut Delivered) {
        delivered.profiles = self.profiles;
        delivered.side_requests = self.side_requests;
        delivered.refused = self.refused;
        delivered.refused_spans = self.refused_spans;
        delivered.refused_others = self.refused_others;
        delivered.retried_requests = self.retried_requests;
        delivered.repeated_spans = self.repeated_spans;
        delivered.in_windows = self.in_windows.into_iter().map(window).collect();
        delivered.by_protocol = self.by_protocol.into_iter().map(Into::into).collect();
        delivered.sources = self.sources.into_iter().map(Into::into).collect();
        delivered.delay = self.delay.map(Into::into);
        delivered.traces = self.traces.map(Into::into);
        delivered.drops = self
            .drops
            .into_iter()
            .map(|(reason, lost)| Drops { reason, lost })
            .collect();
    }
}

fn stored_window(window: &DeliveredInWindow) -> ([u32; 2], StoredRoots) {
    let DeliveredInWindow {
        block,
        position,
        spans,
        root_spans,
    } = *window;
    ([block, position], StoredRoots { spans, root_spans })
}

fn window(([block, position], roots): ([u32; 2], StoredRoots)) -> DeliveredInWindow {
    let StoredRoots { spans, root_spans } = roots;
    DeliveredInWindow {
        block,
        position,
        spans,
        root_spans,
    }
}

impl From<&DeliveredByProtocol> for StoredByProtocol {
    fn from(of: &DeliveredByProtocol) -> Self {
        StoredByProtocol {
            protocol: of.protocol.clone(),
            export_requests: of.export_requests,
            spans: of.spans,
            metric_points: of.metric_points,
            log_records: of.log_records,
            wire_bytes: of.wire_bytes,
            body_bytes: of.body_bytes,
        }
    }
}

impl From<StoredByProtocol> for DeliveredByProtocol {
    fn from(stored: StoredByProtocol) -> Self {
        DeliveredByProtocol {
            protocol: stored.protocol,
            export_requests: stored.export_requests,
            spans: stored.spans,
            metric_points: stored.metric_points,
            log_records: stored.log_records,
            wire_bytes: stored.wire_bytes,
            body_bytes: stored.body_bytes,
        }
    }
}

impl From<&DeliveredSource> for StoredSource {
    fn from(source: &DeliveredSource) -> Self {
        StoredSource {
            service: source.service.clone(),
            scope: source.scope.clone(),
            spans: source.spans,
            span_events: source.span_events,
            metric_points: source.metric_points,
            log_records: source.log_records,
        }
    }
}

impl From<StoredSource> for DeliveredSource {
    fn from(stored: StoredSource) -> Self {
        DeliveredSource {
            service: stored.service,
            scope: stored.scope,
            spans: stored.spans,
            span_events: stored.span_events,
            metric_points: stored.metric_points,
            log_records: stored.log_records,
        }
    }
}

impl From<ExportDelay> for StoredDelay {
    fn from(delay: ExportDelay) -> Self {
        let ExportDelay {
            spans,
            p50_ns,
            p90_ns,
            p99_ns,
            max_ns,
        } = delay;
        StoredDelay {
            spans,
            p50_ns,
            p90_ns,
            p99_ns,
            max_ns,
        }
    }
}

impl From<StoredDelay> for ExportDelay {
    fn from(stored: StoredDelay) -> Self {
        let StoredDelay {
            spans,
            p50_ns,
            p90_ns,
            p99_ns,
            max_ns,
        } = stored;
        ExportDelay {
            spans,
            p50_ns,
            p90_ns,
            p99_ns,
            max_ns,
        }
    }
}

impl From<TraceSample> for StoredTraces {
    fn from(sample: TraceSample) -> Self {
        let TraceSample {
            one_in,
            traces,
            complete,
            spans,
            duplicates,
        } = sample;
        StoredTraces {
            one_in,
            traces,
            complete,
            spans,
            duplicates,
        }
    }
}

impl From<StoredTraces> for TraceSample {
    fn from(stored: StoredTraces) -> Self {
        let StoredTraces {
            one_in,
            traces,
            complete,
            spans,
            duplicates,
        } = stored;
        TraceSample {
            one_in,
            traces,
            complete,
            spans,
            duplicates,
        }
    }
}
