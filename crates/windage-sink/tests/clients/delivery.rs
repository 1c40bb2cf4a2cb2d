//! A sink with one arm per case, and a check of its counts.

use windage_model::ArmIndex;
use windage_sink::{Counts, Delivery, Protocol, Sink, SinkOptions};

use crate::case::Case;

/// Sends each case to its own arm with `send`, and checks that the sink counts exactly what is
/// expected for that arm and nothing for any other.
pub(crate) fn check(cases: &[(Case, Counts)], send: impl Fn(Case, &str) -> Result<(), String>) {
    let sink = Sink::start(cases.len(), &Protocol::ALL, SinkOptions::default()).unwrap();
    for (arm, (case, expected)) in (0..).map(ArmIndex).zip(cases) {
        let address = sink.address(arm, case.wire.protocol()).unwrap();
        send(*case, &format!("http://{address}")).unwrap_or_else(|error| panic!("{case}: {error}"));
        // The sender has its answers, so everything is counted by now.
        let counts = sink.counts(arm);
        check_items(case, &counts, expected);
        check_transport(case, &counts);
    }
    for ((case, expected), delivery) in cases.iter().zip(sink.shut_down()) {
        check_delivery(case, &delivery, expected);
    }
}

/// Checks the delivery of one case: one protocol, one program, nothing twice. Telemetry of other
/// cases would show here too.
fn check_delivery(case: &Case, delivery: &Delivery, expected: &Counts) {
    let [(protocol, counts)] = delivery.by_protocol[..] else {
        panic!("{case}: {delivery:?}");
    };
    assert_eq!(protocol, case.wire.protocol(), "{case}");
    check_items(case, &counts, expected);
    let traces = delivery.traces;
    assert_eq!(traces.complete, traces.traces, "{case}: {traces:?}");
    assert_eq!(traces.duplicates, 0, "{case}: {traces:?}");
    let delayed = delivery.delay.map(|delay| delay.spans);
    assert_eq!(
        delayed.unwrap_or(0),
        counts.spans,
        "{case}: every span has an end time"
    );
}

fn check_items(case: &Case, counts: &Counts, expected: &Counts) {
    let mut items = Counts {
        spans: counts.spans,
        root_spans: counts.root_spans,
        span_events: counts.span_events,
        links: counts.links,
        attributes: counts.attributes,
        metric_points: counts.metric_points,
        log_records: counts.log_records,
        profiles: counts.profiles,
        ..Counts::default()
    };
    if case.adds_tags() {
        assert!(items.attributes >= case.attributes(), "{case}: {counts:?}");
        items.attributes = 0;
    }
    assert_eq!(items, *expected, "{case}: {counts:?}");
}

fn check_transport(case: &Case, counts: &Counts) {
    let failed = [
        counts.rejected,
        counts.malformed,
        counts.refused,
        counts.refused_spans,
        counts.refused_others,
        counts.retried_requests,
        counts.repeated_spans,
        counts.refused_connections,
    ];
    assert_eq!(failed, [0; 8], "{case}: {counts:?}");
    assert!(counts.requests > 1, "{case}: all in one batch: {counts:?}");
    // Uncompressed, heads and frames are added to the bodies.
    let is_smaller = counts.wire_bytes < counts.body_bytes;
    assert_eq!(is_smaller, case.gzip, "{case}: {counts:?}");
}
