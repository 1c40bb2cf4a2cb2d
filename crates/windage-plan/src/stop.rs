//! When a run may end before its time: `design.stop`.

use std::time::Duration;

use windage_model::{LoadModel, Metric};

/// A run ends as soon as a metric is known well enough, or its time is up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stop {
    /// What has to be known; one of [`Stop::metrics`].
    pub metric: Metric,
    /// How well: half the width of its interval, as a share of the baseline; above 0, below 1.
    pub half_width: f64,
    /// Measuring time at most, over all rounds.
    pub within: Duration,
}

impl Stop {
    /// The fewest rounds but one for which there is a finite interval at every look: below it
    /// a sequence over launches has none, however equal they are.
    pub const FEWEST_ROUNDS: u32 = 6;

    /// The metrics that a run may wait for: those with a figure in each window that the load
    /// itself doesn't fix. (The throughput of an open load is its rate.)
    #[must_use]
    pub fn metrics(model: LoadModel) -> &'static [Metric] {
        match model {
            LoadModel::Open => &[
                Metric::CpuPerRequest,
                Metric::CpuInWindow,
                Metric::MachineCpuPerRequest,
            ],
            LoadModel::Closed => &[
                Metric::CpuPerRequest,
                Metric::CpuInWindow,
                Metric::MachineCpuPerRequest,
                Metric::Throughput,
            ],
            LoadModel::Batch => &[Metric::CpuPerIteration, Metric::WallPerIteration],
        }
    }

    /// Whether a run of so many rounds can be stopped: one, whose interval holds for that launch
    /// alone, or at least [`Stop::FEWEST_ROUNDS`].
    #[must_use]
    pub fn allows(rounds: u32) -> bool {
        rounds == 1 || rounds >= Stop::FEWEST_ROUNDS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_round_or_enough_of_them() {
        let allowed: Vec<u32> = (0..=8).filter(|&rounds| Stop::allows(rounds)).collect();
        assert_eq!(allowed, [1, 6, 7, 8]);
    }
}
