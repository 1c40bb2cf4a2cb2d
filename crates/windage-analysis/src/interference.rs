//! What interleaving distorts: whether arms disturb one another, and whether turns and isolated
//! windows agree.

use std::collections::BTreeMap;

use windage_model::{ArmIndex, Interval, Method, Reason, TurnOrder, Warning};
use windage_stats::totals::{Effect, PairedTotals, difference};
use windage_stats::{Confidence, Launches, two_level};

use crate::compare::mean;
use crate::ledger::Ledger;
use crate::run::Run;
use crate::totals::{interleaved, of_windows};
use crate::turns::{KeptBlock, Turns};
use crate::{TurnFacts, conclude};

/// The fewest blocks without the heaviest arm from which a change is estimated.
const FEWEST_BLOCKS: usize = 4;

/// The facts about a run's turns; `None` for a run without any.
pub(crate) fn turn_facts(run: &Run<'_>) -> Option<TurnFacts> {
    let turns = &run.records.turns;
    let planned = run.records.manifest.design.turns?;
    let idle = run
        .records
        .ledgers
        .by_launch(ArmIndex::BASELINE, Ledger::idle_cores);
    (!turns.is_empty()).then(|| TurnFacts {
        blocks: u32::try_from(turns.count).unwrap_or(u32::MAX),
        block_s: planned.block_ns as f64 / 1e9,
        turn_s: planned.turn_ns.map(|ns| ns as f64 / 1e9),
        turn: turns.turn,
        measured_s: turns.load_ns as f64 / 1e9,
        change_by_heaviest: change_by_heaviest(turns, &idle),
    })
}

/// What the heaviest arm changes in the baseline's CPU per request, as a share: blocks with it
/// against neighbouring blocks of the same launch without it.
///
/// Without it the baseline has more turns in a block, so that its idle CPU is a smaller share of
/// each request: idle CPU is left out of both. The sample is launches, as blocks of a launch have
/// the baseline's luck in common.
fn change_by_heaviest(turns: &Turns, idle_cores: &BTreeMap<u32, f64>) -> Option<Interval> {
    let mut launches = Launches::default();
    let mut blocks_without = 0;
    for (launch, blocks) in turns.by_launch() {
        let Some(idle_cores) = idle_cores.get(&launch) else {
            continue;
        };
        let logs: Vec<Option<f64>> = blocks.iter().map(|of| log_cpu(of, *idle_cores)).collect();
        let changes: Vec<f64> = (0..blocks.len())
            .filter_map(|at| change_at(blocks, &logs, at))
            .collect();
        if let Some(change) = mean(changes.iter().copied()) {
            blocks_without += changes.len();
            launches.push(vec![change], 0.0);
        }
    }
    let found = two_level(&launches).ok()?;
    let (low, high) = found.ends(Confidence::P95);
    let change = Interval {
        estimate: found.estimate,
        low,
        high,
        confidence: Confidence::P95.get(),
        method: Method::MeanByLaunch,
    };
    (blocks_without >= FEWEST_BLOCKS).then(|| change.map(f64::exp_m1))
}

/// The logarithm of the baseline's CPU per request in a block; `None` when void or unknown.
fn log_cpu(block: &KeptBlock, idle_cores: f64) -> Option<f64> {
    let of = block.totals(ArmIndex::BASELINE)?;
    let per_request_ns = (of.cpu_ns - idle_cores * of.time_ns) / of.requests;
    // Infinite without a request.
    (!block.is_void && per_request_ns > 0.0 && per_request_ns.is_finite())
        .then(|| per_request_ns.ln())
}

/// The blocks before and after one without the heaviest arm, compared with it. A drift cancels where
/// both are there.
fn change_at(blocks: &[KeptBlock], logs: &[Option<f64>], at: usize) -> Option<f64> {
    let is_without = |at: usize| blocks[at].order == TurnOrder::WithoutHeaviest;
    let with = |at: usize| logs.get(at).copied().flatten().filter(|_| !is_without(at));
    if !is_without(at) {
        return None;
    }
    let neighbours = [at.checked_sub(1).and_then(with), with(at + 1)];
    Some(mean(neighbours.into_iter().flatten())? - logs[at]?)
}

/// A warning when the heaviest arm changes the baseline by more than the margin.
pub(crate) fn arms_interfere(facts: &TurnFacts, margin: f64) -> Option<Warning> {
    let change = facts.change_by_heaviest.as_ref()?;
    let is_beyond = change.low > margin || change.high < -margin;
    is_beyond.then_some(Warning::ArmsInterfere {
        relative_low: change.low,
        relative_high: change.high,
    })
}

