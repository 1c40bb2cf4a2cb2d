//! A window's times as they are stored: what an HdrHistogram counted, without its empty counters.
//!
//! A run may have millions of these histograms, each of some hundred counts among ten thousands
//! of counters. Making a whole histogram of each takes most of an analysis' time and memory, so
//! that they are decoded here into their counts alone.

mod reading;

use flate2::{Decompress, FlushDecompress, Status};
use hdrhistogram::{Counter, Histogram};

use self::reading::Reading;

/// A payload that inflates beyond it is damage and must not fill the memory.
const MAX_INFLATED_BYTES: usize = 64 << 20;
const COMPRESSED_COOKIE: [u8; 4] = 0x1c84_9314_u32.to_be_bytes();
const PLAIN_COOKIE: [u8; 4] = 0x1c84_9313_u32.to_be_bytes();

/// How often each time was recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Times {
    counts: Vec<TimeCount>,
    total: u64,
}

/// One counter of a histogram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeCount {
    /// The highest of the times that the histogram does not tell apart, in nanoseconds.
    pub ns: u64,
    /// How many there are.
    pub count: u64,
}

impl Times {
    /// The counts that are not nil, from the shortest time to the longest.
    #[must_use]
    pub fn counts(&self) -> &[TimeCount] {
        &self.counts
    }

    /// How many times there are.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.total
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.total == 0
    }

    /// The time that a share of all times, between 0 and 1, does not exceed, in nanoseconds; 0
    /// when there is none.
    #[must_use]
    pub fn value_at_quantile(&self, quantile: f64) -> u64 {
        let rank = rank(self.total, quantile);
        let mut passed = 0;
        let found = self.counts.iter().find(|counted| {
            passed += counted.count;
            passed >= rank
        });
        found.map_or(0, |counted| counted.ns)
    }

    /// Adds a counter behind the others; `None` when the sum is more than any histogram holds.
    fn push(&mut self, ns: u64, count: u64) -> Option<()> {
        self.total = self.total.checked_add(count)?;
        self.counts.push(TimeCount { ns, count });
        Some(())
    }
}

impl<T: Counter> From<&Histogram<T>> for Times {
    fn from(histogram: &Histogram<T>) -> Times {
        let mut times = Times::default();
        for counter in histogram.iter_recorded() {
            // A histogram's own total saturates, too.
            let count = counter.count_at_value().as_u64();
            let _ = times.push(counter.value_iterated_to(), count);
        }
        times
    }
}

/// Which of so many values, counted from 1 in their order, is at a quantile.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share of a count, which a float of that size may round as HdrHistogram does"
)]
fn rank(total: u64, quantile: f64) -> u64 {
    ((quantile.clamp(0.0, 1.0) * total as f64).ceil() as u64).clamp(1, total.max(1))
}

/// Decodes histograms one after another; what it needs of memory it needs once.
pub(crate) struct TimesDecoder {
    inflate: Decompress,
    plain: Vec<u8>,
    layout: Option<Layout>,
    reading: Reading,
}

/// Which times the counters of a histogram are for. It is the same for all of a run.
struct Layout {
    bounds: Bounds,
    /// By counter the highest of its times, in nanoseconds.
    highest_ns: Vec<u64>,
}

/// The range and the digits that a histogram keeps.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Bounds {
    low: u64,
    high: u64,
    digits: u8,
}

/// The head of a histogram before compression.
const PLAIN_HEADER_BYTES: usize = 40;

impl TimesDecoder {
    pub(crate) fn new() -> TimesDecoder {
        TimesDecoder {
            inflate: Decompress::new(true),
            plain: Vec::with_capacity(1 << 12),
            layout: None,
            reading: Reading::default(),
        }
    }

