//! Arbitrary counts of a sink.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use windage_record::{
    Delivered, DeliveredByProtocol, DeliveredInWindow, DeliveredSource, Drops, ExportDelay,
    TraceSample,
};

use super::{arm, text};

pub(super) fn any_delivered() -> impl Strategy<Value = Delivered> {
    let window = (any::<[u32; 2]>(), any::<[u64; 2]>()).prop_map(|([block, position], n)| {
        DeliveredInWindow {
            block,
            position,
            spans: n[0],
            root_spans: n[1],
        }
    });
    let drops = (text(), any::<u64>()).prop_map(|(reason, lost)| Drops { reason, lost });
    let lists = (
        vec(window, 0..4),
        vec(by_protocol(), 0..3),
        vec(source(), 0..3),
        vec(drops, 0..3),
    );
    (
        (any::<u32>(), arm(), any::<[u64; 20]>()),
        lists,
        option::of(delay()),
        option::of(trace_sample()),
    )
        .prop_map(
            |((launch, arm, n), (in_windows, by_protocol, sources, drops), delay, traces)| {
                Delivered {
                    launch,
                    arm,
                    export_requests: n[0],
                    spans: n[1],
                    root_spans: n[2],
                    span_events: n[3],
                    links: n[4],
                    attributes: n[5],
                    metric_points: n[6],
                    log_records: n[7],
                    wire_bytes: n[8],
                    body_bytes: n[9],
                    rejected: n[10],
                    malformed: n[11],
                    completed_requests: n[12],
                    profiles: n[13],
                    side_requests: n[14],
                    refused: n[15],
                    refused_spans: n[16],
                    refused_others: n[17],
                    retried_requests: n[18],
                    repeated_spans: n[19],
                    in_windows,
                    by_protocol,
                    sources,
                    delay,
                    traces,
                    drops,
                }
            },
        )
}

fn by_protocol() -> impl Strategy<Value = DeliveredByProtocol> {
    (text(), any::<[u64; 6]>()).prop_map(|(protocol, n)| DeliveredByProtocol {
        protocol,
        export_requests: n[0],
        spans: n[1],
        metric_points: n[2],
        log_records: n[3],
        wire_bytes: n[4],
        body_bytes: n[5],
    })
}

fn source() -> impl Strategy<Value = DeliveredSource> {
    (text(), text(), any::<[u64; 4]>()).prop_map(|(service, scope, n)| DeliveredSource {
        service,
        scope,
        spans: n[0],
        span_events: n[1],
        metric_points: n[2],
        log_records: n[3],
    })
}

fn delay() -> impl Strategy<Value = ExportDelay> {
    any::<[u64; 5]>().prop_map(|[spans, p50_ns, p90_ns, p99_ns, max_ns]| ExportDelay {
        spans,
        p50_ns,
        p90_ns,
        p99_ns,
        max_ns,
    })
}

fn trace_sample() -> impl Strategy<Value = TraceSample> {
    any::<[u64; 5]>().prop_map(
        |[one_in, traces, complete, spans, duplicates]| TraceSample {
            one_in,
            traces,
            complete,
            spans,
            duplicates,
        },
    )
}
