//! The walker compared with prost, which builds the objects that the walker avoids.

use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{AnyValue, InstrumentationScope, KeyValue, any_value};
use opentelemetry_proto::tonic::logs::v1::{LogRecord, ResourceLogs, ScopeLogs};
use opentelemetry_proto::tonic::metrics::v1::{
    ExponentialHistogram, ExponentialHistogramDataPoint, Gauge, Histogram, HistogramDataPoint,
    Metric, NumberDataPoint, ResourceMetrics, ScopeMetrics, Sum, Summary, SummaryDataPoint,
    metric::Data,
};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::span::{Event, Link};
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span};
use proptest::collection::vec;
use proptest::prelude::*;
use prost::Message as _;

use super::*;
use crate::sources::Source;

#[test]
fn paths_name_signals() {
    let table = [
        ("/v1/traces", Some(Signal::Traces)),
        ("/v1/metrics", Some(Signal::Metrics)),
        ("/v1/logs", Some(Signal::Logs)),
        ("/v1/traces/", None),
        ("/v1/profiles", None),
        ("/", None),
        ("", None),
    ];
    for (path, signal) in table {
        assert_eq!(Signal::from_path(path), signal, "{path}");
    }
}

/// One item of less than a hundred bytes, in a scope in a resource.
fn request_of(item: &[u8]) -> Vec<u8> {
    let mut request = item.to_vec();
    for key in [0x12, 0x12, 0x0a] {
        let length = u8::try_from(request.len()).unwrap();
        request.splice(0..0, [key, length]);
    }
    request
}

#[test]
fn methods_name_signals() {
    let table = [
        ("trace.v1.TraceService/Export", Some(Signal::Traces)),
        ("metrics.v1.MetricsService/Export", Some(Signal::Metrics)),
        ("logs.v1.LogsService/Export", Some(Signal::Logs)),
        (
            "profiles.v1development.ProfilesService/Export",
            Some(Signal::Profiles),
        ),
        ("trace.v1.TraceService/Import", None),
        ("trace.v1.TraceService", None),
    ];
    for (method, signal) in table {
        let path = format!("/opentelemetry.proto.collector.{method}");
        assert_eq!(Signal::from_method(&path), signal, "{path}");
    }
}

#[test]
fn groups_between_the_outer_messages_are_refused() {
    let group = [0x0b, 0x0c];
    assert_eq!(count(Signal::Traces, &group), Err(WireError::Group));
    // Within a span they are skipped, as by any parser.
    let span = request_of(&[0xa3, 0x06, 0xa4, 0x06]);
    assert_eq!(count(Signal::Traces, &span).map(|c| c.spans), Ok(1));
}

/// Feeds the body in these pieces; the last one takes the rest.
fn counted_in_pieces(
    signal: Signal,
    body: &[u8],
    lengths: &[usize],
) -> Result<(Counts, Vec<Source>), WireError> {
    let mut receipt = Receipt::default();
    let mut stream = Stream::new(signal);
    let mut rest = body;
    for &length in lengths {
        let (piece, behind) = rest.split_at(length.min(rest.len()));
        stream.feed(piece, &mut receipt)?;
        rest = behind;
    }
    stream.feed(rest, &mut receipt)?;
    stream.finish()?;
    Ok((receipt.counts, receipt.by_source.into_sources()))
}

#[test]
fn items_are_attributed_to_their_service_and_scope() {
    let named = |key: &str, name: &str| KeyValue {
        key: key.into(),
        value: Some(AnyValue {
            value: Some(any_value::Value::StringValue(name.into())),
        }),
        ..KeyValue::default()
    };
    let scope = |name: &str, spans: usize| ScopeSpans {
        scope: Some(InstrumentationScope {
            name: name.into(),
            ..InstrumentationScope::default()
        }),
        spans: vec![Span::default(); spans],
        ..ScopeSpans::default()
    };
    let resource = |service: &str, scope_spans| ResourceSpans {
        resource: Some(Resource {
            attributes: vec![named("host.name", "here"), named("service.name", service)],
            ..Resource::default()
        }),
        scope_spans,
        ..ResourceSpans::default()
    };
    let bare = ResourceSpans {
        scope_spans: vec![ScopeSpans {
            spans: vec![Span::default(); 4],
            ..ScopeSpans::default()
        }],
        ..ResourceSpans::default()
    };
    let body = ExportTraceServiceRequest {
        resource_spans: vec![
            resource("shop", vec![scope("http", 1), scope("sql", 2)]),
            resource("cart", vec![scope("http", 3)]),
            bare,
            resource("shop", vec![scope("http", 5)]),
        ],
    }
    .encode_to_vec();
    let mut receipt = Receipt::default();
    let mut stream = Stream::new(Signal::Traces);
    stream.feed(&body, &mut receipt).unwrap();
    stream.finish().unwrap();
    let named: Vec<_> = receipt
        .by_source
        .into_sources()
        .into_iter()
        .map(|source| ((source.service, source.scope), source.items.spans))
        .collect();
    let pair = |service: &str, scope: &str| (service.to_owned(), scope.to_owned());
    assert_eq!(
        named,
        [
            (pair("shop", "http"), 6),
            (pair("", ""), 4),
            (pair("cart", "http"), 3),
            (pair("shop", "sql"), 2),
        ]
    );
}