    /// Decodes a compressed histogram of version 2, as HdrHistogram's `V2Deflate` makes it.
    pub(crate) fn decode(&mut self, packed: &[u8]) -> Result<Times, &'static str> {
        self.inflate(packed)?;
        let (head, counts) = self
            .plain
            .split_first_chunk::<PLAIN_HEADER_BYTES>()
            .ok_or("its histogram is cut")?;
        let bounds = read_head(head, counts.len())?;
        let layout = match self.layout.take() {
            Some(layout) if layout.bounds == bounds => layout,
            _ => Layout::of(bounds)?,
        };
        let highest_ns = &self.layout.insert(layout).highest_ns;
        self.reading.read(counts, highest_ns)
    }

    /// Unpacks into `plain`, zlib's checksum included.
    fn inflate(&mut self, packed: &[u8]) -> Result<(), &'static str> {
        const CUT: &str = "its compressed histogram is cut or damaged";
        let body = match packed.split_at_checked(8) {
            Some((head, body)) if head[..4] == COMPRESSED_COOKIE => body,
            _ => return Err("it is no compressed histogram of version 2"),
        };
        self.inflate.reset(true);
        self.plain.clear();
        loop {
            let read = usize::try_from(self.inflate.total_in()).map_err(|_| CUT)?;
            let rest = body.get(read..).ok_or(CUT)?;
            let status =
                self.inflate
                    .decompress_vec(rest, &mut self.plain, FlushDecompress::Finish);
            let is_full = self.plain.len() == self.plain.capacity();
            match status.map_err(|_| CUT)? {
                Status::StreamEnd => return Ok(()),
                _ if self.plain.len() > MAX_INFLATED_BYTES => {
                    return Err("its histogram is too long");
                }
                _ if is_full => self.plain.reserve(self.plain.len().max(1 << 12)),
                Status::Ok | Status::BufError => return Err(CUT),
            }
        }
    }
}

/// Understands the head of a histogram that `counts_bytes` follow.
fn read_head(head: &[u8; PLAIN_HEADER_BYTES], counts_bytes: usize) -> Result<Bounds, &'static str> {
    // Cookie, length, offset and digits, then bounds and ratio.
    let (words, longs) = head.split_at(16);
    let word = |at: usize| {
        let bytes = words.as_chunks::<4>().0[at];
        u32::from_be_bytes(bytes)
    };
    let long = |at: usize| {
        let bytes = longs.as_chunks::<8>().0[at];
        u64::from_be_bytes(bytes)
    };
    if head[..4] != PLAIN_COOKIE || usize::try_from(word(1)).ok() != Some(counts_bytes) {
        return Err("its histogram has a wrong length or version");
    }
    // An offset or a ratio is what some shifted or scaled histograms have, and nobody here writes.
    if word(2) != 0 || long(2) != 1_f64.to_bits() {
        return Err("its histogram is shifted or scaled");
    }
    Ok(Bounds {
        low: long(0),
        high: long(1),
        digits: u8::try_from(word(3)).map_err(|_| "its histogram has impossible bounds")?,
    })
}

