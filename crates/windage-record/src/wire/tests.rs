//! Every version of every kind, as it was written and as it is read.

use super::*;
use crate::frame::{Frames, Step};
use crate::{Drops, LaunchArmEnd, LaunchEnd};
use windage_model::{
    AgentCycle, ArmIndex, Beside, BpfProgram, Exchanges, MachineDelta, Outlier, Place, WindowCpu,
};

fn mark() -> BlockMark {
    BlockMark {
        block: 3,
        histogram_bytes: [700, 900],
    }
}

#[test]
fn additions_are_passed_over_and_the_rest_is_refused() {
    let known = postcard::to_stdvec(&mark()).unwrap();
    let longer = [&known[..], b"new field"].concat();
    let table = [
        (
            "as written",
            BLOCK_DONE,
            1,
            &known[..],
            Some(Decoded::BlockDone(mark())),
        ),
        (
            "fields added",
            BLOCK_DONE,
            2,
            &longer,
            Some(Decoded::BlockDone(mark())),
        ),
        ("kind added", 99, 1, b"anything", Some(Decoded::UnknownKind)),
        ("too long for its version", BLOCK_DONE, 1, &longer, None),
        ("too short", BLOCK_DONE, 1, &known[..1], None),
        ("no such version", BLOCK_DONE, 0, &known, None),
    ];
    for (what, kind, version, payload, expected) in table {
        assert_eq!(decode(kind, version, payload).ok(), expected, "{what}");
    }
}

fn window() -> Window {
    Window {
        place: Place {
            launch: 0,
            round: 0,
            block: 3,
            position: 1,
            arm: ArmIndex(2),
        },
        started_ns: 7_000_000_000,
        duration_ns: 100_000_000,
        stretch_ns: 112_000_000,
        exchanges: Exchanges {
            completed: 200,
            waited: 3,
            generator_preemptions: Some(0),
            ..Exchanges::default()
        },
        cpu: WindowCpu::default(),
        machine: MachineDelta::default(),
        beside: Beside {
            agent_ns: Some(20_000_000),
            agent_rss_bytes: Some(80_000_000),
            kernel_threads_ns: Some(0),
            between_readings_ns: 101_000_000,
        },
        rss_bytes: None,
        page_faults: 0,
        arm_context_switches: 0,
        doubts: vec![],
        outliers: vec![Outlier {
            // Before the window's own first look at the clock.
            intended_ns: 6_999_999_000,
            sent_ns: 7_000_000_100,
            completed_ns: 7_002_000_000,
        }],
    }
}

#[test]
fn windows_of_every_version_are_read() {
    let whole = window();
    let front = postcard::to_stdvec(&window::StoredWindow::from(&whole)).unwrap();
    let addition = postcard::to_stdvec(&addition::StoredAddition::from(&whole)).unwrap();
    let beside = postcard::to_stdvec(&agent::StoredBeside::from(whole.beside)).unwrap();
    let both = [&front[..], &addition].concat();
    let all = [&both[..], &beside].concat();
    let longer = [&all[..], b"new field"].concat();
    // As older versions wrote it: what they did not record is nil or unknown.
    let mut second = window();
    second.beside = Beside::default();
    let mut first = second.clone();
    first.outliers.clear();
    first.exchanges = Exchanges {
        completed: 200,
        ..Exchanges::default()
    };
    let table = [
        ("version 1", 1, &front, Some(&first)),
        ("version 2", 2, &both, Some(&second)),
        ("version 3", 3, &all, Some(&whole)),
        ("fields added", 4, &longer, Some(&whole)),
        ("version 1, too long", 1, &both, None),
        ("version 2, too long", 2, &all, None),
        ("version 3, too long", 3, &longer, None),
        ("version 2 without its addition", 2, &front, None),
        ("version 3 without what was beside", 3, &both, None),
        ("no such version", 0, &front, None),
    ];
    for (what, version, payload, expected) in table {
        let read = decode(WINDOW, version, payload).ok();
        let expected = expected.map(|w| Decoded::Entry(Entry::Window(w.clone())));
        assert_eq!(read, expected, "{what}");
    }
}

