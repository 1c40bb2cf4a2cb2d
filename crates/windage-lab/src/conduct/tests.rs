use std::cell::RefCell;
use std::collections::BTreeSet;

use super::*;
use fakes::{FakeJournal, Fate, Given, NeverUp, Outcome, Script, conducted};

mod damage;
mod fakes;
mod stop;
mod turns;

fn from_the_start(script: Script) -> Outcome {
    conducted(Given {
        script,
        ..Given::default()
    })
}

#[test]
fn a_whole_run_measures_every_block_of_every_round() {
    let outcome = from_the_start(|_, _| Fate::Fine);
    assert_eq!(outcome.result.unwrap(), Ending::Complete);
    assert_eq!(outcome.journal.ending, Some(Ending::Complete));
    assert_eq!(outcome.journal.blocks, [0, 1, 2, 3, 4, 5]);
    // Three arms, the baseline once in each half: six windows per block.
    assert_eq!(outcome.journal.windows.len(), 36);
    assert_eq!(
        outcome.calls,
        [
            "launch 0 round 0",
            "finish 0",
            "take down 0",
            "launch 1 round 1",
            "finish 1",
            "take down 1"
        ]
    );
}

#[test]
fn time_left_falls_until_the_last_drain() {
    let outcome = from_the_start(|_, _| Fate::Fine);
    let left: Vec<Duration> = outcome
        .events
        .iter()
        .filter_map(|event| match event {
            Event::BlockDone { left, .. } => Some(*left),
            _ => None,
        })
        .collect();
    assert!(left.windows(2).all(|pair| pair[0] > pair[1]), "{left:?}");
    let planned = outcome.events.iter().find_map(|event| match event {
        Event::Planned { lasts, .. } => Some(*lasts),
        _ => None,
    });
    assert_eq!(planned, Some(Duration::from_millis(6 * 6 * 110 + 2 * 1300)));
    assert_eq!(left.last(), Some(&Duration::from_millis(300)));
    // After the first block: five blocks of six windows, this drain, and another round.
    assert_eq!(left[0], Duration::from_millis(5 * 6 * 110 + 300 + 1300));
}

#[test]
fn a_death_ends_the_run_in_order_when_the_plan_says_so() {
    let outcome = from_the_start(|window, place| {
        if window >= 7 && place.arm == ArmIndex(2) {
            Fate::Dies
        } else {
            Fate::Fine
        }
    });
    let Ok(Ending::Died { text }) = &outcome.result else {
        panic!("{:?}", outcome.result)
    };
    assert_eq!(
        text,
        "service `app` of arm 2 died; its last lines (app.log):\n  farewell"
    );
    assert_eq!(
        outcome.journal.ending.as_ref(),
        outcome.result.as_ref().ok()
    );
    // The block in which it happened is kept, and everything is ended.
    assert_eq!(outcome.journal.blocks, [0, 1]);
    assert_eq!(
        outcome.calls,
        ["launch 0 round 0", "finish 0", "take down 0"]
    );
    assert!(
        outcome
            .events
            .iter()
            .any(|event| matches!(event, Event::Warned { .. }))
    );
}

#[test]
fn a_run_ends_after_a_round_in_which_an_arm_answers_nothing_but_errors() {
    let treatment: Script = |_, place| match place.arm {
        ArmIndex(2) => Fate::OnlyErrors,
        _ => Fate::Fine,
    };
    let at_first: Script = |window, place| match place.arm {
        ArmIndex(2) if window < 6 => Fate::OnlyErrors,
        _ => Fate::Fine,
    };
    let baseline: Script = |_, place| match place.arm {
        ArmIndex(0) => Fate::OnlyErrors,
        _ => Fate::Fine,
    };
    let table = [
        (treatment, OnDeath::End, true, "a treatment"),
        (at_first, OnDeath::End, false, "errors in the first block"),
        (baseline, OnDeath::Continue, true, "nothing to compare with"),
    ];
    for (script, on_death, ends, why) in table {
        let outcome = conducted(Given {
            script,
            on_death,
            ..Given::default()
        });
        let result = outcome.result.unwrap();
        let launches = outcome
            .calls
            .iter()
            .filter(|call| call.starts_with("launch"));
        assert_eq!(launches.count() == 1, ends, "{why}: {:?}", outcome.calls);
        let found = outcome
            .journal
            .warnings
            .iter()
            .find_map(|warning| match warning {
                Warning::ServiceErrors {
                    answers,
                    answers_5xx,
                    answer,
                    last_words,
                    ..
                } => Some((*answers, *answers_5xx, answer.clone(), last_words.clone())),
                _ => None,
            });
        assert_eq!(found.is_some(), ends, "{why}");
        if let Some((answers, errors, answer, last_words)) = found {
            assert!(answers > 0 && answers == errors, "{why}");
            assert!(answer.unwrap().starts_with("500 by arm"), "{why}");
            assert_eq!(last_words, "no database");
            let Ending::Died { text } = result else {
                panic!("{why}: {result:?}")
            };
            assert!(
                text.contains("was answered 500") && text.contains("no database"),
                "{text}"
            );
        }
    }
}