impl Layout {
    fn of(bounds: Bounds) -> Result<Layout, &'static str> {
        let Bounds { low, high, digits } = bounds;
        let empty = Histogram::<u8>::new_with_bounds(low, high, digits)
            .map_err(|_| "its histogram has impossible bounds")?;
        let counters = empty.iter_all();
        let highest_ns = counters.map(|counter| counter.value_iterated_to());
        Ok(Layout {
            bounds,
            highest_ns: highest_ns.collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::serialization::{Serializer, V2DeflateSerializer};
    use proptest::prelude::*;

    fn packed(histogram: &Histogram<u64>) -> Vec<u8> {
        let mut out = Vec::new();
        V2DeflateSerializer::new()
            .serialize(histogram, &mut out)
            .unwrap();
        out
    }

    fn sample() -> Histogram<u64> {
        let mut histogram = Histogram::new_with_bounds(1_000, 60_000_000_000, 3).unwrap();
        for ns in (1..500_u64).map(|i| i * i * 1_000) {
            histogram.record(ns).unwrap();
        }
        histogram
    }

    /// A compressed histogram of any counts' bytes.
    fn packed_counts(counts: &[u8]) -> Vec<u8> {
        use std::io::Write;
        let mut decoder = TimesDecoder::new();
        decoder.inflate(&packed(&sample())).unwrap();
        let mut plain = decoder.plain[..PLAIN_HEADER_BYTES].to_vec();
        plain[4..8].copy_from_slice(&u32::try_from(counts.len()).unwrap().to_be_bytes());
        plain.extend(counts);
        let mut deflated = flate2::write::ZlibEncoder::new(vec![], flate2::Compression::fast());
        deflated.write_all(&plain).unwrap();
        [&packed(&sample())[..8], &deflated.finish().unwrap()].concat()
    }

    proptest! {
        /// The library's own histogram has the same counts and the same quantiles.
        #[test]
        fn counts_and_quantiles_are_those_of_the_histogram(
            values in prop::collection::vec((1u64..50_000_000_000, 1u64..1 << 40), 0..200),
            digits in 1u8..5,
            low in 1u64..5_000,
        ) {
            let mut histogram =
                Histogram::<u64>::new_with_bounds(low, 60_000_000_000, digits).unwrap();
            for (ns, count) in values {
                histogram.record_n(ns, count).unwrap();
            }
            let times = TimesDecoder::new().decode(&packed(&histogram)).unwrap();
            prop_assert_eq!(&times, &Times::from(&histogram));
            prop_assert_eq!(times.len(), histogram.len());
            for quantile in [0.001, 0.1, 0.5, 0.9, 0.99, 0.999, 1.0] {
                prop_assert_eq!(
                    times.value_at_quantile(quantile),
                    histogram.value_at_quantile(quantile)
                );
            }
        }
    }

    #[test]
    fn a_decoder_follows_histograms_of_other_bounds() {
        let mut decoder = TimesDecoder::new();
        for (high, digits) in [(60_000_000_000, 3), (1_000_000, 2), (60_000_000_000, 3)] {
            let mut histogram = Histogram::<u64>::new_with_bounds(1, high, digits).unwrap();
            histogram.record_n(777_777, 5).unwrap();
            let times = decoder.decode(&packed(&histogram)).unwrap();
            assert_eq!(times, Times::from(&histogram), "{high}, {digits}");
        }
    }

    #[test]
    fn flipped_payloads_are_told_and_never_panic() {
        let whole = packed(&sample());
        let mut decoder = TimesDecoder::new();
        let expected = decoder.decode(&whole).unwrap();
        // Bytes 4 to 7 repeat the length, which nothing depends on.
        for at in (0..4).chain(8..whole.len()) {
            for bit in 0..8 {
                let mut flipped = whole.clone();
                flipped[at] ^= 1 << bit;
                let same = decoder
                    .decode(&flipped)
                    .is_ok_and(|times| times == expected);
                assert!(
                    decoder.decode(&flipped).is_err() || same,
                    "byte {at}, bit {bit}"
                );
            }
        }
        for length in 0..whole.len() {
            assert!(decoder.decode(&whole[..length]).is_err(), "cut to {length}");
        }
        assert_eq!(decoder.decode(&whole), Ok(expected), "and goes on");
    }

    #[test]
    fn impossible_counts_are_refused() {
        // The greatest count that can be stored, and a number that goes on.
        let most = [0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff];
        let all_but_one = [[0xff; 9].as_slice(), &[0xfd], &[0xff; 8], &[0]].concat();
        let table: [(&str, Vec<u8>, Result<u64, &str>); 6] = [
            (
                "runs of nil up to the last counter of all",
                all_but_one,
                Err("beyond its bounds"),
            ),
            ("a count", vec![4], Ok(2)),
            ("nil, then a count", vec![1, 0, 4], Ok(2)),
            (
                "the longest run of nil, twice",
                [0xff; 18].to_vec(),
                Err("beyond its bounds"),
            ),
            (
                "sound one by one",
                [most, most, most].concat(),
                Err("add up"),
            ),
            ("cut within a number", vec![0x80], Err("cut")),
        ];
        for (what, counts, expected) in table {
            let decoded = TimesDecoder::new().decode(&packed_counts(&counts));
            match (decoded, expected) {
                (Ok(times), Ok(total)) => assert_eq!(times.len(), total, "{what}"),
                (Err(why), Err(part)) => assert!(why.contains(part), "{what}: {why}"),
                (found, _) => panic!("{what}: {found:?}"),
            }
        }
        let beyond = [[0xff; 9].as_slice(), &[4]].concat();
        assert!(TimesDecoder::new().decode(&packed_counts(&beyond)).is_err());
    }
}
