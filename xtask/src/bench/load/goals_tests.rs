//! Goals against trials that were made up for them.

use super::super::parse::{Answer, Percentiles};
use super::super::truth::Truth;
use super::*;
use crate::bench::child::Usage;

fn trial(scenario: &'static str, contender: Contender, round: u32, reading: Reading) -> Trial {
    Trial {
        scenario,
        round,
        place: 1,
        contender,
        outcome: Ok(reading),
    }
}

/// A run of a second that took so much CPU for each of a thousand requests.
fn with_cpu(us_per_request: f64) -> Reading {
    Reading {
        answer: Answer {
            requests: 1000,
            throughput_per_s: 1000.0,
            ..Answer::default()
        },
        usage: Usage {
            wall_s: 1.0,
            user_s: us_per_request / 1e3,
            ..Usage::default()
        },
        ..Reading::default()
    }
}

/// The same run in as many rounds as an interval needs.
fn always(scenario: &'static str, contender: Contender, reading: &Reading) -> Vec<Trial> {
    (1..=6)
        .map(|round| trial(scenario, contender, round, reading.clone()))
        .collect()
}

fn goal(what: &str) -> &'static Goal {
    GOALS.iter().find(|goal| goal.what.contains(what)).unwrap()
}

/// Rounds in which the machine slows everyone down alike.
fn drifting(rounds: u32, windage: f64, wrk: f64) -> Vec<Trial> {
    (1..=rounds)
        .flat_map(|round| {
            let slow = 1.0 + f64::from(round);
            [(Contender::Windage, windage), (Contender::Wrk, wrk)]
                .map(|(contender, us)| trial("closed", contender, round, with_cpu(us * slow)))
        })
        .collect()
}

#[test]
fn ratios_are_paired_by_round() {
    for (windage, wrk, is_reached) in [(4.0, 5.0, true), (4.9, 5.0, false)] {
        let judged = goal("CPU a request against wrk").judge(&drifting(15, windage, wrk));
        let figure = judged.figure.unwrap();
        let (low, high) = figure.interval.unwrap();
        assert!((figure.estimate - windage / wrk).abs() < 1e-9);
        assert!(high - low < 1e-9, "the drift is common to both");
        assert_eq!(judged.is_reached, Some(is_reached));
        assert_eq!(judged.doubts, [""; 0]);
    }
}

#[test]
fn a_round_in_which_one_failed_has_no_ratio() {
    let mut trials = drifting(7, 4.0, 5.0);
    trials[1].outcome = Err("no `Requests/sec:` line".into());
    let judged = goal("CPU a request against wrk").judge(&trials);
    assert_eq!(judged.figure.unwrap().count, 6);
    assert_eq!(judged.doubts, ["1 of 7 runs of wrk failed"]);
}

#[test]
fn a_throughput_is_judged_by_the_low_end() {
    let trials = |rounds: u32, worst: f64| -> Vec<Trial> {
        (1..=rounds)
            .flat_map(|round| {
                let throughput = if round == 1 { worst } else { 1.0 };
                [(Contender::Windage, throughput), (Contender::Wrk, 1.0)].map(|(contender, x)| {
                    let mut reading = with_cpu(1.0);
                    reading.answer.throughput_per_s = x * 1000.0;
                    trial("closed", contender, round, reading)
                })
            })
            .collect()
    };
    let goal = goal("throughput against wrk");
    assert_eq!(goal.judge(&trials(6, 0.99)).is_reached, Some(true));
    assert_eq!(goal.judge(&trials(6, 0.90)).is_reached, Some(false));
    let too_few = goal.judge(&trials(5, 1.0));
    assert_eq!(
        (too_few.is_reached, too_few.figure.unwrap().count),
        (None, 5)
    );
    assert_eq!(goal.judge(&[]).is_reached, None);
}

#[test]
fn clocks_that_disagree_are_a_doubt() {
    let mut reading = with_cpu(1.0);
    reading.usage.wall_s = 1.02;
    let judged =
        goal("throughput against wrk").judge(&[trial("closed", Contender::Wrk, 1, reading)]);
    assert!(
        judged.doubts[0].contains("of wrk by its own clock are +2.0 % off"),
        "{judged:?}"
    );
}

#[test]
fn truth_bounds_hold_on_both_sides() {
    let truth = Truth {
        p50_us: 1000.0,
        p99_us: 184_800.0,
        p99_us_uncertain_by: 100.0,
    };
    for (p99_us, is_reached) in [
        (184_000.0, true),
        (186_000.0, true),
        (182_000.0, false),
        (188_000.0, false),
    ] {
        let mut reading = with_cpu(1.0);
        reading.truth = Some(truth);
        reading.answer.latency_us = Percentiles {
            p99: Some(p99_us),
            ..Percentiles::default()
        };
        let judged = goal("stalling server").judge(&always("stall", Contender::Windage, &reading));
        assert_eq!(judged.is_reached, Some(is_reached), "{p99_us}");
    }
}

#[test]
fn memory_is_judged_in_bytes_and_a_suspect_run_is_said() {
    let mut reading = with_cpu(1.0);
    reading.usage.rss_peak_bytes = 12_000_001;
    reading.answer.validity = Some("suspect".into());
    reading.answer.errors = 3;
    let judged = goal("memory at 8").judge(&always("memory", Contender::Windage, &reading));
    assert_eq!(judged.is_reached, Some(false));
    assert_eq!(
        judged.doubts,
        [
            "6 of 6 runs of windage had errors",
            "6 of 6 runs of windage were called suspect or void by itself"
        ]
    );
}

#[test]
fn every_goal_is_about_a_scenario_in_which_its_contenders_are() {
    for goal in GOALS {
        let scenario = super::super::scenario::by_name(goal.scenario).unwrap();
        if let Against::Contender(other) = goal.against {
            assert!(scenario.contenders.contains(&other), "{}", goal.what);
        }
    }
}
