//! The walk over Zipkin's JSON never panics, and counts what it accepts as a tree of values would
//! be counted.

use serde_json::Value;
use windage_sink::{Counts, count_zipkin};

use crate::Corpus;

/// Checks what the module says of an input.
pub fn check(body: &[u8]) -> Corpus {
    let Ok(walked) = count_zipkin(body) else {
        return Corpus::Keep;
    };
    // The tree refuses some input that the walk skips: numbers beyond a float's range, and values
    // nested more than a hundred deep.
    let Ok(tree) = serde_json::from_slice::<Value>(body) else {
        return Corpus::Keep;
    };
    let spans = tree.as_array().expect("a list of spans");
    let expected = spans
        .iter()
        .map(span)
        .fold(Counts::default(), |sum, one| sum.plus(&one));
    // The tree has one tag of each name, however often it was given.
    assert!(walked.attributes >= expected.attributes);
    let attributes = expected.attributes;
    assert_eq!(
        Counts {
            attributes,
            ..walked
        },
        expected
    );
    Corpus::Keep
}

fn span(span: &Value) -> Counts {
    let parent = span["parentId"].as_str().unwrap_or_default();
    let is_root = span["shared"] != true && parent.bytes().all(|digit| digit == b'0');
    Counts {
        spans: 1,
        root_spans: u64::from(is_root),
        span_events: span["annotations"].as_array().map_or(0, Vec::len) as u64,
        attributes: span["tags"].as_object().map_or(0, |tags| tags.len()) as u64,
        ..Counts::default()
    }
}
