//! Prometheus remote write 1.0, over HTTP/1.1.
//!
//! Reference: <https://prometheus.io/docs/specs/prw/remote_write_spec/>. Requests of version 2.0
//! get a 415, after which senders fall back to 1.0.

use snap::raw::{Decoder, decompress_len};

use crate::Counts;
use crate::exchange::{Answer, Decode, Encoding, Form, Head, Refusal, Route, header};
use crate::malformed::Malformed;
use crate::protocol::Protocol;
use crate::receipt::Receipt;
use crate::wire::{Fields, WireError};

const PROTOBUF: &str = "application/x-protobuf";
/// The message of version 1.0, for senders that name it.
const MESSAGE: &str = "prometheus.WriteRequest";

/// The largest body after decompression. Prometheus sends 2,000 samples at once: 200 kB.
const MAX_BODY_BYTES: usize = 16 << 20;
/// No element of a snappy block encodes 64 bytes in fewer than 3; a larger claim is false.
const MAX_RATIO: usize = 64 / 3 + 1;

/// Decides about a request by its head alone.
pub(crate) fn admit(head: &Head) -> Result<Route, Refusal> {
    if head.uri.path() != Protocol::RemoteWrite.path() {
        return Err(Refusal::Path(
            "send Prometheus remote write to /api/v1/write",
        ));
    }
    if head.method != "POST" {
        return Err(Refusal::Method("POST"));
    }
    // Senders older than the specification may leave out both; Prometheus accepts that too.
    if !header(head, "content-type").is_none_or(is_supported) {
        return Err(Refusal::ContentType(
            "application/x-protobuf of prometheus.WriteRequest (remote write 1.0)",
        ));
    }
    if !header(head, "content-encoding").is_none_or(|name| name.eq_ignore_ascii_case("snappy")) {
        return Err(Refusal::ContentType(
            "application/x-protobuf with `Content-Encoding: snappy`",
        ));
    }
    Ok(Route {
        decode: Decode::Whole(decode),
        // Snappy's block format can be decompressed only when it is complete.
        encoding: Encoding::Identity,
        accepted: Answer::new(204, "", b"".as_slice()),
        form: Form::Text,
    })
}

/// Whether a content type is that of version 1.0, with or without the message name.
fn is_supported(content_type: &str) -> bool {
    let mut parts = content_type.split(';').map(str::trim);
    let is_protobuf = parts
        .next()
        .is_some_and(|media_type| media_type.eq_ignore_ascii_case(PROTOBUF));
    is_protobuf
        && parts.all(|parameter| match parameter.split_once('=') {
            Some((name, message)) if name.trim().eq_ignore_ascii_case("proto") => {
                message.trim().trim_matches('"') == MESSAGE
            }
            _ => true,
        })
}

/// Counts the telemetry in the body of one request, compressed with snappy. Sets only the telemetry
/// fields of [`Counts`], and `body_bytes` to the size after decompression.
///
/// # Errors
///
/// When the body is not a snappy block, or holds no `WriteRequest`; then nothing is counted.
pub fn count(body: &[u8]) -> Result<Counts, Malformed> {
    let mut receipt = Receipt::default();
    decode(body, &mut receipt)?;
    Ok(receipt.counts)
}

fn decode(body: &[u8], receipt: &mut Receipt) -> Result<(), Malformed> {
    let request = decompressed(body)?;
    // The receipt has counted the compressed bytes.
    receipt.counts.body_bytes = request.len() as u64;
    Ok(count_request(&request, receipt)?)
}

fn decompressed(body: &[u8]) -> Result<Vec<u8>, Malformed> {
    let snappy = |error: snap::Error| Malformed::Snappy(error.to_string());
    let claimed_bytes = decompress_len(body).map_err(snappy)?;
    if claimed_bytes > MAX_BODY_BYTES {
        return Err(Malformed::Snappy(format!(
            "it holds {claimed_bytes} bytes, more than the sink's limit of {MAX_BODY_BYTES}; \
             lower `max_samples_per_send`"
        )));
    }
    if claimed_bytes > body.len().saturating_mul(MAX_RATIO) {
        return Err(Malformed::Snappy(format!(
            "it cannot hold the {claimed_bytes} bytes that it claims"
        )));
    }
    Decoder::new().decompress_vec(body).map_err(snappy)
}

/// A `WriteRequest`: time series, and metadata, which is skipped.
fn count_request(request: &[u8], receipt: &mut Receipt) -> Result<(), WireError> {
    const TIME_SERIES: u32 = 1;
    let mut current: Option<&[u8]> = None;
    for field in Fields::of(request) {
        let field = field?;
        if field.number != TIME_SERIES {
            continue;
        }
        let series = Series::read(field.bytes()?)?;
        if series.points == 0 {
            continue;
        }
        // Senders write the series of one target together.
        if current != Some(series.job) {
            receipt.source(series.job, b"");
            current = Some(series.job);
        }
        receipt.points(series.points);
    }
    Ok(())
}

/// One time series of a request.
#[derive(Debug, Default, PartialEq, Eq)]
struct Series<'a> {
    /// Its label `job`; empty when missing.
    job: &'a [u8],
    /// Samples, including stale markers, and histograms.
    points: u64,
}

impl<'a> Series<'a> {
    fn read(message: &'a [u8]) -> Result<Series<'a>, WireError> {
        const LABELS: u32 = 1;
        const SAMPLES: u32 = 2;
        const HISTOGRAMS: u32 = 4;
        let mut series = Series::default();
        for field in Fields::of(message) {
            let field = field?;
            match field.number {
                LABELS => {
                    if let (b"job", value) = label(field.bytes()?)? {
                        series.job = value;
                    }
                }
                SAMPLES | HISTOGRAMS => series.points += field.bytes().map(|_| 1)?,
                _ => {}
            }
        }
        Ok(series)
    }
}

/// A label's name and value.
fn label(message: &[u8]) -> Result<(&[u8], &[u8]), WireError> {
    const NAME: u32 = 1;
    const VALUE: u32 = 2;
    let (mut name, mut value): (&[u8], &[u8]) = (b"", b"");
    for field in Fields::of(message) {
        let field = field?;
        match field.number {
            NAME => name = field.bytes()?,
            VALUE => value = field.bytes()?,
            _ => {}
        }
    }
    Ok((name, value))
}

#[cfg(test)]
mod tests;
