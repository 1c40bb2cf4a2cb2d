//! Protobuf's wire format, read in place: no copies, no allocation, no recursion on input depth
//! beyond a bound.
//!
//! Only what counting needs is told apart: length-delimited fields, into which one can descend,
//! and all the rest, which is checked and skipped.
//! Reference: <https://protobuf.dev/programming-guides/encoding/>.

use thiserror::Error;

/// Why bytes are not a protobuf message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum WireError {
    /// A field's value, or its length, goes beyond the end.
    #[error("the message ends within a field")]
    Truncated,
    /// More than ten bytes, or a tenth above 1.
    #[error("a varint is longer than 64 bits")]
    VarintTooLong,
    /// Field numbers go from 1 to 2^29 - 1.
    #[error("a field number is 0 or above 2^29 - 1")]
    FieldNumber,
    /// 6 and 7 have never been given a meaning.
    #[error("a field has a wire type that does not exist")]
    WireType,
    /// What OTLP calls a message or bytes was sent as a number or a group.
    #[error("a field that must hold a message or bytes holds something else")]
    NotLengthDelimited,
    /// A group ends that was not begun, or lies in a hundred others.
    #[error("groups do not nest properly or too deeply")]
    Group,
}

/// Groups within groups that are followed; the official parsers stop at 100 as well.
const MAX_GROUP_DEPTH: u32 = 100;

/// One field of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Field<'a> {
    /// Its number in the `.proto` file.
    pub(crate) number: u32,
    /// What it holds.
    pub(crate) value: Value<'a>,
}

/// What a field holds, as far as counting looks at it.
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

/// What stands before the content of a field, of which more may be still to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    /// The field's number.
    pub(crate) number: u32,
    /// The length of its content; `None` for a number, which is part of `length`.
    pub(crate) content: Option<u64>,
    /// Bytes of key and length, or of key and number.
    pub(crate) length: usize,
}

