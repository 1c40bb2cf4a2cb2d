//! JSON compared with protobuf, and bodies written by hand.

use opentelemetry_proto::tonic::common::v1::{AnyValue, InstrumentationScope, KeyValue, any_value};
use opentelemetry_proto::tonic::resource::v1::Resource;
use proptest::prelude::*;
use prost::Message as _;
use serde_json::Value;

use super::*;
use crate::Counts;
use crate::delay::Delay;
use crate::otlp::Stream;
use crate::otlp::tests::{logs, metrics, traces};
use crate::sources::{Source, SourceItems};
use crate::traces::SampledSpan;

/// Everything in a receipt except the size and hash of the body.
#[derive(Debug, Default, PartialEq)]
struct Outcome {
    counts: Counts,
    by_source: Vec<Source>,
    sampled: Vec<SampledSpan>,
    delay: Option<Delay>,
}

fn outcome(
    count: impl FnOnce(&mut Receipt) -> Result<(), Malformed>,
) -> Result<Outcome, Malformed> {
    let mut receipt = Receipt::default();
    receipt.arrived_unix_ns = 1_763_632_800_000_000_000;
    count(&mut receipt)?;
    Ok(Outcome {
        counts: receipt.counts,
        by_source: receipt.by_source.into_sources(),
        sampled: receipt.sampled,
        delay: receipt.delays.summary(),
    })
}

fn as_json(signal: Signal, body: &str) -> Result<Outcome, Malformed> {
    outcome(|receipt| decoder(signal)(body.as_bytes(), receipt))
}

fn as_protobuf(signal: Signal, body: &[u8]) -> Result<Outcome, Malformed> {
    outcome(|receipt| {
        let mut stream = Stream::new(signal);
        stream.feed(body, receipt)?;
        Ok(stream.finish()?)
    })
}

/// The same JSON with the keys of every object in reverse order.
fn reversed(value: &Value) -> String {
    let joined = |parts: Vec<String>| parts.join(", ");
    match value {
        Value::Object(entries) => {
            let entry = |(key, value): (&String, &Value)| {
                format!("{}: {}", Value::from(key.as_str()), reversed(value))
            };
            format!("{{{}}}", joined(entries.iter().rev().map(entry).collect()))
        }
        Value::Array(values) => format!("[{}]", joined(values.iter().map(reversed).collect())),
        value => value.to_string(),
    }
}

fn service(name: &str) -> Option<Resource> {
    let attribute = |key: &str, value: &str| KeyValue {
        key: key.into(),
        value: Some(AnyValue {
            value: Some(any_value::Value::StringValue(value.into())),
        }),
        ..KeyValue::default()
    };
    Some(Resource {
        attributes: vec![attribute("host.name", "a"), attribute("service.name", name)],
        ..Resource::default()
    })
}

fn scope(name: &str) -> Option<InstrumentationScope> {
    Some(InstrumentationScope {
        name: name.into(),
        ..InstrumentationScope::default()
    })
}

/// A request in both encodings, with names on most of its resources and scopes.
fn request() -> impl Strategy<Value = (Signal, Vec<u8>, Value)> {
    macro_rules! named {
        ($requests:expr, $signal:expr, $resources:ident, $scopes:ident) => {
            ($requests, "\\PC{0,6}", "\\PC{0,6}").prop_map(|(mut request, first, second)| {
                for (resource, name) in request.$resources.iter_mut().zip([&first, &second]) {
                    resource.resource = service(name);
                    for (of, name) in resource.$scopes.iter_mut().zip([&second, &first]) {
                        of.scope = scope(name);
                    }
                }
                let json = serde_json::to_value(&request).unwrap();
                ($signal, request.encode_to_vec(), json)
            })
        };
    }
    prop_oneof![
        3 => named!(traces(), Signal::Traces, resource_spans, scope_spans),
        2 => named!(metrics(), Signal::Metrics, resource_metrics, scope_metrics),
        1 => named!(logs(), Signal::Logs, resource_logs, scope_logs),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn json_counts_like_protobuf((signal, protobuf, json) in request()) {
        let expected = as_protobuf(signal, &protobuf).unwrap();
        let found = as_json(signal, &json.to_string()).unwrap();
        prop_assert_eq!(&found, &expected);
        let found = as_json(signal, &reversed(&json)).unwrap();
        prop_assert_eq!(&found, &expected, "keys reversed");
    }

    #[test]
    fn a_cut_body_is_refused((signal, _, json) in request(), at: prop::sample::Index) {
        let text = json.to_string();
        let end = text.floor_char_boundary(at.index(text.len()));
        prop_assert!(as_json(signal, &text[..end]).is_err(), "cut at {}", end);
    }
}

const SPANS: &str = r#"{
  "resourceSpans": [{
    "resource": {"attributes": [
      {"key": "service.name", "value": {"stringValue": "shop"}},
      {"key": "process.pid", "value": {"intValue": "7"}}
    ]},
    "scopeSpans": [{
      "scope": {"name": "http", "version": "1"},
      "spans": [
        {"traceId": "5B8EFFF798038103D269B633813FC60C", "spanId": "EEE19B7EC3C1B174",
         "parentSpanId": "", "name": "GET /", "kind": 2, "endTimeUnixNano": "1763632799999999000",
         "attributes": [{"key": "a", "value": {"intValue": 3}}, {"key": "b"}],
         "events": [{"name": "x"}], "links": [], "status": {"code": 1}, "unheardOf": {"a": [1]}},
        {"traceId": "5b8efff798038103d269b633813fc60c", "spanId": "eee19b7ec3c1b175",
         "parentSpanId": "eee19b7ec3c1b174", "endTimeUnixNano": 1763632799999999000,
         "links": [{"traceId": "any"}, {}]}
      ]
    }]
  }]
}"#;

