//! gzip (RFC 1952), inflated piece by piece.
//!
//! What inflating needs is large beside everything else that a request takes, and it is used
//! again: taken from the allocator anew for each request it would leave holes between what
//! connections hold, twenty kilobytes for each of them.

use std::cell::RefCell;
use std::fmt;

use flate2::{Crc, Decompress, FlushDecompress, Status};

/// What comes out at a time.
const OUT_BYTES: usize = 32 << 10;
/// What inflating takes: a window of 32 KiB, tables, and a buffer for what comes out.
pub(crate) const INFLATING_BYTES: usize = 96 << 10;
/// Inflaters that wait to be used again; more bodies than that are seldom underway.
const MAX_SPARE: usize = 8;

const FIXED_BYTES: usize = 10;
const MAGIC: [u8; 3] = [0x1f, 0x8b, 8];
const HAS_CHECKSUM: u8 = 2;
const HAS_EXTRA: u8 = 4;
const HAS_NAME: u8 = 8;
const HAS_COMMENT: u8 = 16;

thread_local! {
    static SPARE: RefCell<Vec<Box<Inflater>>> = const { RefCell::new(Vec::new()) };
}

/// The bytes are not gzip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BadGzip;

/// One compressed body on its way.
#[derive(Debug)]
pub(crate) struct Gunzip {
    place: Place,
    /// The fixed part of the header, or the trailer, as far as it came.
    part: [u8; FIXED_BYTES],
    had: usize,
    inflater: Option<Box<Inflater>>,
    crc: Crc,
}

/// Where in the stream the next byte belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Fixed,
    ExtraLength,
    /// The same, of which the lower byte is there.
    ExtraLengthHigh(u8),
    /// So many bytes of it are missing, as of what follows.
    Extra(u16),
    Name,
    Comment,
    Checksum(u8),
    Deflated,
    Trailer,
    End,
}

struct Inflater {
    state: Decompress,
    out: [u8; OUT_BYTES],
}

impl fmt::Debug for Inflater {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inflater").finish_non_exhaustive()
    }
}

impl Gunzip {
    pub(crate) fn new() -> Gunzip {
        let spare = SPARE.with_borrow_mut(Vec::pop);
        let inflater = spare.unwrap_or_else(|| {
            Box::new(Inflater {
                state: Decompress::new(false),
                out: [0; OUT_BYTES],
            })
        });
        Gunzip {
            place: Place::Fixed,
            part: [0; FIXED_BYTES],
            had: 0,
            inflater: Some(inflater),
            crc: Crc::new(),
        }
    }

    /// Inflates a piece; what comes out goes to `take`, which may have enough.
    pub(crate) fn push<E: From<BadGzip>>(
        &mut self,
        mut piece: &[u8],
        mut take: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        while !piece.is_empty() {
            piece = match self.place {
                Place::Deflated => self.inflate(piece, &mut take)?,
                Place::Fixed => self.fixed(piece)?,
                Place::Trailer => self.trailer(piece)?,
                Place::End => return Err(BadGzip.into()),
                _ => {
                    self.place = self.optional(piece[0]);
                    &piece[1..]
                }
            };
        }
        Ok(())
    }

    /// Whether the stream was there to its end.
    pub(crate) fn is_whole(&self) -> bool {
        self.place == Place::End
    }

    fn inflate<'a, E: From<BadGzip>>(
        &mut self,
        piece: &'a [u8],
        take: &mut impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<&'a [u8], E> {
        let Some(Inflater { state, out }) = self.inflater.as_deref_mut() else {
            return Err(BadGzip.into());
        };
        let (read, written) = (state.total_in(), state.total_out());
        let status = state
            .decompress(piece, out, FlushDecompress::None)
            .map_err(|_| BadGzip)?;
        let used = usize::try_from(state.total_in() - read).unwrap_or(piece.len());
        let inflated = usize::try_from(state.total_out() - written).unwrap_or(OUT_BYTES);
        self.crc.update(&out[..inflated]);
        take(&out[..inflated])?;
        match status {
            Status::StreamEnd => self.place = Place::Trailer,
            // Neither read nor written: it will never get on.
            Status::BufError if used == 0 && inflated == 0 => return Err(BadGzip.into()),
            Status::Ok | Status::BufError => {}
        }
        Ok(&piece[used..])
    }

    /// Takes bytes of a part of known size; what is left, once it is whole.
    fn part<'a>(&mut self, size: usize, piece: &'a [u8]) -> Option<&'a [u8]> {
        let here = (size - self.had).min(piece.len());
        self.part[self.had..self.had + here].copy_from_slice(&piece[..here]);
        self.had += here;
        (self.had == size).then(|| {
            self.had = 0;
            &piece[here..]
        })
    }

    fn fixed<'a>(&mut self, piece: &'a [u8]) -> Result<&'a [u8], BadGzip> {
        let Some(rest) = self.part(FIXED_BYTES, piece) else {
            return Ok(&[]);
        };
        if self.part[..MAGIC.len()] != MAGIC {
            return Err(BadGzip);
        }
        self.place = self.after(Place::Fixed);
        Ok(rest)
    }

    /// A byte of what the header may have.
    fn optional(&self, byte: u8) -> Place {
        match self.place {
            Place::ExtraLength => Place::ExtraLengthHigh(byte),
            Place::ExtraLengthHigh(low) => match u16::from_le_bytes([low, byte]) {
                0 => self.after(Place::Extra(0)),
                bytes => Place::Extra(bytes),
            },
            Place::Extra(left @ 2..) => Place::Extra(left - 1),
            Place::Name | Place::Comment if byte != 0 => self.place,
            Place::Checksum(2) => Place::Checksum(1),
            over => self.after(over),
        }
    }

    /// What follows, by the flags.
    fn after(&self, place: Place) -> Place {
        let flags = self.part[3];
        let parts = [
            (HAS_EXTRA, Place::ExtraLength),
            (HAS_NAME, Place::Name),
            (HAS_COMMENT, Place::Comment),
            (HAS_CHECKSUM, Place::Checksum(2)),
        ];
        let done = match place {
            Place::Fixed => 0,
            Place::Extra(_) => 1,
            Place::Name => 2,
            Place::Comment => 3,
            _ => 4,
        };
        let next = parts[done..].iter().find(|(flag, _)| flags & flag != 0);
        next.map_or(Place::Deflated, |(_, place)| *place)
    }

    fn trailer<'a>(&mut self, piece: &'a [u8]) -> Result<&'a [u8], BadGzip> {
        let Some(rest) = self.part(8, piece) else {
            return Ok(&[]);
        };
        let [a, b, c, d, e, f, g, h, ..] = self.part;
        let is_sound = u32::from_le_bytes([a, b, c, d]) == self.crc.sum()
            && u32::from_le_bytes([e, f, g, h]) == self.crc.amount();
        self.place = Place::End;
        is_sound.then_some(rest).ok_or(BadGzip)
    }
}

