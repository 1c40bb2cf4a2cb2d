//! Histograms of every window, as HdrHistogram interval logs that other tools can read.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use hdrhistogram::serialization::{Serializer, V2DeflateSerializer};
use windage_model::{ArmId, Warning, Window};

use crate::times::{Times, Unpacker};
use crate::{Journal, Manifest, RecordError, RunDir};

/// Longer lines are damage: 16 MiB is many times a five-digit histogram over the whole range.
const MAX_LINE_BYTES: u64 = 16 << 20;

/// Which time a histogram counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Timing {
    /// From the intended start to completion, in nanoseconds.
    ResponseTime,
    /// From the actual send to completion, in nanoseconds.
    ServiceTime,
}

impl Timing {
    /// Both, in the order of the log lengths in commit marks.
    pub const ALL: [Timing; 2] = [Timing::ResponseTime, Timing::ServiceTime];

    /// The log's name in the run directory.
    #[must_use]
    pub const fn file_name(self) -> &'static str {
        match self {
            Timing::ResponseTime => "response_time.hlog",
            Timing::ServiceTime => "service_time.hlog",
        }
    }
}

/// The window of a histogram: the parts of `Tag=<arm>.<launch>.<block>.<position>`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TagParts {
    /// The arm's id.
    pub arm: String,
    /// The launch.
    pub launch: u32,
    /// The block.
    pub block: u32,
    /// The position within the block.
    pub position: u32,
}

impl TagParts {
    /// Parses a tag; an arm's id may itself have dots.
    fn parse(tag: &str) -> Option<TagParts> {
        let mut parts = tag.rsplitn(4, '.');
        let mut number = || parts.next()?.parse().ok();
        let (position, block, launch) = (number()?, number()?, number()?);
        let arm = parts.next().filter(|arm| !arm.is_empty())?.to_owned();
        Some(TagParts {
            arm,
            launch,
            block,
            position,
        })
    }
}

/// What could not be read of a log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LostLines {
    /// How many lines; everything behind the last complete line counts as one.
    pub lines: u64,
    /// Their length, including what is missing at the end.
    pub bytes: u64,
}

impl LostLines {
    /// The warning about both logs of a run; `None` when everything was read.
    #[must_use]
    pub fn warning(logs: &[(Timing, LostLines)]) -> Option<Warning> {
        let damaged = || logs.iter().filter(|(_, lost)| lost.lines > 0);
        let files = damaged().map(|(timing, _)| timing.file_name().to_owned());
        damaged().next().map(|_| Warning::HistogramsDamaged {
            damaged_bytes: damaged().map(|(_, lost)| lost.bytes).sum(),
            lines_lost: damaged().map(|(_, lost)| lost.lines).sum(),
            files: files.collect(),
        })
    }
}

/// Reads the histograms of every committed window, in the order of the log.
///
/// Windows without a completed request have none. A line that cannot be read is an error item, and
/// the next one follows it; [`Histograms::lost`] counts them. Intervals after the journal's last
/// commit mark are left out.
///
/// # Errors
/// When the journal or the log cannot be opened, or the journal cannot be understood.
pub fn read_histograms(run: &RunDir, timing: Timing) -> Result<Histograms, RecordError> {
    let mut journal = Journal::open(run)?;
    for entry in journal.by_ref() {
        entry?;
    }
    read_committed_histograms(run, timing, journal.histogram_bytes())
}

/// As [`read_histograms`], for callers that have already read the journal to its end:
/// `histogram_bytes` is the result of [`Journal::histogram_bytes`] there.
///
/// # Errors
/// When the log cannot be opened.
pub fn read_committed_histograms(
    run: &RunDir,
    timing: Timing,
    [response_bytes, service_bytes]: [u64; 2],
) -> Result<Histograms, RecordError> {
    let path = run.path().join(timing.file_name());
    let committed_bytes = match timing {
        Timing::ResponseTime => response_bytes,
        Timing::ServiceTime => service_bytes,
    };
    let file = match windage_files::open(&path) {
        // A run that was killed before its first commit may have no log yet.
        Err(cause) if cause.kind() == io::ErrorKind::NotFound && committed_bytes == 0 => {
            File::open("/dev/null")
        }
        opened => opened,
    };
    let file = file.map_err(RecordError::io("open", &path))?;
    Ok(Histograms {
        input: BufReader::with_capacity(1 << 18, file).take(committed_bytes),
        path,
        line: 0,
        lost: LostLines::default(),
        buffer: Vec::new(),
        packed: Vec::new(),
        unpacker: Unpacker::default(),
    })
}

/// An iterator over a log's histograms; see [`read_histograms`].
pub struct Histograms {
    input: io::Take<BufReader<File>>,
    path: PathBuf,
    line: u64,
    lost: LostLines,
    buffer: Vec<u8>,
    packed: Vec<u8>,
    unpacker: Unpacker,
}

impl Histograms {
    /// What could not be read so far.
    #[must_use]
    pub fn lost(&self) -> LostLines {
        self.lost
    }

    /// Reads the next complete line into the buffer; `false` at the end.
    fn next_line(&mut self) -> io::Result<bool> {
        self.buffer.clear();
        self.input
            .by_ref()
            .take(MAX_LINE_BYTES)
            .read_until(b'\n', &mut self.buffer)?;
        self.line += 1;
        if self.buffer.ends_with(b"\n") {
            return Ok(true);
        }
        // No valid line is that long, and the file may continue after it: the rest is unreadable.
        self.lose_the_rest();
        Ok(false)
    }

