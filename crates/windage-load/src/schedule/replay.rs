//! Replay of recorded arrival times.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

/// The largest file accepted.
const REPLAY_BYTES_MAX: u64 = 256 << 20;
/// Ten days, up to which an `f64` resolves fractions of a nanosecond.
const OFFSET_S_MAX: f64 = 864_000.0;
/// The byte order mark, which some programs write.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();
/// Longer than any written time.
const EXCERPT_BYTES: usize = 40;

/// Why recorded times can't be replayed.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The file could not be opened.
    #[error("can't open {file}: {source}; name a file with one time per line, in seconds")]
    Open {
        /// The file.
        file: String,
        /// The kernel's error.
        source: std::io::Error,
    },
    /// The file could not be read.
    #[error("can't read {file}: {source}")]
    Read {
        /// The file.
        file: String,
        /// The kernel's error.
        source: std::io::Error,
    },
    /// A line without a time.
    #[error(
        "{file}, line {line}: {found:?} is not a time; give seconds from the start of the recording, from 0 to 864000, such as 12.000345"
    )]
    NoTime {
        /// The file.
        file: String,
        /// The line, counted from 1.
        line: u64,
        /// The text found.
        found: String,
    },
    /// A line with an earlier time than the line before it.
    #[error(
        "{file}, line {line}: {found} is earlier than the time before it; sort the file by time"
    )]
    BackInTime {
        /// The file.
        file: String,
        /// The line, counted from 1.
        line: u64,
        /// The time as written.
        found: String,
    },
    /// A file without times.
    #[error("{file} has no times; give one per line, in seconds")]
    Nothing {
        /// The file.
        file: String,
    },
    /// Too large to keep in memory.
    #[error("{file} is larger than {} MiB; use a part of it", REPLAY_BYTES_MAX >> 20)]
    TooLarge {
        /// The file.
        file: String,
    },
    /// No offsets were given.
    #[error("the replay has no starts; give at least one offset")]
    NoStarts,
    /// An offset earlier than the one before it.
    #[error("offset {ordinal} of the replay is smaller than the one before it; sort them")]
    NotSorted {
        /// Which offset, counted from 1.
        ordinal: usize,
    },
}

/// Checks offsets from other sources than a file.
pub(super) fn check(offsets_ns: &[u64]) -> Result<(), ReplayError> {
    if offsets_ns.is_empty() {
        return Err(ReplayError::NoStarts);
    }
    match offsets_ns.windows(2).position(|pair| pair[1] < pair[0]) {
        Some(index) => Err(ReplayError::NotSorted { ordinal: index + 2 }),
        None => Ok(()),
    }
}

/// The offsets in a file, in nanoseconds.
pub(super) fn read(path: &Path) -> Result<Vec<u64>, ReplayError> {
    let file = path.display().to_string();
    match File::open(path) {
        Ok(opened) => read_from(opened, &file, REPLAY_BYTES_MAX),
        Err(source) => Err(ReplayError::Open { file, source }),
    }
}

fn read_from(reader: impl Read, name: &str, bytes_max: u64) -> Result<Vec<u64>, ReplayError> {
    let file = || name.to_owned();
    let mut reader = BufReader::new(reader.take(bytes_max + 1));
    let mut offsets_ns: Vec<u64> = Vec::new();
    let mut text = Vec::new();
    let mut bytes = 0;
    for line in 1u64.. {
        text.clear();
        let read = reader.read_until(b'\n', &mut text);
        bytes += read.map_err(|source| ReplayError::Read {
            file: file(),
            source,
        })? as u64;
        if bytes > bytes_max {
            return Err(ReplayError::TooLarge { file: file() });
        }
        if text.is_empty() {
            break;
        }
        let value = first_value(&text);
        match parse_seconds(value) {
            Ok(at_ns) if offsets_ns.last().is_some_and(|&before| at_ns < before) => {
                return Err(ReplayError::BackInTime {
                    file: file(),
                    line,
                    found: excerpt(value),
                });
            }
            Ok(at_ns) => offsets_ns.push(at_ns),
            Err(_) if text.trim_ascii().is_empty() => {}
            Err(NotATime::Text) if line == 1 => {}
            Err(_) => {
                return Err(ReplayError::NoTime {
                    file: file(),
                    line,
                    found: excerpt(value),
                });
            }
        }
    }
    if offsets_ns.is_empty() {
        return Err(ReplayError::Nothing { file: file() });
    }
    Ok(offsets_ns)
}

/// The text before the first comma.
fn first_value(line: &[u8]) -> &[u8] {
    let line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
    line.split(|&byte| byte == b',')
        .next()
        .unwrap_or(line)
        .trim_ascii()
}

/// An excerpt of a value for errors; a value can be a whole file without line ends.
fn excerpt(value: &[u8]) -> String {
    String::from_utf8_lossy(&value[..value.len().min(EXCERPT_BYTES)]).into_owned()
}

/// Why a value is not a time.
enum NotATime {
    /// Not a number: as a first line, this is a header.
    Text,
    /// A number, but not a valid offset.
    OutOfRange,
}

fn parse_seconds(value: &[u8]) -> Result<u64, NotATime> {
    let text = std::str::from_utf8(value).map_err(|_| NotATime::Text)?;
    let seconds: f64 = text.parse().map_err(|_| NotATime::Text)?;
    if !(0.0..=OFFSET_S_MAX).contains(&seconds) {
        return Err(NotATime::OutOfRange);
    }
    Ok((seconds * 1e9).round() as u64)
}

#[cfg(test)]
#[path = "replay_tests.rs"]
mod tests;