#[test]
fn a_root_has_no_parent() {
    let table: [(&str, &[u8], u64); 4] = [
        ("absent", &[], 1),
        ("empty", &[0x22, 0], 1),
        ("zeros", &[0x22, 8, 0, 0, 0, 0, 0, 0, 0, 0], 1),
        ("an id", &[0x22, 8, 0, 0, 0, 0, 0, 0, 0, 1], 0),
    ];
    for (name, span, roots) in table {
        let counts = count(Signal::Traces, &request_of(span)).unwrap();
        assert_eq!((counts.spans, counts.root_spans), (1, roots), "{name}");
    }
}

#[test]
fn a_second_kind_of_metric_replaces_the_first() {
    let gauge = [0x2a, 4, 0x0a, 0, 0x0a, 0];
    let sum = [0x3a, 2, 0x0a, 0];
    let points = |metric: &[u8]| {
        count(Signal::Metrics, &request_of(metric))
            .unwrap()
            .metric_points
    };
    assert_eq!(points(&[&gauge[..], &gauge[..]].concat()), 4);
    assert_eq!(points(&[&gauge[..], &sum[..]].concat()), 1);
}

fn attribute() -> impl Strategy<Value = KeyValue> {
    ("[a-z.]{1,12}", "\\PC{0,20}").prop_map(|(key, text)| KeyValue {
        key,
        value: Some(AnyValue {
            value: Some(any_value::Value::StringValue(text)),
        }),
        ..KeyValue::default()
    })
}

fn span() -> impl Strategy<Value = Span> {
    let parent = prop_oneof![Just(vec![]), Just(vec![0; 8]), vec(any::<u8>(), 8)];
    let lists = (
        vec(attribute(), 0..6),
        vec("[a-z]{0,9}", 0..3),
        vec(attribute(), 0..3),
    );
    (parent, any::<[u8; 8]>(), any::<u64>(), lists).prop_map(|(parent, id, time, lists)| Span {
        trace_id: vec![7; 16],
        span_id: id.to_vec(),
        parent_span_id: parent,
        name: "GET /orders".into(),
        flags: 0x101,
        start_time_unix_nano: time,
        end_time_unix_nano: time.wrapping_add(5),
        attributes: lists.0,
        events: lists
            .1
            .into_iter()
            .map(|name| Event {
                name,
                ..Event::default()
            })
            .collect(),
        links: lists
            .2
            .into_iter()
            .map(|a| Link {
                attributes: vec![a],
                ..Link::default()
            })
            .collect(),
        ..Span::default()
    })
}

pub(super) fn traces() -> impl Strategy<Value = ExportTraceServiceRequest> {
    let scope = vec(span(), 0..5).prop_map(|spans| ScopeSpans {
        spans,
        ..ScopeSpans::default()
    });
    let resource = vec(scope, 0..3).prop_map(|scope_spans| ResourceSpans {
        scope_spans,
        ..ResourceSpans::default()
    });
    vec(resource, 0..3).prop_map(|resource_spans| ExportTraceServiceRequest { resource_spans })
}

fn data() -> impl Strategy<Value = Option<Data>> {
    (0..6_u8, 0..5_usize).prop_map(|(kind, points)| {
        Some(match kind {
            0 => Data::Gauge(Gauge {
                data_points: vec![NumberDataPoint::default(); points],
            }),
            1 => Data::Sum(Sum {
                data_points: vec![
                    NumberDataPoint {
                        time_unix_nano: 9,
                        ..Default::default()
                    };
                    points
                ],
                is_monotonic: true,
                ..Sum::default()
            }),
            2 => Data::Histogram(Histogram {
                data_points: vec![
                    HistogramDataPoint {
                        bucket_counts: vec![1, 2],
                        ..Default::default()
                    };
                    points
                ],
                ..Histogram::default()
            }),
            3 => Data::ExponentialHistogram(ExponentialHistogram {
                data_points: vec![ExponentialHistogramDataPoint::default(); points],
                ..ExponentialHistogram::default()
            }),
            4 => Data::Summary(Summary {
                data_points: vec![SummaryDataPoint::default(); points],
            }),
            _ => return None,
        })
    })
}

pub(super) fn metrics() -> impl Strategy<Value = ExportMetricsServiceRequest> {
    let metric = data().prop_map(|data| Metric {
        name: "m".into(),
        data,
        ..Metric::default()
    });
    let scope = vec(metric, 0..5).prop_map(|metrics| ScopeMetrics {
        metrics,
        ..ScopeMetrics::default()
    });
    let resource = vec(scope, 0..3).prop_map(|scope_metrics| ResourceMetrics {
        scope_metrics,
        ..ResourceMetrics::default()
    });
    vec(resource, 0..3)
        .prop_map(|resource_metrics| ExportMetricsServiceRequest { resource_metrics })
}

