//! What a run did.

use windage_model::Exchanges;

use crate::recording::Recording;

/// What a run did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunReport {
    /// Counts of all that was sent and came back. Of requests that were sent, each is completed
    /// or an error other than `connect`; only a run that was stopped leaves some out. Send lag
    /// is that of the recording, which holds more than this run unless it was cleared before.
    pub exchanges: Exchanges,
    /// Start, in nanoseconds of `CLOCK_MONOTONIC`.
    pub started_ns: u64,
    /// End, with nothing outstanding, in nanoseconds of `CLOCK_MONOTONIC`.
    pub ended_ns: u64,
    /// Closed loop: first send to last completion, and no less than to the end of the time in which
    /// requests were sent; to the end of the run when nothing was completed.
    /// Open loop: the length of the schedule. In nanoseconds.
    pub duration_ns: u64,
    /// CPU that the generator's threads used for the run, in nanoseconds.
    pub generator_cpu_ns: u64,
    /// The first thing that went wrong, in words.
    pub first_error: Option<String>,
}

impl RunReport {
    /// Adds what another thread did in the same run.
    pub(crate) fn add(&mut self, other: RunReport) {
        self.exchanges.merge(&other.exchanges);
        self.started_ns = self.started_ns.min(other.started_ns);
        self.ended_ns = self.ended_ns.max(other.ended_ns);
        self.duration_ns = self.duration_ns.max(other.duration_ns);
        self.generator_cpu_ns += other.generator_cpu_ns;
        self.first_error = self.first_error.take().or(other.first_error);
    }

    /// Takes the send lag over from a recording of the whole run.
    pub(crate) fn take_lag_of(&mut self, recording: &Recording) {
        let (lag, exchanges) = (&recording.send_lag, &mut self.exchanges);
        exchanges.send_lag_ns_p50 = lag.value_at_quantile(0.5);
        exchanges.send_lag_ns_p99 = lag.value_at_quantile(0.99);
        exchanges.send_lag_ns_max = lag.max();
    }
}
