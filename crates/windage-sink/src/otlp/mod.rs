//! OTLP: which requests are admitted, and what their messages hold.
//!
//! Field numbers are those of opentelemetry-proto 1.x; they never change. Anything below the
//! counted items (names, values of attributes) is skipped by its length and not checked.

mod answer;
mod items;
pub(crate) mod json;
mod stream;

use crate::Counts;
use crate::exchange::{Decode, Form, Head, Refusal, Route, encoding, is_of_type};
use crate::malformed::Malformed;
use crate::receipt::Receipt;
use crate::signal::Signal;
use crate::wire::WireError;

use answer::{JSON, PROTOBUF};
pub(crate) use answer::{accepted, partial, refused};
pub(crate) use stream::Stream;

/// Decides about a request over HTTP by its head alone.
pub(crate) fn admit(head: &Head) -> Result<Route, Refusal> {
    let signal = Signal::from_path(head.uri.path()).ok_or(Refusal::Path(
        "send OTLP/HTTP to /v1/traces, /v1/metrics, /v1/logs or /v1development/profiles",
    ))?;
    if head.method != "POST" {
        return Err(Refusal::Method("POST"));
    }
    let (decode, form) = if is_of_type(head, PROTOBUF) {
        (Decode::OtlpProtobuf(signal), Form::OtlpProtobuf(signal))
    } else if is_of_type(head, JSON) {
        (Decode::Whole(json::decoder(signal)), Form::OtlpJson(signal))
    } else {
        return Err(Refusal::ContentType(
            "application/x-protobuf or application/json",
        ));
    };
    Ok(Route {
        decode,
        encoding: encoding(head)?,
        accepted: accepted(form),
        form,
    })
}

/// The form of errors for the sender of this head.
pub(crate) fn form(head: &Head) -> Form {
    let signal = Signal::from_path(head.uri.path()).unwrap_or(Signal::Traces);
    if is_of_type(head, JSON) {
        Form::OtlpJson(signal)
    } else {
        Form::OtlpProtobuf(signal)
    }
}

/// Counts the telemetry in the body of one request, after decompression. Sets only the telemetry
/// fields of [`Counts`].
///
/// # Errors
///
/// When the body is not a protobuf message of that signal; then nothing is counted.
pub fn count(signal: Signal, request: &[u8]) -> Result<Counts, WireError> {
    count_in_pieces(signal, request, usize::MAX)
}

/// Like [`count`], for a body that arrives in pieces of `piece_bytes`; the result is the same.
///
/// # Errors
///
/// As [`count`].
pub fn count_in_pieces(
    signal: Signal,
    request: &[u8],
    piece_bytes: usize,
) -> Result<Counts, WireError> {
    let mut receipt = Receipt::default();
    let mut stream = Stream::new(signal);
    for piece in request.chunks(piece_bytes.max(1)) {
        stream.feed(piece, &mut receipt)?;
    }
    stream.finish()?;
    Ok(receipt.counts)
}

/// Like [`count`], for a body in JSON.
///
/// # Errors
///
/// When the body is not a JSON message of that signal; then nothing is counted.
pub fn count_json(signal: Signal, request: &[u8]) -> Result<Counts, Malformed> {
    let mut receipt = Receipt::default();
    json::decoder(signal)(request, &mut receipt)?;
    Ok(receipt.counts)
}

#[cfg(test)]
mod tests;
