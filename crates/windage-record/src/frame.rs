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

/// A search for the next frame passes over longer ones, which are rare: so bytes that only look
/// like a length cost less.
const SCAN_PAYLOAD_BYTES: usize = 1 << 20;
/// How much it reads at once.
const SCAN_CHUNK_BYTES: usize = 1 << 16;
/// After checksums over so many bytes, less than a second of work, it gives up: a file made for that
/// could otherwise keep a reader busy for hours. A megabyte of random bytes costs 128 MB.
const SCAN_HASHED_BYTES: usize = 1 << 30;

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
    /// Where the first unread byte is in the file.
    position: u64,
    buffer: Vec<u8>,
    /// Where the first unread byte is in the buffer.
    at: usize,
}

/// What the unread bytes begin with.
enum Beginning {
    /// A complete frame of so many bytes.
    Frame(usize),
    Nothing,
    /// The file ends within the frame.
    Torn,
    /// The length is implausible.
    Implausible,
    /// The checksum of so many bytes does not match.
    Mismatch(usize),
}

impl<R: Read> Frames<R> {
    /// Frames of `input`, whose first byte is at `position` in the file.
    pub(crate) fn new(input: R, position: u64) -> Frames<R> {
        Frames {
            input,
            position,
            buffer: Vec::new(),
            at: 0,
        }
    }

    /// Where the next frame begins, in bytes from the start of the file.
    pub(crate) fn position(&self) -> u64 {
        self.position
    }

    /// The next frame. After [`Step::Torn`] or [`Step::Damaged`] only [`Frames::resync`] leads on.
    pub(crate) fn step(&mut self) -> io::Result<Step<'_>> {
        let bytes = match self.beginning(0, MAX_PAYLOAD_BYTES)? {
            Beginning::Frame(bytes) => bytes,
            Beginning::Nothing => return Ok(Step::End),
            Beginning::Torn => return Ok(Step::Torn),
            Beginning::Implausible | Beginning::Mismatch(_) => return Ok(Step::Damaged),
        };
        let start = self.position;
        self.pass(bytes);
        let frame = &self.buffer[self.at - bytes..self.at];
        Ok(Step::Frame {
            start,
            end: self.position,
            kind: frame[4],
            payload: payload_of(frame),
        })
    }

    /// Passes over a torn or damaged frame, to the next one in which `is_record` recognises a
    /// record. Returns how many bytes were passed over; `None` when no such frame follows, and then
    /// nothing more can be read.
    ///
    /// The damaged frame's own length is tried first, so that what its payload contains is only
    /// looked at when the length itself is damaged. A frame counts if another one follows it at
    /// once, or the end of the file. That bytes look like one frame by chance needs a match of 32
    /// bits; a copy of a frame within a payload has no frame behind it.
    pub(crate) fn resync(
        &mut self,
        is_record: impl Fn(u8, &[u8]) -> bool,
    ) -> io::Result<Option<u64>> {
        let damaged_at = self.position;
        if let Beginning::Mismatch(bytes) = self.beginning(0, MAX_PAYLOAD_BYTES)? {
            let whole = bytes + CHECKSUM_BYTES;
            if self.ahead(whole + 1)? == whole {
                // The damaged frame is the last.
                return Ok(None);
            }
            if self.is_found(whole, MAX_PAYLOAD_BYTES, &is_record)? {
                self.pass(whole);
                return Ok(Some(whole as u64));
            }
        }
        let mut hashed = 0;
        while hashed < SCAN_HASHED_BYTES {
            self.pass(1);
            if self.buffer.len() - self.at < HEAD_BYTES {
                self.ahead(SCAN_CHUNK_BYTES)?;
            }
            match self.beginning(0, SCAN_PAYLOAD_BYTES)? {
                Beginning::Nothing => return Ok(None),
                Beginning::Mismatch(bytes) => hashed += bytes,
                Beginning::Torn | Beginning::Implausible => {}
                Beginning::Frame(bytes) => {
                    if self.is_found(0, SCAN_PAYLOAD_BYTES, &is_record)? {
                        return Ok(Some(self.position - damaged_at));
                    }
                    hashed += bytes + SCAN_PAYLOAD_BYTES;
                }
            }
        }
        Ok(None)
    }

    /// Whether a frame that counts begins `from` bytes behind the position.
    fn is_found(
        &mut self,
        from: usize,
        longest: usize,
        is_record: impl Fn(u8, &[u8]) -> bool,
    ) -> io::Result<bool> {
        let Some(bytes) = self.record_at(from, longest, &is_record)? else {
            return Ok(false);
        };
        let behind = from + bytes;
        let is_last = self.ahead(behind + 1)? == behind;
        Ok(is_last || self.record_at(behind, longest, &is_record)?.is_some())
    }

    /// The length of the frame that begins `from` bytes behind the position, if it is a record.
    fn record_at(
        &mut self,
        from: usize,
        longest: usize,
        is_record: impl Fn(u8, &[u8]) -> bool,
    ) -> io::Result<Option<usize>> {
        let Beginning::Frame(bytes) = self.beginning(from, longest)? else {
            return Ok(None);
        };
        let start = self.at + from;
        let frame = &self.buffer[start..start + bytes];
        Ok(is_record(frame[4], payload_of(frame)).then_some(bytes))
    }

    /// Examines the bytes that begin `from` bytes behind the position.
    fn beginning(&mut self, from: usize, longest: usize) -> io::Result<Beginning> {
        match self.ahead(from + HEAD_BYTES)?.saturating_sub(from) {
            0 => return Ok(Beginning::Nothing),
            HEAD_BYTES => {}
            _ => return Ok(Beginning::Torn),
        }
        let head = &self.buffer[self.at + from..];
        let stored = [head[0], head[1], head[2], head[3]];
        let length = match usize::try_from(u32::from_le_bytes(stored)) {
            Ok(length) if length <= longest => length,
            _ => return Ok(Beginning::Implausible),
        };
        let body = HEAD_BYTES + length;
        let whole = body + CHECKSUM_BYTES;
        if self.ahead(from + whole)? < from + whole {
            return Ok(Beginning::Torn);
        }
        let start = self.at + from;
        let (body_bytes, stored) = self.buffer[start..start + whole].split_at(body);
        Ok(match stored == crc32fast::hash(body_bytes).to_le_bytes() {
            true => Beginning::Frame(whole),
            false => Beginning::Mismatch(body),
        })
    }

    /// Passes over unread bytes, which stay in the buffer until more are read.
    fn pass(&mut self, bytes: usize) {
        self.at += bytes;
        self.position += bytes as u64;
    }

    /// Reads until the buffer has `count` unread bytes, and returns how many of them it has; fewer
    /// only at the end of the input. The buffer grows with what is read, so a damaged length costs
    /// no memory.
    fn ahead(&mut self, count: usize) -> io::Result<usize> {
        let left = self.buffer.len() - self.at;
        if left < count {
            if left == 0 || self.at > SCAN_PAYLOAD_BYTES {
                self.buffer.drain(..self.at);
                self.at = 0;
            }
            let missing = (count - left) as u64;
            let input = self.input.by_ref();
            input.take(missing).read_to_end(&mut self.buffer)?;
        }
        Ok(count.min(self.buffer.len() - self.at))
    }
}

