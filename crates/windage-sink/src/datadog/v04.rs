//! Versions 0.3 and 0.4: an array of traces, each an array of spans, each a map.

use super::msgpack::{Read, Reader};
use super::span::{Span, Spans};
use crate::receipt::Receipt;

/// Counts a body.
pub(super) fn walk(body: &[u8], receipt: &mut Receipt) -> Read<()> {
    let mut reader = Reader::of(body);
    let mut spans = Spans::new(receipt);
    for _ in 0..reader.array()? {
        spans.begin_trace();
        for _ in 0..reader.array()? {
            spans.add(&span(&mut reader)?);
        }
    }
    reader.end()
}

fn span<'a>(reader: &mut Reader<'a>) -> Read<Span<'a>> {
    let mut span = Span::default();
    for _ in 0..reader.map()? {
        field(reader, &mut span)?;
    }
    Ok(span)
}

fn field<'a>(reader: &mut Reader<'a>, span: &mut Span<'a>) -> Read<()> {
    match reader.text()? {
        b"service" => span.service = reader.text()?,
        b"name" | b"resource" | b"type" => drop(reader.text()?),
        b"trace_id" => span.trace_id = reader.unsigned()?,
        b"span_id" => span.span_id = reader.unsigned()?,
        b"parent_id" => span.parent_id = reader.unsigned()?,
        b"start" => span.start_unix_ns = reader.signed()?,
        b"duration" => span.duration_ns = reader.signed()?,
        b"error" => drop(reader.signed()?),
        b"meta" => {
            for _ in 0..reader.map()? {
                let (key, value) = (reader.text()?, reader.text()?);
                span.meta(key, value);
            }
        }
        b"metrics" => {
            for _ in 0..reader.map()? {
                span.attribute(reader.text()?);
                reader.number()?;
            }
        }
        b"meta_struct" => {
            for _ in 0..reader.map()? {
                span.attribute(reader.text()?);
                reader.step_over()?;
            }
        }
        b"span_links" => span.links = span.links.saturating_add(maps(reader)?),
        b"span_events" => span.events = span.events.saturating_add(maps(reader)?),
        _ => reader.step_over()?,
    }
    Ok(())
}

/// Skips an array of maps and returns its length.
fn maps(reader: &mut Reader<'_>) -> Read<u32> {
    let maps = reader.array()?;
    for _ in 0..maps {
        for _ in 0..reader.map()? {
            reader.text()?;
            reader.step_over()?;
        }
    }
    Ok(maps)
}
