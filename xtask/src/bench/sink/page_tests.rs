//! The page and the document of a study that was made up.

use serde_json::json;

use super::super::exactness::MODES;
use super::super::record::Outcome;
use super::super::scenario::by_name;
use super::super::sender::Attempts;
use super::super::trial::Reading;
use super::*;
use crate::bench::memory::Memory;
use crate::record::machine::Machine;

fn trial(receiver: Receiver, round: u32, spans: u64) -> Trial {
    Trial {
        scenario: "http-512",
        round,
        place: 1,
        receiver,
        outcome: Ok(Reading {
            requests: spans / 512,
            spans,
            body_bytes: spans * 400,
            seconds: 2.0,
            cpu_s: 1.0,
            rss_peak_bytes: 9_000_000,
            is_confirmed: true,
            steal_s: 0.5,
        }),
    }
}

fn exactness(counted: u64) -> Exactness {
    Exactness {
        mode: MODES[1].name,
        backend: "reject 503 20%".into(),
        attempts: Attempts {
            acknowledged: 2,
            refused: 3,
            ..Attempts::default()
        },
        account: json!({ "spans": counted }),
        seconds: 1.5,
    }
}

fn crowd(rss_peak_bytes: u64) -> Crowd {
    let memory = |rss_bytes, rss_peak_bytes| Memory {
        rss_bytes,
        rss_peak_bytes,
    };
    Crowd {
        scenario: "http-10",
        turn: Turn::AtOnce,
        requests: 20_000,
        refused: 3,
        idle: memory(7_000_000, 7_000_000),
        memory: memory(30_000_000, rss_peak_bytes),
    }
}

fn made_up() -> Record {
    let mut trials = Vec::new();
    for round in 1..=6 {
        trials.push(trial(Receiver::Windage, round, 2_560_000));
        trials.push(trial(Receiver::Collector, round, 512_000));
    }
    trials.push(Trial {
        outcome: Err("it died".into()),
        ..trial(Receiver::Python, 6, 0)
    });
    Record {
        date: "2026-01-02".into(),
        command: "cargo xtask bench sink".into(),
        machine: Machine::default(),
        versions: vec![("go", "go1".into())],
        scenarios: vec![by_name("http-512").unwrap()],
        rounds: 7,
        lasts_s: 2,
        connections: 10_000,
        body_bytes: vec![("http-512", 123_456)],
        commands: vec!["discard 127.0.0.1:0".into()],
        trials,
        exactness: vec![
            Outcome::new("fine", Ok(exactness(2 * BATCH_SPANS))),
            Outcome::new("off", Ok(exactness(2 * BATCH_SPANS + 1))),
        ],
        crowds: vec![
            Outcome::new("small", Ok(crowd(40_000_000))),
            Outcome::new("large", Ok(crowd(70_000_000))),
            Outcome::new("none", Err(anyhow::anyhow!("refused"))),
        ],
    }
}

#[test]
fn figures_and_what_became_of_them_stand_on_the_page() {
    let page = made_up().markdown();
    let expected = [
        "- Rounds: 6 of 7",
        "receivers ran: 6.0 s of all",
        "| OTLP/HTTP, all counters: spans a CPU second | ≥ 2.00 million | 2.56 million [2.56 million, 2.56 million] | reached |",
        "| OTLP/HTTP, all counters: spans a CPU second against the Collector | ≥ 10.00 | 5.00 [5.00, 5.00] | **not reached** |",
        "| OTLP/gRPC, all counters: spans a CPU second | ≥ 1.00 million | – | not measured |",
        "OTLP/HTTP, 512 spans a request; a body of 123456 bytes.",
        "| collector | 512 [512, 512] |",
        "| in the way | backend |",
        "| fine | `reject 503 20%` | 2 | 16384 | 16384 | 3 | 0 | 0 | 1.5 | exact |",
        "| **not exact** |",
        "| http-10 | at once | 20000 | 3 | 7.0 | 30.0 | 70.0 | **not reached** |",
        "**failed**: refused",
        "$ discard 127.0.0.1:0",
        "- http-512, round 6, python: it died",
    ];
    for part in expected {
        assert!(page.contains(part), "no {part:?} in\n{page}");
    }
}

#[test]
fn a_failed_part_is_no_memory_that_was_reached() {
    let mut record = made_up();
    let row = |record: &Record| record.memory_goals().lines().last().unwrap().to_owned();
    assert!(row(&record).contains("not measured"), "{}", row(&record));
    record.crowds.pop();
    assert!(row(&record).contains("at once, the worst of all sizes | < 64 MB | 70.0 MB | **not"));
    record.crowds.pop();
    assert!(row(&record).contains("40.0 MB | reached"));
    let in_turn = record.memory_goals();
    assert!(in_turn.contains("in turn, the worst of all sizes | < 64 MB | – | not measured"));
}

#[test]
fn the_document_holds_every_run_and_every_part() {
    let json = made_up().json();
    assert_eq!(json["runs"].as_array().unwrap().len(), 13);
    assert_eq!(json["runs"][12]["failure"], "it died");
    assert_eq!(json["runs"][0]["reading"]["spans"], 2_560_000);
    let median = &json["medians"]["http-512"]["windage"]["spans_per_cpu_s"];
    assert_eq!(
        (&median["median"], &median["rounds"]),
        (&json!(2.56e6), &json!(6))
    );
    assert_eq!(json["goals"][0]["reached"], true);
    assert_eq!(json["exactness"][1]["exact"], false);
    assert_eq!(json["connections"][0]["reached"], true);
    assert_eq!(json["connections"][2]["failure"], "refused");
}

#[test]
fn progress_is_one_line() {
    let line = progress(&trial(Receiver::Go, 1, 512_000));
    assert!(
        line.contains("go") && line.contains("512 thousand"),
        "{line}"
    );
    assert!(line.contains("counts agree"), "{line}");
}
