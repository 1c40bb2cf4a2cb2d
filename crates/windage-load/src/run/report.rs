//! The results of a run.

use windage_model::Exchanges;

use crate::recording::Recording;

/// The results of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunReport {
    /// Counts of everything sent and received. Each request sent is completed or an error other
    /// than `connect`, except in a stopped run. Send lag is that of the recording, which includes
    /// earlier runs unless it was cleared.
    pub exchanges: Exchanges,
    /// Start, in nanoseconds of `CLOCK_MONOTONIC`.
    pub started_ns: u64,
    /// End, with nothing outstanding, in nanoseconds of `CLOCK_MONOTONIC`.
    pub ended_ns: u64,
    /// Closed loop: first send to last completion, but at least until sending ended. Open loop:
    /// the length of the schedule; with turns, from the start of the run to the last start of the
    /// schedule or the last completion, whichever is later. Without any completion, a closed loop
    /// and turns count to the end of the run. In nanoseconds.
    pub duration_ns: u64,
    /// CPU that the generator's threads used for the run, in nanoseconds.
    pub generator_cpu_ns: u64,
    /// The first error, for people.
    pub first_error: Option<String>,
}

impl RunReport {
    /// Merges another thread's report of the same run.
    pub(crate) fn add(&mut self, other: RunReport) {
        self.exchanges.merge(&other.exchanges);
        self.started_ns = self.started_ns.min(other.started_ns);
        self.ended_ns = self.ended_ns.max(other.ended_ns);
        self.duration_ns = self.duration_ns.max(other.duration_ns);
        self.generator_cpu_ns += other.generator_cpu_ns;
        self.first_error = self.first_error.take().or(other.first_error);
    }

    /// Takes the send lag from a recording of the whole run.
    pub(crate) fn take_lag_of(&mut self, recording: &Recording) {
        let (lag, exchanges) = (&recording.send_lag, &mut self.exchanges);
        exchanges.send_lag_ns_p50 = lag.value_at_quantile(0.5);
        exchanges.send_lag_ns_p99 = lag.value_at_quantile(0.99);
        exchanges.send_lag_ns_max = lag.max();
    }
}
