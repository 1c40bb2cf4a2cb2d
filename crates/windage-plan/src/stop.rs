//! `design.stop`: when a run may end early.

use std::time::Duration;

use windage_model::{LoadModel, Metric, Order, Until};

use crate::{Length, Plan, defaults};

/// A run ends when it has measured enough, or when its time is up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stop {
    /// When it has measured enough. A metric is one of [`Stop::metrics`], a half-width above 0 and
    /// below 1.
    pub until: Until,
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

impl Plan {
    /// Replaces the length of the run: it ends when all budgets are decided, or after this much
    /// measuring time. Isolated windows are left out where no budget needs them.
    ///
    /// # Errors
    /// Why that is impossible, in a sentence for the user.
    pub fn stop_when_budgets_are_decided(&mut self, within: Duration) -> Result<(), String> {
        if self.decided_budgets().next().is_none() {
            let why = match (self.revisions.is_some(), self.budgets.is_empty()) {
                (true, _) => {
                    "the plan has no budget of a change to check: add a [[budget]] with of = \"change\""
                }
                (false, true) => "the plan has no [[budget]] to check",
                (false, false) => {
                    "every [[budget]] of the plan is of a change: name the revision to compare \
                     with, --base REV"
                }
            };
            return Err(why.to_owned());
        }
        if !self.other_loads.is_empty() {
            return Err(
                "a plan with regimes can't be checked: use a separate plan for each load"
                    .to_owned(),
            );
        }
        // Their figures come from turns alone.
        let are_of_turns = self.decided_budgets().all(|budget| {
            use Metric::{CpuOfRequests, CpuPerIteration, CpuPerRequest};
            matches!(
                budget.metric,
                CpuPerRequest | CpuPerIteration | CpuOfRequests
            )
        });
        let design = &mut self.design;
        if design.order == Order::Sequential {
            return Err(
                "a `sequential` plan can't be checked: it compares arms only after the last one is \
                 measured; remove `order`"
                    .to_owned(),
            );
        }
        design.stop = Some(Stop {
            until: Until::Budgets,
            within,
        });
        if let Some(turns) = design.interleaving.as_mut().filter(|_| are_of_turns) {
            turns.isolated = 0.0;
        }
        design.length = Length::MeasuringTime(within);
        design.rounds = design.rounds.max(defaults::rounds_within(within));
        Ok(())
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
