//! The content of a run's reading.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use super::child::{Ended, Usage};
use super::parse::OWN_CPU;
use super::*;

fn ended(stdout: &str, status: i32) -> Ended {
    Ended {
        status: ExitStatus::from_raw(status << 8),
        stdout: stdout.into(),
        stderr: "first\nconnection refused\n".into(),
        usage: Usage {
            wall_s: 2.0,
            user_s: 0.001,
            system_s: 0.003,
            rss_peak_bytes: 5_000_000,
            preemptions: 2,
        },
    }
}

#[test]
fn quantities_of_a_run() {
    let floor = contender::by_name("floor");
    let ended = ended("{\"requests\":1000,\"seconds\":1.96}", 4);
    let reading = reading(floor, &ended, "", true).unwrap();
    let table = [
        (OUTSIDE, Some(500.0)),
        (CPU, Some(4.0)),
        (KERNEL, Some(75.0)),
        (OWN_CPU, None),
        (P50, None),
        (MEMORY, Some(5.0)),
    ];
    for (quantity, expected) in table {
        assert_eq!(reading.value(quantity), expected, "{quantity:?}");
    }
    // Its own clock leaves out a fiftieth of the time.
    assert!(format!("{reading:?}").contains("differ by more than 1 %"));
}

#[test]
fn a_run_without_output_is_explained() {
    let wrk = contender::by_name("wrk");
    let error = format!("{:#}", reading(wrk, &ended("", 1), "", true).unwrap_err());
    for part in ["wrk", "exit status: 1", "connection refused", "requests in"] {
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn a_late_server_makes_late_answers() {
    let mut reading = Reading::of([
        (P50, 1015.0),
        (P99, 2216.5),
        (TRUE_P50, 1000.0),
        (TRUE_P99, 2000.0),
    ]);
    let account = Account {
        late_ns_p50: 15_000,
        ..Account::default()
    };
    compare_with_truth(&mut reading, &account);
    assert_eq!(reading.value(TRUE_P99), Some(2015.0));
    assert_eq!(reading.value(P50_RATIO), Some(1.0));
    assert_eq!(reading.value(P99_RATIO), Some(1.1));
    // nginx has no known response time.
    let mut unknown = Reading::of([(P50, 7.0)]);
    compare_with_truth(&mut unknown, &account);
    assert_eq!(unknown.value(P50_RATIO), None);
}

#[test]
fn goals_name_existing_contenders() {
    for goal in GOALS {
        for (scenario, contender) in std::iter::once(goal.of).chain(goal.against) {
            let scenario = scenario::by_name(scenario);
            assert!(scenario.contenders.contains(&contender), "{goal:?}");
        }
    }
}

#[test]
fn versions_are_read_from_the_tools_output() {
    let table = [
        (
            "wrk debian/4.1.0-3+b2 [epoll] Copyright (C) 2012 Will Glozer\nUsage: wrk",
            Some("wrk debian/4.1.0-3+b2 [epoll]"),
        ),
        ("h2load nghttp2/1.52.0\n", Some("h2load nghttp2/1.52.0")),
        ("\noha 1.16.0\n", Some("oha 1.16.0")),
        ("", None),
    ];
    for (text, expected) in table {
        assert_eq!(version_in(text).as_deref(), expected, "{text:?}");
    }
}
