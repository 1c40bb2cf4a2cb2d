//! A window's times as stored: the counts of an HdrHistogram, without its empty counters.
//!
//! A run may have millions of these histograms, each with a few hundred counts among tens of
//! thousands of counters. Building a whole histogram takes four times as long as reading its
//! counts.

use std::io::Read;

use flate2::bufread::ZlibDecoder;
use hdrhistogram::serialization::Deserializer;
use hdrhistogram::{Counter, Histogram};

/// A payload that inflates beyond this is damage: the generator's histograms have 40 000 counters
/// of at most five bytes.
const MAX_INFLATED_BYTES: u64 = 1 << 20;
/// Cookie and length, before the compressed part.
const PACKED_HEADER_BYTES: usize = 8;
/// The head of an uncompressed histogram: cookie, length of the counts, then the bounds.
const HEADER_BYTES: usize = 40;

/// How often each time was recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Times {
    counts: Vec<TimeCount>,
    total: u64,
}

/// One counter of a histogram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeCount {
    /// The longest time that this counter covers, in nanoseconds.
    pub ns: u64,
    /// How many times it counted.
    pub count: u64,
}

impl Times {
    /// The non-zero counts, from the shortest time to the longest.
    #[must_use]
    pub fn counts(&self) -> &[TimeCount] {
        &self.counts
    }

    /// The number of times.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.total
    }

    /// Whether it is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.total == 0
    }
}

impl<T: Counter> From<&Histogram<T>> for Times {
    fn from(histogram: &Histogram<T>) -> Times {
        let counts = histogram.iter_recorded().map(|counter| TimeCount {
            ns: counter.value_iterated_to(),
            count: counter.count_at_value().as_u64(),
        });
        Times {
            counts: counts.collect(),
            total: histogram.len(),
        }
    }
}

/// Unpacks histograms one after the other.
#[derive(Default)]
pub(crate) struct Unpacker {
    plain: Vec<u8>,
    layout: Option<Layout>,
}

/// The times that the counters of a histogram stand for; the same for a whole run.
struct Layout {
    /// Its source: a histogram's head, with the counts' length set to zero.
    header: [u8; HEADER_BYTES],
    /// By counter, the longest of its times, in nanoseconds.
    highest_ns: Vec<u64>,
}

impl Unpacker {
    /// Unpacks a compressed histogram of version 2, as HdrHistogram's `V2Deflate` writes it.
    pub(crate) fn unpack(&mut self, packed: &[u8]) -> Result<Times, String> {
        let compressed = packed.get(PACKED_HEADER_BYTES..).unwrap_or_default();
        self.plain.clear();
        ZlibDecoder::new(compressed)
            .take(MAX_INFLATED_BYTES)
            .read_to_end(&mut self.plain)
            .map_err(|cause| format!("its compressed histogram is damaged: {cause}"))?;
        let (header, counts) = self
            .plain
            .split_first_chunk()
            .ok_or("its histogram is cut")?;
        // The length of the counts, which are all that follows.
        let mut header: [u8; HEADER_BYTES] = *header;
        header[4..8].fill(0);
        let layout = match self.layout.take() {
            Some(layout) if layout.header == header => layout,
            _ => Layout::of(header)?,
        };
        read(counts, &self.layout.insert(layout).highest_ns)
    }
}

impl Layout {
    fn of(header: [u8; HEADER_BYTES]) -> Result<Layout, String> {
        let empty: Histogram<u8> = Deserializer::new()
            .deserialize(&mut header.as_slice())
            .map_err(|cause| format!("its histogram's head is damaged: {cause}"))?;
        let counters = empty.iter_all();
        let highest_ns = counters.map(|counter| counter.value_iterated_to());
        Ok(Layout {
            header,
            highest_ns: highest_ns.collect(),
        })
    }
}

