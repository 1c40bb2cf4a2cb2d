//! How entries are stored: postcard of types that nothing outside this module sees.
//!
//! Within a format there are additions only. A *new kind* must be one that an older reader can
//! pass over without concluding anything wrong. A *higher version* of a kind has its new fields
//! at the end, so that an older reader takes the front of the payload. Anything else raises
//! [`crate::frame::FORMAT`].

mod addition;
mod agent;
mod delivered;
mod launch;
mod program;
mod window;

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use windage_model::{Beside, Window};

use crate::frame::{self, AppendError};
use crate::{Delivered, Entry, LaunchEnd, RecordError};

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
const AGENT: u8 = 12;

/// The version of every other kind.
const VERSION: u8 = 1;
/// Version 2 has [`addition::StoredAddition`] behind the fields of version 1, version 3
/// [`agent::StoredBeside`] behind those, version 4 the time between the readings.
const WINDOW_VERSION: u8 = 4;
const WINDOW_WITH_BESIDE: u8 = 3;
const WINDOW_WITH_ADDITION: u8 = 2;
/// Version 2 has [`delivered::StoredMore`] behind the fields of version 1.
const DELIVERED_VERSION: u8 = 2;
/// Version 2 has [`launch::StoredMore`] behind the fields of version 1, version 3 Windage's own memory.
const LAUNCH_END_VERSION: u8 = 3;
const LAUNCH_END_WITH_MORE: u8 = 2;

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
                agent::StoredBeside::from(w.beside),
                w.beside.between_readings_ns,
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
        Entry::LaunchEnded(l) => append_version(
            out,
            LAUNCH_ENDED,
            LAUNCH_END_VERSION,
            &(
                launch::StoredLaunchEnd::from(l),
                launch::StoredMore::from(l),
                l.own_rss_bytes,
            ),
        ),
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
        Entry::Agent(c) => append_as(out, AGENT, &agent::StoredCycle::from(c)),
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
        LAUNCH_ENDED => Entry::LaunchEnded(read_launch_end(version, payload)?),
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
        AGENT => Entry::Agent(read::<agent::StoredCycle>(version, payload)?.into()),
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
    type Parts = (window::StoredWindow, addition::StoredAddition);
    let ((front, addition), beside): (Parts, Beside) = match version {
        ..WINDOW_WITH_ADDITION => {
            return read::<window::StoredWindow>(version, payload)?.try_into();
        }
        WINDOW_WITH_ADDITION => {
            let parts = read_since(WINDOW_WITH_ADDITION, version, payload)?;
            (parts, Beside::default())
        }
        WINDOW_WITH_BESIDE => {
            let (parts, beside): (Parts, agent::StoredBeside) =
                read_since(WINDOW_WITH_BESIDE, version, payload)?;
            (parts, beside.into())
        }
        _ => {
            let (parts, beside, between_readings_ns): (Parts, agent::StoredBeside, _) =
                read_since(WINDOW_VERSION, version, payload)?;
            let beside = Beside {
                between_readings_ns,
                ..beside.into()
            };
            (parts, beside)
        }
    };
    let mut window: Window = front.try_into()?;
    addition.complete(&mut window);
    window.beside = beside;
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

fn read_launch_end(version: u8, payload: &[u8]) -> Result<LaunchEnd, String> {
    type Parts = (launch::StoredLaunchEnd, launch::StoredMore);
    let ((front, more), own_rss_bytes): (Parts, Option<u64>) = match version {
        ..LAUNCH_END_WITH_MORE => {
            return read::<launch::StoredLaunchEnd>(version, payload).map(Into::into);
        }
        LAUNCH_END_WITH_MORE => (read_since(LAUNCH_END_WITH_MORE, version, payload)?, None),
        _ => read_since(LAUNCH_END_VERSION, version, payload)?,
    };
    let mut end: LaunchEnd = front.into();
    more.complete(&mut end);
    end.own_rss_bytes = own_rss_bytes;
    Ok(end)
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
mod tests;
