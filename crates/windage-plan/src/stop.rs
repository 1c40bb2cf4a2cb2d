//! `design.stop`: when a run may end early.

use std::time::Duration;

use windage_model::{LoadModel, Metric};

/// A run ends when a metric's interval is narrow enough, or when its time is up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stop {
    /// The metric; one of [`Stop::metrics`].
    pub metric: Metric,
    /// The half-width of its interval, as a share of the baseline; above 0, below 1.
    pub half_width: f64,
    /// The maximum measuring time, over all rounds.
    pub within: Duration,
}

impl Stop {
    /// The fewest rounds, other than one. The first look is after as many launches: with fewer,
    /// intervals over launches don't keep their coverage when there are several looks
    /// (`docs/METHODOLOGY.md`, "CPU per request").
    pub const FEWEST_ROUNDS: u32 = 16;

    /// The metrics that `stop` may use: those that each window measures and that the load doesn't
    /// fix. (The throughput of an open load is its rate.)
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

    /// Whether a run with this number of rounds can be stopped: one, whose interval holds for that
    /// launch only, or at least [`Stop::FEWEST_ROUNDS`].
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
        let allowed: Vec<u32> = (0..=18).filter(|&rounds| Stop::allows(rounds)).collect();
        assert_eq!(allowed, [1, 16, 17, 18]);
    }
}
