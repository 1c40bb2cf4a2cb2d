//! What interleaving distorts: whether arms disturb one another, and whether turns and isolated
//! windows agree.

use std::collections::BTreeMap;

use windage_model::{ArmIndex, Interval, Reason, TurnOrder, Warning};
use windage_stats::Confidence;
use windage_stats::totals::{Effect, PairedTotals, difference};

use crate::ledger::Ledger;
use crate::run::Run;
use crate::special_blocks::{less_neighbours, log_cpu};
use crate::totals::{interleaved, of_windows};
use crate::turns::{KeptBlock, Turns};
use crate::{TurnFacts, changeover, conclude};

/// The facts about a run's turns; `None` for a run without any.
pub(crate) fn turn_facts(run: &Run<'_>) -> Option<TurnFacts> {
    let turns = &run.records.turns;
    let planned = run.records.manifest.design.turns?;
    let idle = run
        .records
        .ledgers
        .by_launch(ArmIndex::BASELINE, Ledger::idle_cores);
    let changeovers = changeover::of_baseline(run);
    (!turns.is_empty()).then(|| TurnFacts {
        blocks: u32::try_from(turns.count).unwrap_or(u32::MAX),
        block_s: planned.block_ns as f64 / 1e9,
        turn_s: planned.turn_ns.map(|ns| ns as f64 / 1e9),
        turn: turns.turn,
        measured_s: turns.load_ns as f64 / 1e9,
        change_by_heaviest: change_by_heaviest(turns, &idle),
        changeover_share: changeovers.map(|found| found.share),
        changeover_us: changeovers.and_then(|found| found.us),
    })
}

/// What the heaviest arm changes in the baseline's CPU per request, as a share: blocks with it
/// against neighbouring blocks of the same launch without it.
///
/// Without it the baseline has more turns in a block, so that its idle CPU is a smaller share of
/// each request: idle CPU is left out of both.
fn change_by_heaviest(turns: &Turns, idle_cores: &BTreeMap<u32, f64>) -> Option<Interval> {
    // The sign is turned, as the special blocks are those without it.
    let less = |launch: u32, block: &KeptBlock| {
        Some(-log_cpu(block, ArmIndex::BASELINE, launch, idle_cores)?)
    };
    let change = less_neighbours(turns, TurnOrder::WithoutHeaviest, Confidence::P95, less)?;
    Some(change.map(f64::exp_m1))
}

/// A warning when the heaviest arm changes the baseline by more than the margin.
pub(crate) fn arms_interfere(facts: &TurnFacts, margin: f64) -> Option<Warning> {
    let change = facts.change_by_heaviest.as_ref()?;
    change
        .lies_beyond(margin)
        .then_some(Warning::ArmsInterfere {
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
    found.lies_beyond(run.rules.margin).then(|| {
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
