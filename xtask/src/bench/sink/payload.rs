//! The payload: one request's spans as OTLP protobuf, compressed and framed for the wire.
//!
//! The spans are invented and always the same: a service that answers over HTTP, calls another one
//! and a database, and runs a function of its own.

use std::io::Write as _;

use anyhow::{Context, Result};
use flate2::Compression;
use flate2::write::GzEncoder;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, InstrumentationScope, KeyValue};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span};
use prost::Message as _;
use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

use crate::bench::study::SEED;

/// One trace: name, kind (OTLP's number), and the path or statement that it is about.
const TRACE: [(&str, i32, &str); 4] = [
    ("GET /orders/{id}", 2, "/orders/4711"),
    ("POST", 3, "/inventory/reserve"),
    (
        "SELECT shop.orders",
        3,
        "SELECT * FROM orders WHERE id = $1",
    ),
    ("render", 1, "order.html"),
];

const RESOURCE: &str = "service.name=shop-orders|service.version=2.14.3|\
    service.instance.id=627cc493-f310-47de-96bd-71410b7dec09|deployment.environment.name=production|\
    host.name=orders-7d9c5b6f4-x2x9q|telemetry.sdk.language=go|telemetry.sdk.name=opentelemetry|\
    telemetry.sdk.version=1.47.0";

const BEGAN_NS: u64 = 1_790_000_000_000_000_000;

/// That many spans with ten attributes each, in traces of four.
pub(super) fn realistic(spans: usize) -> Vec<u8> {
    let mut random = ChaCha8Rng::seed_from_u64(SEED);
    let spans = (0..spans)
        .scan(Place::default(), |place, index| {
            Some(realistic_span(index, place, &mut random))
        })
        .collect();
    let resource = Resource {
        attributes: attributes(RESOURCE),
        ..Resource::default()
    };
    let scope = InstrumentationScope {
        name: "go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp".into(),
        version: "0.72.0".into(),
        ..InstrumentationScope::default()
    };
    encode(Some(resource), Some(scope), spans)
}

/// That many minimal spans of one trace: ids, a name, times.
pub(super) fn minimal(spans: usize, trace_id: [u8; 16]) -> Vec<u8> {
    let spans = (1..=spans as u64)
        .map(|index| Span {
            trace_id: trace_id.to_vec(),
            span_id: index.to_be_bytes().to_vec(),
            name: "a".into(),
            start_time_unix_nano: BEGAN_NS,
            end_time_unix_nano: BEGAN_NS + index,
            ..Span::default()
        })
        .collect();
    encode(None, None, spans)
}

/// As in HTTP's `Content-Encoding: gzip` and gRPC's `grpc-encoding: gzip`.
pub(super) fn gzip(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder
        .write_all(bytes)
        .and_then(|()| encoder.finish())
        .context("compress a payload")
}

/// A compressed gRPC message with its prefix of five bytes.
pub(super) fn framed(compressed: &[u8]) -> Result<Vec<u8>> {
    let length = u32::try_from(compressed.len()).context("a message of gRPC is below 4 GiB")?;
    let mut message = vec![1];
    message.extend_from_slice(&length.to_be_bytes());
    message.extend_from_slice(compressed);
    Ok(message)
}

/// The position of a span in its trace.
#[derive(Default)]
struct Place {
    trace_id: [u8; 16],
    parent_id: [u8; 8],
}

