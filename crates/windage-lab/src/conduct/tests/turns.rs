//! Runs in which blocks of turns follow the windows of each round.

use super::fakes::{Fate, Given, Outcome, TurnScript, conducted};
use super::*;

fn with_turns(turn_script: TurnScript) -> Outcome {
    conducted(Given {
        turn_script: Some(turn_script),
        ..Given::default()
    })
}

fn turns(outcome: &Outcome) -> Vec<(u32, u32, u32)> {
    let turns = outcome.journal.turns.iter();
    turns.map(|of| (of.launch, of.round, of.block)).collect()
}

#[test]
fn turns_follow_the_windows_of_each_round() {
    let outcome = with_turns(|_| Fate::Fine);
    assert_eq!(outcome.result.unwrap(), Ending::Complete);
    assert_eq!(outcome.journal.blocks, Vec::from_iter(0..10));
    let windows = outcome.journal.windows.iter();
    let mut of_windows: Vec<u32> = windows.map(|window| window.place.block).collect();
    of_windows.dedup();
    assert_eq!(of_windows, [0, 1, 2, 5, 6, 7]);
    assert_eq!(
        outcome.calls,
        [
            "launch 0 round 0",
            "turns of [0, 1, 2] in block 3",
            "turns of [0, 1, 2] in block 4",
            "finish 0",
            "take down 0",
            "launch 1 round 1",
            "turns of [0, 1, 2] in block 8",
            "turns of [0, 1, 2] in block 9",
            "finish 1",
            "take down 1"
        ]
    );
}

#[test]
fn an_interrupted_block_of_turns_is_left_out() {
    let outcome = with_turns(|place| match place.block {
        4 => Fate::Interrupt,
        _ => Fate::Fine,
    });
    assert_eq!(outcome.result.unwrap(), Ending::Interrupted);
    assert_eq!(outcome.journal.blocks, [0, 1, 2, 3]);
    // It was measured, but a resumed run measures it again.
    assert_eq!(outcome.journal.turns.len(), 1);
    assert_eq!(outcome.journal.waiting_turns.len(), 1);
    assert_eq!(outcome.calls.last().unwrap(), "take down 0");
    assert!(
        outcome.journal.ends.is_empty(),
        "no readings of a cut drain"
    );
}

#[test]
fn a_death_in_a_block_of_turns_ends_the_run_or_the_arm() {
    let script: TurnScript = |place| match place.block {
        3 => Fate::Dies,
        _ => Fate::Fine,
    };
    let table = [
        (
            OnDeath::End,
            vec![(0, 0, 3)],
            "the run ends after the block",
        ),
        (
            OnDeath::Continue,
            vec![(0, 0, 3), (0, 0, 4), (1, 1, 8), (1, 1, 9)],
            "the others go on",
        ),
    ];
    for (on_death, expected, why) in table {
        let outcome = conducted(Given {
            turn_script: Some(script),
            on_death,
            ..Given::default()
        });
        assert_eq!(turns(&outcome), expected, "{why}");
        let ending = outcome.result.unwrap();
        let goes_on = on_death == OnDeath::Continue;
        assert_eq!(ending == Ending::Complete, goes_on, "{why}: {ending:?}");
        // The block in which it died says so, and so does the run, once.
        let codes = |warnings: &[Warning]| Vec::from_iter(warnings.iter().map(Warning::code));
        let of_block = codes(&outcome.journal.turns[0].warnings);
        assert_eq!(of_block, [WarningCode::ServiceDied], "{why}");
        let is_told = |of: &Event| matches!(of, Event::Warned { arm: None, .. });
        assert_eq!(outcome.events.iter().filter(|of| is_told(of)).count(), 1);
        let of_run = codes(&outcome.journal.warnings);
        assert_eq!(of_run, [WarningCode::ArmDied], "{why}");
        let without_it = "turns of [0, 1] in block 4".to_owned();
        assert_eq!(outcome.calls.contains(&without_it), goes_on, "{why}");
        let again = "turns of [0, 1, 2] in block 8".to_owned();
        assert_eq!(outcome.calls.contains(&again), goes_on, "{why}");
    }
}

#[test]
fn turns_without_a_baseline_end_the_run() {
    let outcome = conducted(Given {
        turn_script: Some(|_| Fate::OtherDies(ArmIndex::BASELINE)),
        on_death: OnDeath::Continue,
        ..Given::default()
    });
    assert!(matches!(outcome.result, Ok(Ending::Died { .. })));
    assert_eq!(outcome.journal.blocks, [0, 1, 2, 3], "the block is kept");
}

#[test]
fn a_failure_of_the_lab_in_turns_is_recorded() {
    let outcome = with_turns(|_| Fate::Fails);
    assert!(outcome.result.is_err());
    assert!(matches!(outcome.journal.ending, Some(Ending::Died { .. })));
    assert_eq!(outcome.journal.blocks, [0, 1, 2]);
}

#[test]
fn a_run_resumes_at_a_block_of_turns() {
    let outcome = conducted(Given {
        turn_script: Some(|_| Fate::Fine),
        start: Start {
            block: 4,
            launch: 1,
        },
        ..Given::default()
    });
    assert!(matches!(outcome.result, Ok(Ending::Complete)));
    assert_eq!(outcome.journal.blocks, Vec::from_iter(4..10));
    assert_eq!(turns(&outcome), [(1, 0, 4), (2, 1, 8), (2, 1, 9)]);
    // As drawn for an uninterrupted run.
    let whole = with_turns(|_| Fate::Fine);
    let orders = |outcome: &Outcome| {
        let turns = outcome.journal.turns.iter().rev().take(3);
        Vec::from_iter(turns.map(|of| of.order))
    };
    assert_eq!(orders(&outcome), orders(&whole));
}

#[test]
fn the_time_left_counts_windows_turns_and_the_drain_between() {
    let outcome = with_turns(|_| Fate::Fine);
    let planned = outcome.events.iter().find_map(|event| match event {
        Event::Planned { lasts, .. } => Some(lasts.as_millis()),
        _ => None,
    });
    // Warm-up, three blocks of windows, drain and idle, two blocks of turns, drain.
    let (windows, turns, round) = (6 * 110, 1000, 1000 + 3 * 660 + 300 + 2 * 1000 + 200);
    assert_eq!(planned, Some(2 * round));
    let left = outcome.events.iter().filter_map(|event| match event {
        Event::BlockDone { left, .. } => Some(left.as_millis()),
        _ => None,
    });
    let in_round = [
        2 * windows + 300 + 2 * turns + 200,
        windows + 300 + 2 * turns + 200,
        300 + 2 * turns + 200,
        turns + 200,
        200,
    ];
    let expected = in_round
        .map(|left| left + round)
        .into_iter()
        .chain(in_round);
    assert_eq!(Vec::from_iter(left), Vec::from_iter(expected));
}