fn counted(signal: Signal, body: &str) -> Result<Counts, Malformed> {
    as_json(signal, body).map(|outcome| outcome.counts)
}

#[test]
fn spans_are_counted_with_their_events_links_and_attributes() {
    let found = as_json(Signal::Traces, SPANS).unwrap();
    let trace_id = 0x5b8e_fff7_9803_8103_d269_b633_813f_c60c;
    let root = SampledSpan {
        trace_id,
        span_id: 0xeee1_9b7e_c3c1_b174,
        parent_id: 0,
    };
    let child = SampledSpan {
        trace_id,
        span_id: 0xeee1_9b7e_c3c1_b175,
        parent_id: root.span_id,
    };
    assert_eq!(
        found.counts,
        Counts {
            spans: 2,
            root_spans: 1,
            span_events: 1,
            links: 2,
            attributes: 2,
            ..Counts::default()
        }
    );
    let items = SourceItems {
        spans: 2,
        span_events: 1,
        ..SourceItems::default()
    };
    let shop = Source {
        service: "shop".into(),
        scope: "http".into(),
        items,
    };
    assert_eq!(found.by_source, [shop]);
    assert_eq!(found.sampled, [root, child]);
    let delay = found.delay.unwrap();
    assert_eq!((delay.spans, delay.max_ns), (2, 1_000));
}

#[test]
fn each_signal_has_its_keys() {
    let points = r#"{"resourceMetrics": [{"scopeMetrics": [{"metrics": [
        {"name": "a", "gauge": {"dataPoints": [{}, {"asInt": "3"}]}},
        {"name": "b", "sum": {"dataPoints": [{}], "isMonotonic": true}},
        {"name": "c", "histogram": {"dataPoints": [{}]}, "gauge": null},
        {"name": "d", "exponentialHistogram": {"dataPoints": [{}, {}]}},
        {"name": "e", "summary": {}},
        {"name": "f"}
    ]}]}]}"#;
    let records = r#"{"resourceLogs": [{"scopeLogs": [{"logRecords": [{}, {"body": {}}]}]}]}"#;
    let profiles = r#"{"resourceProfiles": [{"scopeProfiles": [{"profiles": [{}]}]}],
        "dictionary": {"stringTable": [""]}}"#;
    let table = [
        (Signal::Metrics, points, "points", 6),
        (Signal::Logs, records, "records", 2),
        (Signal::Profiles, profiles, "profiles", 1),
    ];
    for (signal, body, what, expected) in table {
        let counts = counted(signal, body).unwrap();
        let all = Counts {
            metric_points: if what == "points" { expected } else { 0 },
            log_records: if what == "records" { expected } else { 0 },
            profiles: if what == "profiles" { expected } else { 0 },
            ..Counts::default()
        };
        assert_eq!(counts, all, "{what}");
        let other = counted(Signal::Traces, body);
        assert_eq!(other, Ok(Counts::default()), "{what} are not spans");
    }
}

#[test]
fn missing_and_null_are_empty() {
    let table = [
        "{}",
        r#"{"resourceSpans": null}"#,
        r#"{"resourceSpans": []}"#,
        r#"{"resourceSpans": [{"resource": null, "scopeSpans": null}]}"#,
        r#"{"resourceSpans": [{"scopeSpans": [{"scope": null, "spans": null}]}]}"#,
        r#"{"resourceSpans": [{"scopeSpans": [{"spans": null, "scope": {"name": null}}]}]}"#,
        r#"{"resource_spans": [{"scope_spans": [{"spans": [{}]}]}]}"#,
    ];
    for body in table {
        assert_eq!(
            as_json(Signal::Traces, body),
            Ok(Outcome::default()),
            "{body}"
        );
    }
}

