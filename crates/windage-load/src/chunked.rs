//! Parser of the chunked coding (RFC 9112, section 7.1). Takes input in pieces of any size and
//! discards the data.

use crate::protocol_error::{MAX_HEAD_BYTES, ProtocolError};

/// Parser state within a chunked body.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chunked {
    place: Place,
    /// Unread bytes of the current chunk.
    left_bytes: u64,
    /// Bytes of size lines or trailers since the last data, to bound their length.
    framing_bytes: usize,
}

#[derive(Clone, Copy, Debug)]
enum Place {
    /// Before the first digit of a size.
    SizeStart,
    /// After a digit.
    Size,
    /// After the size, until the line ends.
    Extension,
    /// After the CR of a size line.
    SizeLf,
    /// Within data.
    Data,
    /// After data.
    DataCr,
    /// After the CR that follows data.
    DataLf,
    /// At the start of a trailer line, or of the empty line that ends the body.
    LineStart,
    /// Within a trailer line.
    Trailer,
    /// After the last CR.
    LastLf,
    /// After the body.
    End,
}

impl Chunked {
    /// Before the body's first byte.
    pub(crate) fn start() -> Chunked {
        Chunked {
            place: Place::SizeStart,
            left_bytes: 0,
            framing_bytes: 0,
        }
    }

    /// Parses more bytes. Returns how many belonged to the body if it ended within `bytes`, else
    /// `None`: all of them did.
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> Result<Option<usize>, ProtocolError> {
        let mut at = 0;
        while at < bytes.len() {
            if matches!(self.place, Place::Data) {
                at += self.skip_data(bytes.len() - at);
                continue;
            }
            self.framing_bytes += 1;
            if self.framing_bytes > MAX_HEAD_BYTES {
                return Err(ProtocolError::Chunk(
                    "a size line or the trailers are too long",
                ));
            }
            self.place = self.after(bytes[at])?;
            at += 1;
            if matches!(self.place, Place::End) {
                return Ok(Some(at));
            }
        }
        Ok(None)
    }

    fn skip_data(&mut self, at_hand: usize) -> usize {
        let here = usize::try_from(self.left_bytes)
            .unwrap_or(usize::MAX)
            .min(at_hand);
        self.left_bytes -= here as u64;
        self.framing_bytes = 0;
        if self.left_bytes == 0 {
            self.place = Place::DataCr;
        }
        here
    }

    /// The state after a byte that is not data. Lines may end in a bare LF (RFC 9112, 2.2).
    fn after(&mut self, byte: u8) -> Result<Place, ProtocolError> {
        let line_end = if self.left_bytes == 0 {
            Place::LineStart
        } else {
            Place::Data
        };
        Ok(match (self.place, byte) {
            (Place::SizeStart | Place::Size, digit) if digit.is_ascii_hexdigit() => {
                self.push_digit(digit)?;
                Place::Size
            }
            (Place::Size, b';' | b' ' | b'\t') => Place::Extension,
            (Place::Size | Place::Extension, b'\r') => Place::SizeLf,
            (Place::Size | Place::Extension | Place::SizeLf, b'\n') => line_end,
            (Place::Extension, _) => Place::Extension,
            (Place::DataCr, b'\r') => Place::DataLf,
            (Place::DataCr | Place::DataLf, b'\n') => Place::SizeStart,
            (Place::LineStart, b'\r') => Place::LastLf,
            (Place::LineStart | Place::LastLf, b'\n') => Place::End,
            (Place::Trailer, b'\n') => Place::LineStart,
            (Place::LineStart | Place::Trailer, _) => Place::Trailer,
            (Place::SizeStart | Place::Size, _) => {
                return Err(ProtocolError::Chunk("a size is not hexadecimal"));
            }
            _ => {
                return Err(ProtocolError::Chunk(
                    "a chunk's data or a line has the wrong end",
                ));
            }
        })
    }

    fn push_digit(&mut self, digit: u8) -> Result<(), ProtocolError> {
        let value = match digit {
            b'0'..=b'9' => digit - b'0',
            _ => (digit | 0x20) - b'a' + 10,
        };
        if self.left_bytes >> 60 != 0 {
            return Err(ProtocolError::Chunk("a size exceeds 64 bits"));
        }
        self.left_bytes = self.left_bytes << 4 | u64::from(value);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunked_bodies_end_at_the_right_byte() {
        type Row<'a> = (&'a str, Result<Option<usize>, ()>, &'a str);
        let table: &[Row] = &[
            ("0\r\n\r\n", Ok(Some(5)), "empty"),
            (
                "3\r\nabc\r\n0\r\n\r\nmore",
                Ok(Some(13)),
                "bytes after the body are not consumed",
            ),
            (
                "0000A;x=\"y\"\r\n0123456789\r\n0\r\n\r\n",
                Ok(Some(30)),
                "extension, leading zeros",
            ),
            ("2\nab\n0\n\n", Ok(Some(8)), "bare LF"),
            (
                "1\r\na\r\n0\r\nX: y\r\nZ: w\r\n\r\n",
                Ok(Some(23)),
                "trailers",
            ),
            ("3\r\nabc\r\n0\r\n", Ok(None), "missing last line"),
            ("ffffffffffffffff\r\n", Ok(None), "the largest size"),
            ("1ffffffffffffffff\r\n", Err(()), "more than 64 bits"),
            ("\r\n", Err(()), "no size"),
            ("xyz\r\n", Err(()), "not a number"),
            ("3\r\nabcd\r\n", Err(()), "data longer than its size"),
            ("0\r\n\rX", Err(()), "CR without LF"),
        ];
        for (body, expected, why) in table {
            assert_eq!(
                Chunked::start().feed(body.as_bytes()).map_err(drop),
                *expected,
                "{why}"
            );
        }
    }

    #[test]
    fn framing_is_bounded() {
        for start in ["1;", "0\r\nX: "] {
            let mut chunked = Chunked::start();
            chunked.feed(start.as_bytes()).unwrap();
            assert!(
                chunked.feed(&vec![b'x'; MAX_HEAD_BYTES]).is_err(),
                "{start}"
            );
        }
    }
}
