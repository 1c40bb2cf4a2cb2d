//! The path of a body: decompressed, decoded, counted, piece by piece and within limits.

use std::io::{self, Write};

use flate2::write::GzDecoder;

use crate::exchange::{Decode, DecodeWhole, Encoding, Refusal};
use crate::malformed::Malformed;
use crate::otlp::Stream;
use crate::receipt::Receipt;
use crate::room::{Budget, Room};

/// The highest compression ratio. Real telemetry, with its random ids, stays below 100.
const GZIP_RATIO_MAX: usize = 256;
/// What a body may inflate to whatever its ratio, so that small repetitive ones pass.
const GZIP_RATIO_FREE_BYTES: usize = 1 << 20;

/// What inflating takes: a window of 32 KiB, tables, and an output buffer.
const INFLATING_BYTES: usize = 96 << 10;

/// What every body may hold without asking for room: an item of usual size and a few sampled spans.
const HELD_WITHOUT_ROOM_BYTES: usize = 1 << 10;

/// One body in transit.
#[derive(Debug)]
pub(crate) struct Intake {
    body: Body,
    received_bytes: usize,
    max_bytes: usize,
}

#[derive(Debug)]
enum Body {
    Plain(Counting),
    Gzip(Box<GzDecoder<Counting>>),
}

/// What follows decompression.
#[derive(Debug)]
struct Counting {
    decoder: Decoder,
    receipt: Box<Receipt>,
    room: Room,
    /// Bytes lent for an incomplete item.
    held_bytes: usize,
    /// The largest size of the body, decompressed.
    allowed_bytes: usize,
    /// A copy of the body, where bodies are kept.
    kept: Option<Vec<u8>>,
}

#[derive(Debug)]
enum Decoder {
    Stream(Stream),
    Whole { decode: DecodeWhole, bytes: Vec<u8> },
    Unread(fn(&mut Receipt)),
}

/// Parameters of an intake.
pub(crate) struct IntakeParts<'a> {
    pub(crate) decode: Decode,
    pub(crate) encoding: Encoding,
    pub(crate) receipt: Box<Receipt>,
    pub(crate) budget: &'a Budget,
    /// The largest body, before and after decompression.
    pub(crate) max_bytes: usize,
    /// Whether a copy of the body is kept.
    pub(crate) keep: bool,
}

impl Intake {
    /// Begins to receive a body.
    pub(crate) fn new(parts: IntakeParts<'_>) -> Result<Intake, Refusal> {
        let mut room = parts.budget.room();
        if parts.encoding == Encoding::Gzip {
            room.grow_to(INFLATING_BYTES)?;
        }
        let decoder = match parts.decode {
            Decode::OtlpProtobuf(signal) => Decoder::Stream(Stream::new(signal)),
            Decode::Whole(decode) => Decoder::Whole {
                decode,
                bytes: Vec::new(),
            },
            Decode::Unread(count) => Decoder::Unread(count),
        };
        let counting = Counting {
            decoder,
            receipt: parts.receipt,
            room,
            held_bytes: 0,
            allowed_bytes: parts.max_bytes,
            kept: parts.keep.then(Vec::new),
        };
        Ok(Intake {
            body: match parts.encoding {
                Encoding::Identity => Body::Plain(counting),
                Encoding::Gzip => Body::Gzip(Box::new(GzDecoder::new(counting))),
            },
            received_bytes: 0,
            max_bytes: parts.max_bytes,
        })
    }

    /// The next piece of the body, as it arrived.
    pub(crate) fn push(&mut self, piece: &[u8]) -> Result<(), Refusal> {
        let decoder = match &mut self.body {
            Body::Plain(counting) => return counting.take(piece),
            Body::Gzip(decoder) => decoder,
        };
        self.received_bytes = self.received_bytes.saturating_add(piece.len());
        // Compressed bytes may inflate to nothing, so they are bounded as well.
        if self.received_bytes > self.max_bytes {
            return Err(Refusal::TooLarge);
        }
        let by_ratio = self
            .received_bytes
            .saturating_mul(GZIP_RATIO_MAX)
            .max(GZIP_RATIO_FREE_BYTES);
        decoder.get_mut().allowed_bytes = by_ratio.min(self.max_bytes);
        Ok(decoder.write_all(piece)?)
    }

