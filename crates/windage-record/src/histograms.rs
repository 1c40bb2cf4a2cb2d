//! Histograms of every window, as HdrHistogram interval logs that other tools read as well.

use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind, Read};
use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use flate2::read::ZlibDecoder;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};
use windage_model::{ArmId, Window};

use crate::{Journal, Manifest, RecordError, RunDir};

/// Longer lines are damage: 16 MiB is a histogram of five digits over the whole range, many times.
const MAX_LINE_BYTES: u64 = 16 << 20;
/// A payload that inflates beyond it is damage and must not fill the memory.
const MAX_INFLATED_BYTES: u64 = 64 << 20;

/// Which time a histogram is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Timing {
    /// From the intended start to completion, in nanoseconds.
    ResponseTime,
    /// From the actual send to completion, in nanoseconds.
    ServiceTime,
}

impl Timing {
    /// Both, in the order in which commit marks keep the logs' lengths.
    pub const ALL: [Timing; 2] = [Timing::ResponseTime, Timing::ServiceTime];

    /// The log's name in the run directory.
    #[must_use]
    pub fn file_name(self) -> &'static str {
        match self {
            Timing::ResponseTime => "response_time.hlog",
            Timing::ServiceTime => "service_time.hlog",
        }
    }
}

/// Which window a histogram belongs to: the parts of `Tag=<arm>.<launch>.<block>.<position>`.
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
    /// Takes a tag apart; an arm's id may itself have dots.
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

/// Reads the histograms of every committed window, in the order of the log.
///
/// Windows in which nothing was completed have none. A line that cannot be read is an error
/// item, and the next one follows it. Intervals behind the journal's last commit mark are left
/// out and counted by [`Histograms::cut_bytes`].
///
/// # Errors
/// When the journal or the log cannot be opened, or the journal cannot be understood.
pub fn read_histograms(run: &RunDir, timing: Timing) -> Result<Histograms, RecordError> {
    let mut journal = Journal::open(run)?;
    for entry in journal.by_ref() {
        entry?;
    }
    let path = run.path().join(timing.file_name());
    let [response_bytes, service_bytes] = journal.histogram_bytes();
    let marked_bytes = match timing {
        Timing::ResponseTime => response_bytes,
        Timing::ServiceTime => service_bytes,
    };
    // Before the first commit mark there is the header alone.
    let committed_bytes = marked_bytes.max(header(run.manifest(), timing).len() as u64);
    let file = File::open(&path).map_err(RecordError::io("open", &path))?;
    let found_bytes = file
        .metadata()
        .map_err(RecordError::io("read", &path))?
        .len();
    Ok(Histograms {
        input: BufReader::new(file).take(committed_bytes),
        path,
        line: 0,
        cut_bytes: found_bytes.saturating_sub(committed_bytes),
        buffer: Vec::new(),
        deserializer: Deserializer::new(),
    })
}

/// An iterator over a log's histograms; see [`read_histograms`].
pub struct Histograms {
    input: io::Take<BufReader<File>>,
    path: PathBuf,
    line: u64,
    cut_bytes: u64,
    buffer: Vec<u8>,
    deserializer: Deserializer,
}

impl Histograms {
    /// Bytes at the log's end that belong to no committed block or to a torn line; final once
    /// the iterator is exhausted.
    #[must_use]
    pub fn cut_bytes(&self) -> u64 {
        self.cut_bytes
    }

    /// Reads the next whole line into the buffer; `false` at the end.
    fn next_line(&mut self) -> io::Result<bool> {
        self.buffer.clear();
        let read = self
            .input
            .by_ref()
            .take(MAX_LINE_BYTES)
            .read_until(b'\n', &mut self.buffer)?;
        self.line += 1;
        if self.buffer.ends_with(b"\n") {
            return Ok(true);
        }
        // No line is that long, and the file may go on behind this one: the rest is unreadable.
        let rest = io::copy(&mut self.input, &mut io::sink())?;
        self.cut_bytes += read as u64 + rest;
        Ok(false)
    }
}

impl Iterator for Histograms {
    type Item = Result<(TagParts, Histogram<u64>), RecordError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.next_line() {
                Ok(true) => {}
                Ok(false) => return None,
                Err(cause) => {
                    self.input.set_limit(0);
                    return Some(Err(RecordError::io("read", &self.path)(cause)));
                }
            }
            match decode_line(&self.buffer, &mut self.deserializer) {
                Ok(None) => {}
                Ok(Some(interval)) => return Some(Ok(interval)),
                Err(why) => {
                    let (path, line) = (self.path.clone(), self.line);
                    return Some(Err(RecordError::HistogramLine { path, line, why }));
                }
            }
        }
    }
}

/// The first lines of a log. The start is also the base: intervals count from it.
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

/// Makes lines of interval logs.
///
/// hdrhistogram's own log writer begins every log with its header and borrows what it writes to
/// for as long as it lives, which suits neither appending nor writing by blocks.
#[derive(Default)]
pub(crate) struct LineEncoder {
    serializer: V2DeflateSerializer,
    payload: Vec<u8>,
}

impl LineEncoder {
    /// Appends a window's line; a histogram without values has none.
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
            // The column is in milliseconds by convention, for display alone.
            histogram.max() as f64 / 1e6,
            BASE64.encode(&self.payload),
        );
        out.extend(line.into_bytes());
        Ok(())
    }
}

/// Nanoseconds as the seconds with three decimals that interval logs have.
fn seconds(ns: u64) -> String {
    format!("{}.{:03}", ns / 1_000_000_000, ns / 1_000_000 % 1000)
}

