//! Protobuf's wire format, read in place with prost's own functions: no copies, no allocation.
//!
//! It distinguishes only what counting needs: length-delimited fields, which can be descended into,
//! and the rest, which is checked and skipped.
//! Reference: <https://protobuf.dev/programming-guides/encoding/>.

use prost::DecodeError;
use prost::encoding::{DecodeContext, WireType, decode_key, decode_varint, skip_field};
use thiserror::Error;

/// Why bytes are not a protobuf message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum WireError {
    /// A key, a number or a group is invalid or cut.
    #[error("a field has an invalid key, number or group")]
    Field,
    /// A field's value, or its length, goes beyond the end.
    #[error("the message ends within a field")]
    Truncated,
    /// A field that OTLP defines as a message or bytes holds a number or a group.
    #[error("a field that must hold a message or bytes holds something else")]
    NotLengthDelimited,
    /// A group where OTLP has none.
    #[error("an unexpected group among resources, scopes or items")]
    Group,
}

impl From<DecodeError> for WireError {
    fn from(_: DecodeError) -> WireError {
        WireError::Field
    }
}

/// The longest key with its number or length, both varints of ten bytes.
const MAX_HEADER_BYTES: usize = 20;

/// One field of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Field<'a> {
    /// Its number in the `.proto` file.
    pub(crate) number: u32,
    /// What it holds.
    pub(crate) value: Value<'a>,
}

/// The value of a field, as far as counting needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Value<'a> {
    /// A message, a string or bytes.
    Bytes(&'a [u8]),
    /// Eight bytes.
    Fixed64(u64),
    /// A number of another kind, or a group.
    Other,
}

impl<'a> Field<'a> {
    /// The bytes of a field that has to be a message, a string or bytes.
    #[inline]
    pub(crate) fn bytes(&self) -> Result<&'a [u8], WireError> {
        match self.value {
            Value::Bytes(bytes) => Ok(bytes),
            _ => Err(WireError::NotLengthDelimited),
        }
    }
}

/// The header of a field whose content may not have arrived yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    /// The field's number.
    pub(crate) number: u32,
    /// The length of its content; `None` for a number, which is part of `length`.
    pub(crate) content: Option<u64>,
    /// Bytes of key and length, or of key and number.
    pub(crate) length: usize,
}

/// The header of the field at the start of `bytes`; `None` while it is incomplete.
///
/// Groups are an error: OTLP has none, and a field without a length can't be skipped before its end
/// has arrived.
#[inline]
pub(crate) fn header(bytes: &[u8]) -> Result<Option<Header>, WireError> {
    match read_header(bytes) {
        // More bytes may complete it.
        Err(WireError::Field) if bytes.len() < MAX_HEADER_BYTES => Ok(None),
        header => header.map(Some),
    }
}

#[inline]
fn read_header(bytes: &[u8]) -> Result<Header, WireError> {
    let mut rest = bytes;
    let (number, wire_type) = decode_key(&mut rest)?;
    let content = match wire_type {
        WireType::LengthDelimited => Some(decode_varint(&mut rest)?),
        WireType::StartGroup | WireType::EndGroup => return Err(WireError::Group),
        _ => {
            skip_field(wire_type, number, &mut rest, DecodeContext::default())?;
            None
        }
    };
    Ok(Header {
        number,
        content,
        length: bytes.len() - rest.len(),
    })
}