/// The effect in isolated windows less the effect in turns, as a share of the baseline.
pub(crate) fn isolated_less_interleaved(run: &Run<'_>, arm: ArmIndex) -> Option<Interval> {
    disagreement(run, arm, Confidence::P95)
}

/// A warning when both ways of measuring an arm disagree by more than the margin.
pub(crate) fn measures_disagree(run: &Run<'_>, arm: ArmIndex) -> Option<Reason> {
    let found = disagreement(run, arm, Confidence::P99)?;
    let margin = run.rules.margin;
    let is_beyond = found.low > margin || found.high < -margin;
    is_beyond.then(|| {
        Reason::from(Warning::MeasuresDisagree {
            relative_low: found.low,
            relative_high: found.high,
            confidence: found.confidence,
        })
    })
}

fn disagreement(run: &Run<'_>, arm: ArmIndex, at: Confidence) -> Option<Interval> {
    if arm == ArmIndex::BASELINE || run.records.turns.is_empty() {
        return None;
    }
    let both = [arm, ArmIndex::BASELINE];
    let alone = of_windows(run, arm, &both);
    let alone_baseline = of_windows(run, ArmIndex::BASELINE, &both);
    let turns_baseline = interleaved(run, ArmIndex::BASELINE, &[arm]);
    let mut baseline_us = 0.0;
    let mut pairs = Vec::new();
    for (launch, turns) in interleaved(run, arm, &[arm]) {
        let Some(baseline) = turns_baseline.get(&launch) else {
            continue;
        };
        let isolated = alone.get(&launch).zip(alone_baseline.get(&launch));
        if let Some((arm, of_baseline)) = isolated {
            baseline_us += baseline.whole_us();
            pairs.push(PairedTotals {
                baseline: turns.whole_us() - baseline.whole_us(),
                arm: arm - of_baseline,
            });
        }
    }
    let found: Effect = difference(&pairs).ok()?;
    let mean_us = baseline_us / pairs.len() as f64;
    let interval = conclude::interval_of(&found, pairs.len(), at, run.rules)?;
    (mean_us > 0.0).then(|| interval.map(|us| us / mean_us))
}

#[cfg(test)]
mod tests {
    use super::*;
    use windage_model::fixtures::turn_block;

    /// Launches of three blocks, the second without the heaviest arm; the requests of the baseline
    /// cost `with` and `without` nanoseconds in all, and it is idle at a hundredth of a core.
    fn change(launches: u32, with: u64, without: u64) -> Option<Interval> {
        let mut turns = Turns::of_arms(3);
        for launch in 0..launches {
            // The machine's speed changes from launch to launch.
            let speed = 1 + u64::from(launch % 3);
            for position in 0..3 {
                let mut block = turn_block(launch, launch * 3 + position, &[0, 1, 2]);
                let is_without = position == 1;
                // Two arms instead of three share the rate.
                let more = if is_without { 3 } else { 2 };
                let of_requests = if is_without { without } else { with } * speed / 2 * more;
                let baseline = &mut block.arms[0];
                baseline.exchanges.completed = 200 * more;
                baseline.cpu_ns = Some(of_requests + 10_000_000 + u64::from(launch));
                if is_without {
                    block.order = TurnOrder::WithoutHeaviest;
                }
                turns.take(&block);
            }
        }
        let idle = (0..launches).map(|launch| (launch, 0.01)).collect();
        change_by_heaviest(&turns, &idle)
    }

    #[test]
    fn the_heaviest_arm_changes_the_baseline_by_what_neighbours_show() {
        let found = change(8, 44_000_000, 40_000_000).unwrap();
        assert!((found.estimate - 0.1).abs() < 1e-4, "{found:?}");
        let none = change(8, 40_000_000, 40_000_000).unwrap();
        let ends = [none.low, none.high];
        let is_none = ends.iter().all(|end| end.abs() < 1e-6);
        assert!(is_none, "idle CPU is no change: {none:?}");
        assert_eq!(change(3, 44, 40), None, "too few blocks");
    }

    #[test]
    fn interference_beyond_the_margin_is_a_warning() {
        let of = |change_by_heaviest| TurnFacts {
            change_by_heaviest,
            ..TurnFacts::default()
        };
        let change = change(8, 44_000_000, 40_000_000);
        assert!(arms_interfere(&of(change), 0.005).is_some());
        assert!(
            arms_interfere(&of(change), 0.2).is_none(),
            "within the margin"
        );
        assert!(arms_interfere(&of(None), 0.005).is_none(), "unknown");
    }
}
