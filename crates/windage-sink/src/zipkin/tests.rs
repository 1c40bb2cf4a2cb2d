//! Bodies written by hand, and bodies made from their expected counts.

use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::exchange::Encoding;
use crate::exchange::tests::head;
use crate::sources::{Source, SourceItems};
use crate::traces::SampledSpan;

/// A span as reporters write it, with a shared one from the server's side.
const TWO_HALVES: &str = r#"[
  {"traceId": "5982fe77008310cc80f1da5e10147517", "id": "bd7a977555f6b982", "kind": "CLIENT",
   "name": "get", "timestamp": 1458702548467000, "duration": 386000, "debug": true,
   "localEndpoint": {"serviceName": "shop", "ipv4": "127.0.0.1", "port": 0},
   "remoteEndpoint": {"serviceName": "stock"},
   "annotations": [{"timestamp": 1458702548467000, "value": "sent"}, {"timestamp": 2, "value": "got"}],
   "tags": {"http.path": "/api", "http.method": "GET", "error": ""}},
  {"id": "BD7A977555F6B982", "traceId": "5982fe77008310cc80f1da5e10147517", "shared": true,
   "kind": "SERVER", "localEndpoint": {"serviceName": "st\u006fck"}, "tags": null}
]"#;

fn read(body: &str) -> Result<Receipt, Malformed> {
    let mut receipt = Receipt::default();
    decode(body.as_bytes(), &mut receipt).map(|()| receipt)
}

fn by_source(receipt: &Receipt) -> Vec<(String, SourceItems)> {
    let sources = receipt.by_source.clone().into_sources();
    let named = |source: Source| (source.service, source.items);
    sources.into_iter().map(named).collect()
}

#[test]
fn a_shared_span_counts_twice_with_one_root() {
    let receipt = read(TWO_HALVES).unwrap();
    assert_eq!(
        receipt.counts,
        Counts {
            spans: 2,
            root_spans: 1,
            span_events: 2,
            attributes: 3,
            ..Counts::default()
        }
    );
    let items = |span_events| SourceItems {
        spans: 1,
        span_events,
        ..SourceItems::default()
    };
    assert_eq!(
        by_source(&receipt),
        [("shop".into(), items(2)), ("stock".into(), items(0))]
    );
    let trace_id = 0x5982_fe77_0083_10cc_80f1_da5e_1014_7517;
    let id = 0xbd7a_9775_55f6_b982;
    let sampled = |span_id, parent_id| SampledSpan {
        trace_id,
        span_id,
        parent_id,
    };
    assert_eq!(receipt.sampled, [sampled(id, 0), sampled(!id, id)]);
}

