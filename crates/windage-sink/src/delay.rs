//! Export delay: from the end of a span to its arrival.

/// Log2 of the buckets per doubling: values are exact to an eighth.
const BARS_BITS: u32 = 3;
const BARS: usize = 1 << BARS_BITS;
/// Delays below 2^10 ns fall into the first bucket, those beyond 2^43 ns (two hours) into the last.
const LOWEST_BIT: u32 = 10;
const DOUBLINGS: usize = 33;
const LENGTH: usize = DOUBLINGS * BARS;

/// A histogram of delays, small enough to be filled for each request.
#[derive(Clone, Debug)]
pub(crate) struct DelayHistogram {
    bars: Box<[u32; LENGTH]>,
    max_ns: u64,
    spans: u64,
}

impl Default for DelayHistogram {
    fn default() -> Self {
        DelayHistogram {
            bars: Box::new([0; LENGTH]),
            max_ns: 0,
            spans: 0,
        }
    }
}

/// How long spans took from their end to the sink.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delay {
    /// Spans with an end time.
    pub spans: u64,
    /// The median in nanoseconds. Like the other quantiles it is at most an eighth too large and
    /// never too small.
    pub p50_ns: u64,
    /// The 90th percentile, in nanoseconds.
    pub p90_ns: u64,
    /// The 99th percentile, in nanoseconds.
    pub p99_ns: u64,
    /// The longest, in nanoseconds.
    pub max_ns: u64,
}

impl DelayHistogram {
    #[inline]
    pub(crate) fn record(&mut self, delay_ns: u64) {
        self.bars[bar(delay_ns)] += 1;
        self.max_ns = self.max_ns.max(delay_ns);
        self.spans += 1;
    }

    pub(crate) fn add(&mut self, more: &DelayHistogram) {
        if more.spans == 0 {
            return;
        }
        for (bar, more) in self.bars.iter_mut().zip(more.bars.iter()) {
            *bar = bar.saturating_add(*more);
        }
        self.max_ns = self.max_ns.max(more.max_ns);
        self.spans += more.spans;
    }

    /// `None` when no span carried an end time.
    pub(crate) fn summary(&self) -> Option<Delay> {
        (self.spans > 0).then(|| Delay {
            spans: self.spans,
            p50_ns: self.quantile(50),
            p90_ns: self.quantile(90),
            p99_ns: self.quantile(99),
            max_ns: self.max_ns,
        })
    }

    /// The upper end of the bucket in which the percentile lies, at most the longest delay.
    fn quantile(&self, percent: u64) -> u64 {
        let rank = (self.spans * percent).div_ceil(100).max(1);
        let mut below = 0;
        let at = self.bars.iter().position(|&bar| {
            below += u64::from(bar);
            below >= rank
        });
        at.map_or(self.max_ns, |at| bar_end(at).min(self.max_ns))
    }
}

fn bar(delay_ns: u64) -> usize {
    let Some(bit) = delay_ns
        .checked_ilog2()
        .and_then(|bit| bit.checked_sub(LOWEST_BIT))
    else {
        return 0;
    };
    let within = (delay_ns >> (bit + LOWEST_BIT - BARS_BITS)) as usize & (BARS - 1);
    (bit as usize * BARS + within).min(LENGTH - 1)
}

fn bar_end(bar: usize) -> u64 {
    let (doubling, within) = ((bar / BARS) as u32, (bar % BARS) as u64);
    ((BARS as u64 + within + 1) << (doubling + LOWEST_BIT - BARS_BITS)) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_have_no_gaps() {
        for at in 0..LENGTH - 1 {
            assert_eq!(bar(bar_end(at)), at);
            assert_eq!(bar(bar_end(at) + 1), at + 1);
        }
        assert_eq!(bar(0), 0);
        assert_eq!(bar(u64::MAX), LENGTH - 1);
    }

    #[test]
    fn quantiles_are_within_a_bucket() {
        let mut histogram = DelayHistogram::default();
        assert_eq!(histogram.summary(), None);
        for ms in 1..=1000_u64 {
            histogram.record(ms * 1_000_000);
        }
        let delay = histogram.summary().unwrap();
        for (found, truth_ms) in [
            (delay.p50_ns, 500),
            (delay.p90_ns, 900),
            (delay.p99_ns, 990),
        ] {
            let ratio = found as f64 / (truth_ms * 1_000_000) as f64;
            assert!((1.0..=1.125).contains(&ratio), "{found} {truth_ms}");
        }
        assert_eq!((delay.spans, delay.max_ns), (1000, 1_000_000_000));
        let mut both = histogram.clone();
        both.add(&histogram);
        assert_eq!(both.summary().unwrap().spans, 2000);
    }
}