fn decode_line(
    line: &[u8],
    deserializer: &mut Deserializer,
) -> Result<Option<(TagParts, Histogram<u64>)>, String> {
    let interval = match IntervalLogIterator::new(line).next() {
        Some(Ok(LogEntry::Interval(interval))) => interval,
        Some(Ok(LogEntry::StartTime(_) | LogEntry::BaseTime(_))) | None => return Ok(None),
        Some(Err(_)) => return Err("it is no line of an interval log".to_owned()),
    };
    let tag = interval
        .tag()
        .and_then(|tag| TagParts::parse(tag.as_str()))
        .ok_or("its tag is not arm.launch.block.position")?;
    let packed = BASE64
        .decode(interval.encoded_histogram())
        .map_err(|e| e.to_string())?;
    let plain = inflate(&packed).map_err(|e| e.to_string())?;
    let histogram = deserializer
        .deserialize(&mut &plain[..])
        .map_err(|e| e.to_string())?;
    // Quantiles are computed from the sum of all counts, which must therefore exist.
    histogram
        .iter_recorded()
        .try_fold(0u64, |sum, value| sum.checked_add(value.count_at_value()))
        .ok_or("its counts add up to more than any histogram holds")?;
    Ok(Some((tag, histogram)))
}

/// Unpacks a compressed histogram and makes sure of what the deserializer takes on trust: it
/// stops before zlib's checksum, allocates whatever length it is told, and negates run lengths
/// of which one (−2^63, nine bytes of ones) has no opposite.
fn inflate(packed: &[u8]) -> io::Result<Vec<u8>> {
    const COMPRESSED_COOKIE: [u8; 4] = 0x1c84_9314_u32.to_be_bytes();
    const PLAIN_COOKIE: [u8; 4] = 0x1c84_9313_u32.to_be_bytes();
    const PLAIN_HEADER_BYTES: usize = 40;
    let invalid = |why| io::Error::new(ErrorKind::InvalidData, why);

    let body = match packed.split_at_checked(8) {
        Some((head, body)) if head[..4] == COMPRESSED_COOKIE => body,
        _ => return Err(invalid("it is no compressed histogram of version 2")),
    };
    let mut plain = Vec::new();
    ZlibDecoder::new(body)
        .take(MAX_INFLATED_BYTES)
        .read_to_end(&mut plain)?;
    let Some((head, counts)) = plain.split_at_checked(PLAIN_HEADER_BYTES) else {
        return Err(invalid("its histogram is cut"));
    };
    let stored = u32::from_be_bytes([head[4], head[5], head[6], head[7]]);
    if head[..4] != PLAIN_COOKIE || usize::try_from(stored).ok() != Some(counts.len()) {
        return Err(invalid("its histogram has a wrong length or version"));
    }
    if counts.windows(9).any(|bytes| bytes == [0xff; 9]) {
        return Err(invalid("its histogram has an impossible count"));
    }
    Ok(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_beyond_any_sum_are_refused() {
        // Found by fuzzing: the counts are sound one by one and overflow when added.
        let line = b"Tag=off.0.0.0,3.000,0.100,2.000,HISTFAAAACR42pNpmSzMwMCgywABzFDqBZDg/eEewWD/ASLSQAoAAFI3G7U=\n";
        let why = decode_line(line, &mut Deserializer::new()).unwrap_err();
        assert!(why.contains("add up"), "{why}");
    }

    fn packed(histogram: &Histogram<u32>) -> Vec<u8> {
        let mut out = Vec::new();
        V2DeflateSerializer::new()
            .serialize(histogram, &mut out)
            .unwrap();
        out
    }

    fn sample() -> Histogram<u32> {
        let mut histogram = Histogram::new_with_bounds(1_000, 60_000_000_000, 3).unwrap();
        for ns in (1..500_u64).map(|i| i * i * 1_000) {
            histogram.record(ns).unwrap();
        }
        histogram
    }

    #[test]
    fn tags_are_taken_apart_from_the_right() {
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

    #[test]
    fn flipped_payloads_are_told_and_never_panic() {
        let whole = packed(&sample());
        assert!(inflate(&whole).is_ok());
        // Bytes 4 to 7 repeat the length, which nothing depends on.
        for at in (0..4).chain(8..whole.len()) {
            for bit in 0..8 {
                let mut flipped = whole.clone();
                flipped[at] ^= 1 << bit;
                let same = inflate(&flipped).is_ok_and(|plain| plain == inflate(&whole).unwrap());
                assert!(inflate(&flipped).is_err() || same, "byte {at}, bit {bit}");
            }
        }
        for length in 0..whole.len() {
            assert!(inflate(&whole[..length]).is_err(), "cut to {length}");
        }
    }

    #[test]
    fn an_impossible_count_is_refused_before_it_is_negated() {
        use std::io::Write;
        let mut plain = inflate(&packed(&sample())).unwrap();
        plain.truncate(40);
        plain[4..8].copy_from_slice(&9_u32.to_be_bytes());
        plain.extend([0xff; 9]);
        let mut deflated = flate2::write::ZlibEncoder::new(vec![], flate2::Compression::fast());
        deflated.write_all(&plain).unwrap();
        let bytes = [&packed(&sample())[..8], &deflated.finish().unwrap()].concat();
        assert!(
            inflate(&bytes)
                .unwrap_err()
                .to_string()
                .contains("impossible count")
        );
    }
}
