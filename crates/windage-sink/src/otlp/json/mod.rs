//! OTLP/JSON, counted without building objects.
//!
//! The mapping follows the OTLP specification: keys in lowerCamelCase, unknown ones ignored, ids as
//! hexadecimal text, 64-bit numbers as text or numbers. Below a span, metric, log record or profile
//! only names, ids and times are checked, as in protobuf.

mod values;
mod walk;

use serde::Deserialize;
use serde::de::DeserializeSeed as _;

pub(crate) use self::values::{Elements, Entries, Hex, Integer, Object, Text, malformed, text};
use self::walk::{Item, Message, Walk};
use crate::exchange::DecodeWhole;
use crate::malformed::Malformed;
use crate::receipt::{Receipt, SpanFacts};
use crate::signal::Signal;

/// The decoder of a signal's bodies.
pub(crate) fn decoder(signal: Signal) -> DecodeWhole {
    match signal {
        Signal::Traces => decode::<Span>,
        Signal::Metrics => decode::<Metric>,
        Signal::Logs => decode::<LogRecord>,
        Signal::Profiles => decode::<Profile>,
    }
}

fn decode<I: Item>(body: &[u8], receipt: &mut Receipt) -> Result<(), Malformed> {
    let mut json = serde_json::Deserializer::from_str(text(body)?);
    Message(&mut Walk::<I>::new(receipt))
        .deserialize(&mut json)
        .and_then(|()| json.end())
        .map_err(|error| malformed(&error))
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Span {
    trace_id: Hex<32, 32>,
    span_id: Hex<16, 16>,
    parent_span_id: Hex<16, 16>,
    end_time_unix_nano: Integer,
    attributes: Elements,
    events: Elements,
    links: Elements,
}

impl Item for Span {
    const KEYS: [&'static str; 3] = ["resourceSpans", "scopeSpans", "spans"];

    fn count(self, receipt: &mut Receipt) -> Result<(), &'static str> {
        receipt.span(&SpanFacts {
            trace_id: self.trace_id.trace_id(),
            span_id: self.span_id.span_id(),
            parent_id: self.parent_span_id.span_id(),
            end_unix_ns: self.end_time_unix_nano.0,
            events: self.events.0,
            links: self.links.0,
            attributes: self.attributes.0,
        });
        Ok(())
    }
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Metric {
    gauge: Option<Object<Points>>,
    sum: Option<Object<Points>>,
    histogram: Option<Object<Points>>,
    exponential_histogram: Option<Object<Points>>,
    summary: Option<Object<Points>>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Points {
    data_points: Elements,
}

impl Item for Metric {
    const KEYS: [&'static str; 3] = ["resourceMetrics", "scopeMetrics", "metrics"];

    fn count(self, receipt: &mut Receipt) -> Result<(), &'static str> {
        let mut kinds = [
            self.gauge,
            self.sum,
            self.histogram,
            self.exponential_histogram,
            self.summary,
        ]
        .into_iter()
        .flatten();
        let points = kinds.next().map_or(0, |kind| kind.0.data_points.0);
        // In protobuf the last one would count, but keys of an object have no order.
        if kinds.next().is_some() {
            return Err("a metric is of two kinds at once");
        }
        receipt.points(u64::from(points));
        Ok(())
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct LogRecord {}

impl Item for LogRecord {
    const KEYS: [&'static str; 3] = ["resourceLogs", "scopeLogs", "logRecords"];

    fn count(self, receipt: &mut Receipt) -> Result<(), &'static str> {
        receipt.log_records(1);
        Ok(())
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Profile {}

impl Item for Profile {
    const KEYS: [&'static str; 3] = ["resourceProfiles", "scopeProfiles", "profiles"];

    fn count(self, receipt: &mut Receipt) -> Result<(), &'static str> {
        receipt.profiles(1);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