#[test]
fn other_arms_go_on_when_the_plan_says_so() {
    let script: Script = |window, place| {
        if window < 7 && place.arm == ArmIndex(2) {
            Fate::Dies
        } else {
            Fate::Fine
        }
    };
    let outcome = conducted(Given {
        script,
        on_death: OnDeath::Continue,
        ..Given::default()
    });
    assert_eq!(outcome.result.unwrap(), Ending::Complete);
    let windows = &outcome.journal.windows;
    let of = |launch: u32, arm: u16| {
        windows
            .iter()
            .filter(|w| w.place.launch == launch && w.place.arm == ArmIndex(arm))
            .count()
    };
    // Once in the window in which it died; the next launch starts it again.
    assert_eq!((of(0, 2), of(0, 1), of(1, 2)), (1, 6, 6));
}

#[test]
fn an_arm_that_never_comes_up_is_left_out_of_its_round() {
    let table: [(NeverUp, OnDeath, bool, &str); 4] = [
        (&[(0, ArmIndex(2))], OnDeath::Continue, true, "one arm"),
        (&[(0, ArmIndex(2))], OnDeath::End, false, "as the plan says"),
        (
            &[(0, ArmIndex(0))],
            OnDeath::Continue,
            false,
            "no baseline to compare with",
        ),
        (
            &[(0, ArmIndex(1)), (0, ArmIndex(2))],
            OnDeath::Continue,
            false,
            "no treatment to compare with the baseline",
        ),
    ];
    for (never_up, on_death, goes_on, why) in table {
        let outcome = conducted(Given {
            never_up,
            on_death,
            ..Given::default()
        });
        let ending = outcome.result.unwrap();
        assert_eq!(ending == Ending::Complete, goes_on, "{why}: {ending:?}");
        let codes: Vec<WarningCode> = outcome.journal.warnings.iter().map(Warning::code).collect();
        assert_eq!(codes, vec![WarningCode::ArmDied; never_up.len()], "{why}");
        let windows = outcome.journal.windows.iter();
        let in_first: Vec<&Window> = windows.filter(|w| w.place.launch == 0).collect();
        assert_eq!(in_first.is_empty(), !goes_on, "{why}");
        assert!(in_first.iter().all(|w| w.place.arm != ArmIndex(2)), "{why}");
        // What is running is ended; the next launch starts everything again.
        assert!(outcome.calls.contains(&"take down 0".to_owned()), "{why}");
        let in_second = outcome.journal.windows.len() - in_first.len();
        assert_eq!(in_second, if goes_on { 18 } else { 0 }, "{why}");
    }
}

#[test]
fn a_death_in_another_arms_window_is_noticed() {
    let script: Script = |window, _| {
        if window == 1 {
            Fate::OtherDies(ArmIndex(2))
        } else {
            Fate::Fine
        }
    };
    let outcome = from_the_start(script);
    assert!(matches!(outcome.result, Ok(Ending::Died { .. })));
    let outcome = conducted(Given {
        script,
        on_death: OnDeath::Continue,
        ..Given::default()
    });
    assert_eq!(outcome.result.unwrap(), Ending::Complete);
    let codes: Vec<WarningCode> = outcome.journal.warnings.iter().map(Warning::code).collect();
    assert_eq!(codes, [WarningCode::ArmDied]);
}

#[test]
fn a_death_that_all_arms_share_is_one_warning() {
    let outcome = conducted(Given {
        script: |window, _| match window {
            1 => Fate::SharedDies,
            _ => Fate::Fine,
        },
        on_death: OnDeath::Continue,
        ..Given::default()
    });
    let Ok(Ending::Died { text }) = &outcome.result else {
        panic!("{:?}", outcome.result)
    };
    assert!(text.ends_with("farewell"), "the log is quoted: {text}");
    let [warning] = outcome.journal.warnings.as_slice() else {
        panic!("{:?}", outcome.journal.warnings)
    };
    let expected = Warning::ArmDied {
        arms: ["off", "control", "otel"].map(str::to_owned).to_vec(),
        service: "app".to_owned(),
        whose: "that all arms share".to_owned(),
        how: "died".to_owned(),
        last_words: "farewell".to_owned(),
    };
    assert_eq!(warning, &expected);
    let notes = |words: &str| {
        let is_one = |event: &&Event| matches!(event, Event::Note { text } if text.contains(words));
        outcome.events.iter().filter(is_one).count()
    };
    assert_eq!((notes("farewell"), notes("for the same reason")), (1, 2));
}

