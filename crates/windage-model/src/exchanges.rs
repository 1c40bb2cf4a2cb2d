//! What a generator did in a stretch of load: counts, lateness, and its slowest exchanges.

/// Answers by class of their status, 1xx to 5xx.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StatusClasses(pub [u64; 5]);

impl StatusClasses {
    /// Counts one answer; a status outside 100…599 counts as a server error.
    pub fn count(&mut self, status: u16) {
        let class = match status {
            100..=599 => usize::from(status / 100) - 1,
            _ => 4,
        };
        self.0[class] += 1;
    }

    /// Answers of 400 and above.
    #[must_use]
    pub fn errors(&self) -> u64 {
        self.0[3] + self.0[4]
    }

    /// All answers.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    fn merge(&mut self, other: StatusClasses) {
        for (mine, theirs) in self.0.iter_mut().zip(other.0) {
            *mine += theirs;
        }
    }
}

/// Requests that got no answer, by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ErrorCounts {
    /// The connection could not be opened.
    pub connect: u64,
    /// No complete answer within the timeout.
    pub timeout: u64,
    /// The connection was reset or closed during an exchange.
    pub closed: u64,
    /// The answer was not HTTP, or its end could not be determined.
    pub protocol: u64,
}

impl ErrorCounts {
    /// The sum of all causes.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.connect + self.timeout + self.closed + self.protocol
    }

    fn merge(&mut self, other: ErrorCounts) {
        self.connect += other.connect;
        self.timeout += other.timeout;
        self.closed += other.closed;
        self.protocol += other.protocol;
    }
}

/// An open loop that completes less than this share of its rate has met a bottleneck.
pub const RATE_SHARE: f64 = 0.98;

/// What the load generator did in a window.
///
/// For a batch load `intended`, `sent` and `completed` count iterations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exchanges {
    /// Starts that the schedule asked for (closed loop: same as sent).
    pub intended: u64,
    /// Requests sent.
    pub sent: u64,
    /// Complete answers, of any status.
    pub completed: u64,
    /// Starts that never got a free connection in time.
    pub dropped: u64,
    /// Answers by status class.
    pub status: StatusClasses,
    /// Requests without an answer.
    pub errors: ErrorCounts,
    /// Connections that broke and were reopened, during settle or later.
    pub reopened: u64,
    /// Requests completed during settle, and during load since the arm's last window while agents
    /// were attached or detached. Not measured, but the subject used CPU for them.
    pub settle_completed: u64,
    /// Bytes sent, headers included.
    pub sent_bytes: u64,
    /// Bytes received, headers included.
    pub received_bytes: u64,
    /// The generator's own lateness, median, in nanoseconds (open loop).
    pub send_lag_ns_p50: u64,
    /// The generator's own lateness, 99th percentile, in nanoseconds (open loop).
    pub send_lag_ns_p99: u64,
    /// The generator's own lateness, worst, in nanoseconds (open loop).
    pub send_lag_ns_max: u64,
    /// Starts that waited for a free connection (open loop).
    pub waited: u64,
    /// Connections opened during the load because none was free.
    pub grown: u64,
    /// How often the kernel took the core from the generator's thread while it wanted to run;
    /// `None` when unreadable or not recorded.
    pub generator_preemptions: Option<u64>,
    /// Time that the generator's thread was ready to run but waited for a core, in nanoseconds;
    /// `None` when unreadable or not recorded.
    pub generator_run_queue_ns: Option<u64>,
    /// How often the generator, while polling, read the clock much later than it would have with
    /// its core to itself.
    pub stalls: u64,
    /// The longest of these stalls, in nanoseconds.
    pub longest_stall_ns: u64,
    /// When the longest stall began, in nanoseconds since the start of the load; in a
    /// [`Window`](crate::Window), since its start.
    pub longest_stall_at_ns: u64,
}

impl Exchanges {
    /// Adds another stretch of load: sums counts and times, keeps the worst lateness and stall.
    /// Quantiles of two stretches can't be merged, so the larger one is kept.
    pub fn merge(&mut self, other: &Exchanges) {
        self.intended += other.intended;
        self.sent += other.sent;
        self.completed += other.completed;
        self.dropped += other.dropped;
        self.status.merge(other.status);
        self.errors.merge(other.errors);
        self.reopened += other.reopened;
        self.settle_completed += other.settle_completed;
        self.sent_bytes += other.sent_bytes;
        self.received_bytes += other.received_bytes;
        self.send_lag_ns_p50 = self.send_lag_ns_p50.max(other.send_lag_ns_p50);
        self.send_lag_ns_p99 = self.send_lag_ns_p99.max(other.send_lag_ns_p99);
        self.send_lag_ns_max = self.send_lag_ns_max.max(other.send_lag_ns_max);
        self.waited += other.waited;
        self.grown += other.grown;
        self.generator_preemptions = sum(self.generator_preemptions, other.generator_preemptions);
        self.generator_run_queue_ns =
            sum(self.generator_run_queue_ns, other.generator_run_queue_ns);
        self.stalls += other.stalls;
        if other.longest_stall_ns > self.longest_stall_ns {
            self.longest_stall_ns = other.longest_stall_ns;
            self.longest_stall_at_ns = other.longest_stall_at_ns;
        }
    }

    /// Requests without an answer or with a status of 400 and above.
    #[must_use]
    pub fn failed(&self) -> u64 {
        self.errors.total() + self.status.errors()
    }

    /// Starts per second that the schedule asked for; `None` for a duration of zero.
    #[must_use]
    pub fn intended_per_s(&self, duration_ns: u64) -> Option<f64> {
        per_s(self.intended, duration_ns)
    }

