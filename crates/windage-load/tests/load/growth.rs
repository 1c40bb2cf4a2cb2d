//! Connections that open because starts wait for one.

use std::io::Write;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::server::{Then, repeat_until, start, target};
use windage_load::{Connections, Engine, EngineConfig, Pace, Recording, RunReport, Schedule};

const LASTS: Duration = Duration::from_millis(400);

fn load(connections: Connections) -> (RunReport, usize) {
    load_with(
        "GET",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
        connections,
    )
}

/// A server that takes 40 ms per answer, asked 100 times per second: work for four connections.
fn load_with(method: &str, answer: &'static str, connections: Connections) -> (RunReport, usize) {
    let (address, accepted) = start(move |stream, _| {
        std::thread::sleep(Duration::from_millis(40));
        let _ = stream.write_all(answer.as_bytes());
        Then::KeepOpen
    });
    let mut engine = Engine::new(EngineConfig {
        timeout: Duration::from_secs(10),
    })
    .unwrap();
    let id = engine.add_target(target(address, method), connections);
    assert_eq!(engine.connect(id).unwrap().opened, connections.first);
    let mut schedule = Schedule::constant(100.0);
    let pace = Pace::Open {
        schedule: &mut schedule,
        lasts: LASTS,
    };
    let report = engine.run(id, pace, &mut Recording::new()).unwrap();
    assert_eq!(report.exchanges.completed, 40, "{report:?}");
    (report, accepted.load(Ordering::Relaxed))
}

#[test]
fn connections_grow_while_starts_wait_and_no_further() {
    let grown = || {
        let (report, accepted) = load(Connections { first: 1, most: 30 });
        let grown = report.exchanges.grown;
        assert_eq!(accepted as u64, 1 + grown);
        assert!(report.exchanges.waited >= grown);
        grown
    };
    // If the machine stalls during the first starts, many wait at once.
    let grown = repeat_until(grown, |grown| *grown <= 20);
    assert!((3..=20).contains(&grown), "{grown}");
}

#[test]
fn growth_is_bounded_and_waiting_counts() {
    let (report, accepted) = load(Connections { first: 1, most: 2 });
    assert_eq!((accepted, report.exchanges.grown), (2, 1));
    // Forty answers of 40 ms over two connections take 0.8 s; the schedule lasts 0.4 s.
    assert!(report.exchanges.waited > 20, "{report:?}");
    assert_eq!(report.exchanges.dropped, 0);
}

#[test]
fn without_room_nothing_grows() {
    let (report, accepted) = load(Connections::from(2));
    assert_eq!((accepted, report.exchanges.grown), (2, 0));
}

#[test]
fn added_connections_know_the_method() {
    // An answer to HEAD with the length that the body of GET would have.
    let answer = "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n";
    let (report, _) = load_with("HEAD", answer, Connections { first: 1, most: 30 });
    assert!(report.exchanges.grown > 0);
    assert_eq!(report.exchanges.errors.total(), 0, "{report:?}");
}
