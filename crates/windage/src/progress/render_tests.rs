use super::*;
use windage_analysis::{Known, NoInterval, Running, RunningEstimate};
use windage_model::{ArmId, Event, Interval, Metric, Role};

use crate::text_width::width;

/// At 80 columns and at 40.
fn shown(course: &Course, now_s: u64) -> String {
    let at = |columns: usize| {
        let lines = render(course, Duration::from_secs(now_s), columns);
        for line in &lines {
            assert!(width(line) <= columns, "{line}");
        }
        lines.join("\n")
    };
    let ruler = "-".repeat(40);
    format!("{}\n{ruler}\n{}", at(80), at(40))
}

fn course_of(events: Vec<Event>) -> Course {
    let mut course = Course::default();
    for event in events {
        course.take(event, Duration::ZERO);
    }
    course
}

fn block(done: u32, left_s: u64, at_most: bool) -> Event {
    Event::BlockDone {
        done,
        blocks: 200,
        left: Duration::from_secs(left_s),
        at_most,
    }
}

fn in_round(round: u32) -> Event {
    Event::RoundStarted { round, rounds: 10 }
}

fn interval(estimate: f64, half: f64) -> Known {
    Known::Interval(Interval {
        estimate,
        low: estimate - half,
        high: estimate + half,
        confidence: 0.95,
        method: windage_model::Method::MeanByLaunch,
    })
}

fn running(asked: Option<f64>, estimates: Vec<(&str, Known)>) -> Running {
    let estimate = |(name, known): (&str, Known)| RunningEstimate {
        name: name.to_owned(),
        role: if name == "control" {
            Role::Control
        } else {
            Role::Treatment
        },
        known,
    };
    Running {
        regime: None,
        metric: Metric::CpuPerRequest,
        asked,
        estimates: estimates.into_iter().map(estimate).collect(),
    }
}

#[test]
fn launching() {
    let course = course_of(vec![
        Event::Planned {
            lasts: Duration::from_secs(60),
            at_most: false,
        },
        in_round(0),
        Event::Launching {
            arm: ArmId::from_text("sdk-sampling-1.0").unwrap(),
            service: "checkout".to_owned(),
        },
    ]);
    insta::assert_snapshot!(shown(&course, 3));
}

#[test]
fn measuring_with_estimates() {
    let mut course = course_of(vec![in_round(2), block(41, 250, false)]);
    course.running = Some(running(
        None,
        vec![
            ("control", interval(0.003, 0.015)),
            ("sdk, sampling 0.1", interval(0.082, 0.032)),
            ("sdk, sampling 1.0", interval(0.145, 0.045)),
            ("日本語の名前がとても長い計装", interval(-0.012, 0.02)),
            ("\u{1b}[2Jsteers\nthe terminal", Known::Nothing),
        ],
    ));
    insta::assert_snapshot!(shown(&course, 10));
}

#[test]
fn the_first_of_several_rounds() {
    let mut course = course_of(vec![in_round(0), block(4, 250, false)]);
    let first = |relative| Known::Estimate {
        relative,
        why: NoInterval::OneRound,
    };
    course.running = Some(running(
        None,
        vec![("control", first(0.003)), ("sdk", first(0.145))],
    ));
    insta::assert_snapshot!(shown(&course, 0));
}

#[test]
fn a_stop_before_its_end_can_be_told() {
    let mut course = course_of(vec![in_round(6), block(141, 1800, true)]);
    let yet = Known::Estimate {
        relative: 0.082,
        why: NoInterval::TooFew,
    };
    course.running = Some(Running {
        regime: Some("saturation".to_owned()),
        ..running(
            Some(0.02),
            vec![
                ("control", interval(0.003, 0.015)),
                ("sdk, sampling 0.1", yet),
                ("sdk, sampling 1.0", interval(0.145, 0.045)),
            ],
        )
    });
    insta::assert_snapshot!(shown(&course, 0));
}

/// Thirty-four treatments; the later they come, the more they cost and the wider their intervals.
fn many(asked: Option<f64>) -> Running {
    let names: Vec<String> = (0..34).map(|i| format!("collector, batch {i}")).collect();
    let mut arms = vec![("control", interval(0.001, 0.01))];
    for (name, i) in names.iter().zip(0_i32..) {
        let i = f64::from(i);
        arms.push((name, interval(i / 100.0, (50.0 - i) / 1000.0)));
    }
    running(asked, arms)
}

#[test]
fn thirty_six_arms() {
    let mut course = course_of(vec![in_round(9), block(199, 5, false)]);
    course.running = Some(many(None));
    insta::assert_snapshot!("thirty_six_arms", shown(&course, 0));
    course.running = Some(many(Some(0.01)));
    insta::assert_snapshot!("thirty_six_arms_with_a_stop", shown(&course, 0));
}

#[test]
fn an_unknown_arm_is_shown_if_the_run_waits_for_it() {
    for (asked, is_shown) in [(None, false), (Some(0.01), true)] {
        let mut running = many(asked);
        running.estimates[20].known = Known::Nothing;
        let name = running.estimates[20].name.clone();
        let mut course = course_of(vec![in_round(9)]);
        course.running = Some(running);
        let found = shown(&course, 0);
        assert_eq!(found.contains(&name), is_shown, "{asked:?}: {found}");
    }
}

#[test]
fn what_passes_by_is_cut_and_not_folded() {
    let course = course_of(vec![Event::Building {
        command: "cargo build --release --features everything-that-there-is --target-dir build/out"
            .to_owned(),
    }]);
    insta::assert_snapshot!(shown(&course, 0));
}

#[test]
fn no_width_breaks_it() {
    let mut course = course_of(vec![in_round(9), block(200, 0, false)]);
    course.running = Some(many(None));
    for columns in 1..120 {
        for line in render(&course, Duration::ZERO, columns) {
            assert!(width(&line) <= columns, "{columns}: {line}");
        }
    }
}
