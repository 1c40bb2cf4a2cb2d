//! The journal's bytes: a file header, then frames that each carry their own checksum.
//!
//! ```text
//! header: magic (8 bytes) | format u32 | crc32 of the 12 bytes before
//! frame:  length of the payload u32 | kind u8 | payload | crc32 of all before
//! ```
//!
//! Integers are little-endian. A tail of zeros, which some file systems leave after a power cut, is
//! not a valid frame: the checksum of five zero bytes is not zero.

use std::io::{self, Read};

pub(crate) const HEADER_BYTES: usize = 16;
/// Far more than any record needs. A longer length is damage and must not become an allocation.
pub(crate) const MAX_PAYLOAD_BYTES: usize = 16 << 20;

const MAGIC: [u8; 8] = *b"WNDGJRNL";
const HEAD_BYTES: usize = 5;
const CHECKSUM_BYTES: usize = 4;

/// The file header of a format.
pub(crate) fn header(format: u32) -> [u8; HEADER_BYTES] {
    let mut bytes = [0; HEADER_BYTES];
    bytes[..8].copy_from_slice(&MAGIC);
    bytes[8..12].copy_from_slice(&format.to_le_bytes());
    let checksum = crc32fast::hash(&bytes[..12]);
    bytes[12..].copy_from_slice(&checksum.to_le_bytes());
    bytes
}

/// What the first bytes of a journal are.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Header {
    /// A complete header of this format.
    Format(u32),
    /// The file ends within its header.
    Torn,
    /// Not a journal.
    Foreign,
}

/// Reads the first bytes of a journal; fewer than [`HEADER_BYTES`] means that the file ends there.
pub(crate) fn read_header(bytes: &[u8]) -> Header {
    let Ok(whole) = <[u8; HEADER_BYTES]>::try_from(bytes) else {
        // A torn header is recognised by what is left of the magic.
        let known = bytes.len().min(MAGIC.len());
        return if bytes[..known] == MAGIC[..known] {
            Header::Torn
        } else {
            Header::Foreign
        };
    };
    let format = u32::from_le_bytes([whole[8], whole[9], whole[10], whole[11]]);
    if whole == header(format) {
        Header::Format(format)
    } else {
        Header::Foreign
    }
}

/// Appends a frame whose payload `payload` writes; on error `out` is unchanged.
pub(crate) fn append<E>(
    out: &mut Vec<u8>,
    kind: u8,
    payload: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
) -> Result<(), AppendError<E>> {
    let start = out.len();
    out.extend([0, 0, 0, 0, kind]);
    let outcome = payload(out).map_err(AppendError::Payload).and_then(|()| {
        let length = out.len() - start - HEAD_BYTES;
        match u32::try_from(length) {
            Ok(stored) if length <= MAX_PAYLOAD_BYTES => Ok(stored),
            _ => Err(AppendError::TooLong(length)),
        }
    });
    match outcome {
        Ok(length) => {
            out[start..start + 4].copy_from_slice(&length.to_le_bytes());
            let checksum = crc32fast::hash(&out[start..]);
            out.extend(checksum.to_le_bytes());
            Ok(())
        }
        Err(error) => {
            out.truncate(start);
            Err(error)
        }
    }
}

/// Why a frame was not appended.
#[derive(Debug)]
pub(crate) enum AppendError<E> {
    /// The payload could not be written.
    Payload(E),
    /// The payload has this many bytes, more than [`MAX_PAYLOAD_BYTES`].
    TooLong(usize),
}

/// The next item in a journal.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Step<'a> {
    /// A complete frame.
    Frame {
        /// Its start, in bytes from the start of the file.
        start: u64,
        /// The start of the next one.
        end: u64,
        kind: u8,
        payload: &'a [u8],
    },
    /// The file ends here, between frames.
    End,
    /// The file ends within a frame.
    Torn,
    /// A frame does not match its checksum, or its length is implausible.
    Damaged,
}

/// Reads frames one after another.
pub(crate) struct Frames<R> {
    input: R,
    position: u64,
    buffer: Vec<u8>,
}

impl<R: Read> Frames<R> {
    /// Frames of `input`, whose first byte is at `position` in the file.
    pub(crate) fn new(input: R, position: u64) -> Frames<R> {
        Frames {
            input,
            position,
            buffer: Vec::new(),
        }
    }

