//! The document of `windage sink --json`.

use serde_json::{Map, Value, json};
use windage_sink::{Counts, Delay, Delivery, Source};

use super::received::Received;

/// The schema number; it changes only when readers of the old schema would be misled.
const SCHEMA: u32 = 1;

/// What arrived: totals first, then by protocol, by source, and what follows from them.
pub(super) fn document(received: &Received) -> Value {
    let Delivery {
        by_protocol,
        sources,
        delay,
        traces,
        ..
    } = &received.delivery;
    let counts = |of: &Counts| counts(of, received.is_detailed);
    let mut document = counts(&received.delivery.total());
    document.insert("schema".into(), SCHEMA.into());
    document.insert("windage".into(), env!("CARGO_PKG_VERSION").into());
    document.insert("seconds".into(), received.lasted.as_secs_f64().into());
    document.insert("cpu_s".into(), (received.cpu_ns as f64 / 1e9).into());
    let protocols: Map<String, Value> = by_protocol
        .iter()
        .map(|(protocol, of)| (protocol.to_string(), Value::Object(counts(of))))
        .collect();
    document.insert("by_protocol".into(), protocols.into());
    let sources: Vec<Value> = sources.iter().map(source).collect();
    document.insert("by_source".into(), sources.into());
    document.insert("export_delay_us".into(), delay.as_ref().map(delays).into());
    document.insert(
        "traces".into(),
        json!({
            "one_in": traces.one_in,
            "looked_at": traces.traces,
            "complete": traces.complete,
            "spans": traces.spans,
            "duplicates": traces.duplicates,
        }),
    );
    Value::Object(document)
}

/// Span contents are null if they were not examined.
fn counts(counts: &Counts, is_detailed: bool) -> Map<String, Value> {
    let on_spans = [
        ("span_events", counts.span_events),
        ("links", counts.links),
        ("attributes", counts.attributes),
    ];
    let fields = [
        ("requests", counts.requests),
        ("spans", counts.spans),
        ("root_spans", counts.root_spans),
        ("metric_points", counts.metric_points),
        ("log_records", counts.log_records),
        ("profiles", counts.profiles),
        ("side_requests", counts.side_requests),
        ("wire_bytes", counts.wire_bytes),
        ("bytes", counts.body_bytes),
        ("rejected", counts.rejected),
        ("malformed", counts.malformed),
        ("refused", counts.refused),
        ("refused_spans", counts.refused_spans),
        ("refused_others", counts.refused_others),
        ("retried_requests", counts.retried_requests),
        ("repeated_spans", counts.repeated_spans),
        ("refused_connections", counts.refused_connections),
    ];
    let counted = fields.map(|(name, n)| (name, Some(n)));
    let looked_at = on_spans.map(|(name, n)| (name, is_detailed.then_some(n)));
    let named = |(name, n): (&str, Option<u64>)| (name.to_owned(), Value::from(n));
    counted.into_iter().chain(looked_at).map(named).collect()
}

fn source(source: &Source) -> Value {
    json!({
        "service": source.service,
        "scope": source.scope,
        "spans": source.items.spans,
        "span_events": source.items.span_events,
        "metric_points": source.items.metric_points,
        "log_records": source.items.log_records,
    })
}

fn delays(delay: &Delay) -> Value {
    let us = |ns: u64| ns as f64 / 1e3;
    json!({
        "spans": delay.spans,
        "p50": us(delay.p50_ns),
        "p90": us(delay.p90_ns),
        "p99": us(delay.p99_ns),
        "max": us(delay.max_ns),
    })
}