pub(super) fn logs() -> impl Strategy<Value = ExportLogsServiceRequest> {
    let record = vec(attribute(), 0..3).prop_map(|attributes| LogRecord {
        attributes,
        ..LogRecord::default()
    });
    let scope = vec(record, 0..5).prop_map(|log_records| ScopeLogs {
        log_records,
        ..ScopeLogs::default()
    });
    let resource = vec(scope, 0..3).prop_map(|scope_logs| ResourceLogs {
        scope_logs,
        ..ResourceLogs::default()
    });
    vec(resource, 0..3).prop_map(|resource_logs| ExportLogsServiceRequest { resource_logs })
}

/// The counts by way of prost's objects; `None` when it can't decode them.
fn counted_as_objects(signal: Signal, body: &[u8]) -> Option<Counts> {
    let mut counts = Counts::default();
    match signal {
        Signal::Traces => {
            let request = ExportTraceServiceRequest::decode(body).ok()?;
            let scopes = request.resource_spans.iter().flat_map(|r| &r.scope_spans);
            for span in scopes.flat_map(|s| &s.spans) {
                counts.spans += 1;
                counts.root_spans += u64::from(span.parent_span_id.iter().all(|&b| b == 0));
                counts.attributes += span.attributes.len() as u64;
                counts.span_events += span.events.len() as u64;
                counts.links += span.links.len() as u64;
            }
        }
        Signal::Metrics => {
            let request = ExportMetricsServiceRequest::decode(body).ok()?;
            let scopes = request
                .resource_metrics
                .iter()
                .flat_map(|r| &r.scope_metrics);
            for metric in scopes.flat_map(|s| &s.metrics) {
                counts.metric_points += match &metric.data {
                    Some(Data::Gauge(d)) => d.data_points.len(),
                    Some(Data::Sum(d)) => d.data_points.len(),
                    Some(Data::Histogram(d)) => d.data_points.len(),
                    Some(Data::ExponentialHistogram(d)) => d.data_points.len(),
                    Some(Data::Summary(d)) => d.data_points.len(),
                    None => 0,
                } as u64;
            }
        }
        Signal::Logs => {
            let request = ExportLogsServiceRequest::decode(body).ok()?;
            let scopes = request.resource_logs.iter().flat_map(|r| &r.scope_logs);
            counts.log_records = scopes.map(|s| s.log_records.len() as u64).sum();
        }
        Signal::Profiles => return None,
    }
    Some(counts)
}

fn request() -> impl Strategy<Value = (Signal, Vec<u8>)> {
    prop_oneof![
        3 => traces().prop_map(|r| (Signal::Traces, r.encode_to_vec())),
        2 => metrics().prop_map(|r| (Signal::Metrics, r.encode_to_vec())),
        1 => logs().prop_map(|r| (Signal::Logs, r.encode_to_vec())),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_walk_counts_like_the_objects((signal, body) in request()) {
        let objects = counted_as_objects(signal, &body);
        prop_assert!(objects.is_some());
        prop_assert_eq!(count(signal, &body).ok(), objects);
    }

    #[test]
    fn a_cut_request_is_refused_where_prost_refuses_it((signal, body) in request()) {
        for end in 0..body.len() {
            prop_assert_eq!(
                count(signal, &body[..end]).ok(),
                counted_as_objects(signal, &body[..end]),
                "cut at {} of {}", end, body.len()
            );
        }
    }

    #[test]
    fn the_walk_counts_like_prost(
        (signal, mut body) in request(),
        damage in vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        prop_assume!(!body.is_empty());
        for (at, byte) in damage {
            let at = at.index(body.len());
            body[at] = byte;
        }
        let walked = count(signal, &body);
        if let Some(objects) = counted_as_objects(signal, &body) {
            prop_assert!(
                walked == Ok(objects) || walked == Err(WireError::Group),
                "{:?} and {:?}", walked, objects
            );
        }
    }

    #[test]
    fn pieces_count_like_the_complete_body(
        (signal, body) in request(),
        lengths in vec(0..40_usize, 0..60),
    ) {
        let whole = counted_in_pieces(signal, &body, &[]);
        prop_assert_eq!(whole.clone().map(|(counts, _)| counts), count(signal, &body));
        prop_assert_eq!(&counted_in_pieces(signal, &body, &lengths), &whole);
        prop_assert_eq!(&counted_in_pieces(signal, &body, &vec![1; body.len()]), &whole);
    }

    #[test]
    fn noise_never_panics(body in vec(any::<u8>(), 0..400)) {
        for signal in [Signal::Traces, Signal::Metrics, Signal::Logs, Signal::Profiles] {
            let whole = count(signal, &body);
            let pieces = counted_in_pieces(signal, &body, &vec![3; body.len() / 3]);
            prop_assert_eq!(pieces.map(|(counts, _)| counts), whole);
        }
    }
}