    /// The body is complete.
    pub(crate) fn finish(self) -> Result<Finished, Refusal> {
        let mut counting = match self.body {
            Body::Plain(counting) => counting,
            Body::Gzip(decoder) => decoder.finish()?,
        };
        counting.finish()?;
        Ok(Finished {
            receipt: counting.receipt,
            body: counting.kept,
        })
    }
}

/// The result of an intake.
pub(crate) struct Finished {
    pub(crate) receipt: Box<Receipt>,
    /// The complete body, decompressed, if it is to be kept.
    pub(crate) body: Option<Vec<u8>>,
}

impl Counting {
    fn take(&mut self, piece: &[u8]) -> Result<(), Refusal> {
        let receipt = &mut *self.receipt;
        let after = receipt.counts.body_bytes.saturating_add(piece.len() as u64);
        if after > self.allowed_bytes as u64 {
            return Err(Refusal::TooLarge);
        }
        receipt.body(piece);
        // Too little room for the copy is no reason to refuse the delivery.
        if let Some(kept) = &mut self.kept
            && self.room.grow_by(piece.len()).is_ok()
        {
            kept.extend_from_slice(piece);
        } else {
            self.kept = None;
        }
        match &mut self.decoder {
            Decoder::Unread(_) => Ok(()),
            Decoder::Stream(stream) => {
                stream.feed(piece, receipt).map_err(Malformed::from)?;
                let held = stream.held_bytes();
                let more = self.wanted(held);
                if self.room.grow_by_if_ample(more).is_ok() {
                    self.held_bytes += more;
                    return Ok(());
                }
                self.receipt.thin_sample();
                let more = self.wanted(held);
                self.room.grow_by(more)?;
                self.held_bytes += more;
                Ok(())
            }
            Decoder::Whole { bytes, .. } => {
                self.room.grow_by(piece.len())?;
                bytes.extend_from_slice(piece);
                Ok(())
            }
        }
    }

    /// What the current item and the receipt need beyond what was lent to them.
    fn wanted(&self, item_bytes: usize) -> usize {
        (item_bytes + self.receipt.held_bytes())
            .saturating_sub(HELD_WITHOUT_ROOM_BYTES)
            .saturating_sub(self.held_bytes)
    }

    fn finish(&mut self) -> Result<(), Refusal> {
        let receipt = &mut *self.receipt;
        match &mut self.decoder {
            Decoder::Unread(count) => {
                count(receipt);
                Ok(())
            }
            Decoder::Stream(stream) => Ok(stream.finish().map_err(Malformed::from)?),
            Decoder::Whole { decode, bytes } => Ok(decode(bytes, receipt)?),
        }
    }
}