/// Reads the counts of a histogram, in the order of its counters. A negative number says how many
/// counters are empty. Postcard encodes numbers as HdrHistogram does, except those above 2^55,
/// which no count comes near.
fn read(mut stored: &[u8], highest_ns: &[u64]) -> Result<Times, String> {
    const BEYOND: &str = "its histogram has counts outside its bounds";
    let mut times = Times {
        counts: Vec::with_capacity(stored.len()),
        total: 0,
    };
    let mut counter = 0_usize;
    while !stored.is_empty() {
        let (number, rest): (i64, _) = postcard::take_from_bytes(stored)
            .map_err(|cause| format!("its histogram's counts are damaged: {cause}"))?;
        stored = rest;
        let mut passed = 1;
        if number < 0 {
            passed = usize::try_from(number.unsigned_abs()).map_err(|_| BEYOND)?;
        } else if number > 0 {
            let count = number.unsigned_abs();
            let ns = *highest_ns.get(counter).ok_or(BEYOND)?;
            let total = times.total.checked_add(count);
            times.total = total.ok_or("its counts add up to more than any histogram holds")?;
            times.counts.push(TimeCount { ns, count });
        }
        let next = counter.checked_add(passed);
        counter = next.filter(|n| *n <= highest_ns.len()).ok_or(BEYOND)?;
    }
    Ok(times)
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

    /// A compressed histogram with these count bytes.
    fn packed_counts(counts: &[u8]) -> Vec<u8> {
        let mut unpacker = Unpacker::default();
        unpacker.unpack(&packed(&sample())).unwrap();
        deflated(&[&unpacker.plain[..HEADER_BYTES], counts].concat())
    }

    fn deflated(plain: &[u8]) -> Vec<u8> {
        use std::io::Write;
        let mut deflated = flate2::write::ZlibEncoder::new(vec![], flate2::Compression::fast());
        deflated.write_all(plain).unwrap();
        [&[0; PACKED_HEADER_BYTES], &deflated.finish().unwrap()[..]].concat()
    }

    proptest! {
        /// The library's own histogram has the same counts.
        #[test]
        fn counts_are_those_of_the_histogram(
            values in prop::collection::vec((1u64..50_000_000_000, 1u64..1 << 40), 0..200),
            digits in 1u8..5,
            low in 1u64..5_000,
        ) {
            let mut histogram =
                Histogram::<u64>::new_with_bounds(low, 60_000_000_000, digits).unwrap();
            for (ns, count) in values {
                histogram.record_n(ns, count).unwrap();
            }
            let times = Unpacker::default().unpack(&packed(&histogram)).unwrap();
            prop_assert_eq!(times, Times::from(&histogram));
        }
    }

    #[test]
    fn unpacking_follows_histograms_of_other_bounds() {
        let mut unpacker = Unpacker::default();
        for (high, digits) in [(60_000_000_000, 3), (1_000_000, 2), (60_000_000_000, 3)] {
            let mut histogram = Histogram::<u64>::new_with_bounds(1, high, digits).unwrap();
            histogram.record_n(777_777, 5).unwrap();
            let times = unpacker.unpack(&packed(&histogram)).unwrap();
            assert_eq!(times, Times::from(&histogram), "{high}, {digits}");
        }
    }

    #[test]
    fn damaged_payloads_are_reported_and_never_panic() {
        let whole = packed(&sample());
        let mut unpacker = Unpacker::default();
        let expected = unpacker.unpack(&whole).unwrap();
        for at in 0..whole.len() {
            for bit in 0..8 {
                let mut flipped = whole.clone();
                flipped[at] ^= 1 << bit;
                let same = unpacker
                    .unpack(&flipped)
                    .is_ok_and(|times| times == expected);
                assert!(
                    unpacker.unpack(&flipped).is_err() || same,
                    "byte {at}, bit {bit}"
                );
            }
        }
        for length in 0..whole.len() {
            assert!(
                unpacker.unpack(&whole[..length]).is_err(),
                "cut to {length}"
            );
        }
        assert_eq!(
            unpacker.unpack(&whole),
            Ok(expected),
            "the unpacker still works"
        );
    }

    #[test]
    fn impossible_counts_are_refused() {
        let of = |numbers: &[i64]| {
            let stored = numbers.iter().map(postcard::to_stdvec);
            stored.map(Result::unwrap).collect::<Vec<_>>().concat()
        };
        let table: [(&str, Vec<u8>, Result<u64, &str>); 8] = [
            ("a count", of(&[2]), Ok(2)),
            ("empty counters, then a count", of(&[-1, 0, 2]), Ok(2)),
            (
                "empty counters after the last",
                of(&[-100_000]),
                Err("outside its bounds"),
            ),
            (
                "the longest run of empty counters",
                of(&[i64::MIN, i64::MIN]),
                Err("outside its bounds"),
            ),
            (
                "the same as HdrHistogram writes it",
                [0xff; 9].to_vec(),
                Err("counts are damaged"),
            ),
            (
                "a count after the last counter",
                of(&vec![1; 100_000]),
                Err("outside its bounds"),
            ),
            ("each valid", of(&[i64::MAX; 3]), Err("add up")),
            ("cut within a number", vec![0x80], Err("counts are damaged")),
        ];
        for (what, counts, expected) in table {
            let unpacked = Unpacker::default().unpack(&packed_counts(&counts));
            match (unpacked, expected) {
                (Ok(times), Ok(total)) => assert_eq!(times.len(), total, "{what}"),
                (Err(why), Err(part)) => assert!(why.contains(part), "{what}: {why}"),
                (found, _) => panic!("{what}: {found:?}"),
            }
        }
    }

    #[test]
    fn impossible_heads_are_refused() {
        let mut unpacker = Unpacker::default();
        unpacker.unpack(&packed(&sample())).unwrap();
        let sound = unpacker.plain.clone();
        // The offset in the head, and the bytes written there.
        let table: [(&str, usize, &[u8]); 6] = [
            ("the cookie of the compressed part", 3, &[0x14]),
            ("shifted", 11, &[1]),
            ("six digits", 15, &[6]),
            ("no lowest time", 16, &[0; 8]),
            ("no highest time", 24, &[0; 8]),
            ("scaled", 32, &[0; 8]),
        ];
        for (what, at, bytes) in table {
            let mut plain = sound.clone();
            plain[at..at + bytes.len()].copy_from_slice(bytes);
            let why = unpacker.unpack(&deflated(&plain)).unwrap_err();
            assert!(why.contains("head is damaged"), "{what}: {why}");
        }
        assert!(unpacker.unpack(&deflated(&sound[..39])).is_err(), "cut");
        let bomb = deflated(&[&sound[..HEADER_BYTES], &[0; 16 << 20]].concat());
        assert!(unpacker.unpack(&bomb).is_err());
        assert_eq!(unpacker.plain.len() as u64, MAX_INFLATED_BYTES);
        assert!(
            unpacker.unpack(&deflated(&sound)).is_ok(),
            "the unpacker still works"
        );
    }
}