#[test]
fn the_end_of_a_span_is_start_plus_duration() {
    let end = |fields: &str| {
        let body = format!(r#"{{"traceId": "1", "id": "2", {fields}}}"#);
        let span: Span<'_> = serde_json::from_str(&body).unwrap();
        span.facts().unwrap().end_unix_ns
    };
    let table = [
        (
            r#""timestamp": 1458702548467000, "duration": 386000"#,
            1_458_702_548_853_000_000,
        ),
        (
            r#""timestamp": "1458702548467000", "duration": "1""#,
            1_458_702_548_467_001_000,
        ),
        (r#""timestamp": 1458702548467000"#, 0),
        (r#""duration": 386000"#, 0),
        (r#""timestamp": null, "duration": null"#, 0),
        (
            r#""timestamp": 18446744073709551615, "duration": 1"#,
            u64::MAX,
        ),
    ];
    for (fields, end_unix_ns) in table {
        assert_eq!(end(fields), end_unix_ns, "{fields}");
    }
}

#[test]
fn what_zipkin_accepts_is_accepted() {
    let table = [
        ("[]", 0, 0, "nothing"),
        (r#"[{"traceId": "a1", "id": "1"}]"#, 1, 1, "short ids"),
        (
            r#"[{"traceId": "a1", "id": "1", "parentId": "0000000000000000"}]"#,
            1,
            1,
            "zeros",
        ),
        (
            r#"[{"traceId": "a1", "id": "1", "parentId": null}]"#,
            1,
            1,
            "null",
        ),
        (
            r#"[{"traceId": "a1", "id": "2", "parentId": "1"}]"#,
            1,
            0,
            "a child",
        ),
        (
            r#"[{"traceId": "a1", "id": "2", "localEndpoint": null}]"#,
            1,
            1,
            "no endpoint",
        ),
        (
            r#"[{"traceId": "a1", "id": "2", "localEndpoint": {}}]"#,
            1,
            1,
            "a nameless one",
        ),
        (
            r#"[{"traceId": "a1", "id": "2", "new": [{"a": {}}]}]"#,
            1,
            1,
            "an unknown key",
        ),
    ];
    for (body, spans, root_spans, why) in table {
        let found = count(body.as_bytes()).unwrap();
        assert_eq!(
            (found.spans, found.root_spans),
            (spans, root_spans),
            "{why}"
        );
    }
}

#[test]
fn what_zipkin_refuses_is_refused_with_a_reason() {
    let table = [
        ("", "EOF while parsing"),
        ("{}", "expected an array of spans"),
        ("null", "expected an array of spans"),
        ("[null]", "expected an object"),
        (r#"[["a1", "1"]]"#, "expected an object"),
        ("[{}]", "a span without a `traceId` or `id`"),
        (
            r#"[{"traceId": "a1"}]"#,
            "a span without a `traceId` or `id`",
        ),
        (
            r#"[{"traceId": "0000000000000000", "id": "1"}]"#,
            "without a `traceId`",
        ),
        (
            r#"[{"traceId": "a1", "id": ""}]"#,
            "without a `traceId` or `id`",
        ),
        (
            r#"[{"traceId": "0x1", "id": "1"}]"#,
            "expected an id of 1 to 32",
        ),
        (
            r#"[{"traceId": "a1", "id": "00000000000000001"}]"#,
            "expected an id of 1 to 16",
        ),
        (
            r#"[{"traceId": "a1", "id": "1", "tags": []}]"#,
            "expected an object",
        ),
        (
            r#"[{"traceId": "a1", "id": "1", "annotations": {}}]"#,
            "expected an array",
        ),
        (
            r#"[{"traceId": "a1", "id": "1", "timestamp": 1.5}]"#,
            "expected a whole number",
        ),
        (r#"[{"traceId": "a1", "id": "1"}"#, "EOF while parsing"),
        (
            r#"[{"traceId": "a1", "id": "1"}] []"#,
            "trailing characters",
        ),
        (
            r#"[{"traceId": "a1", "id": "1", "id": "2"}]"#,
            "duplicate field `id`",
        ),
    ];
    for (body, reason) in table {
        let found = count(body.as_bytes()).unwrap_err().to_string();
        assert!(found.contains(reason), "{body}: {found}");
    }
    assert!(count(b"[{\"traceId\": \"\xff\"}]").is_err(), "not UTF-8");
}

#[test]
fn a_request_is_admitted_by_its_head() {
    let json: &[(&str, &str)] = &[("Content-Type", "application/json; charset=utf-8")];
    let gzip = &[json[0], ("Content-Encoding", "gzip")];
    let deflate = &[json[0], ("Content-Encoding", "deflate")];
    let protobuf: &[(&str, &str)] = &[("Content-Type", "application/x-protobuf")];
    // Method, path, headers; the encoding, or the status of the refusal.
    type Row<'a> = (
        &'a str,
        &'a str,
        &'a [(&'a str, &'a str)],
        Result<Encoding, u16>,
    );
    let table: &[Row<'_>] = &[
        ("POST", "/api/v2/spans", json, Ok(Encoding::Identity)),
        ("POST", "/api/v2/spans", gzip, Ok(Encoding::Gzip)),
        ("POST", "/api/v1/spans", json, Err(404)),
        ("GET", "/api/v2/spans", json, Err(405)),
        ("POST", "/api/v2/spans", protobuf, Err(415)),
        ("POST", "/api/v2/spans", &[], Err(415)),
        ("POST", "/api/v2/spans", deflate, Err(415)),
    ];
    for &(method, path, headers, expected) in table {
        let found = admit(&head(method, path, headers));
        if let Ok(route) = &found {
            assert_eq!((route.accepted.status, route.form), (202, Form::Text));
            assert!(route.accepted.body.is_empty());
        }
        let found = found.map(|route| route.encoding);
        assert_eq!(
            found.map_err(|refusal| refusal.status()),
            expected,
            "{method} {path}"
        );
    }
}

/// A span and its expected counts.
fn span() -> impl Strategy<Value = (Value, Counts)> {
    (
        1..=u128::MAX,
        1..=u64::MAX,
        prop::option::of(0..3_u64),
        0..4_usize,
        0..4_usize,
    )
        .prop_map(|(trace_id, id, parent_id, events, tags)| {
            let tag = |i| (format!("tag {i}\""), Value::from("é"));
            let json = json!({
                "traceId": format!("{trace_id:032x}"),
                "id": format!("{id:016x}"),
                "parentId": parent_id.map(|id| format!("{id:016x}")),
                "annotations": vec![json!({"timestamp": 1, "value": "]"}); events],
                "tags": (0..tags).map(tag).collect::<serde_json::Map<_, _>>(),
                "localEndpoint": {"serviceName": format!("{}", id % 3)},
            });
            let counts = Counts {
                spans: 1,
                root_spans: u64::from(parent_id.unwrap_or(0) == 0),
                span_events: events as u64,
                attributes: tags as u64,
                ..Counts::default()
            };
            (json, counts)
        })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_list_is_counted_as_the_sum_of_its_spans(spans in vec(span(), 0..20)) {
        let expected = spans.iter().fold(Counts::default(), |sum, (_, one)| sum.plus(one));
        let body = Value::from_iter(spans.into_iter().map(|(json, _)| json)).to_string();
        let receipt = read(&body).unwrap();
        prop_assert_eq!(receipt.counts, expected);
        let of_sources = by_source(&receipt).iter().map(|(_, items)| items.spans).sum::<u64>();
        prop_assert_eq!(of_sources, expected.spans);
    }

    #[test]
    fn noise_never_panics(body in vec(any::<u8>(), 0..200)) {
        let _ = count(&body);
    }
}
