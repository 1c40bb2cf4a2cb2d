//! The trace API of a Datadog agent: versions 0.3, 0.4 and 0.5, in msgpack.
//!
//! What counts as what:
//!
//! - *Attributes* are the entries of `meta`, `metrics` and `meta_struct`, except keys that begin
//!   with `_dd.`: these are the tracer's own bookkeeping.
//! - *Links* are the elements of `span_links` and of the JSON in `meta`'s `_dd.span_links`; a
//!   tracer writes one or the other.
//! - *Events* are the elements of `span_events`. Events written as JSON into `meta`'s `events`, as
//!   all tracers do in version 0.5, count as one attribute, since the service may have an attribute
//!   of that name.
//! - A trace id has 64 bits, and 64 more if its first span has `_dd.p.tid`.
//! - A span's end is its start plus its duration; without a start it has no end time.
//!
//! The decoder accepts what an agent accepts: bytes for strings, null for missing values, integers
//! of any width. Unknown fields are skipped.

mod msgpack;
mod routes;
mod span;
mod v04;
mod v05;

use crate::Counts;
use crate::malformed::Malformed;
use crate::receipt::Receipt;

pub(crate) use routes::admit;

/// A version of the trace API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DatadogVersion {
    /// `/v0.3/traces`; bodies as in 0.4.
    V03,
    /// `/v0.4/traces`: spans are maps.
    V04,
    /// `/v0.5/traces`: spans are arrays, and each string is written once.
    V05,
}

/// How the simulated agent differs from the default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct DatadogOptions {
    /// Whether tracers may drop traces that were not sampled once these are in their statistics.
    /// Real agents allow it; here it would make spans disappear on purpose.
    pub(crate) client_drop_p0s: bool,
}

/// Counts a body of version 0.3 or 0.4.
pub(crate) fn decode_v04(body: &[u8], receipt: &mut Receipt) -> Result<(), Malformed> {
    v04::walk(body, receipt).map_err(Malformed::MsgPack)
}

/// Counts a body of version 0.5.
pub(crate) fn decode_v05(body: &[u8], receipt: &mut Receipt) -> Result<(), Malformed> {
    v05::walk(body, receipt).map_err(Malformed::MsgPack)
}

/// Counts the telemetry in the body of one request, after decompression. Sets only the telemetry
/// fields of [`Counts`].
///
/// # Errors
///
/// When the body is not of that version; then nothing is counted.
pub fn count(version: DatadogVersion, body: &[u8]) -> Result<Counts, Malformed> {
    let mut receipt = Receipt::default();
    match version {
        DatadogVersion::V03 | DatadogVersion::V04 => decode_v04(body, &mut receipt)?,
        DatadogVersion::V05 => decode_v05(body, &mut receipt)?,
    }
    Ok(receipt.counts)
}

#[cfg(test)]
mod tests;