impl Drop for Gunzip {
    fn drop(&mut self) {
        let Some(mut inflater) = self.inflater.take() else {
            return;
        };
        SPARE.with_borrow_mut(|spare| {
            if spare.len() < MAX_SPARE {
                inflater.state.reset(false);
                spare.push(inflater);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::{Compression, GzBuilder};

    use super::*;

    /// What a stream holds, fed in pieces of `step` bytes.
    fn inflated(wire: &[u8], step: usize) -> Result<Vec<u8>, BadGzip> {
        let mut gunzip = Gunzip::new();
        let mut out = Vec::new();
        for piece in wire.chunks(step) {
            gunzip.push(piece, |bytes| {
                out.extend_from_slice(bytes);
                Ok::<(), BadGzip>(())
            })?;
        }
        gunzip.is_whole().then_some(out).ok_or(BadGzip)
    }

    fn deflated(header: GzBuilder, bytes: &[u8]) -> Vec<u8> {
        let mut encoder = header.write(Vec::new(), Compression::default());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn streams_are_inflated_in_any_pieces_and_whatever_their_header_has() {
        let headers = [
            GzBuilder::new(),
            GzBuilder::new().filename("spans"),
            GzBuilder::new().comment("none"),
            GzBuilder::new().extra(vec![]),
            GzBuilder::new()
                .extra(vec![7; 300])
                .filename("a")
                .comment("b"),
        ];
        for header in headers {
            let wire = deflated(header, b"spans, spans, spans");
            for step in 1..=wire.len() {
                let found = inflated(&wire, step).unwrap();
                assert_eq!(found, b"spans, spans, spans", "{step}");
            }
        }
        // A checksum of the header, which encoders leave out.
        let mut wire = deflated(GzBuilder::new(), b"spans");
        wire[3] |= HAS_CHECKSUM;
        wire.splice(FIXED_BYTES..FIXED_BYTES, [1, 2]);
        assert_eq!(inflated(&wire, 3).unwrap(), b"spans");
    }

    #[test]
    fn what_is_larger_than_the_buffers_comes_whole() {
        let bytes: Vec<u8> = (0..1_000_000_u32)
            .map(|i| (i.wrapping_mul(i) >> 7) as u8)
            .collect();
        let wire = deflated(GzBuilder::new(), &bytes);
        for step in [1000, OUT_BYTES, wire.len()] {
            assert!(inflated(&wire, step).unwrap() == bytes, "{step}");
        }
        let wire = deflated(GzBuilder::new(), &vec![0; 4 * OUT_BYTES]);
        assert_eq!(inflated(&wire, 1).unwrap(), vec![0; 4 * OUT_BYTES]);
    }

    #[test]
    fn any_byte_that_is_wrong_or_missing_is_told() {
        let wire = deflated(GzBuilder::new(), b"spans");
        for length in 0..wire.len() {
            assert_eq!(inflated(&wire[..length], 4), Err(BadGzip), "{length}");
        }
        assert_eq!(inflated(&[&*wire, b"x"].concat(), 4), Err(BadGzip));
        // Time, level and system of the header may be anything, and so may bits of padding.
        let told = [0, 1, 2].into_iter().chain(wire.len() - 8..wire.len());
        for at in told {
            let mut wrong = wire.clone();
            wrong[at] ^= 0x40;
            assert_eq!(inflated(&wrong, 4), Err(BadGzip), "{at}");
        }
    }
}
