//! Zipkin v2 JSON, over HTTP/1.1.
//!
//! The receiver accepts what Zipkin's own server accepts: shorter ids are padded with zeros.
//! Reference: <https://zipkin.io/zipkin-api/>.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, SeqAccess, Visitor};

use crate::Counts;
use crate::exchange::{Answer, Decode, Form, Head, Refusal, Route, encoding, is_of_type};
use crate::malformed::Malformed;
use crate::otlp::json::{Elements, Entries, Hex, Integer, Object, Text, malformed, text};
use crate::protocol::Protocol;
use crate::receipt::{Receipt, SpanFacts};

const NS_PER_US: u64 = 1_000;

/// Decides about a request by its head alone.
pub(crate) fn admit(head: &Head) -> Result<Route, Refusal> {
    if head.uri.path() != Protocol::Zipkin.path() {
        return Err(Refusal::Path("send Zipkin v2 JSON to /api/v2/spans"));
    }
    if head.method != "POST" {
        return Err(Refusal::Method("POST"));
    }
    if !is_of_type(head, "application/json") {
        return Err(Refusal::ContentType("application/json"));
    }
    Ok(Route {
        decode: Decode::Whole(decode),
        encoding: encoding(head)?,
        accepted: Answer::new(202, "", b"".as_slice()),
        form: Form::Text,
    })
}

/// Counts the telemetry in the body of one request, after decompression. Sets only the telemetry
/// fields of [`Counts`]: annotations are events, tags are attributes.
///
/// # Errors
///
/// When the body is not a list of Zipkin spans; then nothing is counted.
pub fn count(body: &[u8]) -> Result<Counts, Malformed> {
    let mut receipt = Receipt::default();
    decode(body, &mut receipt)?;
    Ok(receipt.counts)
}

fn decode(body: &[u8], receipt: &mut Receipt) -> Result<(), Malformed> {
    let mut json = serde_json::Deserializer::from_str(text(body)?);
    Spans(receipt)
        .deserialize(&mut json)
        .and_then(|()| json.end())
        .map_err(|error| malformed(&error))
}

/// The array of a request.
struct Spans<'r>(&'r mut Receipt);

impl<'de> DeserializeSeed<'de> for Spans<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Spans<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of spans")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut spans: A) -> Result<(), A::Error> {
        let mut current: Option<Cow<'de, str>> = None;
        while let Some(Object(span)) = spans.next_element::<Object<Span<'de>>>()? {
            let facts = span.facts().map_err(A::Error::custom)?;
            let service = span.service();
            // The spans of one body are nearly always of one service.
            if current.as_ref() != Some(&service) {
                self.0.source(service.as_bytes(), b"");
                current = Some(service);
            }
            self.0.span(&facts);
        }
        Ok(())
    }
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Span<'a> {
    trace_id: Hex<1, 32>,
    id: Hex<1, 16>,
    parent_id: Hex<1, 16>,
    timestamp: Integer,
    duration: Integer,
    shared: Option<bool>,
    annotations: Elements,
    tags: Entries,
    #[serde(borrow)]
    local_endpoint: Option<Object<Endpoint<'a>>>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Endpoint<'a> {
    #[serde(borrow)]
    service_name: Option<Text<'a>>,
}

impl<'a> Span<'a> {
    fn facts(&self) -> Result<SpanFacts, &'static str> {
        let trace_id = self.trace_id.trace_id();
        let id = self.id.span_id();
        if trace_id == 0 || id == 0 {
            return Err("a span without a `traceId` or `id`");
        }
        let is_shared = self.shared == Some(true);
        Ok(SpanFacts {
            trace_id,
            // A server that shares its client's id reports the other half of the same span. As the
            // client's child it is neither a root nor a duplicate.
            span_id: if is_shared { !id } else { id },
            parent_id: if is_shared {
                id
            } else {
                self.parent_id.span_id()
            },
            end_unix_ns: self.end_unix_ns(),
            events: self.annotations.0,
            links: 0,
            attributes: self.tags.0,
        })
    }

    /// 0 without a duration: the span was reported before its end, or never ended.
    fn end_unix_ns(&self) -> u64 {
        let (Integer(start_unix_us), Integer(duration_us)) = (self.timestamp, self.duration);
        if start_unix_us == 0 || duration_us == 0 {
            return 0;
        }
        start_unix_us
            .saturating_add(duration_us)
            .saturating_mul(NS_PER_US)
    }

    fn service(self) -> Cow<'a, str> {
        self.local_endpoint
            .and_then(|endpoint| endpoint.0.service_name)
            .unwrap_or_default()
            .0
    }
}

#[cfg(test)]
mod tests;