    /// Requests sent per second; `None` for a duration of zero.
    #[must_use]
    pub fn offered_per_s(&self, duration_ns: u64) -> Option<f64> {
        per_s(self.sent, duration_ns)
    }

    /// Complete answers per second; `None` for a duration of zero.
    #[must_use]
    pub fn achieved_per_s(&self, duration_ns: u64) -> Option<f64> {
        per_s(self.completed, duration_ns)
    }
}

/// The sum of those that are known.
fn sum(a: Option<u64>, b: Option<u64>) -> Option<u64> {
    a.map_or(b, |a| Some(a + b.unwrap_or(0)))
}

fn per_s(count: u64, duration_ns: u64) -> Option<f64> {
    (duration_ns > 0).then(|| count as f64 * 1e9 / duration_ns as f64)
}

/// One slow exchange. All three times are on the same clock; in a [`Window`](crate::Window) that is
/// the run's (nanoseconds since it began).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Outlier {
    /// Its intended start; in a closed loop, when it was sent.
    pub intended_ns: u64,
    /// When its first byte was sent.
    pub sent_ns: u64,
    /// When its answer was complete.
    pub completed_ns: u64,
}

impl Outlier {
    /// Completed − intended start, in nanoseconds.
    #[must_use]
    #[inline]
    pub fn response_time_ns(&self) -> u64 {
        self.completed_ns.saturating_sub(self.intended_ns)
    }

    /// Sent − intended start, in nanoseconds: the wait before the subject saw it.
    #[must_use]
    pub fn waited_ns(&self) -> u64 {
        self.sent_ns.saturating_sub(self.intended_ns)
    }

    /// The same exchange on another clock, which reads `there_ns` when this one reads `here_ns`.
    #[must_use]
    pub fn on_clock(&self, here_ns: u64, there_ns: u64) -> Outlier {
        // Wrapping, because a time before `here_ns` is a negative distance.
        let moved = |at_ns: u64| at_ns.wrapping_sub(here_ns).wrapping_add(there_ns);
        Outlier {
            intended_ns: moved(self.intended_ns),
            sent_ns: moved(self.sent_ns),
            completed_ns: moved(self.completed_ns),
        }
    }

    /// Whether it overlaps that stretch of the same clock.
    #[must_use]
    pub fn overlaps(&self, from_ns: u64, to_ns: u64) -> bool {
        self.intended_ns < to_ns && from_ns < self.completed_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_fall_into_classes() {
        let mut classes = StatusClasses::default();
        for status in [100, 200, 204, 301, 404, 500, 599, 0, 999] {
            classes.count(status);
        }
        assert_eq!(classes.0, [1, 2, 1, 1, 4]);
        assert_eq!(classes.errors(), 5);
        assert_eq!(classes.total(), 9);
    }

    #[test]
    fn stretches_add_up_and_the_worst_is_kept() {
        let mut first = Exchanges {
            sent: 10,
            status: StatusClasses([0, 9, 0, 0, 1]),
            send_lag_ns_max: 7,
            generator_preemptions: Some(2),
            longest_stall_ns: 60_000,
            longest_stall_at_ns: 5,
            ..Exchanges::default()
        };
        let second = Exchanges {
            sent: 5,
            status: StatusClasses([0, 4, 0, 0, 0]),
            errors: ErrorCounts {
                timeout: 1,
                ..ErrorCounts::default()
            },
            send_lag_ns_max: 9,
            generator_run_queue_ns: Some(300),
            longest_stall_ns: 70_000,
            longest_stall_at_ns: 8,
            ..Exchanges::default()
        };
        first.merge(&second);
        assert_eq!((first.sent, first.failed()), (15, 2));
        assert_eq!(first.send_lag_ns_max, 9);
        assert_eq!(
            (first.generator_preemptions, first.generator_run_queue_ns),
            (Some(2), Some(300)),
            "a value that one lacks is taken from the other"
        );
        assert_eq!(
            (first.longest_stall_ns, first.longest_stall_at_ns),
            (70_000, 8),
            "length and time belong to the same stall"
        );
    }

    #[test]
    fn rates_are_distinguished() {
        let exchanges = Exchanges {
            intended: 200,
            sent: 150,
            completed: 100,
            ..Exchanges::default()
        };
        let rates = |ns| {
            (
                exchanges.intended_per_s(ns),
                exchanges.offered_per_s(ns),
                exchanges.achieved_per_s(ns),
            )
        };
        assert_eq!(
            rates(100_000_000),
            (Some(2000.0), Some(1500.0), Some(1000.0))
        );
        assert_eq!(rates(0), (None, None, None));
    }

    #[test]
    fn an_outlier_is_the_same_on_any_clock() {
        let outlier = Outlier {
            intended_ns: 1_000,
            sent_ns: 1_200,
            completed_ns: 9_000,
        };
        let moved = outlier.on_clock(5_000, 100_000);
        assert_eq!((moved.intended_ns, moved.completed_ns), (96_000, 104_000));
        assert_eq!(moved.response_time_ns(), outlier.response_time_ns());
        assert_eq!(moved.waited_ns(), 200);
        let table = [
            (0, 96_000, false, "before"),
            (95_000, 96_001, true, "into its beginning"),
            (100_000, 100_001, true, "within"),
            (104_000, 200_000, false, "after"),
        ];
        for (from_ns, to_ns, expected, why) in table {
            assert_eq!(moved.overlaps(from_ns, to_ns), expected, "{why}");
        }
    }
}
