//! One resource, scope, span, metric or log record, complete and in place.

use crate::receipt::{Receipt, SpanFacts};
use crate::signal::Signal;
use crate::wire::{Fields, Value, WireError};

/// Counts one item: a span, a metric, a log record, a profile.
#[inline]
pub(super) fn count(signal: Signal, item: &[u8], receipt: &mut Receipt) -> Result<(), WireError> {
    match signal {
        Signal::Traces => receipt.span(&span(item)?),
        Signal::Metrics => receipt.points(points_of(item)?),
        Signal::Logs => {
            check(item)?;
            receipt.log_records(1);
        }
        Signal::Profiles => {
            check(item)?;
            receipt.profiles(1);
        }
    }
    Ok(())
}

/// Counts one item, reading only what roots and points require.
#[inline]
pub(super) fn count_shallowly(
    signal: Signal,
    item: &[u8],
    receipt: &mut Receipt,
) -> Result<(), WireError> {
    match signal {
        Signal::Traces => receipt.span(&SpanFacts {
            parent_id: parent_id(item)?,
            ..SpanFacts::default()
        }),
        Signal::Metrics => receipt.points(points_of(item)?),
        Signal::Logs => receipt.log_records(1),
        Signal::Profiles => receipt.profiles(1),
    }
    Ok(())
}

/// The parent id precedes the name (field 5), since encoders write fields in numerical order; the
/// fields after the name are not read.
#[inline]
fn parent_id(span: &[u8]) -> Result<u64, WireError> {
    for field in Fields::of(span) {
        let field = field?;
        match field.number {
            4 => return Ok(span_id(field.bytes()?)),
            ..4 => {}
            _ => break,
        }
    }
    Ok(0)
}

#[inline]
fn span(span: &[u8]) -> Result<SpanFacts, WireError> {
    let mut facts = SpanFacts::default();
    for field in Fields::of(span) {
        let field = field?;
        // Proto3: if a singular field comes twice, the last one counts.
        match field.number {
            1 => facts.trace_id = trace_id(field.bytes()?),
            2 => facts.span_id = span_id(field.bytes()?),
            4 => facts.parent_id = span_id(field.bytes()?),
            8 => {
                if let Value::Fixed64(end_unix_ns) = field.value {
                    facts.end_unix_ns = end_unix_ns;
                }
            }
            9 => facts.attributes += field.bytes().map(|_| 1)?,
            11 => facts.events += field.bytes().map(|_| 1)?,
            13 => facts.links += field.bytes().map(|_| 1)?,
            _ => {}
        }
    }
    Ok(facts)
}

/// An id of another length counts as missing if it is empty or all zeros (some exporters send zeros
/// for "none"); otherwise its first nonzero byte stands for it.
fn trace_id(bytes: &[u8]) -> u128 {
    match bytes.try_into() {
        Ok(id) => u128::from_be_bytes(id),
        Err(_) => odd_id(bytes),
    }
}

fn span_id(bytes: &[u8]) -> u64 {
    match bytes.try_into() {
        Ok(id) => u64::from_be_bytes(id),
        Err(_) => u64::try_from(odd_id(bytes) & u128::from(u64::MAX)).unwrap_or(0),
    }
}

#[cold]
fn odd_id(bytes: &[u8]) -> u128 {
    let any = bytes.iter().find(|&&byte| byte != 0);
    any.map_or(0, |&byte| u128::from(byte))
}

fn check(message: &[u8]) -> Result<(), WireError> {
    Fields::of(message).try_for_each(|field| field.map(drop))
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
        // They are a `oneof`: another kind replaces the first, the same kind again is merged.
        if field.number != kind {
            kind = field.number;
            points = 0;
        }
        for point in Fields::of(field.bytes()?) {
            let point = point?;
            if point.number == DATA_POINTS {
                point.bytes()?;
                points += 1;
            }
        }
    }
    Ok(points)
}

/// `service.name` of a Resource; empty when missing.
pub(super) fn service_name(resource: &[u8]) -> Result<&[u8], WireError> {
    const ATTRIBUTES: u32 = 1;
    let mut name: &[u8] = b"";
    for field in Fields::of(resource) {
        let field = field?;
        if field.number == ATTRIBUTES
            && let Some(value) = text_of(field.bytes()?, b"service.name")?
        {
            name = value;
        }
    }
    Ok(name)
}

/// The text of a KeyValue, if it has this key.
fn text_of<'a>(pair: &'a [u8], key: &[u8]) -> Result<Option<&'a [u8]>, WireError> {
    const KEY: u32 = 1;
    const VALUE: u32 = 2;
    const STRING: u32 = 1;
    let (mut has_key, mut text) = (false, None);
    for field in Fields::of(pair) {
        let field = field?;
        match field.number {
            KEY => has_key = field.bytes()? == key,
            VALUE => {
                for value in Fields::of(field.bytes()?) {
                    let value = value?;
                    if value.number == STRING {
                        text = Some(value.bytes()?);
                    }
                }
            }
            _ => {}
        }
    }
    Ok(text.filter(|_| has_key))
}

/// The name of an InstrumentationScope.
pub(super) fn scope_name(scope: &[u8]) -> Result<&[u8], WireError> {
    const NAME: u32 = 1;
    let mut name: &[u8] = b"";
    for field in Fields::of(scope) {
        let field = field?;
        if field.number == NAME {
            name = field.bytes()?;
        }
    }
    Ok(name)
}
