//! The walk over the bodies of a Datadog tracer never panics, and counts what it accepts exactly as
//! rmpv's objects would be counted.
//!
//! The input's first byte is the version (`4` for 0.4, `5` for 0.5), the rest a request's body.

use rmpv::ValueRef;
use serde::de::IgnoredAny;
use windage_sink::{Counts, DatadogVersion, count_datadog};

use crate::Corpus;

/// Checks what the module says of an input.
pub fn check(input: &[u8]) -> Corpus {
    let version = match input.first() {
        Some(b'4') => DatadogVersion::V04,
        Some(b'5') => DatadogVersion::V05,
        _ => return Corpus::Reject,
    };
    let mut rest = &input[1..];
    let walked = count_datadog(version, rest);
    // The walk checks the structure of a body and rmpv does not; rmpv has a lower limit on depth.
    if let (Ok(walked), Ok(body)) = (walked, rmpv::decode::read_value_ref(&mut rest)) {
        assert!(rest.is_empty(), "bytes that the walk did not see");
        let objects = match version {
            DatadogVersion::V05 => count_v05(&body),
            _ => count_v04(&body),
        };
        assert_eq!(walked, objects);
    }
    Corpus::Keep
}

fn count_v04(body: &ValueRef) -> Counts {
    let mut counts = Counts::default();
    for span in elements(body).iter().flat_map(elements) {
        let mut parent_is_zero = true;
        for (key, value) in pairs(span) {
            match bytes(key) {
                b"parent_id" => parent_is_zero = is_zero(value),
                b"span_links" => counts.links += elements(value).len() as u64,
                b"span_events" => counts.span_events += elements(value).len() as u64,
                b"meta" | b"metrics" | b"meta_struct" => {
                    for (tag, text) in pairs(value) {
                        let text = if bytes(key) == b"meta" {
                            bytes(text)
                        } else {
                            b""
                        };
                        count_tag(bytes(tag), text, &mut counts);
                    }
                }
                _ => {}
            }
        }
        counts.spans += 1;
        counts.root_spans += u64::from(parent_is_zero);
    }
    counts
}

fn count_v05(body: &ValueRef) -> Counts {
    let [strings, traces] = elements(body) else {
        panic!("not two elements");
    };
    let mut counts = Counts::default();
    for span in elements(traces).iter().flat_map(elements) {
        let fields = elements(span);
        for (key, value) in pairs(&fields[9]) {
            count_tag(string(strings, key), string(strings, value), &mut counts);
        }
        for (key, _) in pairs(&fields[10]) {
            count_tag(string(strings, key), b"", &mut counts);
        }
        counts.spans += 1;
        counts.root_spans += u64::from(is_zero(&fields[5]));
    }
    counts
}

fn count_tag(key: &[u8], text: &[u8], counts: &mut Counts) {
    if key == b"_dd.span_links" {
        let links = serde_json::from_slice::<Vec<IgnoredAny>>(text);
        counts.links += links.map_or(0, |links| links.len() as u64);
    }
    counts.attributes += u64::from(!key.starts_with(b"_dd."));
}

fn elements<'v, 'b>(value: &'v ValueRef<'b>) -> &'v [ValueRef<'b>] {
    match value {
        ValueRef::Nil => &[],
        ValueRef::Array(elements) => elements,
        other => panic!("not an array: {other:?}"),
    }
}

fn pairs<'v, 'b>(value: &'v ValueRef<'b>) -> &'v [(ValueRef<'b>, ValueRef<'b>)] {
    match value {
        ValueRef::Nil => &[],
        ValueRef::Map(pairs) => pairs,
        other => panic!("not a map: {other:?}"),
    }
}

fn bytes<'v>(value: &'v ValueRef<'_>) -> &'v [u8] {
    match value {
        ValueRef::Nil => b"",
        ValueRef::String(text) => text.as_bytes(),
        ValueRef::Binary(bytes) => bytes,
        other => panic!("not a string: {other:?}"),
    }
}

fn string<'v>(strings: &'v ValueRef<'_>, place: &ValueRef<'_>) -> &'v [u8] {
    let place = unsigned(place).expect("a place");
    bytes(&elements(strings)[place as usize])
}

fn is_zero(value: &ValueRef) -> bool {
    unsigned(value) == Some(0)
}

/// `None` when it is negative.
fn unsigned(value: &ValueRef) -> Option<u64> {
    match value {
        ValueRef::Nil => Some(0),
        value => value.as_u64(),
    }
}
