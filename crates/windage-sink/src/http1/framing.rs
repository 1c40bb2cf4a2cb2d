//! Where a body ends: after a length, or after its last chunk (RFC 9112, sections 6 and 7.1).

use std::ops::Range;

/// The longest size line or trailer section.
const MAX_FRAMING_BYTES: usize = 8 << 10;

/// A body's framing, and where in it the stream stands.
#[derive(Debug)]
pub(super) enum Framing {
    /// So many bytes are still to come.
    Length(u64),
    Chunked(Chunked),
}

/// What the next bytes are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    /// Bytes used, framing included.
    pub(super) used: usize,
    /// Which of them are the body's.
    pub(super) data: Range<usize>,
    /// Whether the body ends here.
    pub(super) is_over: bool,
}

/// The bytes are no chunked body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BadChunk;

#[derive(Debug, Default)]
pub(super) struct Chunked {
    place: Place,
    /// The size line or trailer at hand, as far as it came.
    line: Vec<u8>,
    trailer_bytes: usize,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    #[default]
    SizeLine,
    Data(u64),
    /// The empty line behind data.
    DataEnd,
    Trailers,
}

impl Framing {
    /// Looks at the next bytes, of which there is at least one unless the body is over.
    pub(super) fn next(&mut self, bytes: &[u8]) -> Result<Piece, BadChunk> {
        match self {
            Framing::Length(left) => {
                let here = within(*left, bytes);
                *left -= here as u64;
                Ok(Piece {
                    used: here,
                    data: 0..here,
                    is_over: *left == 0,
                })
            }
            Framing::Chunked(chunked) => chunked.next(bytes),
        }
    }
}

impl Chunked {
    fn next(&mut self, bytes: &[u8]) -> Result<Piece, BadChunk> {
        if let Place::Data(left) = self.place {
            let here = within(left, bytes);
            let left = left - here as u64;
            self.place = if left == 0 {
                Place::DataEnd
            } else {
                Place::Data(left)
            };
            return Ok(Piece {
                used: here,
                data: 0..here,
                is_over: false,
            });
        }
        let end = bytes.iter().position(|&byte| byte == b'\n');
        let used = end.map_or(bytes.len(), |at| at + 1);
        if self.line.len() + used > MAX_FRAMING_BYTES {
            return Err(BadChunk);
        }
        self.line.extend_from_slice(&bytes[..used]);
        let is_over = end.is_some() && self.line_is_whole()?;
        Ok(Piece {
            used,
            data: 0..0,
            is_over,
        })
    }

    /// What follows a whole line; whether the body is over.
    fn line_is_whole(&mut self) -> Result<bool, BadChunk> {
        let is_empty = matches!(self.line.as_slice(), b"\r\n" | b"\n");
        let mut is_over = false;
        self.place = match self.place {
            Place::SizeLine => match httparse::parse_chunk_size(&self.line) {
                Ok(httparse::Status::Complete((_, 0))) => Place::Trailers,
                Ok(httparse::Status::Complete((_, size))) => Place::Data(size),
                _ => return Err(BadChunk),
            },
            Place::DataEnd if is_empty => Place::SizeLine,
            Place::DataEnd => return Err(BadChunk),
            Place::Trailers | Place::Data(_) => {
                is_over = is_empty;
                self.trailer_bytes += self.line.len();
                Place::Trailers
            }
        };
        self.line.clear();
        if self.trailer_bytes > MAX_FRAMING_BYTES {
            return Err(BadChunk);
        }
        Ok(is_over)
    }
}

fn within(left: u64, bytes: &[u8]) -> usize {
    usize::try_from(left).map_or(bytes.len(), |left| left.min(bytes.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The body and what lies behind it, fed in pieces of `step` bytes.
    fn read(mut framing: Framing, wire: &[u8], step: usize) -> Result<(Vec<u8>, usize), BadChunk> {
        let mut body = Vec::new();
        let mut at = 0;
        while at < wire.len() {
            let bytes = &wire[at..(at + step).min(wire.len())];
            let piece = framing.next(bytes)?;
            body.extend_from_slice(&bytes[piece.data]);
            at += piece.used;
            if piece.is_over {
                return Ok((body, wire.len() - at));
            }
        }
        Err(BadChunk)
    }

    #[test]
    fn bodies_end_where_their_framing_says() {
        let chunked = || Framing::Chunked(Chunked::default());
        let wire = b"4;name=value\r\nWind\r\nA\r\nage 2026-1\r\n0\r\nTrailer: x\r\n\r\nGET";
        for step in 1..wire.len() {
            assert_eq!(
                read(chunked(), wire, step),
                Ok((b"Windage 2026-1".to_vec(), 3)),
                "{step}"
            );
            assert_eq!(read(Framing::Length(10), wire, step).unwrap().0, wire[..10]);
        }
        assert_eq!(read(chunked(), b"0\r\n\r\n", 5), Ok((vec![], 0)));
    }

    #[test]
    fn what_is_no_chunk_is_an_error() {
        let endless = vec![b'1'; MAX_FRAMING_BYTES + 1];
        let trailers = [b"0\r\n".as_slice(), &b"a: b\r\n".repeat(2000)].concat();
        let table: [&[u8]; 7] = [
            b"\r\n",
            b"x\r\n",
            b"4\r\nWind!\r\n",
            b"11111111111111111\r\n",
            b"-1\r\n",
            &endless,
            &trailers,
        ];
        for wire in table {
            let read = read(Framing::Chunked(Chunked::default()), wire, 64);
            assert_eq!(read, Err(BadChunk));
        }
    }
}
