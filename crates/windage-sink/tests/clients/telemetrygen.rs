//! `telemetrygen`, the OpenTelemetry Collector's own load generator.

use std::path::Path;
use std::process::Command;

use windage_sink::Counts;

use crate::case::{Case, SPANS_A_TRACE, Signal, Wire};
use crate::{delivery, program};

const TRACES: u64 = 101;
const ITEMS: u64 = 1003;
/// `net.peer.ip` and `peer.service`, which it puts on every span, and the one that the test adds.
const ATTRIBUTES: u64 = 3;

#[test]
fn telemetrygen() {
    let Some(telemetrygen) = program::part("telemetrygen", "WINDAGE_TEST_TELEMETRYGEN") else {
        return;
    };
    let cases: Vec<_> = Case::otlp(&[Wire::Http, Wire::Grpc])
        .into_iter()
        // It has no flag for compression.
        .filter(|case| !case.gzip)
        .map(|case| (case, delivered(case.signal)))
        .collect();
    delivery::check(&cases, |case, endpoint| {
        program::run(command(&telemetrygen, case, endpoint))
    });
}

fn command(telemetrygen: &Path, case: Case, endpoint: &str) -> Command {
    let mut command = program::command(telemetrygen);
    command
        .arg(case.signal.as_str())
        .args(["--otlp-insecure", "--rate=0", "--workers=1"])
        .arg("--otlp-endpoint")
        .arg(endpoint.trim_start_matches("http://"));
    if case.wire == Wire::Http {
        command.arg("--otlp-http");
    }
    match case.signal {
        Signal::Traces => command
            .arg(format!("--traces={TRACES}"))
            .arg(format!("--child-spans={}", SPANS_A_TRACE - 1))
            .args(["--span-links=1", "--telemetry-attributes=ours=\"one\""]),
        Signal::Metrics => command
            .arg(format!("--metrics={ITEMS}"))
            .arg("--metric-type=ExponentialHistogram"),
        Signal::Logs => command.arg(format!("--logs={ITEMS}")),
    };
    command
}

fn delivered(signal: Signal) -> Counts {
    let spans = TRACES * SPANS_A_TRACE;
    match signal {
        Signal::Traces => Counts {
            spans,
            root_spans: TRACES,
            // Each links to an earlier span of the same worker; the first one has no link.
            links: spans - 1,
            attributes: spans * ATTRIBUTES,
            ..Counts::default()
        },
        Signal::Metrics => Counts {
            metric_points: ITEMS,
            ..Counts::default()
        },
        Signal::Logs => Counts {
            log_records: ITEMS,
            ..Counts::default()
        },
    }
}
