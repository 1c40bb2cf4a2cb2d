use windage_model::WarningCode;

use super::*;
use crate::fixture::Recorded;
use crate::fixture::in_turns::{CHANGEOVER_SHARE, OF_REQUESTS_US, records_with_turns};
use crate::{Analysis, analyse};

const TREATMENT: usize = 2;

fn analysed(run: &Recorded) -> Analysis {
    analyse(&run.gathered(), std::iter::empty(), std::iter::empty())
}

fn has_warning(analysis: &Analysis) -> bool {
    let metrics = analysis.arms[TREATMENT].metrics.values();
    let mut reasons = metrics.flat_map(|of| &of.validity.reasons);
    reasons.any(|reason| reason.code() == WarningCode::CarryOver)
}

/// The treatment defers a quarter of its work, and has no turns in the block but one before.
#[test]
fn intervals_cover_what_changeovers_cost() {
    const RUNS: u64 = 60;
    let more = CHANGEOVER_SHARE[TREATMENT] - CHANGEOVER_SHARE[0];
    let (mut of_baseline, mut of_control, mut of_treatment) = (0, 0, 0);
    for seed in 0..RUNS {
        let analysis = analysed(&records_with_turns(14, seed));
        let covers = |interval: &Interval, truth: f64| {
            u64::from(interval.low <= truth + 1e-4 && truth - 1e-4 <= interval.high)
        };
        let turns = analysis.design.turns.unwrap();
        of_baseline += covers(&turns.changeover_share.unwrap(), CHANGEOVER_SHARE[0]);
        // Twenty requests to a turn.
        let us = turns.changeover_share.unwrap().estimate * 20.0 * OF_REQUESTS_US[0];
        assert!((turns.changeover_us.unwrap() / us - 1.0).abs() < 0.03);
        of_control += covers(&analysis.arms[1].carry_over.unwrap(), 0.0);
        of_treatment += covers(&analysis.arms[TREATMENT].carry_over.unwrap(), more);
        assert_eq!(analysis.arms[0].carry_over, None);
        assert!(has_warning(&analysis), "the margin is half a percent");
    }
    // Of 60 intervals of 95 %, 53 or more cover in 99 of 100 cases.
    for (covered, what) in [
        (of_baseline, "baseline"),
        (of_control, "control"),
        (of_treatment, "treatment"),
    ] {
        assert!(covered >= 53, "{what}: {covered}");
    }
}

#[test]
fn nothing_is_known_or_warned_of_without_enough_shorter_turns() {
    type Change = fn(&mut Recorded);
    let table: [(&str, Change); 3] = [
        ("no block of short turns", |run| {
            for block in &mut run.turns {
                if block.order == TurnOrder::ShortTurns {
                    block.order = TurnOrder::Random;
                }
            }
        }),
        ("three blocks of short turns", |run| {
            let mut left = 3;
            let is_kept = |order: TurnOrder| order != TurnOrder::ShortTurns;
            run.turns.retain(|block| {
                left -= i32::from(!is_kept(block.order));
                is_kept(block.order) || left >= 0
            });
        }),
        ("turns that are not shorter", |run| {
            for block in &mut run.turns {
                block
                    .arms
                    .iter_mut()
                    .for_each(|of| of.turns = of.turns.min(20));
            }
        }),
    ];
    for (why, change) in table {
        let mut run = records_with_turns(14, 1);
        change(&mut run);
        let analysis = analysed(&run);
        let turns = analysis.design.turns.unwrap();
        let found = (turns.changeover_share, turns.changeover_us);
        assert_eq!(found, (None, None), "{why}");
        assert_eq!(analysis.arms[TREATMENT].carry_over, None, "{why}");
        assert!(!has_warning(&analysis), "{why}");
    }
}

#[test]
fn a_share_within_the_margin_is_no_warning() {
    let mut run = records_with_turns(14, 1);
    run.manifest.design.margin = 0.02;
    assert!(!has_warning(&analysed(&run)));
}
