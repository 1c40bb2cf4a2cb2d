//! What interleaving distorts: whether arms disturb one another, and whether turns and isolated
//! windows agree.

use windage_model::{ArmIndex, Interval, Method, Reason, TurnOrder, Warning};
use windage_stats::totals::{Effect, PairedTotals, difference};
use windage_stats::{Confidence, Launches, two_level};

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
    let first = turns.blocks.first()?;
    Some(TurnFacts {
        blocks: u32::try_from(turns.blocks.len()).unwrap_or(u32::MAX),
        block_s: planned.block_ns as f64 / 1e9,
        turn_s: planned.turn_ns.map(|ns| ns as f64 / 1e9),
        turn: first.turn,
        measured_s: turns.load_ns as f64 / 1e9,
        change_by_heaviest: change_by_heaviest(turns),
    })
}

/// What the heaviest arm changes in the baseline's CPU per request, as a share: blocks with it
/// against neighbouring blocks of the same launch without it.
fn change_by_heaviest(turns: &Turns) -> Option<Interval> {
    let log = |block: &KeptBlock| {
        let us = block
            .cpu_us(ArmIndex::BASELINE)
            .filter(|_| !block.is_void)?;
        (us > 0.0).then(|| us.ln())
    };
    let mut changes = Launches::default();
    for (_, blocks) in turns.by_launch() {
        for (at, block) in blocks.iter().enumerate() {
            if block.order != TurnOrder::WithoutHeaviest {
                continue;
            }
            let is_whole = |other: &&KeptBlock| other.order != TurnOrder::WithoutHeaviest;
            let before = blocks[..at]
                .iter()
                .next_back()
                .filter(is_whole)
                .and_then(log);
            let after = blocks[at + 1..].first().filter(is_whole).and_then(log);
            let beside: Vec<f64> = before.into_iter().chain(after).collect();
            let with = beside.iter().sum::<f64>() / beside.len() as f64;
            changes.push(
                vec![log(block).map_or(f64::NAN, |without| with - without)],
                0.0,
            );
        }
    }
    let found = two_level(&changes).ok()?;
    let (low, high) = found.ends(Confidence::P95);
    let change = Interval {
        estimate: found.estimate,
        low,
        high,
        confidence: Confidence::P95.get(),
        method: Method::MeanByLaunch,
    };
    (found.launches >= FEWEST_BLOCKS).then(|| change.map(f64::exp_m1))
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
    let alone = of_windows(run, arm);
    let alone_baseline = of_windows(run, ArmIndex::BASELINE);
    let turns_baseline = interleaved(run, ArmIndex::BASELINE, arm);
    let mut baseline_us = 0.0;
    let mut pairs = Vec::new();
    for (launch, turns) in interleaved(run, arm, arm) {
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

    /// Launches of three blocks, the second without the heaviest arm; the baseline costs `with` and
    /// `without` nanoseconds.
    fn turns(launches: u32, with: u64, without: u64) -> Turns {
        let mut turns = Turns::default();
        for launch in 0..launches {
            // The machine's speed changes from launch to launch.
            let speed = 1 + u64::from(launch % 3);
            for position in 0..3 {
                let mut block = turn_block(launch, launch * 3 + position, &[0, 1, 2]);
                let cpu_ns = if position == 1 { without } else { with };
                block.arms[0].cpu_ns = Some(cpu_ns * speed + u64::from(launch));
                if position == 1 {
                    block.order = TurnOrder::WithoutHeaviest;
                }
                turns.take(&block);
            }
        }
        turns
    }

    #[test]
    fn the_heaviest_arm_changes_the_baseline_by_what_neighbours_show() {
        let change = change_by_heaviest(&turns(8, 44_000_000, 40_000_000)).unwrap();
        assert!((change.estimate - 0.1).abs() < 1e-4, "{change:?}");
        let none = change_by_heaviest(&turns(8, 40_000_000, 40_000_000)).unwrap();
        assert!(none.low <= 0.0 && 0.0 <= none.high, "{none:?}");
        assert_eq!(
            change_by_heaviest(&turns(3, 44, 40)),
            None,
            "too few blocks"
        );
    }

    #[test]
    fn interference_beyond_the_margin_is_a_warning() {
        let of = |change_by_heaviest| TurnFacts {
            change_by_heaviest,
            ..TurnFacts::default()
        };
        let change = change_by_heaviest(&turns(8, 44_000_000, 40_000_000));
        assert!(arms_interfere(&of(change), 0.005).is_some());
        assert!(
            arms_interfere(&of(change), 0.2).is_none(),
            "within the margin"
        );
        assert!(arms_interfere(&of(None), 0.005).is_none(), "unknown");
    }
}