    fn lose_the_rest(&mut self) {
        let rest = self.input.limit().saturating_add(self.buffer.len() as u64);
        self.input.set_limit(0);
        if rest > 0 {
            self.lose_line(rest);
        }
    }

    fn lose_line(&mut self, bytes: u64) {
        self.lost.lines += 1;
        self.lost.bytes = self.lost.bytes.saturating_add(bytes);
    }
}

impl Iterator for Histograms {
    type Item = Result<(TagParts, Times), RecordError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.next_line() {
                Ok(true) => {}
                Ok(false) => return None,
                Err(cause) => {
                    self.lose_the_rest();
                    return Some(Err(RecordError::io("read", &self.path)(cause)));
                }
            }
            match decode_line(&self.buffer, &mut self.packed, &mut self.unpacker) {
                Ok(None) => {}
                Ok(Some(interval)) => return Some(Ok(interval)),
                Err(why) => {
                    self.lose_line(self.buffer.len() as u64);
                    let (path, line) = (self.path.clone(), self.line);
                    return Some(Err(RecordError::HistogramLine { path, line, why }));
                }
            }
        }
    }
}

/// The first lines of a log. The start is also the base for intervals.
pub(crate) fn header(manifest: &Manifest, timing: Timing) -> Vec<u8> {
    let what = match timing {
        Timing::ResponseTime => "response time (completed - intended)",
        Timing::ServiceTime => "service time (completed - sent)",
    };
    let started = seconds(manifest.started_unix_ns);
    format!(
        "#[Histogram log format version 1.3]\n\
         #[{what} of every window, in nanoseconds; tags are arm.launch.block.position]\n\
         #[StartTime: {started} (seconds since epoch)]\n\
         #[BaseTime: {started} (seconds since epoch)]\n\
         \"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n"
    )
    .into_bytes()
}

/// Writes lines of interval logs.
///
/// hdrhistogram's own log writer begins every log with its header and borrows its output for its
/// whole lifetime, which prevents appending and writing by blocks.
#[derive(Default)]
pub(crate) struct LineEncoder {
    serializer: V2DeflateSerializer,
    payload: Vec<u8>,
}

impl LineEncoder {
    /// Appends a window's line; an empty histogram has none.
    pub(crate) fn append(
        &mut self,
        out: &mut Vec<u8>,
        arm: &ArmId,
        window: &Window,
        histogram: &Histogram<u32>,
    ) -> Result<(), RecordError> {
        if histogram.is_empty() {
            return Ok(());
        }
        self.payload.clear();
        self.serializer
            .serialize(histogram, &mut self.payload)
            .map_err(|cause| RecordError::Unstorable {
                why: cause.to_string(),
            })?;
        let place = window.place;
        let line = format!(
            "Tag={arm}.{}.{}.{},{},{},{:.3},{}\n",
            place.launch,
            place.block,
            place.position,
            seconds(window.started_ns),
            seconds(window.duration_ns),
            // By convention the column is in milliseconds, only for display.
            histogram.max() as f64 / 1e6,
            BASE64.encode(&self.payload),
        );
        out.extend(line.into_bytes());
        Ok(())
    }
}

/// Nanoseconds as seconds with three decimals, as in interval logs.
fn seconds(ns: u64) -> String {
    format!("{}.{:03}", ns / 1_000_000_000, ns / 1_000_000 % 1000)
}

fn decode_line(
    line: &[u8],
    packed: &mut Vec<u8>,
    unpacker: &mut Unpacker,
) -> Result<Option<(TagParts, Times)>, String> {
    let interval = match IntervalLogIterator::new(line).next() {
        Some(Ok(LogEntry::Interval(interval))) => interval,
        Some(Ok(LogEntry::StartTime(_) | LogEntry::BaseTime(_))) | None => return Ok(None),
        Some(Err(_)) => return Err("it is not a line of an interval log".to_owned()),
    };
    let tag = interval
        .tag()
        .and_then(|tag| TagParts::parse(tag.as_str()))
        .ok_or("its tag is not arm.launch.block.position")?;
    packed.clear();
    BASE64
        .decode_vec(interval.encoded_histogram(), packed)
        .map_err(|e| e.to_string())?;
    Ok(Some((tag, unpacker.unpack(packed)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overflowing_counts_are_refused() {
        // Found by fuzzing: each count is valid, but their sum overflows.
        let line = b"Tag=off.0.0.0,3.000,0.100,2.000,HISTFAAAACR42pNpmSzMwMCgywABzFDqBZDg/eEewWD/ASLSQAoAAFI3G7U=\n";
        let why = decode_line(line, &mut Vec::new(), &mut Unpacker::default()).unwrap_err();
        assert!(why.contains("its histogram's counts"), "{why}");
    }

    #[test]
    fn tags_are_parsed_from_the_right() {
        let parts = |arm: &str, launch, block, position| {
            Some(TagParts {
                arm: arm.to_owned(),
                launch,
                block,
                position,
            })
        };
        let table = [
            ("off.0.1.2", parts("off", 0, 1, 2)),
            (
                "otel-sampling-1.0.3.40.5",
                parts("otel-sampling-1.0", 3, 40, 5),
            ),
            ("1.2.3", None),
            (".1.2.3", None),
            ("off.1.2.x", None),
            ("off.1.2.-3", None),
            ("", None),
        ];
        for (tag, expected) in table {
            assert_eq!(TagParts::parse(tag), expected, "{tag}");
        }
    }

    #[test]
    fn seconds_have_three_decimals() {
        let table = [
            (0, "0.000"),
            (1_999_999, "0.001"),
            (12_345_678_901, "12.345"),
        ];
        for (ns, text) in table {
            assert_eq!(seconds(ns), text);
        }
    }
}