/// The fields of one message, in the order they were sent. Ends after the first error.
#[derive(Clone, Debug)]
pub(crate) struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    /// Walks over `message`.
    pub(crate) fn of(message: &'a [u8]) -> Fields<'a> {
        Fields { rest: message }
    }

    /// The next field of any kind.
    fn any_field(&mut self) -> Option<Result<Field<'a>, WireError>> {
        if self.rest.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_err() {
            self.rest = &[];
        }
        Some(field)
    }

    #[inline]
    fn field(&mut self) -> Result<Field<'a>, WireError> {
        let (number, wire_type) = decode_key(&mut self.rest)?;
        let value = match wire_type {
            WireType::SixtyFourBit => {
                let (bytes, rest) = self.rest.split_first_chunk().ok_or(WireError::Truncated)?;
                self.rest = rest;
                Value::Fixed64(u64::from_le_bytes(*bytes))
            }
            WireType::LengthDelimited => {
                let length = decode_varint(&mut self.rest)?;
                let content = usize::try_from(length)
                    .ok()
                    .and_then(|length| self.rest.split_at_checked(length));
                let (content, rest) = content.ok_or(WireError::Truncated)?;
                self.rest = rest;
                Value::Bytes(content)
            }
            _ => {
                let context = DecodeContext::default();
                skip_field(wire_type, number, &mut self.rest, context)?;
                Value::Other
            }
        };
        Ok(Field { number, value })
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<Field<'a>, WireError>;

    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        // Nearly all fields are short and length-delimited, with a key of one byte: this path is
        // short enough to be inlined into the caller's loop.
        if let [key @ 8..0x80, length @ ..0x80, tail @ ..] = self.rest
            && key & 0b111 == 2
            && let Some((content, rest)) = tail.split_at_checked(usize::from(*length))
        {
            self.rest = rest;
            return Some(Ok(Field {
                number: u32::from(key >> 3),
                value: Value::Bytes(content),
            }));
        }
        self.any_field()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Seen<'a> = (u32, Value<'a>);

    fn walk(bytes: &[u8]) -> Result<Vec<Seen<'_>>, WireError> {
        Fields::of(bytes)
            .map(|field| field.map(|f| (f.number, f.value)))
            .collect()
    }

    #[test]
    fn fields_are_distinguished_and_skipped() {
        let table: &[(&str, &[u8], &[Seen])] = &[
            ("nothing", &[], &[]),
            ("varint", &[0x08, 0x96, 0x01], &[(1, Value::Other)]),
            (
                "fixed64",
                &[0x39, 1, 2, 3, 4, 5, 6, 7, 8],
                &[(7, Value::Fixed64(0x0807_0605_0403_0201))],
            ),
            ("fixed32", &[0x85, 0x01, 1, 2, 3, 4], &[(16, Value::Other)]),
            (
                "bytes",
                &[0x12, 2, 0xaa, 0xbb],
                &[(2, Value::Bytes(&[0xaa, 0xbb]))],
            ),
            ("empty bytes", &[0x12, 0], &[(2, Value::Bytes(&[]))]),
            (
                "group in a group",
                &[0x0b, 0x13, 0x08, 1, 0x14, 0x0c, 0x12, 0],
                &[(1, Value::Other), (2, Value::Bytes(&[]))],
            ),
            (
                "ten-byte varint",
                &[0x08, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1],
                &[(1, Value::Other)],
            ),
            (
                "length in two bytes, one too many",
                &[0x12, 0x81, 0x00, 7],
                &[(2, Value::Bytes(&[7]))],
            ),
        ];
        for (name, bytes, seen) in table {
            assert_eq!(walk(bytes).as_deref(), Ok(*seen), "{name}");
        }
    }

    #[test]
    fn invalid_messages_are_errors() {
        let table: &[(&str, &[u8])] = &[
            ("key without value", &[0x08]),
            ("varint without end", &[0x08, 0x80]),
            (
                "varint of 70 bits",
                &[0x08, 255, 255, 255, 255, 255, 255, 255, 255, 255, 2],
            ),
            ("fixed64 cut", &[0x09, 1, 2, 3, 4, 5, 6, 7]),
            ("fixed32 cut", &[0x0d, 1, 2, 3]),
            ("length beyond the end", &[0x12, 5, 1]),
            (
                "huge length",
                &[0x12, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1],
            ),
            ("field 0", &[0x00, 1]),
            ("field beyond 29 bits", &[0x80, 0x80, 0x80, 0x80, 0x10, 1]),
            ("wire type 6", &[0x0e]),
            ("wire type 7", &[0x0f]),
            ("group without end", &[0x0b, 0x08, 1]),
            ("group end without start", &[0x0c]),
            ("group ended by another", &[0x0b, 0x14]),
            ("groups in groups without end", &[0x0b; 1_000_000]),
        ];
        for (name, bytes) in table {
            assert!(walk(bytes).is_err(), "{name}");
        }
    }

    #[test]
    fn a_number_is_not_a_message() {
        let field = Fields::of(&[0x08, 1]).next().unwrap().unwrap();
        assert_eq!(field.bytes(), Err(WireError::NotLengthDelimited));
    }
}