fn payload_of(frame: &[u8]) -> &[u8] {
    &frame[HEAD_BYTES..frame.len() - CHECKSUM_BYTES]
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
            ("newer", header(99).to_vec(), Header::Format(99)),
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

    /// Frames of one byte each, with a large one between them.
    fn stream(large: &[u8]) -> (Vec<u8>, usize) {
        let small = frame(1, b"a");
        let bytes = [&small[..], &frame(2, large), &small, &small].concat();
        (bytes, small.len())
    }

    /// The kinds of the frames after a first one, and where the last passage over damage ended.
    fn kinds_behind_the_first(bytes: &[u8]) -> (Vec<u8>, Option<u64>) {
        let (mut frames, mut kinds, mut passed) = (Frames::new(bytes, 0), Vec::new(), None);
        loop {
            match frames.step().unwrap() {
                Step::Frame { kind, .. } => kinds.push(kind),
                Step::End => return (kinds.split_off(1), passed),
                Step::Torn | Step::Damaged => {
                    if frames.resync(|kind, _| kind < 9).unwrap().is_none() {
                        return (kinds.split_off(1), passed);
                    }
                    passed = Some(frames.position());
                }
            }
        }
    }

    #[test]
    fn damage_is_passed_over_to_the_next_frame() {
        let inner = frame(1, b"inner");
        let payloads = [
            ("text", b"some text".to_vec()),
            ("nothing", Vec::new()),
            ("zeros", vec![0; 300]),
            ("a frame", inner.clone()),
            (
                "a frame with text around it",
                [b"ab", &inner[..], b"cd"].concat(),
            ),
            (
                "longer than is searched for",
                vec![7; SCAN_PAYLOAD_BYTES + 9],
            ),
        ];
        for (what, payload) in payloads {
            let (bytes, start) = stream(&payload);
            let next = bytes.len() - 2 * start;
            // Of the large payload a few places are enough.
            let edge = if payload.len() > 1000 { 9 } else { 400 };
            for at in (start..next).filter(|at| *at < start + edge || *at + 5 > next) {
                for bit in 0..8 {
                    let mut damaged = bytes.clone();
                    damaged[at] ^= 1 << bit;
                    let expected = (vec![1, 1], Some(next as u64));
                    let found = kinds_behind_the_first(&damaged);
                    assert_eq!(found, expected, "{what}: byte {at}, bit {bit}");
                }
            }
        }
    }

    #[test]
    fn only_what_a_frame_or_the_end_follows_is_taken_for_a_frame() {
        let (good, unknown) = (frame(1, b"x"), frame(9, b"x"));
        type Row<'a> = (&'a str, Vec<&'a [u8]>, Vec<u8>);
        let table: [Row<'_>; 6] = [
            ("the end", vec![&good], vec![1]),
            ("another frame", vec![&good, &good], vec![1, 1]),
            ("junk", vec![&good, b"junk and more junk"], vec![]),
            ("part of a frame", vec![&good, &good[..5]], vec![]),
            ("an unknown record", vec![&good, &unknown], vec![]),
            ("after an unknown record", vec![&unknown, &good], vec![1]),
        ];
        for (what, behind, expected) in table {
            // A length that leads nowhere.
            let bytes = [&good[..], &[0xff; 30], &behind.concat()].concat();
            assert_eq!(kinds_behind_the_first(&bytes).0, expected, "{what}");
        }
        // The same when the damaged frame's own length is right.
        let mut damaged = frame(2, &frame(1, b"inner"));
        damaged[4] ^= 1;
        let bytes = [&good[..], &damaged].concat();
        assert_eq!(kinds_behind_the_first(&bytes), (vec![], None));
    }

    /// Each of these bytes begins a length of less than a megabyte.
    #[test]
    fn a_search_gives_up() {
        let bytes = [0xff, 0, 8, 0].repeat(1 << 20);
        let mut frames = Frames::new(&bytes[..], 0);
        let before = std::time::Instant::now();
        assert_eq!(frames.step().unwrap(), Step::Damaged);
        assert_eq!(frames.resync(|_, _| true).unwrap(), None);
        assert!(frames.position() < bytes.len() as u64);
        assert!(before.elapsed().as_secs() < 300, "{:?}", before.elapsed());
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
