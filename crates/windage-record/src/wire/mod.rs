//! How entries are stored: in postcard, with types private to this module.
//!
//! Any change of them, including a new kind, raises [`crate::manifest::FORMAT`]. A format that only
//! lacks kinds is still read ([`crate::manifest::is_readable`]).

mod agent;
mod delivered;
mod launch;
mod program;
mod stored;
mod turns;
mod window;

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use self::stored::Store;
use crate::frame::{self, AppendError};
use crate::{Entry, RecordError};

const LAUNCH_STARTED: u8 = 1;
const WINDOW: u8 = 2;
const BLOCK_DONE: u8 = 3;
const LAUNCH_ENDED: u8 = 4;
const DELIVERED: u8 = 5;
const WARNING: u8 = 6;
const RUN_ENDED: u8 = 7;
const VERSION_OF: u8 = 8;
const PHASE: u8 = 9;
const PROCESS: u8 = 10;
const SELF_REPORTED: u8 = 11;
const AGENT: u8 = 12;
const TURNS: u8 = 13;
const SERVICES: u8 = 14;
const HELD: u8 = 15;

/// The commit mark of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BlockMark {
    /// The block.
    pub(crate) block: u32,
    /// Lengths of the histogram logs at the end of the block, in bytes: response times, then
    /// service times.
    pub(crate) histogram_bytes: [u64; 2],
}

/// A frame's decoded payload.
#[derive(Debug, PartialEq)]
#[expect(
    clippy::large_enum_variant,
    reason = "nearly all are windows; boxing each would cost more than it saves"
)]
pub(crate) enum Decoded {
    /// Any entry except a commit mark.
    Entry(Entry),
    /// A commit mark.
    BlockDone(BlockMark),
}

/// Appends the frame of an entry. The commit mark of an [`Entry::BlockDone`] needs the lengths of
/// the histogram logs, which the writer passes as `histogram_bytes`.
pub(crate) fn append(
    out: &mut Vec<u8>,
    entry: &Entry,
    histogram_bytes: [u64; 2],
) -> Result<(), RecordError> {
    match entry {
        Entry::LaunchStarted(l) => append_as(out, LAUNCH_STARTED, &l.store()),
        Entry::Window(w) => append_as(out, WINDOW, &w.store()),
        Entry::Turns(t) => append_as(out, TURNS, &t.store()),
        Entry::BlockDone { block } => {
            let block = *block;
            let mark = BlockMark {
                block,
                histogram_bytes,
            };
            append_as(out, BLOCK_DONE, &mark)
        }
        Entry::LaunchEnded(l) => append_as(out, LAUNCH_ENDED, &l.store()),
        Entry::Delivered(d) => append_as(out, DELIVERED, &d.store()),
        Entry::Warning(d) => append_as(out, WARNING, &d.store()),
        Entry::RunEnded(e) => append_as(out, RUN_ENDED, &e.store()),
        Entry::Version { of, text } => append_as(out, VERSION_OF, &(of, text)),
        Entry::Phase(p) => append_as(out, PHASE, &p.store()),
        Entry::Process(p) => append_as(out, PROCESS, &p.store()),
        Entry::SelfReport(s) => append_as(out, SELF_REPORTED, &s.store()),
        Entry::Agent(c) => append_as(out, AGENT, &c.store()),
        Entry::Services(s) => append_as(out, SERVICES, &s.store()),
        Entry::Held(h) => append_as(out, HELD, &h.store()),
    }
}

/// Decodes a frame with a valid checksum; the error says what is unknown.
pub(crate) fn decode(kind: u8, payload: &[u8]) -> Result<Decoded, String> {
    let entry = match kind {
        LAUNCH_STARTED => Entry::LaunchStarted(read(payload)?),
        WINDOW => Entry::Window(read(payload)?),
        TURNS => Entry::Turns(read(payload)?),
        BLOCK_DONE => return read_stored(payload).map(Decoded::BlockDone),
        LAUNCH_ENDED => Entry::LaunchEnded(read(payload)?),
        DELIVERED => Entry::Delivered(read(payload)?),
        WARNING => Entry::Warning(read(payload)?),
        RUN_ENDED => Entry::RunEnded(read(payload)?),
        VERSION_OF => {
            let (of, text) = read_stored(payload)?;
            Entry::Version { of, text }
        }
        PHASE => Entry::Phase(read(payload)?),
        PROCESS => Entry::Process(read(payload)?),
        SELF_REPORTED => Entry::SelfReport(read(payload)?),
        AGENT => Entry::Agent(read(payload)?),
        SERVICES => Entry::Services(read(payload)?),
        HELD => Entry::Held(read(payload)?),
        _ => return Err("the kind is unknown".to_owned()),
    };
    Ok(Decoded::Entry(entry))
}

fn append_as<T: Serialize>(out: &mut Vec<u8>, kind: u8, stored: &T) -> Result<(), RecordError> {
    frame::append(out, kind, |out| postcard::to_io(stored, out).map(|_| ())).map_err(|error| {
        RecordError::Unstorable {
            why: match error {
                AppendError::Payload(cause) => cause.to_string(),
                AppendError::TooLong(bytes) => {
                    let most = frame::MAX_PAYLOAD_BYTES;
                    format!("it has {bytes} bytes, the limit is {most}")
                }
            },
        }
    })
}

fn read<T: Store>(payload: &[u8]) -> Result<T, String> {
    T::restore(read_stored(payload)?)
}

fn read_stored<T: DeserializeOwned>(payload: &[u8]) -> Result<T, String> {
    let (stored, rest) = postcard::take_from_bytes(payload).map_err(|e| e.to_string())?;
    match rest.len() {
        0 => Ok(stored),
        many => Err(format!("{many} bytes too many")),
    }
}

#[cfg(test)]
mod tests;