/// Receives the decoder's output.
impl Write for Counting {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        self.take(piece).map_err(io::Error::other)?;
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Errors of the decoder: its own, or those with which [`Counting`] refused.
impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Refusal {
        error.downcast().unwrap_or(Refusal::BadGzip)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    const UNREAD: Decode = Decode::Unread(Receipt::side_request);

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn take_in(
        decode: Decode,
        encoding: Encoding,
        wire: &[u8],
        max_bytes: usize,
        budget: &Budget,
    ) -> Result<u64, Refusal> {
        let parts = IntakeParts {
            decode,
            encoding,
            receipt: Box::default(),
            budget,
            max_bytes,
            keep: false,
        };
        let mut intake = Intake::new(parts)?;
        for piece in wire.chunks(100) {
            intake.push(piece)?;
        }
        Ok(intake.finish()?.receipt.counts.body_bytes)
    }

    #[test]
    fn bodies_are_bounded_before_and_after_inflating() {
        use Encoding::{Gzip, Identity};
        let free = GZIP_RATIO_FREE_BYTES;
        let mut trailing = gzip(b"abc");
        trailing.extend_from_slice(b"more");
        let whole = gzip(&[7; 5000]);
        type Row<'a> = (&'a str, Encoding, &'a [u8], usize, Result<u64, Refusal>);
        let table: &[Row] = &[
            ("empty", Identity, &[], 10, Ok(0)),
            ("at the bound", Identity, &[1; 10], 10, Ok(10)),
            (
                "beyond the bound",
                Identity,
                &[1; 11],
                10,
                Err(Refusal::TooLarge),
            ),
            ("inflates to the bound", Gzip, &whole, 5000, Ok(5000)),
            (
                "inflates beyond the bound",
                Gzip,
                &whole,
                4999,
                Err(Refusal::TooLarge),
            ),
            (
                "dense, but small",
                Gzip,
                &gzip(&vec![0; free]),
                64 << 20,
                Ok(free as u64),
            ),
            (
                "dense and large: a bomb",
                Gzip,
                &gzip(&vec![0; 32 << 20]),
                64 << 20,
                Err(Refusal::TooLarge),
            ),
            (
                "cut",
                Gzip,
                &whole[..whole.len() - 1],
                5000,
                Err(Refusal::BadGzip),
            ),
            (
                "an empty body is not gzip",
                Gzip,
                &[],
                5000,
                Err(Refusal::BadGzip),
            ),
            ("not gzip", Gzip, b"plain text", 5000, Err(Refusal::BadGzip)),
            (
                "bytes after the end",
                Gzip,
                &trailing,
                5000,
                Err(Refusal::BadGzip),
            ),
        ];
        for (name, encoding, wire, max_bytes, expected) in table {
            let budget = Budget::new(1 << 20);
            let found = take_in(UNREAD, *encoding, wire, *max_bytes, &budget);
            assert_eq!(found, *expected, "{name}");
        }
    }

    #[test]
    fn held_bytes_are_bounded_by_the_budget() {
        let whole: DecodeWhole = |_, _| Ok(());
        let budget = Budget::new(1000);
        let take = |length: usize| {
            let wire = vec![0; length];
            take_in(
                Decode::Whole(whole),
                Encoding::Identity,
                &wire,
                1 << 20,
                &budget,
            )
        };
        assert_eq!(take(1000), Ok(1000));
        assert_eq!(take(1001), Err(Refusal::NoRoom));
        assert_eq!(take(1000), Ok(1000), "the loan was returned");
        let inflating = take_in(UNREAD, Encoding::Gzip, &gzip(b"a"), 10, &budget);
        assert_eq!(inflating, Err(Refusal::NoRoom));
    }

    #[test]
    fn a_streamed_item_is_held_only_until_it_is_complete() {
        // One resource, one scope, one span with a name of 6,000 bytes; pieces of 100 bytes split
        // it.
        let mut span = vec![0x2a, 0xf0, 0x2e];
        span.extend_from_slice(&[b'n'; 6000]);
        let mut body = span;
        for key in [0x12, 0x12, 0x0a] {
            let length = body.len();
            let mut outer = vec![key, (length & 0x7f) as u8 | 0x80, (length >> 7) as u8];
            outer.extend_from_slice(&body);
            body = outer;
        }
        let traces = Decode::OtlpProtobuf(crate::Signal::Traces);
        let length = body.len() as u64;
        let taken = |bytes| {
            take_in(
                traces,
                Encoding::Identity,
                &body,
                1 << 20,
                &Budget::new(bytes),
            )
        };
        assert_eq!(taken(16 << 10), Ok(length));
        assert_eq!(taken(1000), Err(Refusal::NoRoom));
    }
}
