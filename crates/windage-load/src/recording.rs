//! Fixed-size histograms of times, so that recording never allocates.

use hdrhistogram::Histogram;
use windage_model::Outlier;

use crate::outliers::Outliers;

/// A day, so that long waits are not recorded as shorter ones.
const LONGEST_NS: u64 = 86_400_000_000_000;

/// The times of a run's exchanges, in nanoseconds, with three significant digits from 1 ns to a
/// day; longer times count as a day.
///
/// A run adds to what is already recorded.
#[derive(Clone, Debug)]
pub struct Recording {
    /// Completed − intended start. In a closed loop equal to `service_time`.
    pub response_time: Histogram<u32>,
    /// Completed − sent.
    pub service_time: Histogram<u32>,
    /// Sent − intended start, of starts that found a free connection: the generator's own lateness.
    /// In a closed loop only of steps after think time.
    pub send_lag: Histogram<u32>,
    /// The slowest exchanges with their times.
    pub outliers: Outliers,
}

impl Recording {
    /// Empty.
    #[must_use]
    pub fn new() -> Recording {
        Recording {
            response_time: histogram(),
            service_time: histogram(),
            send_lag: histogram(),
            outliers: Outliers::new(),
        }
    }

    /// Records a whole answer: response time, service time, and the exchange itself if it is
    /// among the slowest. Times are nanoseconds of `CLOCK_MONOTONIC`.
    #[inline]
    pub fn note(&mut self, intended_ns: u64, sent_ns: u64, completed_ns: u64) {
        let outlier = Outlier {
            intended_ns,
            sent_ns,
            completed_ns,
        };
        self.response_time
            .saturating_record(outlier.response_time_ns());
        self.service_time
            .saturating_record(completed_ns.saturating_sub(sent_ns));
        self.outliers.note(outlier);
    }

    /// Merges what another thread recorded.
    ///
    /// # Panics
    /// When a histogram of `other` was replaced with one whose range exceeds 60 s.
    pub fn merge(&mut self, other: &Recording) {
        for (mine, theirs) in [
            (&mut self.response_time, &other.response_time),
            (&mut self.service_time, &other.service_time),
            (&mut self.send_lag, &other.send_lag),
        ] {
            let added = mine.add(theirs);
            assert!(added.is_ok(), "recordings have the same bounds: {added:?}");
        }
        self.outliers.merge(&other.outliers);
    }

    /// Forgets everything, keeping the memory.
    pub fn clear(&mut self) {
        self.response_time.reset();
        self.service_time.reset();
        self.send_lag.reset();
        self.outliers.clear();
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
        for time_ns in [0, 1, 123_456, 100_000_000_000_000] {
            recording.service_time.saturating_record(time_ns);
        }
        assert_eq!(recording.service_time.len(), 4);
        let longest_ns = recording.service_time.max();
        assert!(longest_ns >= LONGEST_NS, "{longest_ns}");
        assert!(
            recording
                .service_time
                .value_at_quantile(0.75)
                .abs_diff(123_456)
                < 124
        );
        recording.clear();
        assert!(recording.service_time.is_empty());
        assert_eq!(recording.service_time.max(), 0);
    }

    #[test]
    fn response_time_starts_at_the_intended_start_and_service_time_at_sending() {
        let mut recording = Recording::new();
        recording.note(1_000, 5_000, 25_000);
        let near = |histogram: &Histogram<u32>, expected_ns: u64| {
            histogram.max().abs_diff(expected_ns) <= expected_ns / 1000
        };
        assert!(near(&recording.response_time, 24_000));
        assert!(near(&recording.service_time, 20_000));
        assert!(
            recording.send_lag.is_empty(),
            "only the run knows whether it was late"
        );
        assert_eq!(recording.outliers.slowest()[0].sent_ns, 5_000);
    }

    #[test]
    fn recordings_of_threads_are_merged() {
        let (mut one, mut other) = (Recording::new(), Recording::new());
        one.note(0, 0, 1_000_000);
        other.note(0, 10, 9_000_000);
        other.send_lag.saturating_record(10);
        one.merge(&other);
        assert_eq!((one.response_time.len(), one.service_time.len()), (2, 2));
        assert_eq!(one.send_lag.len(), 1);
        let slowest: Vec<u64> = one.outliers.slowest().iter().map(|o| o.sent_ns).collect();
        assert_eq!(slowest, [10, 0]);
        one.clear();
        assert!(one.response_time.is_empty() && one.outliers.slowest().is_empty());
    }
}
