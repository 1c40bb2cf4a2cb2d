//! The progress of a run, from its journal.

use windage_model::{Metric, TurnBlock, Warning, WarningCode, fixtures};
use windage_record::{Ending, StopScope};

use super::*;
use crate::fixture::{cycle, launch, manifest, window};

/// A window with warnings, `at_ms` after the start of the run.
fn window_at(at_ms: u64, (launch, block, arm): (u32, u32, u16), warnings: &[WarningCode]) -> Entry {
    Entry::Window(Window {
        started_ns: at_ms * 1_000_000,
        warnings: warnings
            .iter()
            .map(|code| fixtures::warning(*code))
            .collect(),
        ..window(launch, block, arm)
    })
}

/// A block of turns of two seconds with a warning, `at_ms` after the start of the run.
fn turns_at(at_ms: u64, block: u32, warnings: &[WarningCode]) -> Entry {
    let warnings = warnings.iter().map(|code| fixtures::warning(*code));
    Entry::Turns(TurnBlock {
        started_ns: at_ms * 1_000_000,
        lasted_ns: 2_000_000_000,
        warnings: warnings.collect(),
        ..fixtures::turn_block(0, block, &[0, 1, 2])
    })
}

fn launched(at_ms: u64, number: u32) -> Entry {
    Entry::LaunchStarted(Launch {
        started_ns: at_ms * 1_000_000,
        ..launch(number, number)
    })
}

/// Whether a process writes the run, and the end recorded in its journal.
type At<'a> = (bool, Option<&'a Ending>);

const GOING_ON: At<'static> = (true, None);
const PROFILING: At<'static> = (true, Some(&Ending::Complete));
const ENDED: At<'static> = (false, Some(&Ending::Complete));
const BROKEN_OFF: At<'static> = (false, None);

fn progress(
    manifest: &Manifest,
    entries: &[Entry],
    (is_written, ending): At<'_>,
) -> serde_json::Value {
    let mut course = Course::of(manifest);
    entries.iter().for_each(|entry| course.take(entry));
    serde_json::to_value(course.progress(is_written, ending)).unwrap()
}

fn texts(progress: &serde_json::Value) -> Vec<String> {
    let events = progress["events"].as_array().unwrap().iter();
    events
        .map(|event| format!("{} {}", event["at_s"], event["text"].as_str().unwrap()))
        .collect()
}

#[test]
fn a_new_run_has_no_events() {
    let found = progress(&manifest(), &[], GOING_ON);
    let expected = serde_json::json!({
        "state": "going_on", "round": 0, "rounds": 6, "blocks_done": 0, "blocks": 60, "windows": 0,
        "windows_void": 0, "lasts_s": 0.0, "left_s": null, "events": [],
    });
    assert_eq!(found, expected);
}

#[test]
fn the_time_left_is_computed_from_the_time_taken() {
    let mut manifest = manifest();
    manifest.design.drain_ns = 1_000_000_000;
    // Launches take 2 s until the first window, blocks 0.5 s.
    let entries = [
        launched(0, 0),
        window_at(2000, (0, 0, 0), &[]),
        window_at(2400, (0, 0, 2), &[]),
        Entry::BlockDone { block: 0 },
        window_at(2900, (0, 1, 0), &[]),
        Entry::BlockDone { block: 1 },
        launched(5000, 1),
        window_at(7000, (1, 2, 0), &[]),
        window_at(7400, (1, 2, 2), &[WarningCode::OnlyErrors]),
        Entry::BlockDone { block: 2 },
    ];
    let found = progress(&manifest, &entries, GOING_ON);
    assert_eq!(found["round"], 1);
    assert_eq!(found["blocks_done"], 3);
    assert_eq!(
        (&found["windows"], &found["windows_void"]),
        (&5.into(), &1.into())
    );
    assert_eq!(found["lasts_s"], 7.5);
    // 57 blocks of 0.5 s, four launches of 2 s, five drains of 1 s.
    assert_eq!(found["left_s"], 57.0 * 0.5 + 4.0 * 2.0 + 5.0);
    for (at, state) in [
        (PROFILING, "going_on"),
        (ENDED, "ended"),
        (BROKEN_OFF, "broken_off"),
    ] {
        let found = progress(&manifest, &entries, at);
        assert_eq!(found["state"], state);
        assert!(found["left_s"].is_null(), "{state}: {found}");
    }
}

#[test]
fn a_run_that_may_stop_early_has_no_end_yet() {
    let mut manifest = manifest();
    manifest.design.stop = Some(StopScope {
        until: windage_model::Until::Known {
            metric: Metric::Throughput,
            half_width: 0.01,
        },
        within_ns: 1,
    });
    let entries = [
        launched(0, 0),
        window_at(1000, (0, 0, 0), &[]),
        Entry::BlockDone { block: 0 },
    ];
    let found = progress(&manifest, &entries, GOING_ON);
    assert!(
        found["blocks"].is_null() && found["left_s"].is_null(),
        "{found}"
    );
}

