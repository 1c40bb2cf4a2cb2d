//! msgpack, read in place: no copies, no allocation, no recursion.
//!
//! Every value takes at least a byte, so every length is checked against the bytes left before it
//! is used: a decompression bomb ends at its first false length.
//! Reference: <https://github.com/msgpack/msgpack/blob/master/spec.md>.

use rmp::Marker;
use rmp::decode::bytes::BytesReadError;
use rmp::decode::{Bytes, NumValueReadError};
use rmp::decode::{read_array_len, read_int, read_map_len, read_marker};

/// A value, or what is wrong.
pub(super) type Read<T> = Result<T, &'static str>;

const ENDS: &str = "it ends within a value";
const TOO_LONG: &str = "a length goes beyond its end";

/// Reads one value after the other.
#[derive(Clone, Debug)]
pub(super) struct Reader<'a> {
    rest: Bytes<'a>,
}

impl<'a> Reader<'a> {
    /// Reads from the start of `bytes`.
    pub(super) fn of(bytes: &'a [u8]) -> Reader<'a> {
        Reader {
            rest: Bytes::new(bytes),
        }
    }

    /// How many bytes are left.
    pub(super) fn left(&self) -> usize {
        self.rest.remaining_slice().len()
    }

    /// Checks that nothing follows.
    pub(super) fn end(&self) -> Read<()> {
        match self.left() {
            0 => Ok(()),
            _ => Err("bytes follow its end"),
        }
    }

    /// The length of the array that begins here; null counts as empty.
    pub(super) fn array(&mut self) -> Read<u32> {
        if self.null() {
            return Ok(0);
        }
        let length = read_array_len(&mut self.rest)
            .map_err(|error| why(error, "an array was expected, and something else is there"))?;
        self.has_room_for(length as usize)?;
        Ok(length)
    }

    /// The number of pairs in the map that begins here; null counts as empty.
    pub(super) fn map(&mut self) -> Read<u32> {
        if self.null() {
            return Ok(0);
        }
        let length = read_map_len(&mut self.rest)
            .map_err(|error| why(error, "a map was expected, and something else is there"))?;
        self.has_room_for(2 * length as usize)?;
        Ok(length)
    }

    /// A string; null counts as empty. Some tracers send bytes for a string, which agents accept;
    /// neither has to be UTF-8.
    pub(super) fn text(&mut self) -> Read<&'a [u8]> {
        let length = match self.marker()? {
            Marker::Null => 0,
            Marker::FixStr(length) => usize::from(length),
            Marker::Str8 | Marker::Bin8 => self.length(1)?,
            Marker::Str16 | Marker::Bin16 => self.length(2)?,
            Marker::Str32 | Marker::Bin32 => self.length(4)?,
            _ => return Err("a string was expected, and something else is there"),
        };
        self.take(length)
    }

    /// An integer of any width; null counts as 0. A negative one is read as two's complement,
    /// because tracers in languages without unsigned integers send ids like that.
    pub(super) fn unsigned(&mut self) -> Read<u64> {
        Ok(self.integer()? as u64)
    }

    /// An integer of any width; null counts as 0.
    pub(super) fn signed(&mut self) -> Read<i64> {
        i64::try_from(self.integer()?).map_err(|_| "an integer is beyond 63 bits")
    }

    /// Skips a number of any kind, or null.
    pub(super) fn number(&mut self) -> Read<()> {
        match self.rest.remaining_slice().first() {
            Some(&first) if matches!(Marker::from_u8(first), Marker::F32 | Marker::F64) => {
                self.step().map(drop)
            }
            _ => self.integer().map(drop),
        }
    }

    /// Skips one value with everything in it.
    pub(super) fn step_over(&mut self) -> Read<()> {
        let mut pending = 1;
        while pending > 0 {
            pending += self.step()?;
            pending -= 1;
            self.has_room_for(pending)?;
        }
        Ok(())
    }

    /// Skips the header of the next value, and returns how many values are in it.
    fn step(&mut self) -> Read<usize> {
        let own_bytes = match self.marker()? {
            Marker::FixArray(length) => return Ok(usize::from(length)),
            Marker::Array16 => return self.length(2),
            Marker::Array32 => return self.length(4),
            Marker::FixMap(length) => return Ok(2 * usize::from(length)),
            Marker::Map16 => return Ok(2 * self.length(2)?),
            Marker::Map32 => return Ok(2 * self.length(4)?),
            Marker::Null | Marker::False | Marker::True => 0,
            Marker::FixPos(_) | Marker::FixNeg(_) => 0,
            Marker::U8 | Marker::I8 => 1,
            Marker::U16 | Marker::I16 => 2,
            Marker::U32 | Marker::I32 | Marker::F32 => 4,
            Marker::U64 | Marker::I64 | Marker::F64 => 8,
            Marker::FixStr(length) => usize::from(length),
            Marker::Str8 | Marker::Bin8 => self.length(1)?,
            Marker::Str16 | Marker::Bin16 => self.length(2)?,
            Marker::Str32 | Marker::Bin32 => self.length(4)?,
            // An extension has one byte for its type.
            Marker::FixExt1 => 1 + 1,
            Marker::FixExt2 => 1 + 2,
            Marker::FixExt4 => 1 + 4,
            Marker::FixExt8 => 1 + 8,
            Marker::FixExt16 => 1 + 16,
            Marker::Ext8 => 1 + self.length(1)?,
            Marker::Ext16 => 1 + self.length(2)?,
            Marker::Ext32 => 1 + self.length(4)?,
            Marker::Reserved => return Err("a value begins with 0xc1, which has no meaning"),
        };
        self.take(own_bytes)?;
        Ok(0)
    }