    /// The next frame. After anything but [`Step::Frame`] nothing more can be read.
    pub(crate) fn step(&mut self) -> io::Result<Step<'_>> {
        self.buffer.clear();
        match self.fill(HEAD_BYTES)? {
            0 => return Ok(Step::End),
            HEAD_BYTES => {}
            _ => return Ok(Step::Torn),
        }
        let stored = [
            self.buffer[0],
            self.buffer[1],
            self.buffer[2],
            self.buffer[3],
        ];
        let length = match usize::try_from(u32::from_le_bytes(stored)) {
            Ok(length) if length <= MAX_PAYLOAD_BYTES => length,
            _ => return Ok(Step::Damaged),
        };
        let body_end = HEAD_BYTES + length;
        let whole = body_end + CHECKSUM_BYTES;
        if self.fill(whole - HEAD_BYTES)? < whole - HEAD_BYTES {
            return Ok(Step::Torn);
        }
        let checksum = crc32fast::hash(&self.buffer[..body_end]);
        if self.buffer[body_end..] != checksum.to_le_bytes() {
            return Ok(Step::Damaged);
        }
        let start = self.position;
        // The size of a frame is bounded by `MAX_PAYLOAD_BYTES`, far below 2^64.
        self.position += whole as u64;
        Ok(Step::Frame {
            start,
            end: self.position,
            kind: self.buffer[4],
            payload: &self.buffer[HEAD_BYTES..body_end],
        })
    }

    /// Appends up to `count` bytes to the buffer; fewer only at the end of the input. The buffer
    /// grows with what is read, so a damaged length costs no memory.
    fn fill(&mut self, count: usize) -> io::Result<usize> {
        self.input
            .by_ref()
            .take(count as u64)
            .read_to_end(&mut self.buffer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(kind: u8, payload: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        append(&mut out, kind, |out| {
            out.extend(payload);
            Ok::<(), ()>(())
        })
        .unwrap();
        out
    }

    #[test]
    fn torn_and_foreign_headers_are_distinguished() {
        let whole = header(1);
        let table: [(&str, Vec<u8>, Header); 7] = [
            ("whole", whole.to_vec(), Header::Format(1)),
            ("newer", header(7).to_vec(), Header::Format(7)),
            ("empty", vec![], Header::Torn),
            ("cut in the magic", whole[..5].to_vec(), Header::Torn),
            ("cut in the checksum", whole[..15].to_vec(), Header::Torn),
            ("another file, short", b"PK".to_vec(), Header::Foreign),
            (
                "another file, long",
                b"<!DOCTYPE html>\n".to_vec(),
                Header::Foreign,
            ),
        ];
        for (what, bytes, expected) in table {
            assert_eq!(read_header(&bytes), expected, "{what}");
        }
        let mut flipped = whole;
        flipped[8] ^= 2;
        assert_eq!(
            read_header(&flipped),
            Header::Foreign,
            "a damaged format is not reported as a newer one"
        );
    }

    #[test]
    fn torn_and_damaged_frames_are_distinguished() {
        let good = frame(2, b"payload");
        let mut flipped = good.clone();
        flipped[8] ^= 1;
        let table: [(&str, &[u8], Step<'_>); 6] = [
            ("nothing", &[], Step::End),
            ("cut in the head", &good[..3], Step::Torn),
            ("cut in the payload", &good[..9], Step::Torn),
            ("cut in the checksum", &good[..good.len() - 1], Step::Torn),
            ("flipped", &flipped, Step::Damaged),
            ("zeros", &[0; 64], Step::Damaged),
        ];
        for (what, bytes, expected) in table {
            assert_eq!(Frames::new(bytes, 0).step().unwrap(), expected, "{what}");
        }
        let absurd = [0xff; 64];
        assert_eq!(Frames::new(&absurd[..], 0).step().unwrap(), Step::Damaged);
    }

    #[test]
    fn a_failed_frame_leaves_nothing_behind() {
        let mut out = vec![9];
        let failed = append(&mut out, 1, |out| {
            out.push(1);
            Err::<(), _>("no")
        });
        assert!(matches!(failed, Err(AppendError::Payload("no"))));
        let long = append(&mut out, 1, |out| {
            out.resize(MAX_PAYLOAD_BYTES + 100, 0);
            Ok::<(), ()>(())
        });
        assert!(matches!(long, Err(AppendError::TooLong(_))));
        assert_eq!(out, [9]);
    }
}