#[test]
fn without_a_baseline_nothing_can_go_on() {
    let script: Script = |_, place| {
        if place.arm == ArmIndex::BASELINE {
            Fate::Dies
        } else {
            Fate::Fine
        }
    };
    let outcome = conducted(Given {
        script,
        on_death: OnDeath::Continue,
        ..Given::default()
    });
    assert!(matches!(outcome.result, Ok(Ending::Died { .. })));
}

#[test]
fn an_interrupted_block_is_left_out_and_what_was_measured_before_is_kept() {
    let outcome = from_the_start(|window, _| {
        if window == 8 {
            Fate::Interrupt
        } else {
            Fate::Fine
        }
    });
    assert_eq!(outcome.result.unwrap(), Ending::Interrupted);
    assert_eq!(outcome.journal.blocks, [0]);
    assert_eq!(outcome.journal.windows.len(), 6);
    // Deferred cost is not waited for, but the services are ended.
    assert_eq!(outcome.calls, ["launch 0 round 0", "take down 0"]);
}

#[test]
fn an_interrupted_drain_gives_no_deferred_cost() {
    let journal = FakeJournal {
        interrupted_in_drain: true,
        ..FakeJournal::default()
    };
    let outcome = conducted(Given {
        journal,
        ..Given::default()
    });
    assert_eq!(outcome.result.unwrap(), Ending::Interrupted);
    assert_eq!(outcome.journal.ends, Vec::<u32>::new());
    assert_eq!(outcome.journal.blocks, [0, 1, 2]);
}

#[test]
fn a_failure_of_the_lab_is_recorded() {
    let outcome = from_the_start(|window, _| if window == 8 { Fate::Fails } else { Fate::Fine });
    assert!(outcome.result.is_err());
    assert!(matches!(outcome.journal.ending, Some(Ending::Died { .. })));
    assert_eq!(outcome.journal.blocks, [0]);
}

#[test]
fn a_full_disk_ends_the_run_and_keeps_the_blocks_before() {
    let journal = FakeJournal {
        full_after_blocks: Some(2),
        ..FakeJournal::default()
    };
    let outcome = conducted(Given {
        journal,
        ..Given::default()
    });
    assert!(matches!(outcome.result, Err(LabError::Record(_))));
    assert_eq!(outcome.journal.blocks, [0, 1]);
}

#[test]
fn a_run_ends_in_order_before_a_round_for_which_the_disk_has_no_room() {
    let table: [(&[u64], u32, &[&str], &str); 4] = [
        (&[9000, 8990], 2, &[], "ample"),
        (&[], 2, &[], "unknown"),
        (
            &[200],
            0,
            &["200 MB are free in runs/r", "needs 256 MB"],
            "at once",
        ),
        (
            &[1000, 600],
            1,
            &["600 MB", "800 MB", "windage run --resume runs/r"],
            "after a round that took 400 MB",
        ),
    ];
    for (free_mb, rounds, parts, why) in table {
        let outcome = conducted(Given {
            free_mb,
            ..Given::default()
        });
        let ending = outcome.result.unwrap();
        assert_eq!(outcome.journal.ending.as_ref(), Some(&ending), "{why}");
        match &ending {
            Ending::Complete => assert!(parts.is_empty(), "{why}"),
            Ending::Died { text } => {
                assert!(
                    parts.iter().all(|part| text.contains(part)),
                    "{why}: {text}"
                );
                assert!(!parts.is_empty(), "{why}: {text}");
            }
            other => panic!("{why}: {other:?}"),
        }
        let blocks: Vec<u32> = (0..rounds * 3).collect();
        assert_eq!(outcome.journal.blocks, blocks, "{why}");
        let launches = outcome
            .calls
            .iter()
            .filter(|call| call.starts_with("launch"));
        assert_eq!(launches.count(), rounds as usize, "{why}");
    }
}

#[test]
fn a_resumed_run_measures_what_is_missing_in_fresh_launches() {
    let start = Start {
        block: 4,
        launch: 2,
    };
    let outcome = conducted(Given {
        start,
        ..Given::default()
    });
    assert_eq!(outcome.journal.blocks, [4, 5]);
    assert_eq!(
        outcome.calls,
        ["launch 2 round 1", "finish 2", "take down 2"]
    );
    // The run order is that of an uninterrupted run.
    let whole = from_the_start(|_, _| Fate::Fine);
    let arms =
        |windows: &[Window]| -> Vec<ArmIndex> { windows.iter().map(|w| w.place.arm).collect() };
    assert_eq!(
        arms(&outcome.journal.windows),
        arms(&whole.journal.windows[24..])
    );
    // Nothing is missing, so nothing is launched.
    let start = Start {
        block: 6,
        launch: 2,
    };
    let outcome = conducted(Given {
        start,
        ..Given::default()
    });
    assert_eq!(
        (outcome.result.unwrap(), outcome.calls.len()),
        (Ending::Complete, 0)
    );
}