    fn null(&mut self) -> bool {
        let rest = self.rest.remaining_slice();
        let null = rest.first() == Some(&Marker::Null.to_u8());
        if null {
            self.rest = Bytes::new(&rest[1..]);
        }
        null
    }

    fn integer(&mut self) -> Read<i128> {
        if self.null() {
            return Ok(0);
        }
        read_int(&mut self.rest)
            .map_err(|error| why(error, "a number was expected, and something else is there"))
    }

    fn marker(&mut self) -> Read<Marker> {
        read_marker(&mut self.rest).map_err(|_| ENDS)
    }

    fn length(&mut self, bytes: usize) -> Read<usize> {
        let digits = self.take(bytes)?.iter();
        Ok(digits.fold(0, |length, &digit| length << 8 | usize::from(digit)))
    }

    fn take(&mut self, bytes: usize) -> Read<&'a [u8]> {
        let (taken, rest) = self
            .rest
            .remaining_slice()
            .split_at_checked(bytes)
            .ok_or(ENDS)?;
        self.rest = Bytes::new(rest);
        Ok(taken)
    }

    fn has_room_for(&self, values: usize) -> Read<()> {
        if values <= self.left() {
            Ok(())
        } else {
            Err(TOO_LONG)
        }
    }
}

fn why(
    error: impl Into<NumValueReadError<BytesReadError>>,
    of_another_kind: &'static str,
) -> &'static str {
    match error.into() {
        NumValueReadError::TypeMismatch(_) | NumValueReadError::OutOfRange => of_another_kind,
        NumValueReadError::InvalidMarkerRead(_) | NumValueReadError::InvalidDataRead(_) => ENDS,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NO_STRING: &str = "a string was expected, and something else is there";
    const NO_NUMBER: &str = "a number was expected, and something else is there";

    #[test]
    fn every_kind_of_value_is_skipped() {
        let table: &[(&str, &[u8], usize)] = &[
            ("null", &[0xc0], 0),
            ("false and true", &[0x92, 0xc2, 0xc3], 0),
            ("small integers", &[0x93, 0x00, 0x7f, 0xe0], 0),
            ("u8 to u64", &[0x92, 0xcc, 1, 0xcd, 1, 2], 0),
            ("u32", &[0xce, 1, 2, 3, 4], 0),
            ("u64", &[0xcf, 1, 2, 3, 4, 5, 6, 7, 8], 0),
            ("i8, i16", &[0x92, 0xd0, 1, 0xd1, 1, 2], 0),
            ("i32", &[0xd2, 1, 2, 3, 4], 0),
            ("i64", &[0xd3, 1, 2, 3, 4, 5, 6, 7, 8], 0),
            ("f32", &[0xca, 1, 2, 3, 4], 0),
            ("f64", &[0xcb, 1, 2, 3, 4, 5, 6, 7, 8], 0),
            ("fixstr", &[0xa2, 1, 2], 0),
            ("str8", &[0xd9, 2, 1, 2], 0),
            ("str16", &[0xda, 0, 2, 1, 2], 0),
            ("str32", &[0xdb, 0, 0, 0, 2, 1, 2], 0),
            ("bin8", &[0xc4, 2, 1, 2], 0),
            ("bin16", &[0xc5, 0, 2, 1, 2], 0),
            ("bin32", &[0xc6, 0, 0, 0, 2, 1, 2], 0),
            ("fixext1", &[0xd4, 9, 1], 0),
            ("fixext2", &[0xd5, 9, 1, 2], 0),
            ("fixext4", &[0xd6, 9, 1, 2, 3, 4], 0),
            ("fixext8", &[0xd7, 9, 1, 2, 3, 4, 5, 6, 7, 8], 0),
            ("ext8", &[0xc7, 2, 9, 1, 2], 0),
            ("ext16", &[0xc8, 0, 2, 9, 1, 2], 0),
            ("ext32", &[0xc9, 0, 0, 0, 2, 9, 1, 2], 0),
            ("array16 of two", &[0xdc, 0, 2, 1, 2], 0),
            ("array32 of two", &[0xdd, 0, 0, 0, 2, 1, 2], 0),
            ("map in map16", &[0xde, 0, 1, 1, 0x81, 2, 3], 0),
            ("map32", &[0xdf, 0, 0, 0, 1, 1, 2], 0),
            ("only the first", &[0x91, 0x90, 0xc0, 0xc0], 2),
        ];
        for (name, bytes, left) in table {
            let mut reader = Reader::of(bytes);
            assert_eq!(
                (reader.step_over(), reader.left()),
                (Ok(()), *left),
                "{name}"
            );
            let value = &bytes[..bytes.len() - left];
            for cut in 0..value.len() {
                let read = Reader::of(&value[..cut]).step_over();
                assert!(read.is_err(), "{name}, cut after {cut} bytes");
            }
        }
        let ext16 = [&[0xd8, 9][..], &[0; 16]].concat();
        assert_eq!(Reader::of(&ext16).step_over(), Ok(()), "fixext16");
        assert!(Reader::of(&[0xc1]).step_over().is_err(), "reserved");
    }

    #[test]
    fn bombs_end_at_once() {
        let nested = [vec![0x91; 1_000_000], vec![0xc0]].concat();
        assert_eq!(Reader::of(&nested).step_over(), Ok(()), "deep but valid");
        let table: &[(&str, &[u8])] = &[
            ("array of 2^32 - 1", &[0xdd, 255, 255, 255, 255, 0xc0]),
            ("map of 2^32 - 1", &[0xdf, 255, 255, 255, 255, 0xc0]),
            ("a pair without a value", &[0x81, 0xc0]),
            ("the outer one is cut", &[0x93, 0x92, 0, 0, 0]),
        ];
        for (name, bytes) in table {
            assert_eq!(Reader::of(bytes).step_over(), Err(TOO_LONG), "{name}");
        }
        let widest = [0xdd, 255, 255, 255, 255].repeat(1000);
        assert_eq!(Reader::of(&widest).step_over(), Err(TOO_LONG));
        assert_eq!(Reader::of(&[0xdc, 0, 3, 1]).array(), Err(TOO_LONG));
        assert_eq!(Reader::of(&[0x82, 1, 1, 1]).map(), Err(TOO_LONG));
    }

    #[test]
    fn strings_and_bytes_are_equivalent() {
        let table: &[(&[u8], Read<&[u8]>)] = &[
            (&[0xc0], Ok(b"")),
            (&[0xa2, b'a', b'b'], Ok(b"ab")),
            (&[0xd9, 1, 0xff], Ok(&[0xff])),
            (&[0xc5, 0, 1, b'a'], Ok(b"a")),
            (&[0xdb, 0, 0, 0, 1, b'a'], Ok(b"a")),
            (&[0xdb, 255, 255, 255, 255, b'a'], Err(ENDS)),
            (&[0x01], Err(NO_STRING)),
            (&[0x91, 0xa0], Err(NO_STRING)),
            (&[], Err(ENDS)),
        ];
        for (bytes, text) in table {
            assert_eq!(Reader::of(bytes).text(), *text, "{bytes:x?}");
        }
    }

    #[test]
    fn integers_have_any_width_and_sign() {
        type Row = (&'static str, Vec<u8>, Read<u64>, Read<i64>);
        let max = u64::MAX.to_be_bytes();
        let table: [Row; 10] = [
            ("null", vec![0xc0], Ok(0), Ok(0)),
            ("small", vec![0x7f], Ok(127), Ok(127)),
            ("u16", vec![0xcd, 1, 0], Ok(256), Ok(256)),
            ("minus one", vec![0xff], Ok(u64::MAX), Ok(-1)),
            ("i16", vec![0xd1, 0xff, 0xfe], Ok(u64::MAX - 1), Ok(-2)),
            (
                "u64",
                [&[0xcf][..], &max].concat(),
                Ok(u64::MAX),
                Err("an integer is beyond 63 bits"),
            ),
            ("i64", [&[0xd3][..], &max].concat(), Ok(u64::MAX), Ok(-1)),
            ("cut", vec![0xcd, 1], Err(ENDS), Err(ENDS)),
            ("true", vec![0xc3], Err(NO_NUMBER), Err(NO_NUMBER)),
            (
                "f32",
                vec![0xca, 0, 0, 0, 0],
                Err(NO_NUMBER),
                Err(NO_NUMBER),
            ),
        ];
        for (name, bytes, unsigned, signed) in table {
            assert_eq!(Reader::of(&bytes).unsigned(), unsigned, "{name}");
            assert_eq!(Reader::of(&bytes).signed(), signed, "{name}");
        }
        for (name, bytes, read) in [
            ("f32", &[0xca, 0, 0, 0, 0][..], Ok(())),
            ("f64, cut", &[0xcb, 0, 0, 0, 0], Err(ENDS)),
            ("an integer", &[0x05], Ok(())),
            ("a string", &[0xa0], Err(NO_NUMBER)),
        ] {
            assert_eq!(Reader::of(bytes).number(), read, "{name}");
        }
    }
}
