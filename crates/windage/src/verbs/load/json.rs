//! The JSON document of `windage load --json`.

use hdrhistogram::Histogram;
use serde_json::{Value, json};
use windage_analysis::wire::validity_to_json;
use windage_model::Outlier;
use windage_report::Words;

use super::design::{Design, Model};
use super::outcome::{Outcome, Percentiles};

/// The schema number; it changes only when readers of the old schema would be misled.
const SCHEMA: u32 = 1;

/// The load and its results.
pub(super) fn document(design: &Design, outcome: &Outcome) -> Value {
    let exchanges = &outcome.exchanges;
    let errors = &exchanges.errors;
    let status = &exchanges.status.0;
    json!({
        "schema": SCHEMA,
        "windage": env!("CARGO_PKG_VERSION"),
        "url": design.url.text,
        "method": design.method,
        "to": design.endpoint.to_string(),
        "protocol": design.protocol_name(),
        "tls": design.is_tls(),
        "load": load(design),
        "requests": exchanges.completed,
        "sent": exchanges.sent,
        "dropped": exchanges.dropped,
        "waited": exchanges.waited,
        "grown": exchanges.grown,
        "reopened": exchanges.reopened,
        "errors": {
            "connect": errors.connect,
            "timeout": errors.timeout,
            "closed": errors.closed,
            "protocol": errors.protocol,
        },
        "first_error": outcome.first_error,
        "status": {
            "1xx": status[0],
            "2xx": status[1],
            "3xx": status[2],
            "4xx": status[3],
            "5xx": status[4],
        },
        "seconds": outcome.seconds(),
        "interrupted": outcome.interrupted,
        "rate": {
            "intended": outcome.intended_per_s(design),
            "offered": outcome.offered_per_s(),
            "achieved": outcome.achieved_per_s(),
        },
        "response_time_us": percentiles(&outcome.recording.response_time),
        "service_time_us": percentiles(&outcome.recording.service_time),
        "send_lag_us": percentiles(&outcome.recording.send_lag),
        "bytes": {
            "sent": exchanges.sent_bytes,
            "received": exchanges.received_bytes,
        },
        "generator": {
            "cpu_us_per_request": outcome.cpu_us_per_request(),
            "cores": outcome.generator_cores(),
            "rss_peak_bytes": outcome.rss_peak_bytes,
            "preemptions": exchanges.generator_preemptions,
            "run_queue_us": exchanges.generator_run_queue_ns.map(|ns| ns as f64 / 1e3),
            "stalls": exchanges.stalls,
            "longest_stall_us": exchanges.longest_stall_ns as f64 / 1e3,
            "longest_stall_at_s": exchanges.longest_stall_at_ns as f64 / 1e9,
        },
        "steal_us": outcome.steal_ns.map(|ns| ns as f64 / 1e3),
        "slowest": outcome.slowest.iter().map(slow).collect::<Vec<_>>(),
        "validity": validity_to_json(&outcome.validity, &Words),
    })
}

/// One of the slowest exchanges; `at_s` is its intended start since the load began.
fn slow(outlier: &Outlier) -> Value {
    json!({
        "at_s": outlier.intended_ns as f64 / 1e9,
        "waited_us": outlier.waited_ns() as f64 / 1e3,
        "response_time_us": outlier.response_time_ns() as f64 / 1e3,
    })
}

fn load(design: &Design) -> Value {
    let open = match &design.model {
        Model::Closed => None,
        Model::Open {
            starts,
            arrivals,
            seed,
        } => Some((starts, arrivals.as_str(), seed)),
    };
    json!({
        "model": if open.is_some() { "open" } else { "closed" },
        "rate": open.and_then(|(starts, ..)| starts.rate_per_s()),
        "profile": open.and_then(|(starts, ..)| starts.profile()),
        "replay": open.and_then(|(starts, ..)| starts.replayed()),
        "arrivals": open
            .filter(|(starts, ..)| starts.replayed().is_none())
            .map(|(_, arrivals, _)| arrivals),
        "seed": open.map(|(.., seed)| seed),
        "connections": design.connections,
        "max_connections": design.max_connections,
        "streams": design.streams,
        "threads": design.threads,
        "for_s": design.lasts.as_secs_f64(),
        "warmup_s": design.warmup.as_secs_f64(),
        "timeout_s": design.timeout.as_secs_f64(),
        "cpus": design.cpus,
    })
}

fn percentiles(histogram: &Histogram<u32>) -> Value {
    let found = Percentiles::of(histogram);
    json!({
        "p50": found.map(|p| p.p50),
        "p90": found.map(|p| p.p90),
        "p99": found.map(|p| p.p99),
        "p999": found.map(|p| p.p999),
        "max": found.map(|p| p.max),
    })
}
