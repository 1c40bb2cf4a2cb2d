//! Version 0.5: an array of all strings, then the traces. Spans are arrays that refer to strings by
//! index.

use super::msgpack::{Read, Reader};
use super::span::{Span, Spans};
use crate::receipt::Receipt;

/// The two elements of a body.
const STRINGS_AND_TRACES: u32 = 2;
/// What a span holds, in order: service, name, resource, the ids of trace, span and parent,
/// start, duration, error, meta, metrics, type.
const SPAN_FIELDS: u32 = 12;
/// Limit on strings in a body. A span takes about seventy bytes and adds one or two strings, so
/// real bodies stay far below it; each string costs four bytes of memory.
const MAX_STRINGS: u32 = 1 << 20;

/// Counts a body.
pub(super) fn walk(body: &[u8], receipt: &mut Receipt) -> Read<()> {
    let mut reader = Reader::of(body);
    if reader.array()? != STRINGS_AND_TRACES {
        return Err("a body of version 0.5 is an array of two: strings and traces");
    }
    let strings = Strings::read(body, &mut reader)?;
    let mut spans = Spans::new(receipt);
    for _ in 0..reader.array()? {
        spans.begin_trace();
        for _ in 0..reader.array()? {
            spans.add(&span(&mut reader, &strings)?);
        }
    }
    reader.end()
}

fn span<'a>(reader: &mut Reader<'a>, strings: &Strings<'a>) -> Read<Span<'a>> {
    if reader.array()? != SPAN_FIELDS {
        return Err("a span of version 0.5 is an array of twelve");
    }
    let mut span = Span::default();
    span.service = strings.next(reader)?;
    let (_name, _resource) = (strings.next(reader)?, strings.next(reader)?);
    span.trace_id = reader.unsigned()?;
    span.span_id = reader.unsigned()?;
    span.parent_id = reader.unsigned()?;
    span.start_unix_ns = reader.signed()?;
    span.duration_ns = reader.signed()?;
    let _error = reader.signed()?;
    for _ in 0..reader.map()? {
        let (key, value) = (strings.next(reader)?, strings.next(reader)?);
        span.meta(key, value);
    }
    for _ in 0..reader.map()? {
        span.attribute(strings.next(reader)?);
        reader.number()?;
    }
    let _type = strings.next(reader)?;
    Ok(span)
}

/// Where each string of a body begins.
struct Strings<'a> {
    body: &'a [u8],
    starts: Vec<u32>,
}

impl<'a> Strings<'a> {
    /// Reads the array of strings that comes next in `reader`, which reads `body`.
    fn read(body: &'a [u8], reader: &mut Reader<'a>) -> Read<Strings<'a>> {
        let count = reader.array()?;
        if count > MAX_STRINGS {
            return Err("it has more than 2^20 strings");
        }
        let mut starts = Vec::with_capacity(count as usize);
        for _ in 0..count {
            let start = body.len() - reader.left();
            starts.push(u32::try_from(start).map_err(|_| "it is longer than 4 GiB")?);
            reader.text()?;
        }
        Ok(Strings { body, starts })
    }

    /// The string whose index comes next in `reader`.
    fn next(&self, reader: &mut Reader<'_>) -> Read<&'a [u8]> {
        const BEYOND: &str = "a string is named that is not there";
        let place = usize::try_from(reader.signed()?).map_err(|_| BEYOND)?;
        let start = *self.starts.get(place).ok_or(BEYOND)?;
        Reader::of(&self.body[start as usize..]).text()
    }
}
