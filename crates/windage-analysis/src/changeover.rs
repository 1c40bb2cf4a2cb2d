//! What changeovers between arms cost: an arm's turn begins with caches that other arms have filled.
//!
//! A turn of n requests costs n·a + s: a for each request, s for the changeover. Some blocks have turns
//! of a quarter of the requests, which makes the share s/n four times as large and shows it.

use std::collections::BTreeMap;

use windage_model::{ArmIndex, Interval, Reason, TurnOrder, Warning};
use windage_stats::Confidence;

use crate::compare::mean;
use crate::ledger::Ledger;
use crate::run::Run;
use crate::special_blocks::{less_neighbours, log_cpu};
use crate::totals::interleaved;
use crate::turns::KeptBlock;

/// Turns that are not shorter by at least so much show nothing.
const SHORTER: f64 = 1.5;

/// What changeovers cost the baseline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ChangeoverCost {
    /// The share of its CPU per request.
    pub(crate) share: Interval,
    /// µs of CPU per changeover; `None` if its CPU per request is unknown.
    pub(crate) us: Option<f64>,
}

/// How an arm's CPU per request grows in short turns.
struct Growth {
    arm: ArmIndex,
    /// How many times as large the share of a changeover is in short turns, less one.
    times: f64,
    idle_cores: BTreeMap<u32, f64>,
}

impl Growth {
    /// `None` where its turns were not shorter in any block.
    fn of(run: &Run<'_>, arm: ArmIndex) -> Option<Growth> {
        let turns = &run.records.turns;
        let requests = |order| turns.requests_per_turn(arm, order);
        let shorter = requests(TurnOrder::Random)? / requests(TurnOrder::ShortTurns)?;
        (shorter >= SHORTER).then(|| Growth {
            arm,
            times: shorter - 1.0,
            idle_cores: run.records.ledgers.by_launch(arm, Ledger::idle_cores),
        })
    }

    /// Differs between blocks of short and of ordinary turns by the share of a changeover in ordinary
    /// ones, to first order.
    fn share(&self, launch: u32, block: &KeptBlock) -> Option<f64> {
        Some(log_cpu(block, self.arm, launch, &self.idle_cores)? / self.times)
    }

    /// The share of a changeover in ordinary turns.
    fn found(&self, run: &Run<'_>) -> Option<Interval> {
        let share = |launch: u32, block: &KeptBlock| self.share(launch, block);
        let turns = &run.records.turns;
        let found = less_neighbours(turns, TurnOrder::ShortTurns, Confidence::P95, share)?;
        Some(found.map(|log| (log * self.times).exp_m1() / self.times))
    }
}

/// What changeovers cost the baseline; `None` with too few blocks of short turns.
pub(crate) fn of_baseline(run: &Run<'_>) -> Option<ChangeoverCost> {
    let baseline = ArmIndex::BASELINE;
    let share = Growth::of(run, baseline)?.found(run)?;
    let launches = interleaved(run, baseline, &[baseline]);
    let request_us = mean(launches.values().map(|parts| parts.of_requests_us));
    let turns = &run.records.turns;
    let requests = turns.requests_per_turn(baseline, TurnOrder::Random);
    let turn_us = request_us.zip(requests).map(|(us, n)| us * n);
    Some(ChangeoverCost {
        share,
        us: turn_us.map(|us| us * share.estimate),
    })
}

/// How much larger the share of changeovers in an arm's CPU per request is than in the baseline's: by
/// so much, turns change the ratio of both. `None` for the baseline, and where it is unknown.
pub(crate) fn carry_over(run: &Run<'_>, arm: ArmIndex, at: Confidence) -> Option<Interval> {
    if arm == ArmIndex::BASELINE {
        return None;
    }
    let of_arm = Growth::of(run, arm)?;
    let of_baseline = Growth::of(run, ArmIndex::BASELINE)?;
    // Compared within each block, so that what the machine does to both cancels.
    let more = |launch: u32, block: &KeptBlock| {
        Some(of_arm.share(launch, block)? - of_baseline.share(launch, block)?)
    };
    let found = less_neighbours(&run.records.turns, TurnOrder::ShortTurns, at, more)?;
    // The logarithm of a ratio of two growths: from it, the difference of the shares.
    let growth_of_baseline = 1.0 + of_baseline.found(run)?.estimate * of_arm.times;
    Some(found.map(|log| growth_of_baseline * (log * of_arm.times).exp_m1() / of_arm.times))
}

/// A warning when changeovers change an arm's overhead by more than the margin.
pub(crate) fn warning(run: &Run<'_>, arm: ArmIndex) -> Option<Reason> {
    let found = carry_over(run, arm, Confidence::P99)?;
    found.lies_beyond(run.rules.margin).then(|| {
        Reason::from(Warning::CarryOver {
            relative_low: found.low,
            relative_high: found.high,
            confidence: found.confidence,
        })
    })
}

#[cfg(test)]
mod tests;
