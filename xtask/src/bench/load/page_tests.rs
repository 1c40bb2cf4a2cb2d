//! The page and the document of a study that was made up.

use super::super::parse::{Answer, Percentiles};
use super::super::scenario::by_name;
use super::super::study;
use super::super::trial::Reading;
use super::super::truth::Truth;
use super::*;
use crate::bench::child::Usage;
use crate::record::machine::Machine;

fn reading(us_per_request: f64, latency_p99_us: Option<f64>) -> Reading {
    Reading {
        answer: Answer {
            requests: 1000,
            throughput_per_s: 1000.0,
            latency_us: Percentiles {
                p50: Some(1020.0),
                p99: latency_p99_us,
                ..Percentiles::default()
            },
            ..Answer::default()
        },
        usage: Usage {
            wall_s: 1.0,
            user_s: us_per_request / 1e3,
            system_s: 0.0,
            rss_peak_bytes: 3_000_000,
            preemptions: 2,
        },
        truth: None,
        steal_s: 0.25,
    }
}

fn trial(
    scenario: &'static str,
    round: u32,
    contender: Contender,
    outcome: Result<Reading, String>,
) -> Trial {
    Trial {
        scenario,
        round,
        place: 1,
        contender,
        outcome,
    }
}

fn made_up() -> Study {
    let (closed, stall) = ("closed", "stall");
    let scenarios = vec![by_name("closed").unwrap(), by_name("stall").unwrap()];
    let mut stalled = reading(20.0, Some(186_000.0));
    stalled.truth = Some(Truth {
        p50_us: 1000.0,
        p99_us: 184_800.0,
        p99_us_uncertain_by: 500.0,
    });
    Study {
        date: "2026-01-02".into(),
        command: "cargo xtask bench load --rounds 15 --for 5s".into(),
        machine: Machine {
            cores: 2,
            memory_kib: 8 << 20,
            ..Machine::default()
        },
        versions: vec![("wrk", "wrk 4.1.0".into())],
        commands: study::commands(&scenarios, 5),
        scenarios,
        rounds: 15,
        lasts_s: 5,
        trials: (1..=6)
            .flat_map(|round| {
                [
                    (closed, Contender::Windage, Ok(reading(4.0, None))),
                    (closed, Contender::Wrk, Ok(reading(5.0, Some(300.0)))),
                    (closed, Contender::Oha, Err("it did not end on time".into())),
                    (stall, Contender::Windage, Ok(stalled.clone())),
                ]
                .map(|(scenario, contender, outcome)| trial(scenario, round, contender, outcome))
            })
            .collect(),
    }
}

#[test]
fn the_page_has_what_was_measured_and_says_what_was_not() {
    let page = made_up().markdown();
    for part in [
        "- Command: `cargo xtask bench load --rounds 15 --for 5s`",
        "2 cores, 8.0 GiB",
        "wrk: wrk 4.1.0",
        "- Rounds: 6 of 15",
        ": 4.5 s of all cores",
        "| closed loop: throughput against wrk | interval's low end ≥ 0.98 | 1.000 [1.000, 1.000] | reached |",
        "| closed loop: CPU a request against wrk | ≤ 0.90 | 0.800 [0.800, 0.800] | reached |",
        "| closed loop: CPU a request against the floor loop | ≤ 1.10 | – | not measured |",
        "p99 against truth | within 1 % | 1.006 [1.006, 1.006] | reached |",
        "| peak memory at 8 connections | ≤ 12.0 MB | – | not measured |",
        "stalls for 200 ms every 2 s; each run begins just after a stall; 10 s each.",
        "| contender | requests/s | requests/s, by the clock outside | CPU a request, µs | of it in the kernel, % | latency p50, µs |",
        "| windage | 1000 [1000, 1000] | 1000 [1000, 1000] | 4.00 [4.00, 4.00] | 0 [0, 0] | 1020.0 [1020.0, 1020.0] | – | 3.0 [3.0, 3.0] |",
        "| wrk | 1.000 [1.000, 1.000] | 0.800 [0.800, 0.800] |",
        "Truth: p50 1000.0 µs, p99 184800.0 µs; the moment of the first start moves the latter by at most 500.0 µs.",
        "$ taskset --cpu-list 1 wrk -t1 -c8 -d5s --latency http://ADDRESS/",
        "- closed, round 1, oha: it did not end on time",
    ] {
        assert!(page.contains(part), "{part}\n{page}");
    }
}

#[test]
fn the_document_has_the_same_figures() {
    let json = made_up().json();
    assert_eq!(json["runs"][0]["reading"]["user_s"], 0.004);
    assert_eq!(json["runs"][2]["failure"], "it did not end on time");
    assert_eq!(json["runs"][3]["reading"]["truth"]["p99_us"], 184_800.0);
    let cpu = &json["goals"][1];
    assert_eq!(cpu["reached"], true);
    assert_eq!(cpu["bound"]["at_most"], 0.9);
    assert!((cpu["measured"]["median"].as_f64().unwrap() - 0.8).abs() < 1e-9);
    assert_eq!(cpu["measured"]["rounds"], 6);
    assert_eq!(
        json["medians"]["closed"]["wrk"]["latency_us_p99"]["median"],
        300.0
    );
    assert!(json["medians"]["closed"]["floor"]["latency_us_p99"].is_null());
}

#[test]
fn progress_is_one_line_a_run() {
    let lines: Vec<String> = made_up().trials.iter().map(progress).collect();
    assert!(
        lines[0].contains("windage") && lines[0].contains("4.00 µs a request"),
        "{lines:?}"
    );
    assert!(lines[2].contains("on time"), "{lines:?}");
    assert!(lines.iter().all(|line| line.lines().count() == 1));
}