#[test]
fn events_are_described_in_words() {
    let mut failed = cycle(0, 2);
    failed.failed = Some("it ended with 1".to_owned());
    let gone = windage_model::AgentCycle {
        left_behind: Vec::new(),
        up_ns: 12_000_000_000,
        ..cycle(0, 2)
    };
    let entries = [
        launched(0, 0),
        window_at(1000, (0, 0, 0), &[WarningCode::Steal]),
        Entry::BlockDone { block: 0 },
        window_at(2000, (0, 1, 0), &[WarningCode::Steal]),
        window_at(
            2200,
            (0, 1, 2),
            &[WarningCode::Steal, WarningCode::OnlyErrors],
        ),
        Entry::BlockDone { block: 1 },
        window_at(3000, (0, 2, 0), &[]),
        Entry::BlockDone { block: 2 },
        window_at(4000, (0, 3, 9), &[WarningCode::Steal]),
        Entry::BlockDone { block: 3 },
        Entry::Agent(gone),
        Entry::Agent(cycle(0, 2)),
        Entry::Agent(failed),
        Entry::Warning(Warning::SwitchFailed {
            how: "on\u{1b}[2J\n  died".to_owned(),
        }),
        Entry::RunEnded(Ending::Interrupted),
        launched(9000, 1),
        Entry::RunEnded(Ending::Complete),
    ];
    let found = texts(&progress(&manifest(), &entries, ENDED));
    let name = "a\"b";
    let expected = [
        "0.0 round 1 of 6 began".to_owned(),
        "2.3 3 windows since block 1 are suspect: The hypervisor took the processor away."
            .to_owned(),
        format!(
            "2.3 a window of {name} is void: Every answer had a status of 400 or above: this measures errors. Check the request and the service's log."
        ),
        "4.1 a window of an unknown arm is suspect: The hypervisor took the processor away."
            .to_owned(),
        format!("4.1 agents of {name} were attached in 1.5 s, watched for 12.0 s, detached"),
        format!("4.1 agents of {name} left behind: program 17 (count_requests, kprobe)"),
        format!("4.1 agents of {name} failed: it ended with 1"),
        "4.1 on [2J died".to_owned(),
        "4.1 the run was interrupted".to_owned(),
        "9.0 round 2 of 6 began".to_owned(),
        "9.0 measuring ended as planned".to_owned(),
    ];
    assert_eq!(found, expected);
}

#[test]
fn blocks_of_turns_count_as_blocks() {
    let steal = &[WarningCode::Steal];
    let mut manifest = manifest();
    manifest.design.drain_ns = 0;
    let entries = [
        launched(0, 0),
        window_at(0, (0, 0, 0), steal),
        Entry::BlockDone { block: 0 },
        turns_at(2000, 1, steal),
        Entry::BlockDone { block: 1 },
        turns_at(4000, 2, &[]),
        Entry::BlockDone { block: 2 },
        turns_at(6000, 3, steal),
        Entry::BlockDone { block: 3 },
        turns_at(8000, 4, steal),
        Entry::BlockDone { block: 4 },
    ];
    let found = progress(&manifest, &entries[..9], GOING_ON);
    assert_eq!(
        (&found["blocks_done"], &found["windows"]),
        (&4.into(), &1.into())
    );
    assert_eq!(found["lasts_s"], 8.0);
    assert_eq!(found["left_s"], 56.0 * 2.0, "56 blocks of two seconds");
    let why = "The hypervisor took the processor away.";
    let expected = |last: &str| {
        [
            "0.0 round 1 of 6 began".to_owned(),
            format!("4.0 2 windows and blocks of turns since block 1 are suspect: {why}"),
            format!("{last}: {why}"),
        ]
    };
    assert_eq!(
        texts(&found),
        expected("8.0 a block of turns is suspect"),
        "one block"
    );
    let found = progress(&manifest, &entries, GOING_ON);
    assert_eq!(
        texts(&found),
        expected("10.0 2 blocks of turns since block 4 are suspect")
    );
}

#[test]
fn the_last_events_are_kept() {
    let mut entries = Vec::new();
    for number in 0..200 {
        entries.push(launched(u64::from(number) * 1000, number));
        entries.push(window_at(0, (number, number, 0), &[WarningCode::Steal]));
        entries.push(Entry::BlockDone { block: number });
    }
    let found = texts(&progress(&manifest(), &entries, GOING_ON));
    assert_eq!(found.len(), 50);
    assert_eq!(found[49], "199.0 round 200 of 6 began");
    let warnings = found
        .iter()
        .filter(|text| text.contains("hypervisor"))
        .count();
    assert_eq!(warnings, 1, "a lasting warning is one event: {found:?}");
}