#[test]
fn names_are_found_in_any_order() {
    let found = |resource: &str, scope: &str| {
        let body = format!(
            r#"{{"resourceSpans": [{{{resource} "scopeSpans": [{{{scope} "spans": [{{}}]}}]}}]}}"#
        );
        let source = as_json(Signal::Traces, &body).unwrap().by_source.remove(0);
        (source.service, source.scope)
    };
    let named = |name| format!(r#""resource": {{"attributes": [{name}]}},"#);
    let table = [
        ("", "", ("", "")),
        (
            r#""schemaUrl": "u","#,
            r#""scope": {"version": "1"},"#,
            ("", ""),
        ),
        (
            &named(r#"{"value": {"stringValue": "shop"}, "key": "service.name"}"#),
            r#""scope": {"name": "h\u00e9"},"#,
            ("shop", "hé"),
        ),
        (
            &named(r#"{"key": "service\u002ename", "value": {"stringValue": "a\"b"}}"#),
            r#""scope": null,"#,
            ("a\"b", ""),
        ),
        (
            &named(r#"{"key": "service.name", "value": {"intValue": 1}}"#),
            "",
            ("", ""),
        ),
        (&named(r#"{"key": "service.name"}, {}"#), "", ("", "")),
    ];
    for (resource, scope, (service, name)) in table {
        assert_eq!(
            found(resource, scope),
            (service.into(), name.into()),
            "{resource}"
        );
    }
}

#[test]
fn malformed_json_is_refused_with_a_reason() {
    let span = |fields: &str| {
        format!(
            r#"{{"resourceSpans": [{{"resource": {{}}, "scopeSpans": [{{"spans": [{fields}]}}]}}]}}"#
        )
    };
    let table = [
        (String::new(), "EOF while parsing"),
        ("[]".into(), "expected an object with `resourceSpans`"),
        ("null".into(), "expected an object"),
        ("{} {}".into(), "trailing characters"),
        ("{,}".into(), "key must be a string"),
        (r#"{"resourceSpans": {}}"#.into(), "expected an array"),
        (
            r#"{"resourceSpans": [null]}"#.into(),
            "expected an object with `resource` and",
        ),
        (
            r#"{"resourceSpans": [{"scopeSpans": {}}]}"#.into(),
            "expected an array",
        ),
        (
            r#"{"resourceSpans": [{"resource": []}]}"#.into(),
            "expected an object",
        ),
        (
            r#"{"resourceSpans": [], "resourceSpans": []}"#.into(),
            "duplicate field `resourceSpans`",
        ),
        (
            r#"{"resourceSpans": [{"scopeSpans": [], "scopeSpans": []}]}"#.into(),
            "duplicate field `scopeSpans`",
        ),
        (span("[]"), "invalid type: sequence, expected an object"),
        (span("7"), "expected an object"),
        (span("null"), "expected an object"),
        (
            span(r#"{"traceId": "abcd"}"#),
            "expected an id of 32 hexadecimal digits",
        ),
        (
            span(r#"{"spanId": "zz00000000000000"}"#),
            "expected an id of 16 hexadecimal digits",
        ),
        (span(r#"{"parentSpanId": 5}"#), "expected an id of 16"),
        (
            span(r#"{"traceId": "", "traceId": ""}"#),
            "duplicate field `traceId`",
        ),
        (
            span(r#"{"endTimeUnixNano": "soon"}"#),
            "expected a whole number",
        ),
        (span(r#"{"attributes": {"a": 1}}"#), "expected an array"),
        (span(r#"{"events": [{]}"#), "key must be a string"),
    ];
    for (body, reason) in table {
        let Err(Malformed::Json(found)) = counted(Signal::Traces, &body) else {
            panic!("{body} is accepted")
        };
        assert!(found.contains(reason), "{body}: {found}");
    }
    let two_kinds = r#"{"resourceMetrics": [{"scopeMetrics": [{"metrics": [
        {"gauge": {"dataPoints": []}, "sum": {"dataPoints": []}}]}]}]}"#;
    let found = counted(Signal::Metrics, two_kinds).unwrap_err().to_string();
    assert!(found.contains("two kinds at once"), "{found}");
    let not_text = decoder(Signal::Logs)(b"{\"a\": \"\xff\"}", &mut Receipt::default());
    assert!(not_text.unwrap_err().to_string().contains("utf-8"));
}

#[test]
fn depth_costs_no_stack() {
    for (open, close) in [("[", "]"), (r#"{"a":"#, "}")] {
        let deep = format!("{}0{}", open.repeat(200_000), close.repeat(200_000));
        let ignored = format!(r#"{{"resourceSpans": [{{"other": {deep}}}]}}"#);
        assert_eq!(counted(Signal::Traces, &ignored), Ok(Counts::default()));
        let held = format!(r#"{{"resourceSpans": [{{"scopeSpans": {deep}}}]}}"#);
        assert!(counted(Signal::Traces, &held).is_err());
    }
}
