//! Reading the counts of a histogram: numbers of one byte or more, the nil ones in runs.

use super::{TimeCount, Times};

/// Counts as they are read, before there are as many as they will be.
#[derive(Default)]
pub(super) struct Reading {
    counts: Vec<TimeCount>,
    /// How many of `counts` are read; what is behind them is of a histogram before.
    read: usize,
    /// The sum of what is read.
    total: u64,
    /// Where the next count belongs.
    counter: usize,
}

/// Bytes that are read at a stroke.
const STROKE: usize = 8;
/// How many counters these pass over at most, when each is a number of its own.
const COUNTERS_OF_STROKE: usize = STROKE * 64;

impl Reading {
    /// Reads counts and runs of nil, which are stored as negative numbers.
    ///
    /// `highest_ns` has for each counter the highest of its times.
    pub(super) fn read(
        &mut self,
        mut bytes: &[u8],
        highest_ns: &[u64],
    ) -> Result<Times, &'static str> {
        (self.read, self.total, self.counter) = (0, 0, 0);
        // Each count takes a byte or more.
        let most = bytes.len().min(highest_ns.len()) + STROKE;
        if self.counts.len() < most {
            self.counts.resize(most, TimeCount { ns: 0, count: 0 });
        }
        while !bytes.is_empty() {
            if let Some((stroke, rest)) = bytes.split_first_chunk()
                && self.read_stroke(stroke, highest_ns)
            {
                bytes = rest;
            } else {
                self.read_one(&mut bytes, highest_ns)?;
            }
        }
        Ok(Times {
            counts: self.counts[..self.read].to_vec(),
            total: self.total,
        })
    }

    /// Reads numbers of one byte each; `false` when there is a longer one, or when they could
    /// reach beyond the last counter. Counts and runs follow each other without any pattern, so that
    /// what does not branch is several times as fast.
    fn read_stroke(&mut self, stroke: &[u8; STROKE], highest_ns: &[u64]) -> bool {
        let is_long = u64::from_ne_bytes(*stroke) & 0x8080_8080_8080_8080 != 0;
        let end = self.counter + COUNTERS_OF_STROKE;
        let (Some(highest_ns), false) = (highest_ns.get(self.counter..end), is_long) else {
            return false;
        };
        let Some(counts) = self.counts.get_mut(self.read..self.read + STROKE) else {
            return false;
        };
        let (mut read, mut counter, mut sum) = (0, 0, 0);
        for &stored in stroke {
            let magnitude = usize::from(stored >> 1);
            let is_run = usize::from(stored & 1);
            let count = magnitude * (1 - is_run);
            // Both stay below their bound; the remainders spare a check of each.
            counts[read % STROKE] = TimeCount {
                ns: highest_ns[counter % COUNTERS_OF_STROKE],
                count: count as u64,
            };
            read += usize::from(count > 0);
            counter += 1 + magnitude * is_run;
            sum += count as u64;
        }
        let Some(total) = self.total.checked_add(sum) else {
            return false;
        };
        self.total = total;
        self.read += read;
        self.counter += counter;
        true
    }

    /// Reads a number of any length.
    fn read_one(&mut self, bytes: &mut &[u8], highest_ns: &[u64]) -> Result<(), &'static str> {
        const BEYOND: &str = "its histogram has counts beyond its bounds";
        let stored = take_varint(bytes).ok_or("its histogram is cut")?;
        // Zigzag: the lowest bit is the sign.
        let magnitude = stored >> 1;
        if stored & 1 == 1 {
            // −1 is stored as 1, so that a run of nil is longer by one than what is stored.
            self.counter = usize::try_from(magnitude)
                .ok()
                .and_then(|run| self.counter.checked_add(run)?.checked_add(1))
                .filter(|counter| *counter <= highest_ns.len())
                .ok_or(BEYOND)?;
            return Ok(());
        }
        if magnitude > 0 {
            let ns = *highest_ns.get(self.counter).ok_or(BEYOND)?;
            let total = self.total.checked_add(magnitude);
            self.total = total.ok_or("its counts add up to more than any histogram holds")?;
            self.counts[self.read] = TimeCount {
                ns,
                count: magnitude,
            };
            self.read += 1;
        }
        self.counter += 1;
        Ok(())
    }
}

/// Takes an integer off the front: seven bits a byte, the lowest first, the ninth byte whole.
fn take_varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for place in 0..9 {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        if place == 8 {
            return Some(value | u64::from(byte) << 56);
        }
        value |= u64::from(byte & 0x7f) << (7 * place);
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}
