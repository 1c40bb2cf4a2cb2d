//! How entries are stored: postcard of types that nothing outside this module sees.
//!
//! Within a format there are additions only. A *new kind* must be one that an older reader can
//! pass over without concluding anything wrong. A *higher version* of a kind has its new fields
//! at the end, so that an older reader takes the front of the payload. Anything else raises
//! [`crate::frame::FORMAT`].

mod addition;
mod delivered;
mod launch;
mod program;
mod window;

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use windage_model::Window;

use crate::frame::{self, AppendError};
use crate::{Delivered, Entry, RecordError};

const LAUNCH_STARTED: u8 = 1;
const WINDOW: u8 = 2;
const BLOCK_DONE: u8 = 3;
const LAUNCH_ENDED: u8 = 4;
const DELIVERED: u8 = 5;
const DOUBT: u8 = 6;
const RUN_ENDED: u8 = 7;
const VERSION_OF: u8 = 8;
const PHASE: u8 = 9;
const PROCESS: u8 = 10;
const SAID: u8 = 11;

/// The version of every other kind.
const VERSION: u8 = 1;
/// Version 2 has [`addition::StoredAddition`] behind the fields of version 1.
const WINDOW_VERSION: u8 = 2;
/// Version 2 has [`delivered::StoredMore`] behind the fields of version 1.
const DELIVERED_VERSION: u8 = 2;

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
    reason = "nearly all are windows; an allocation for each would cost more than it saves"
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
        Entry::Window(w) => append_version(
            out,
            WINDOW,
            WINDOW_VERSION,
            &(
                window::StoredWindow::from(w),
                addition::StoredAddition::from(w),
            ),
        ),
        Entry::BlockDone { block } => append_as(
            out,
            BLOCK_DONE,
            &BlockMark {
                block: *block,
                histogram_bytes,
            },
        ),
        Entry::LaunchEnded(l) => append_as(out, LAUNCH_ENDED, &launch::StoredLaunchEnd::from(l)),
        Entry::Delivered(d) => append_version(
            out,
            DELIVERED,
            DELIVERED_VERSION,
            &(
                delivered::StoredDelivered::from(d),
                delivered::StoredMore::from(d),
            ),
        ),
        Entry::Doubt(d) => append_as(out, DOUBT, &window::StoredDoubt::from(d)),
        Entry::RunEnded(e) => append_as(out, RUN_ENDED, &launch::StoredEnding::from(e)),
        Entry::Version { of, text } => append_as(out, VERSION_OF, &(of, text)),
        Entry::Phase(p) => append_as(out, PHASE, &program::StoredPhase::from(p)),
        Entry::Process(p) => append_as(out, PROCESS, &program::StoredProcess::from(p)),
        Entry::Said(s) => append_as(out, SAID, &program::StoredSaid::from(s)),
    }
}

/// Understands a frame whose checksum held; the error says in words what it does not understand.
pub(crate) fn decode(kind: u8, version: u8, payload: &[u8]) -> Result<Decoded, String> {
    let entry = match kind {
        LAUNCH_STARTED => {
            Entry::LaunchStarted(read::<launch::StoredLaunch>(version, payload)?.into())
        }
        WINDOW => Entry::Window(read_window(version, payload)?),
        BLOCK_DONE => return read(version, payload).map(Decoded::BlockDone),
        LAUNCH_ENDED => {
            Entry::LaunchEnded(read::<launch::StoredLaunchEnd>(version, payload)?.into())
        }
        DELIVERED => Entry::Delivered(read_delivered(version, payload)?),
        DOUBT => Entry::Doubt(read::<window::StoredDoubt>(version, payload)?.try_into()?),
        RUN_ENDED => Entry::RunEnded(read::<launch::StoredEnding>(version, payload)?.into()),
        VERSION_OF => {
            let (of, text) = read::<(String, String)>(version, payload)?;
            Entry::Version { of, text }
        }
        PHASE => Entry::Phase(read::<program::StoredPhase>(version, payload)?.try_into()?),
        PROCESS => Entry::Process(read::<program::StoredProcess>(version, payload)?.into()),
        SAID => Entry::Said(read::<program::StoredSaid>(version, payload)?.into()),
        _ => return Ok(Decoded::UnknownKind),
    };
    Ok(Decoded::Entry(entry))
}

fn append_as<T: Serialize>(out: &mut Vec<u8>, kind: u8, stored: &T) -> Result<(), RecordError> {
    append_version(out, kind, VERSION, stored)
}

