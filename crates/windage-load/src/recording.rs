//! Where times are recorded: histograms of fixed size, so that recording never allocates.

use hdrhistogram::Histogram;

const LONGEST_NS: u64 = 60_000_000_000;

/// The times of a run's exchanges, in nanoseconds, with three significant digits from 1 ns to
/// 60 s; what is longer counts as 60 s.
///
/// A run adds to what is already there.
#[derive(Clone, Debug)]
pub struct Recording {
    /// Completed − intended start. In a closed loop the same as `service_time`.
    pub response_time: Histogram<u32>,
    /// Completed − sent.
    pub service_time: Histogram<u32>,
    /// Sent − intended start of those starts that found a free connection: the generator's own
    /// lateness. Empty in a closed loop.
    pub send_lag: Histogram<u32>,
}

impl Recording {
    /// Empty histograms.
    #[must_use]
    pub fn new() -> Recording {
        Recording {
            response_time: histogram(),
            service_time: histogram(),
            send_lag: histogram(),
        }
    }

    /// Forgets everything, keeping the memory.
    pub fn clear(&mut self) {
        self.response_time.clear();
        self.service_time.clear();
        self.send_lag.clear();
    }
}

impl Default for Recording {
    fn default() -> Self {
        Recording::new()
    }
}

fn histogram() -> Histogram<u32> {
    match Histogram::new_with_bounds(1, LONGEST_NS, 3) {
        Ok(histogram) => histogram,
        Err(error) => unreachable!("the bounds are constants that the library accepts: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_keep_three_digits_and_saturate() {
        let mut recording = Recording::new();
        for time_ns in [0, 1, 123_456, 3_600_000_000_000] {
            recording.service_time.saturating_record(time_ns);
        }
        assert_eq!(recording.service_time.len(), 4);
        assert!(recording.service_time.max().abs_diff(LONGEST_NS) < LONGEST_NS / 1000);
        assert!(
            recording
                .service_time
                .value_at_quantile(0.75)
                .abs_diff(123_456)
                < 124
        );
        recording.clear();
        assert!(recording.service_time.is_empty());
    }
}