/// A reader without this kind passes over attachments; one with it takes later fields, too.
#[test]
fn attachments_are_a_kind_of_their_own() {
    let cycle = AgentCycle {
        launch: 1,
        block: 4,
        arm: ArmIndex(2),
        attach_ns: 2_000_000_000,
        programs: Some(vec![BpfProgram {
            id: 17,
            name: "count_requests".to_owned(),
            kind: "kprobe".to_owned(),
            runs: 3,
            run_ns: 1_200,
        }]),
        left_behind: vec!["program 17 (count_requests, kprobe)".to_owned()],
        ..AgentCycle::default()
    };
    let mut out = Vec::new();
    append(&mut out, &Entry::Agent(cycle.clone()), [0, 0]).unwrap();
    let mut frames = Frames::new(&out[..], 0);
    let frame = frames.step().unwrap();
    let Step::Frame {
        kind,
        version,
        payload,
        ..
    } = frame
    else {
        panic!("{frame:?}")
    };
    assert_eq!((kind, version), (12, 1));
    let longer = [payload, b"new field"].concat();
    let read = Decoded::Entry(Entry::Agent(cycle));
    let table = [
        ("as written", 1, payload, Some(&read)),
        ("fields added", 2, &longer[..], Some(&read)),
        ("too long for its version", 1, &longer[..], None),
        ("too short", 1, &payload[..3], None),
    ];
    for (what, version, payload, expected) in table {
        let found = decode(AGENT, version, payload).ok();
        assert_eq!(found.as_ref(), expected, "{what}");
    }
}

fn delivered() -> Delivered {
    Delivered {
        launch: 1,
        arm: ArmIndex(2),
        spans: 900,
        completed_requests: 1000,
        refused_spans: 100,
        drops: vec![Drops {
            reason: "queue full".to_owned(),
            lost: 60,
        }],
        ..Delivered::default()
    }
}

#[test]
fn deliveries_of_either_version_are_read() {
    let whole = delivered();
    let old = Delivered {
        refused_spans: 0,
        drops: vec![],
        ..delivered()
    };
    let parts = [
        postcard::to_stdvec(&delivered::StoredDelivered::from(&whole)),
        postcard::to_stdvec(&delivered::StoredMore::from(&whole)),
    ];
    let [old, whole] = [old, whole].map(Entry::Delivered);
    both_versions_are_read(DELIVERED, parts.map(Result::unwrap), &old, &whole);
}

/// Of a kind whose version 2 has a second part behind that of version 1.
fn both_versions_are_read(kind: u8, [front, more]: [Vec<u8>; 2], old: &Entry, whole: &Entry) {
    let both = [&front[..], &more].concat();
    let longer = [&both[..], b"new field"].concat();
    let table = [
        ("version 1", 1, &front, Some(old)),
        ("version 2", 2, &both, Some(whole)),
        ("fields added", 3, &longer, Some(whole)),
        ("version 1, too long", 1, &both, None),
        ("version 2, too long", 2, &longer, None),
        ("version 2 without its addition", 2, &front, None),
        ("no such version", 0, &front, None),
    ];
    for (what, version, payload, expected) in table {
        let read = decode(kind, version, payload).ok();
        let expected = expected.map(|entry| Decoded::Entry(entry.clone()));
        assert_eq!(read, expected, "{what}");
    }
}

#[test]
fn ends_of_launches_of_either_version_are_read() {
    let arm = |arm, hidden_ns, unmeasured| LaunchArmEnd {
        arm: ArmIndex(arm),
        drain_ns: 1_000_000_000,
        hidden_ns,
        unmeasured,
        ..LaunchArmEnd::default()
    };
    let end = |arms, own_rss_bytes| LaunchEnd {
        launch: 1,
        arms,
        own_rss_bytes,
    };
    let whole = end(
        vec![arm(0, 0, 0), arm(2, 3_000_000_000, 700)],
        Some(30_000_000),
    );
    let old = end(vec![arm(0, 0, 0), arm(2, 0, 0)], None);
    let parts = [
        postcard::to_stdvec(&launch::StoredLaunchEnd::from(&whole)),
        postcard::to_stdvec(&launch::StoredMore::from(&whole)),
    ];
    let [old, whole] = [old, whole].map(Entry::LaunchEnded);
    both_versions_are_read(LAUNCH_ENDED, parts.map(Result::unwrap), &old, &whole);
}

#[test]
fn a_window_is_written_in_its_newest_version() {
    let mut out = Vec::new();
    append(&mut out, &Entry::Window(window()), [0, 0]).unwrap();
    match Frames::new(&out[..], 0).step().unwrap() {
        Step::Frame {
            kind,
            version,
            payload,
            ..
        } => {
            assert_eq!((kind, version), (WINDOW, WINDOW_VERSION));
            let front: window::StoredWindow = read(version, payload).unwrap();
            let older = Window::try_from(front).unwrap();
            assert_eq!(
                older.exchanges.completed, 200,
                "a reader of version 1 takes the front"
            );
            assert_eq!(
                decode(kind, version, payload),
                Ok(Decoded::Entry(Entry::Window(window())))
            );
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_mark_keeps_the_lengths_it_was_given() {
    let mut out = Vec::new();
    append(&mut out, &Entry::BlockDone { block: 3 }, [700, 900]).unwrap();
    match Frames::new(&out[..], 0).step().unwrap() {
        Step::Frame {
            kind,
            version,
            payload,
            ..
        } => {
            assert_eq!(
                decode(kind, version, payload),
                Ok(Decoded::BlockDone(mark()))
            );
        }
        other => panic!("{other:?}"),
    }
}