fn append_version<T: Serialize>(
    out: &mut Vec<u8>,
    kind: u8,
    version: u8,
    stored: &T,
) -> Result<(), RecordError> {
    frame::append(out, kind, version, |out| {
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

fn read_window(version: u8, payload: &[u8]) -> Result<Window, String> {
    if version < WINDOW_VERSION {
        return read::<window::StoredWindow>(version, payload)?.try_into();
    }
    let (front, addition): (window::StoredWindow, addition::StoredAddition) =
        read_since(WINDOW_VERSION, version, payload)?;
    let mut window: Window = front.try_into()?;
    addition.complete(&mut window);
    Ok(window)
}

fn read_delivered(version: u8, payload: &[u8]) -> Result<Delivered, String> {
    if version < DELIVERED_VERSION {
        return read::<delivered::StoredDelivered>(version, payload).map(Into::into);
    }
    let (front, more): (delivered::StoredDelivered, delivered::StoredMore) =
        read_since(DELIVERED_VERSION, version, payload)?;
    let mut delivered: Delivered = front.into();
    more.complete(&mut delivered);
    Ok(delivered)
}

fn read<T: DeserializeOwned>(version: u8, payload: &[u8]) -> Result<T, String> {
    read_since(VERSION, version, payload)
}

/// Takes a payload of the version `since` that `T` is, or of a later one.
fn read_since<T: DeserializeOwned>(since: u8, version: u8, payload: &[u8]) -> Result<T, String> {
    let (stored, rest) = postcard::take_from_bytes(payload).map_err(|e| e.to_string())?;
    match version {
        0 => Err("version 0 does not exist".to_owned()),
        v if v == since && !rest.is_empty() => Err(format!("{} bytes too many", rest.len())),
        // A later version only adds fields, behind those that are known here.
        _ => Ok(stored),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Drops;
    use crate::frame::{Frames, Step};
    use windage_model::{ArmIndex, Exchanges, MachineDelta, Outlier, Place, WindowCpu};

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

    fn window() -> Window {
        Window {
            place: Place {
                launch: 0,
                round: 0,
                block: 3,
                position: 1,
                arm: ArmIndex(2),
            },
            started_ns: 7_000_000_000,
            duration_ns: 100_000_000,
            stretch_ns: 112_000_000,
            exchanges: Exchanges {
                completed: 200,
                waited: 3,
                generator_preemptions: Some(0),
                ..Exchanges::default()
            },
            cpu: WindowCpu::default(),
            machine: MachineDelta::default(),
            rss_bytes: None,
            page_faults: 0,
            arm_context_switches: 0,
            doubts: vec![],
            outliers: vec![Outlier {
                // Before the window's own first look at the clock.
                intended_ns: 6_999_999_000,
                sent_ns: 7_000_000_100,
                completed_ns: 7_002_000_000,
            }],
        }
    }

    #[test]
    fn windows_of_either_version_are_read() {
        let whole = window();
        let front = postcard::to_stdvec(&window::StoredWindow::from(&whole)).unwrap();
        let addition = postcard::to_stdvec(&addition::StoredAddition::from(&whole)).unwrap();
        let both = [&front[..], &addition].concat();
        let longer = [&both[..], b"new field"].concat();
        // As an older version wrote it: what it did not record is nil or unknown.
        let mut old = window();
        old.outliers.clear();
        old.exchanges = Exchanges {
            completed: 200,
            ..Exchanges::default()
        };
        let table = [
            ("version 1", 1, &front, Some(&old)),
            ("version 2", 2, &both, Some(&whole)),
            ("fields added", 3, &longer, Some(&whole)),
            ("version 1, too long", 1, &both, None),
            ("version 2, too long", 2, &longer, None),
            ("version 2 without its addition", 2, &front, None),
            ("no such version", 0, &front, None),
        ];
        for (what, version, payload, expected) in table {
            let read = decode(WINDOW, version, payload).ok();
            let expected = expected.map(|w| Decoded::Entry(Entry::Window(w.clone())));
            assert_eq!(read, expected, "{what}");
        }
    }

    fn delivered() -> Delivered {
        Delivered {
            launch: 1,
            arm: ArmIndex(2),
            spans: 900,
            completed_requests: 1000,
            refused_spans: 100,
            drops: vec![Drops {
                reason: "queue full".to_owned(),
                lost: 60,
            }],
            ..Delivered::default()
        }
    }

    #[test]
    fn deliveries_of_either_version_are_read() {
        let whole = delivered();
        let front = postcard::to_stdvec(&delivered::StoredDelivered::from(&whole)).unwrap();
        let more = postcard::to_stdvec(&delivered::StoredMore::from(&whole)).unwrap();
        let both = [&front[..], &more].concat();
        let longer = [&both[..], b"new field"].concat();
        let old = Delivered {
            refused_spans: 0,
            drops: vec![],
            ..delivered()
        };
        let table = [
            ("version 1", 1, &front, Some(&old)),
            ("version 2", 2, &both, Some(&whole)),
            ("fields added", 3, &longer, Some(&whole)),
            ("version 1, too long", 1, &both, None),
            ("version 2, too long", 2, &longer, None),
            ("version 2 without its addition", 2, &front, None),
            ("no such version", 0, &front, None),
        ];
        for (what, version, payload, expected) in table {
            let read = decode(DELIVERED, version, payload).ok();
            let expected = expected.map(|d| Decoded::Entry(Entry::Delivered(d.clone())));
            assert_eq!(read, expected, "{what}");
        }
    }

    #[test]
    fn a_window_is_written_in_its_newest_version() {
        let mut out = Vec::new();
        append(&mut out, &Entry::Window(window()), [0, 0]).unwrap();
        match Frames::new(&out[..], 0).step().unwrap() {
            Step::Frame {
                kind,
                version,
                payload,
                ..
            } => {
                assert_eq!((kind, version), (WINDOW, WINDOW_VERSION));
                let front: window::StoredWindow = read(version, payload).unwrap();
                let older = Window::try_from(front).unwrap();
                assert_eq!(
                    older.exchanges.completed, 200,
                    "a reader of version 1 takes the front"
                );
                assert_eq!(
                    decode(kind, version, payload),
                    Ok(Decoded::Entry(Entry::Window(window())))
                );
            }
            other => panic!("{other:?}"),
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
