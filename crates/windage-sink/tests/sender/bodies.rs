//! OTLP export requests.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::logs::v1::{LogRecord, ResourceLogs, ScopeLogs};
use opentelemetry_proto::tonic::metrics::v1::{
    Gauge, Metric, NumberDataPoint, ResourceMetrics, ScopeMetrics, metric::Data,
};
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span};
use prost::Message;

/// A trace of that many spans, the first of them the root; `number` makes it differ from others.
pub(crate) fn trace(number: u64, spans: u64) -> ExportTraceServiceRequest {
    let trace_id = u128::from(number + 1).to_be_bytes().to_vec();
    let span = |i: u64| Span {
        trace_id: trace_id.clone(),
        span_id: (i + 1).to_be_bytes().to_vec(),
        parent_span_id: match i {
            0 => Vec::new(),
            _ => 1_u64.to_be_bytes().to_vec(),
        },
        name: "GET /products/{id}".into(),
        ..Span::default()
    };
    ExportTraceServiceRequest {
        resource_spans: vec![ResourceSpans {
            scope_spans: vec![ScopeSpans {
                spans: (0..spans).map(span).collect(),
                ..ScopeSpans::default()
            }],
            ..ResourceSpans::default()
        }],
    }
}

/// The same as protobuf.
pub(crate) fn batch(number: u64, spans: u64) -> Vec<u8> {
    trace(number, spans).encode_to_vec()
}

/// Points of one gauge.
pub(crate) fn metrics(points: usize) -> ExportMetricsServiceRequest {
    let gauge = Gauge {
        data_points: vec![NumberDataPoint::default(); points],
    };
    ExportMetricsServiceRequest {
        resource_metrics: vec![ResourceMetrics {
            scope_metrics: vec![ScopeMetrics {
                metrics: vec![Metric {
                    name: "queue.length".into(),
                    data: Some(Data::Gauge(gauge)),
                    ..Metric::default()
                }],
                ..ScopeMetrics::default()
            }],
            ..ResourceMetrics::default()
        }],
    }
}

/// Log records.
pub(crate) fn logs(records: usize) -> ExportLogsServiceRequest {
    ExportLogsServiceRequest {
        resource_logs: vec![ResourceLogs {
            scope_logs: vec![ScopeLogs {
                log_records: vec![LogRecord::default(); records],
                ..ScopeLogs::default()
            }],
            ..ResourceLogs::default()
        }],
    }
}

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}
