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
            between_readings_ns: Some(101_000_000),
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
    let parts = [
        postcard::to_stdvec(&window::StoredWindow::from(&whole)),
        postcard::to_stdvec(&addition::StoredAddition::from(&whole)),
        postcard::to_stdvec(&agent::StoredBeside::from(whole.beside)),
        postcard::to_stdvec(&whole.beside.between_readings_ns),
    ];
    // As older versions wrote it: what they did not record is nil or unknown.
    let mut third = window();
    third.beside.between_readings_ns = None;
    let mut second = window();
    second.beside = Beside::default();
    let mut first = second.clone();
    first.outliers.clear();
    first.exchanges = Exchanges {
        completed: 200,
        ..Exchanges::default()
    };
    let read = [first, second, third, whole].map(Entry::Window);
    every_version_is_read(WINDOW, parts.map(Result::unwrap), &read);
}

/// Of a kind of which every version has one part behind those of the version before it.
fn every_version_is_read<const N: usize>(kind: u8, parts: [Vec<u8>; N], read: &[Entry; N]) {
    let up_to = |version: usize| parts[..version].concat();
    let is = |version: usize, payload: &[u8], expected: Option<&Entry>, what: &str| {
        let read = decode(kind, version.try_into().unwrap(), payload).ok();
        let expected = expected.map(|entry| Decoded::Entry(entry.clone()));
        assert_eq!(read, expected, "version {version}, {what}");
    };
    is(0, &up_to(1), None, "which does not exist");
    let longest = [up_to(N), b"new field".to_vec()].concat();
    for (version, entry) in (1..).zip(read) {
        let longer = if version < N {
            &up_to(version + 1)
        } else {
            &longest
        };
        is(version, &up_to(version), Some(entry), "as written");
        is(version, &up_to(version - 1), None, "a part too short");
        is(version, longer, None, "a part too long");
    }
    is(N + 1, &longest, read.last(), "fields added");
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
fn deliveries_of_every_version_are_read() {
    let whole = delivered();
    let parts = [
        postcard::to_stdvec(&delivered::StoredDelivered::from(&whole)),
        postcard::to_stdvec(&delivered::StoredMore::from(&whole)),
    ];
    let first = Delivered {
        refused_spans: 0,
        drops: vec![],
        ..delivered()
    };
    let read = [first, whole].map(Entry::Delivered);
    every_version_is_read(DELIVERED, parts.map(Result::unwrap), &read);
}

#[test]
fn ends_of_launches_of_every_version_are_read() {
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
    let loaded = || vec![arm(0, 0, 0), arm(2, 3_000_000_000, 700)];
    let whole = end(loaded(), Some(30_000_000));
    let parts = [
        postcard::to_stdvec(&launch::StoredLaunchEnd::from(&whole)),
        postcard::to_stdvec(&launch::StoredMore::from(&whole)),
        postcard::to_stdvec(&whole.own_rss_bytes),
    ];
    let first = end(vec![arm(0, 0, 0), arm(2, 0, 0)], None);
    let read = [first, end(loaded(), None), whole].map(Entry::LaunchEnded);
    every_version_is_read(LAUNCH_ENDED, parts.map(Result::unwrap), &read);
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