fn realistic_span(index: usize, place: &mut Place, random: &mut ChaCha8Rng) -> Span {
    let (name, kind, about) = TRACE[index % TRACE.len()];
    let is_root = index.is_multiple_of(TRACE.len());
    if is_root {
        random.fill_bytes(&mut place.trace_id);
    }
    let mut span_id = [0; 8];
    random.fill_bytes(&mut span_id);
    let parent = if is_root { &[][..] } else { &place.parent_id };
    let (port, size) = (
        32_768 + random.next_u32() % 28_000,
        random.next_u32() % 100_000,
    );
    let about = format!(
        "http.request.method=GET|url.scheme=https|url.path={about}|server.address=orders.shop.example|server.port=8443|\
         http.response.status_code=200|http.response.body.size={size}|network.protocol.version=1.1|\
         network.peer.port={port}|user_agent.original=Mozilla/5.0 (X11; Linux x86_64; rv:140.0)"
    );
    let began_ns = BEGAN_NS + index as u64 * 1_000_000 + u64::from(random.next_u32() % 500_000);
    let span = Span {
        trace_id: place.trace_id.to_vec(),
        span_id: span_id.to_vec(),
        parent_span_id: parent.to_vec(),
        // The W3C sampled flag, and that the parent is known not to be remote.
        flags: 0x101,
        name: name.into(),
        kind,
        start_time_unix_nano: began_ns,
        end_time_unix_nano: began_ns + 1000 + u64::from(random.next_u32() % 20_000_000),
        attributes: attributes(&about),
        ..Span::default()
    };
    if is_root {
        place.parent_id = span_id;
    }
    span
}

/// `KEY=VALUE|…`, where whole numbers are numbers.
fn attributes(text: &str) -> Vec<KeyValue> {
    let pairs = text.split('|').filter_map(|pair| pair.split_once('='));
    let attribute = |(key, value): (&str, &str)| {
        let number = value.parse().map(Value::IntValue);
        let value = number.unwrap_or_else(|_| Value::StringValue(value.into()));
        KeyValue {
            key: key.into(),
            value: Some(AnyValue { value: Some(value) }),
            ..KeyValue::default()
        }
    };
    pairs.map(attribute).collect()
}

fn encode(
    resource: Option<Resource>,
    scope: Option<InstrumentationScope>,
    spans: Vec<Span>,
) -> Vec<u8> {
    let request = ExportTraceServiceRequest {
        resource_spans: vec![ResourceSpans {
            resource,
            scope_spans: vec![ScopeSpans {
                scope,
                spans,
                ..ScopeSpans::default()
            }],
            ..ResourceSpans::default()
        }],
    };
    request.encode_to_vec()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::io::Read as _;

    use super::*;

    fn spans_of(bytes: &[u8]) -> Vec<Span> {
        let request = ExportTraceServiceRequest::decode(bytes).unwrap();
        let resources = request.resource_spans.into_iter();
        let scopes = resources.flat_map(|resource| resource.scope_spans);
        scopes.flat_map(|scope| scope.spans).collect()
    }

    #[test]
    fn realistic_spans_have_ten_attributes_and_unique_ids() {
        let bytes = realistic(512);
        assert_eq!(bytes, realistic(512), "the same every time");
        let spans = spans_of(&bytes);
        assert_eq!(spans.len(), 512);
        assert!(spans.iter().all(|span| span.attributes.len() == 10));
        let distinct = |id: fn(&Span) -> &[u8]| spans.iter().map(id).collect::<HashSet<_>>().len();
        assert_eq!(distinct(|span| &span.span_id), 512);
        assert_eq!(distinct(|span| &span.trace_id), 128);
        let roots = spans.iter().filter(|span| span.parent_span_id.is_empty());
        assert_eq!(roots.count(), 128);
        for span in &spans {
            assert!(span.start_time_unix_nano < span.end_time_unix_nano);
        }
    }

    #[test]
    fn minimal_spans_have_the_requested_number_and_trace_id() {
        let spans = spans_of(&minimal(8192, [7; 16]));
        assert_eq!(spans.len(), 8192);
        assert!(spans.iter().all(|span| span.trace_id == [7; 16]));
    }

    #[test]
    fn a_grpc_message_has_its_flag_and_length() {
        let compressed = gzip(b"spans").unwrap();
        let message = framed(&compressed).unwrap();
        let (prefix, rest) = message.split_at(5);
        assert_eq!(prefix, [1, 0, 0, 0, compressed.len() as u8]);
        let mut inflated = String::new();
        flate2::read::GzDecoder::new(rest)
            .read_to_string(&mut inflated)
            .unwrap();
        assert_eq!(inflated, "spans");
    }
}