/// The header of the field that `bytes` begin with; `None` when it is not whole yet.
///
/// Groups are an error: OTLP has none, and a field without a length could not be skipped before
/// its end has come.
#[inline]
pub(crate) fn header(bytes: &[u8]) -> Result<Option<Header>, WireError> {
    let mut fields = Fields::of(bytes);
    match fields.header() {
        Ok((number, content)) => Ok(Some(Header {
            number,
            content,
            length: bytes.len() - fields.rest.len(),
        })),
        Err(WireError::Truncated) => Ok(None),
        Err(error) => Err(error),
    }
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

    /// The next field, of whichever kind.
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
        let (number, wire_type) = self.key()?;
        let value = match wire_type {
            1 => Value::Fixed64(self.fixed64()?),
            2 => Value::Bytes(self.delimited()?),
            _ => {
                self.skip(number, wire_type, 0)?;
                Value::Other
            }
        };
        Ok(Field { number, value })
    }

    fn header(&mut self) -> Result<(u32, Option<u64>), WireError> {
        let (number, wire_type) = self.key()?;
        let content = match wire_type {
            2 => Some(self.varint()?),
            3 | 4 => return Err(WireError::Group),
            _ => {
                self.skip(number, wire_type, 0)?;
                None
            }
        };
        Ok((number, content))
    }

    #[inline]
    fn key(&mut self) -> Result<(u32, u8), WireError> {
        let key = u32::try_from(self.varint()?).map_err(|_| WireError::FieldNumber)?;
        let (number, wire_type) = (key >> 3, (key & 0b111) as u8);
        if number == 0 {
            Err(WireError::FieldNumber)
        } else {
            Ok((number, wire_type))
        }
    }

    #[inline]
    fn varint(&mut self) -> Result<u64, WireError> {
        // Nearly all keys and lengths are of one byte.
        if let [first @ ..0x80, rest @ ..] = self.rest {
            self.rest = rest;
            return Ok(u64::from(*first));
        }
        self.long_varint()
    }

    fn long_varint(&mut self) -> Result<u64, WireError> {
        let mut value = 0_u64;
        for (i, &byte) in self.rest.iter().enumerate().take(10) {
            // Nine bytes carry 63 bits, so that the tenth has room for one.
            if i == 9 && byte > 1 {
                return Err(WireError::VarintTooLong);
            }
            value |= u64::from(byte & 0x7f) << (7 * i);
            if byte & 0x80 == 0 {
                self.rest = &self.rest[i + 1..];
                return Ok(value);
            }
        }
        Err(WireError::Truncated)
    }

    #[inline]
    fn fixed64(&mut self) -> Result<u64, WireError> {
        let (bytes, rest) = self.rest.split_first_chunk().ok_or(WireError::Truncated)?;
        self.rest = rest;
        Ok(u64::from_le_bytes(*bytes))
    }

    #[inline]
    fn delimited(&mut self) -> Result<&'a [u8], WireError> {
        let length = usize::try_from(self.varint()?).map_err(|_| WireError::Truncated)?;
        self.take(length)
    }

    #[inline]
    fn take(&mut self, length: usize) -> Result<&'a [u8], WireError> {
        let (taken, rest) = self
            .rest
            .split_at_checked(length)
            .ok_or(WireError::Truncated)?;
        self.rest = rest;
        Ok(taken)
    }

    fn skip(&mut self, number: u32, wire_type: u8, depth: u32) -> Result<(), WireError> {
        match wire_type {
            0 => self.varint().map(drop),
            1 => self.take(8).map(drop),
            2 => self.delimited().map(drop),
            3 => self.skip_group(number, depth + 1),
            4 => Err(WireError::Group),
            5 => self.take(4).map(drop),
            _ => Err(WireError::WireType),
        }
    }

    /// Skips to the end mark of group `number`. OTLP has no groups, but a parser has to get over
    /// fields that it doesn't know, whatever their type.
    fn skip_group(&mut self, number: u32, depth: u32) -> Result<(), WireError> {
        if depth > MAX_GROUP_DEPTH {
            return Err(WireError::Group);
        }
        loop {
            match self.key()? {
                (end, 4) if end == number => return Ok(()),
                (inner, wire_type) => self.skip(inner, wire_type, depth)?,
            }
        }
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<Field<'a>, WireError>;

    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        // Nearly all fields are short and length-delimited, with a key of one byte: the way
        // through these is kept so short that it becomes part of the loop that asks.
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
    fn fields_are_told_apart_and_skipped() {
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
    fn what_is_not_a_message_says_why() {
        let table: &[(&str, &[u8], WireError)] = &[
            ("key without value", &[0x08], WireError::Truncated),
            ("varint without end", &[0x08, 0x80], WireError::Truncated),
            (
                "varint of 70 bits",
                &[0x08, 255, 255, 255, 255, 255, 255, 255, 255, 255, 2],
                WireError::VarintTooLong,
            ),
            (
                "fixed64 cut",
                &[0x09, 1, 2, 3, 4, 5, 6, 7],
                WireError::Truncated,
            ),
            ("fixed32 cut", &[0x0d, 1, 2, 3], WireError::Truncated),
            ("length beyond the end", &[0x12, 5, 1], WireError::Truncated),
            (
                "huge length",
                &[0x12, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1],
                WireError::Truncated,
            ),
            ("field 0", &[0x00, 1], WireError::FieldNumber),
            (
                "field beyond 29 bits",
                &[0x80, 0x80, 0x80, 0x80, 0x10, 1],
                WireError::FieldNumber,
            ),
            ("wire type 6", &[0x0e], WireError::WireType),
            ("wire type 7", &[0x0f], WireError::WireType),
            ("group without end", &[0x0b, 0x08, 1], WireError::Truncated),
            ("group end without start", &[0x0c], WireError::Group),
            ("group ended by another", &[0x0b, 0x14], WireError::Group),
        ];
        for (name, bytes, error) in table {
            assert_eq!(walk(bytes), Err(*error), "{name}");
        }
    }

    #[test]
    fn groups_end_at_their_bound_and_not_at_the_stacks() {
        assert_eq!(walk(&vec![0x0b; 1_000_000]), Err(WireError::Group));
    }

    #[test]
    fn a_number_is_not_a_message() {
        let field = Fields::of(&[0x08, 1]).next().unwrap().unwrap();
        assert_eq!(field.bytes(), Err(WireError::NotLengthDelimited));
    }
}
