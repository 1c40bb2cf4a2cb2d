//! The walk over OTLP's wire format never panics, and counts whatever prost can decode exactly as
//! prost's objects would be counted.
//!
//! The input's first byte is the signal (`t`, `m`, `l` or `p`), the rest a request's body.

use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use prost::Message;
use windage_sink::{Counts, Signal, WireError, count_payload, count_payload_in_pieces};

use crate::Corpus;

/// Checks what the module says of an input.
pub fn check(input: &[u8]) -> Corpus {
    let signal = match input.first() {
        Some(b't') => Signal::Traces,
        Some(b'm') => Signal::Metrics,
        Some(b'l') => Signal::Logs,
        Some(b'p') => Signal::Profiles,
        _ => return Corpus::Reject,
    };
    let body = &input[1..];
    let walked = count_payload(signal, body);
    let decoded = match signal {
        Signal::Traces => traces(body),
        Signal::Metrics => metrics(body),
        Signal::Logs => logs(body),
        // Not in the stable part of the protocol, nor in the crate with its types.
        Signal::Profiles => None,
    };
    // The walk skips strings and attributes' values, so it accepts some input that prost refuses.
    // It refuses groups around the counted items, because OTLP has no groups.
    if let Some(objects) = decoded {
        assert!(
            walked == Ok(objects) || walked == Err(WireError::Group),
            "{walked:?}"
        );
    }
    for piece_bytes in [1, 7, 64] {
        assert_eq!(count_payload_in_pieces(signal, body, piece_bytes), walked);
    }
    Corpus::Keep
}

fn traces(body: &[u8]) -> Option<Counts> {
    let request = ExportTraceServiceRequest::decode(body).ok()?;
    let scopes = request.resource_spans.iter().flat_map(|r| &r.scope_spans);
    let mut counts = Counts::default();
    for span in scopes.flat_map(|scope| &scope.spans) {
        counts.spans += 1;
        counts.root_spans += u64::from(span.parent_span_id.iter().all(|&byte| byte == 0));
        counts.attributes += span.attributes.len() as u64;
        counts.span_events += span.events.len() as u64;
        counts.links += span.links.len() as u64;
    }
    Some(counts)
}

fn metrics(body: &[u8]) -> Option<Counts> {
    let request = ExportMetricsServiceRequest::decode(body).ok()?;
    let scopes = request
        .resource_metrics
        .iter()
        .flat_map(|r| &r.scope_metrics);
    let points = |data: &Option<Data>| match data {
        Some(Data::Gauge(kind)) => kind.data_points.len(),
        Some(Data::Sum(kind)) => kind.data_points.len(),
        Some(Data::Histogram(kind)) => kind.data_points.len(),
        Some(Data::ExponentialHistogram(kind)) => kind.data_points.len(),
        Some(Data::Summary(kind)) => kind.data_points.len(),
        None => 0,
    };
    let all = scopes.flat_map(|scope| &scope.metrics);
    Some(Counts {
        metric_points: all.map(|metric| points(&metric.data) as u64).sum(),
        ..Counts::default()
    })
}

fn logs(body: &[u8]) -> Option<Counts> {
    let request = ExportLogsServiceRequest::decode(body).ok()?;
    let scopes = request.resource_logs.iter().flat_map(|r| &r.scope_logs);
    Some(Counts {
        log_records: scopes.map(|scope| scope.log_records.len() as u64).sum(),
        ..Counts::default()
    })
}
