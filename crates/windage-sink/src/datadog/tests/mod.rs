//! Bodies of real tracers and bodies written by hand; `round_trip` has random ones.

mod round_trip;

use rmp::encode::{write_array_len, write_map_len, write_nil, write_sint, write_str, write_uint};

use super::*;
use crate::exchange::DecodeWhole;

/// The counts of a version 0.4 body and a version 0.5 body.
fn count_both(v04: &[u8], v05: &[u8]) -> [Result<Counts, Malformed>; 2] {
    [
        count(DatadogVersion::V04, v04),
        count(DatadogVersion::V05, v05),
    ]
}

/// Two traces, of three spans and of one, from ddtrace 4.16 for Python. One span has a link and an
/// event. Without `_dd.…` the first has six tags, the one with the event one more (as JSON in
/// `events`, unless written natively), the fourth has four.
#[test]
fn requests_of_ddtrace_are_counted() {
    let expected = |attributes, span_events| Counts {
        spans: 4,
        root_spans: 2,
        span_events,
        links: 1,
        attributes,
        ..Counts::default()
    };
    let v04 = DatadogVersion::V04;
    let table: [(&str, DatadogVersion, &[u8], Counts); 4] = [
        (
            "events as JSON",
            v04,
            include_bytes!("../samples/ddtrace_v04"),
            expected(12, 0),
        ),
        (
            "native events",
            v04,
            include_bytes!("../samples/ddtrace_v04_native_events"),
            expected(11, 1),
        ),
        (
            "0.3 is 0.4",
            DatadogVersion::V03,
            include_bytes!("../samples/ddtrace_v04"),
            expected(12, 0),
        ),
        (
            "0.5: events and links as JSON",
            DatadogVersion::V05,
            include_bytes!("../samples/ddtrace_v05"),
            expected(12, 0),
        ),
    ];
    for (name, version, body, expected) in table {
        assert_eq!(count(version, body), Ok(expected), "{name}");
    }
}

#[test]
fn a_receipt_gets_services_and_full_trace_ids() {
    let bodies: [(DecodeWhole, &[u8]); 2] = [
        (decode_v04, include_bytes!("../samples/ddtrace_v04")),
        (decode_v05, include_bytes!("../samples/ddtrace_v05")),
    ];
    for (decode, body) in bodies {
        let mut receipt = Receipt::default();
        decode(body, &mut receipt).unwrap();
        let spans_of = |of: &str| -> u64 {
            let sources = receipt.by_source.clone().into_sources();
            let of_service = sources.iter().filter(|source| source.service == of);
            of_service.map(|source| source.items.spans).sum()
        };
        assert_eq!((spans_of("shop"), spans_of("db")), (3, 1));
        let upper: Vec<u64> = receipt
            .sampled
            .iter()
            .map(|span| (span.trace_id >> 96) as u64)
            .collect();
        // Only the first span of each trace carries it; it holds seconds since 1970.
        assert_eq!(upper.len(), 4);
        assert!(
            upper
                .iter()
                .all(|seconds| *seconds == upper[0] && *seconds > 1_700_000_000)
        );
        let ids = |at: usize| (receipt.sampled[at].trace_id, receipt.sampled[at].parent_id);
        assert_eq!(ids(1), (ids(0).0, receipt.sampled[0].span_id));
        assert_ne!(ids(3).0, ids(0).0);
    }
}

#[test]
fn the_upper_half_of_an_id_ends_with_its_trace() {
    let mut body = Vec::new();
    write_array_len(&mut body, 2).unwrap();
    for tid in [Some("00000000000000ff"), None] {
        write_array_len(&mut body, 1).unwrap();
        write_map_len(&mut body, 1 + u32::from(tid.is_some())).unwrap();
        write_str(&mut body, "trace_id").unwrap();
        write_uint(&mut body, 7).unwrap();
        if let Some(tid) = tid {
            write_str(&mut body, "meta").unwrap();
            write_map_len(&mut body, 1).unwrap();
            write_str(&mut body, "_dd.p.tid").unwrap();
            write_str(&mut body, tid).unwrap();
        }
    }
    let mut receipt = Receipt::default();
    decode_v04(&body, &mut receipt).unwrap();
    let ids: Vec<u128> = receipt.sampled.iter().map(|span| span.trace_id).collect();
    assert_eq!(ids, [0xff << 64 | 7, 7]);
}

#[test]
fn missing_values_may_be_null() {
    let mut v04 = vec![0x91, 0x91];
    write_map_len(&mut v04, 11).unwrap();
    for key in [
        "service",
        "name",
        "resource",
        "type",
        "trace_id",
        "start",
        "error",
        "meta",
        "metrics",
        "span_links",
        "of another age",
    ] {
        write_str(&mut v04, key).unwrap();
        write_nil(&mut v04).unwrap();
    }
    let mut v05 = vec![0x92, 0x91, 0xc0, 0x91, 0x91, 0x9c];
    v05.extend([0xc0; 12]);
    for counted in count_both(&v04, &v05) {
        let expected = Counts {
            spans: 1,
            root_spans: 1,
            ..Counts::default()
        };
        assert_eq!(counted, Ok(expected));
    }
}

