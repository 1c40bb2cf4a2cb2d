//! What OTLP's messages hold, counted on the wire.
//!
//! Field numbers are those of opentelemetry-proto 1.x; they never change. What lies below the
//! things counted (names, values of attributes) is stepped over by its length and not checked.

use crate::Counts;
use crate::wire::{Fields, WireError};

/// A kind of telemetry, told apart by the request's path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// Spans: `ExportTraceServiceRequest`.
    Traces,
    /// Data points: `ExportMetricsServiceRequest`.
    Metrics,
    /// Log records: `ExportLogsServiceRequest`.
    Logs,
}

impl Signal {
    /// The signal whose requests go to `path`.
    pub(crate) fn from_path(path: &str) -> Option<Signal> {
        match path {
            "/v1/traces" => Some(Signal::Traces),
            "/v1/metrics" => Some(Signal::Metrics),
            "/v1/logs" => Some(Signal::Logs),
            _ => None,
        }
    }
}

// Export…ServiceRequest → Resource… → Scope… → Span, Metric or LogRecord: the same for all signals.
const RESOURCES: u32 = 1;
const SCOPES: u32 = 2;
const ITEMS: u32 = 2;

/// Counts what the body of one request holds, after decompression. Only the fields of [`Counts`]
/// that speak of telemetry are set: spans and what is on them, points, records.
///
/// # Errors
/// When the body is no protobuf message of that signal; nothing of it counts then.
pub fn count(signal: Signal, request: &[u8]) -> Result<Counts, WireError> {
    let mut counts = Counts::default();
    each(request, RESOURCES, |resource| {
        each(resource, SCOPES, |scope| {
            each(scope, ITEMS, |item| match signal {
                Signal::Traces => count_span(item, &mut counts),
                Signal::Metrics => {
                    counts.metric_points += points_of(item)?;
                    Ok(())
                }
                Signal::Logs => {
                    counts.log_records += 1;
                    check(item)
                }
            })
        })
    })?;
    Ok(counts)
}

/// Visits every embedded message in field `number`.
fn each<'a>(
    message: &'a [u8],
    number: u32,
    mut visit: impl FnMut(&'a [u8]) -> Result<(), WireError>,
) -> Result<(), WireError> {
    for field in Fields::of(message) {
        let field = field?;
        if field.number == number {
            visit(field.bytes()?)?;
        }
    }
    Ok(())
}

fn check(message: &[u8]) -> Result<(), WireError> {
    Fields::of(message).try_for_each(|field| field.map(drop))
}

fn count_span(span: &[u8], counts: &mut Counts) -> Result<(), WireError> {
    let mut is_root = true;
    for field in Fields::of(span) {
        let field = field?;
        match field.number {
            // Proto3: where a field that may come once comes twice, the last one counts. An id
            // of zeros is invalid by the specification, and some exporters send it for "none".
            4 => is_root = field.bytes()?.iter().all(|&byte| byte == 0),
            9 => counts.attributes += field.bytes().map(|_| 1)?,
            11 => counts.span_events += field.bytes().map(|_| 1)?,
            13 => counts.links += field.bytes().map(|_| 1)?,
            _ => {}
        }
    }
    counts.spans += 1;
    counts.root_spans += u64::from(is_root);
    Ok(())
}

/// The data points of one Metric.
fn points_of(metric: &[u8]) -> Result<u64, WireError> {
    const DATA_POINTS: u32 = 1;
    let mut kind = 0;
    let mut points = 0;
    for field in Fields::of(metric) {
        let field = field?;
        // Gauge, sum, histogram, exponential histogram, summary.
        if !matches!(field.number, 5 | 7 | 9 | 10 | 11) {
            continue;
        }
        // They are a `oneof`: a second kind replaces the first, the same kind again adds to it.
        if field.number != kind {
            kind = field.number;
            points = 0;
        }
        each(field.bytes()?, DATA_POINTS, |_| {
            points += 1;
            Ok(())
        })?;
    }
    Ok(points)
}

#[cfg(test)]
mod tests;
