//! How entries are stored: postcard of types that nothing outside this module sees.
//!
//! Within a format there are additions only. A *new kind* must be one that an older reader can
//! pass over without concluding anything wrong. A *higher version* of a kind has its new fields
//! at the end, so that an older reader takes the front of the payload. Anything else raises
//! [`crate::frame::FORMAT`].

mod launch;
mod window;

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::frame::{self, AppendError};
use crate::{Entry, RecordError};

const LAUNCH_STARTED: u8 = 1;
const WINDOW: u8 = 2;
const BLOCK_DONE: u8 = 3;
const LAUNCH_ENDED: u8 = 4;
const DELIVERED: u8 = 5;
const DOUBT: u8 = 6;
const RUN_ENDED: u8 = 7;
const VERSION_OF: u8 = 8;

/// The version of every kind so far.
const VERSION: u8 = 1;

/// The commit mark of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BlockMark {
    /// The block.
    pub(crate) block: u32,
    /// How long the histogram logs were when the block was whole, in bytes: response times,
    /// then service times.
    pub(crate) histogram_bytes: [u64; 2],
}

/// A frame's payload, understood.
#[derive(Debug, PartialEq)]
#[expect(
    clippy::large_enum_variant,
    reason = "as for `Entry`: nearly all are windows"
)]
pub(crate) enum Decoded {
    /// Any entry but a commit mark.
    Entry(Entry),
    /// A commit mark.
    BlockDone(BlockMark),
    /// A kind that was added after this version.
    UnknownKind,
}

/// Appends the frame of an entry. The mark that an [`Entry::BlockDone`] is stored as needs the
/// histogram logs' lengths, which the writer passes as `histogram_bytes`.
pub(crate) fn append(
    out: &mut Vec<u8>,
    entry: &Entry,
    histogram_bytes: [u64; 2],
) -> Result<(), RecordError> {
    match entry {
        Entry::LaunchStarted(l) => append_as(out, LAUNCH_STARTED, &launch::StoredLaunch::from(l)),
        Entry::Window(w) => append_as(out, WINDOW, &window::StoredWindow::from(w)),
        Entry::BlockDone { block } => append_as(
            out,
            BLOCK_DONE,
            &BlockMark {
                block: *block,
                histogram_bytes,
            },
        ),
        Entry::LaunchEnded(l) => append_as(out, LAUNCH_ENDED, &launch::StoredLaunchEnd::from(l)),
        Entry::Delivered(d) => append_as(out, DELIVERED, &launch::StoredDelivered::from(d)),
        Entry::Doubt(d) => append_as(out, DOUBT, &window::StoredDoubt::from(d)),
        Entry::RunEnded(e) => append_as(out, RUN_ENDED, &launch::StoredEnding::from(e)),
        Entry::Version { of, text } => append_as(out, VERSION_OF, &(of, text)),
    }
}

/// Understands a frame whose checksum held; the error says in words what it does not understand.
pub(crate) fn decode(kind: u8, version: u8, payload: &[u8]) -> Result<Decoded, String> {
    let entry = match kind {
        LAUNCH_STARTED => {
            Entry::LaunchStarted(read::<launch::StoredLaunch>(version, payload)?.into())
        }
        WINDOW => Entry::Window(read::<window::StoredWindow>(version, payload)?.try_into()?),
        BLOCK_DONE => return read(version, payload).map(Decoded::BlockDone),
        LAUNCH_ENDED => {
            Entry::LaunchEnded(read::<launch::StoredLaunchEnd>(version, payload)?.into())
        }
        DELIVERED => Entry::Delivered(read::<launch::StoredDelivered>(version, payload)?.into()),
        DOUBT => Entry::Doubt(read::<window::StoredDoubt>(version, payload)?.try_into()?),
        RUN_ENDED => Entry::RunEnded(read::<launch::StoredEnding>(version, payload)?.into()),
        VERSION_OF => {
            let (of, text) = read::<(String, String)>(version, payload)?;
            Entry::Version { of, text }
        }
        _ => return Ok(Decoded::UnknownKind),
    };
    Ok(Decoded::Entry(entry))
}

fn append_as<T: Serialize>(out: &mut Vec<u8>, kind: u8, stored: &T) -> Result<(), RecordError> {
    frame::append(out, kind, VERSION, |out| {
        postcard::to_io(stored, out).map(|_| ())
    })
    .map_err(|error| RecordError::Unstorable {
        why: match error {
            AppendError::Payload(cause) => cause.to_string(),
            AppendError::TooLong(bytes) => {
                format!(
                    "it has {bytes} bytes, the limit is {}",
                    frame::MAX_PAYLOAD_BYTES
                )
            }
        },
    })
}

fn read<T: DeserializeOwned>(version: u8, payload: &[u8]) -> Result<T, String> {
    let (stored, rest) = postcard::take_from_bytes(payload).map_err(|e| e.to_string())?;
    match version {
        0 => Err("version 0 does not exist".to_owned()),
        VERSION if !rest.is_empty() => Err(format!("{} bytes too many", rest.len())),
        // A later version only adds fields, behind those that are known here.
        _ => Ok(stored),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::{Frames, Step};

    fn mark() -> BlockMark {
        BlockMark {
            block: 3,
            histogram_bytes: [700, 900],
        }
    }

    #[test]
    fn additions_are_passed_over_and_the_rest_is_refused() {
        let known = postcard::to_stdvec(&mark()).unwrap();
        let longer = [&known[..], b"new field"].concat();
        let table = [
            (
                "as written",
                BLOCK_DONE,
                1,
                &known[..],
                Some(Decoded::BlockDone(mark())),
            ),
            (
                "fields added",
                BLOCK_DONE,
                2,
                &longer,
                Some(Decoded::BlockDone(mark())),
            ),
            ("kind added", 99, 1, b"anything", Some(Decoded::UnknownKind)),
            ("too long for its version", BLOCK_DONE, 1, &longer, None),
            ("too short", BLOCK_DONE, 1, &known[..1], None),
            ("no such version", BLOCK_DONE, 0, &known, None),
        ];
        for (what, kind, version, payload, expected) in table {
            assert_eq!(decode(kind, version, payload).ok(), expected, "{what}");
        }
    }

    #[test]
    fn a_mark_keeps_the_lengths_it_was_given() {
        let mut out = Vec::new();
        append(&mut out, &Entry::BlockDone { block: 3 }, [700, 900]).unwrap();
        match Frames::new(&out[..], 0).step().unwrap() {
            Step::Frame {
                kind,
                version,
                payload,
                ..
            } => {
                assert_eq!(
                    decode(kind, version, payload),
                    Ok(Decoded::BlockDone(mark()))
                );
            }
            other => panic!("{other:?}"),
        }
    }
}