/// A body of version 0.4 with one span of one field.
fn one_field(key: &str, value: &[u8]) -> Vec<u8> {
    let mut body = vec![0x91, 0x91, 0x81];
    write_str(&mut body, key).unwrap();
    [&body, value].concat()
}

#[test]
fn a_malformed_body_is_refused_with_a_reason() {
    let deep = [vec![0x91; 100_000], vec![0xc0]].concat();
    assert!(count(DatadogVersion::V04, &one_field("new", &deep)).is_ok());
    let table: &[(&[u8], &str)] = &[
        (&[], "it ends within a value"),
        (b"{\"a\":1}", "an array was expected"),
        (&[0x91, 0x81], "an array was expected"),
        (&[0x91, 0x91, 0x90], "a map was expected"),
        (&[0x90, 0x90], "bytes follow its end"),
        (&[0xdd, 0xff, 0xff, 0xff, 0xff], "a length goes beyond"),
        (&[0x91, 0x91, 0x81, 0x01, 0x01], "a string was expected"),
        (&one_field("service", &[0x01]), "a string was expected"),
        (
            &one_field("trace_id", &[0xa1, b'7']),
            "a number was expected",
        ),
        (
            &one_field("start", &[0xca, 0, 0, 0, 0]),
            "a number was expected",
        ),
        (
            &one_field("start", &[0xcf; 9]),
            "an integer is beyond 63 bits",
        ),
        (&one_field("meta", &[0x90]), "a map was expected"),
        (
            &one_field("meta", &[0x81, 0xa1, b'k', 0x01]),
            "a string was expected",
        ),
        (
            &one_field("metrics", &[0x81, 0xa1, b'k', 0xa0]),
            "a number was expected",
        ),
        (
            &one_field("span_events", &[0x91, 0x01]),
            "a map was expected",
        ),
        (&one_field("new", &[0xc1]), "a value begins with 0xc1"),
        (
            &one_field("new", &[0xdf, 0xff, 0xff, 0xff, 0xff]),
            "a length goes beyond",
        ),
    ];
    for (body, why) in table {
        says(count(DatadogVersion::V04, body), why, body);
    }
}

#[test]
fn a_malformed_body_of_version_0_5_is_refused() {
    let mut too_many = vec![0x92];
    write_array_len(&mut too_many, (1 << 20) + 1).unwrap();
    too_many.extend(vec![0xa0; (1 << 20) + 1]);
    too_many.push(0x90);
    let mut just_enough = vec![0x92];
    write_array_len(&mut just_enough, 1 << 20).unwrap();
    just_enough.extend(vec![0xa0; 1 << 20]);
    just_enough.push(0x90);
    assert!(count(DatadogVersion::V05, &just_enough).is_ok());
    // One string and one span; everything before the span is valid.
    let with_span = |span: &[u8]| [&[0x92, 0x91, 0xa1, b's', 0x91, 0x91], span].concat();
    let whole = with_span(&[0x9c, 0, 0, 0, 7, 8, 9, 1, 1, 0, 0x80, 0x80, 0]);
    assert!(count(DatadogVersion::V05, &whole).is_ok());
    let mut negative = vec![0x9c];
    write_sint(&mut negative, -1).unwrap();
    negative.extend([0; 11]);
    let table: &[(&[u8], &str)] = &[
        (&[0x91, 0x90], "an array of two"),
        (&[0x93, 0x90, 0x90, 0x90], "an array of two"),
        (&[0x92, 0x90, 0x90, 0x90], "bytes follow its end"),
        (&[0x92, 0x91, 0x01, 0x90], "a string was expected"),
        (&too_many, "more than 2^20 strings"),
        (
            &with_span(&[0x9b, 0, 0, 0, 7, 8, 9, 1, 1, 0, 0x80, 0x80]),
            "an array of twelve",
        ),
        (
            &with_span(&[0x9c, 1, 0, 0, 7, 8, 9, 1, 1, 0, 0x80, 0x80, 0]),
            "that is not there",
        ),
        (&with_span(&negative), "that is not there"),
        (
            &with_span(&[0x9c, 0, 0, 0, 7, 8, 9, 1, 1, 0, 0x81, 0, 2, 0x80, 0]),
            "that is not there",
        ),
        (
            &with_span(&[0x9c, 0, 0, 0, 7, 8, 9, 1, 1, 0, 0x80, 0x80, 1]),
            "that is not there",
        ),
        (
            &with_span(&[0x9c, 0, 0, 0, 7, 8, 9, 1, 1, 0, 0x80, 0x81, 0, 0xa0, 0]),
            "a number was",
        ),
        (&with_span(&[0x81, 0, 0]), "an array was expected"),
        (&with_span(&[]), "a length goes beyond its end"),
    ];
    for (body, why) in table {
        says(count(DatadogVersion::V05, body), why, body);
    }
}

fn says(counted: Result<Counts, Malformed>, why: &str, body: &[u8]) {
    let start = &body[..body.len().min(40)];
    let error = counted
        .expect_err(&format!("{why}: {start:x?}"))
        .to_string();
    assert!(error.contains(why), "{error:?}, not {why:?}: {start:x?}");
}
