//! The walk over OTLP/JSON never panics, and counts what it accepts as a tree of values would be
//! counted.
//!
//! The input's first byte is the signal (`t`, `m`, `l` or `p`), the rest a request's body.

use serde_json::Value;
use windage_sink::{Counts, Signal, count_otlp_json};

use crate::Corpus;

/// Checks what the module says of an input.
pub fn check(input: &[u8]) -> Corpus {
    let (signal, keys) = match input.first() {
        Some(b't') => (Signal::Traces, ["resourceSpans", "scopeSpans", "spans"]),
        Some(b'm') => (
            Signal::Metrics,
            ["resourceMetrics", "scopeMetrics", "metrics"],
        ),
        Some(b'l') => (Signal::Logs, ["resourceLogs", "scopeLogs", "logRecords"]),
        Some(b'p') => (
            Signal::Profiles,
            ["resourceProfiles", "scopeProfiles", "profiles"],
        ),
        _ => return Corpus::Reject,
    };
    let body = &input[1..];
    // The tree refuses some input that the walk skips: numbers beyond a float's range, and values
    // nested more than a hundred deep.
    if let (Ok(walked), Ok(tree)) = (count_otlp_json(signal, body), serde_json::from_slice(body)) {
        let [resources, scopes, items] = keys;
        let tree: Value = tree;
        let scopes = elements(&tree, resources).flat_map(|resource| elements(resource, scopes));
        let mut counts = Counts::default();
        for item in scopes.flat_map(|scope| elements(scope, items)) {
            count(signal, item, &mut counts);
        }
        assert_eq!(walked, counts);
    }
    Corpus::Keep
}

fn count(signal: Signal, item: &Value, counts: &mut Counts) {
    match signal {
        Signal::Traces => {
            let parent = item["parentSpanId"].as_str().unwrap_or_default();
            counts.spans += 1;
            counts.root_spans += u64::from(parent.bytes().all(|digit| digit == b'0'));
            counts.attributes += elements(item, "attributes").count() as u64;
            counts.span_events += elements(item, "events").count() as u64;
            counts.links += elements(item, "links").count() as u64;
        }
        Signal::Metrics => {
            let kinds = [
                "gauge",
                "sum",
                "histogram",
                "exponentialHistogram",
                "summary",
            ];
            let points = kinds.map(|kind| elements(&item[kind], "dataPoints").count() as u64);
            counts.metric_points += points.iter().sum::<u64>();
        }
        Signal::Logs => counts.log_records += 1,
        Signal::Profiles => counts.profiles += 1,
    }
}

/// The elements of the array under a key; none if it is missing.
fn elements<'a>(object: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> {
    object[key].as_array().into_iter().flatten()
}
