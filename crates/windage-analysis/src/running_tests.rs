//! Running estimates compared with the analysis of the same records.

use std::convert::Infallible;

use windage_model::{LoadModel, Order};
use windage_record::{Entry, StopScope};

use super::*;
use crate::analyse::analyse;
use crate::fixture::in_turns::records_with_turns;
use crate::fixture::{self, Recorded};

/// The entries of a run in the order in which the lab writes them.
fn entries(of: &Recorded) -> Vec<Entry> {
    let mut entries = Vec::new();
    for launch in &of.launches {
        entries.push(Entry::LaunchStarted(launch.clone()));
        let windows = of.windows.iter();
        let own = windows.filter(|w| w.place.launch == launch.launch);
        entries.extend(own.cloned().map(Entry::Window));
        let own = of.turns.iter().filter(|b| b.launch == launch.launch);
        entries.extend(own.cloned().map(Entry::Turns));
        let ends = of.ends.iter().filter(|end| end.launch == launch.launch);
        entries.extend(ends.cloned().map(Entry::LaunchEnded));
    }
    entries
}

/// The final estimates, with an update after each entry.
fn at_the_end(of: &Recorded) -> Option<Running> {
    let mut gathering = Gathering::of(&of.manifest, &serde_json::Value::Null);
    let mut last = None;
    for entry in entries(of) {
        gathering.take(entry);
        last = gathering.present().and_then(|p| p.so_far(running));
    }
    last
}

/// The intervals in the report of the same entries.
fn reported(of: &Recorded, metric: Metric) -> Vec<Option<Interval>> {
    let entries = entries(of).into_iter().map(Ok::<_, Infallible>);
    let records = Records::gather(&of.manifest, &serde_json::Value::Null, entries).unwrap();
    let analysis = analyse(&records[0], std::iter::empty(), std::iter::empty());
    let arms = analysis.arms.iter().filter(|a| a.role != Role::Baseline);
    arms.map(|arm| arm.metrics[&metric].difference.clone().ok()?.relative)
        .collect()
}

fn intervals(running: &Running) -> Vec<Option<Interval>> {
    let of = |estimate: &RunningEstimate| match &estimate.known {
        Known::Interval(found) => Some(*found),
        Known::Estimate { .. } | Known::Nothing => None,
    };
    running.estimates.iter().map(of).collect()
}

#[test]
fn frequent_updates_end_at_the_report() {
    let of_windows = [2, 3, 8].map(fixture::records);
    let of_turns = [2, 8].map(|rounds| records_with_turns(rounds, 1));
    for recorded in of_windows.into_iter().chain(of_turns) {
        let rounds = recorded.launches.len();
        let found = at_the_end(&recorded).unwrap();
        assert_eq!(found.metric, Metric::CpuPerRequest, "{rounds} rounds");
        assert_eq!(intervals(&found), reported(&recorded, found.metric));
        let names: Vec<&str> = found.estimates.iter().map(|e| e.name.as_str()).collect();
        assert_eq!(names, ["control", "otel"]);
        assert_eq!(found.estimates[0].role, Role::Control);
    }
}

#[test]
fn one_round_of_several_has_a_figure_and_no_interval() {
    for mut recorded in [fixture::records(1), records_with_turns(1, 1)] {
        recorded.manifest.design.rounds = 1;
        let of_one = at_the_end(&recorded).unwrap();
        recorded.manifest.design.rounds = 3;
        let of_three = at_the_end(&recorded).unwrap();
        let Known::Interval(within) = &of_one.estimates[1].known else {
            panic!("a run of one round has the interval within its launch")
        };
        let Known::Estimate { relative, why } = of_three.estimates[1].known else {
            panic!("a round of several has no interval")
        };
        assert!((relative - within.estimate).abs() < 1e-12);
        assert_eq!(why, NoInterval::OneRound);
    }
}

#[test]
fn a_run_with_a_stop_rule_shows_its_metric() {
    let mut recorded = fixture::records(3);
    recorded.manifest.design.stop = Some(StopScope {
        until: windage_model::Until::Known {
            metric: Metric::Throughput,
            half_width: 0.02,
        },
        within_ns: 60_000_000_000,
    });
    let early = at_the_end(&recorded).unwrap();
    assert_eq!(
        (early.metric, early.asked),
        (Metric::Throughput, Some(0.02))
    );
    let why = early.estimates.iter().map(|e| match e.known {
        Known::Estimate { why, .. } => Some(why),
        Known::Interval(_) | Known::Nothing => None,
    });
    assert!(why.eq([Some(NoInterval::TooFew); 2]), "{early:?}");
    let stop = recorded.manifest.design.stop;
    let mut recorded = fixture::records(8);
    recorded.manifest.design.stop = stop;
    let late = at_the_end(&recorded).unwrap();
    assert_eq!(intervals(&late), reported(&recorded, Metric::Throughput));
    assert!(intervals(&late).iter().all(Option::is_some));
}

#[test]
fn without_cpu_the_metric_is_the_reports_primary() {
    for (model, expected) in [
        (LoadModel::Closed, Some(Metric::Throughput)),
        // The primary metric is then the median response time, which the journal does not have.
        (LoadModel::Open, None),
    ] {
        let mut recorded = fixture::records(2);
        recorded.manifest.load.model = model;
        for window in &mut recorded.windows {
            window.cpu.in_window_ns = None;
        }
        let found = at_the_end(&recorded);
        assert_eq!(found.map(|f| f.metric), expected, "{model:?}");
    }
}

#[test]
fn no_estimates_without_comparable_windows() {
    let stop = StopScope {
        until: windage_model::Until::Known {
            metric: Metric::Throughput,
            half_width: 0.02,
        },
        within_ns: 60_000_000_000,
    };
    for stop in [None, Some(stop)] {
        let mut recorded = fixture::records(1);
        recorded.manifest.design.stop = stop;
        recorded.windows.clear();
        assert_eq!(at_the_end(&recorded), None, "{stop:?}");
        recorded.launches.clear();
        assert_eq!(at_the_end(&recorded), None, "{stop:?}");
    }
    // Nothing is known about an arm that was never measured.
    let mut recorded = fixture::records(2);
    recorded.windows.retain(|w| w.place.arm != ArmIndex(2));
    let found = at_the_end(&recorded).unwrap();
    assert_eq!(found.estimates[1].known, Known::Nothing);
    assert!(matches!(found.estimates[0].known, Known::Interval(_)));
}

#[test]
fn one_arm_after_another_is_followed_as_well() {
    let mut recorded = fixture::records(2);
    recorded.manifest.design.order = Order::Sequential;
    let found = at_the_end(&recorded).unwrap();
    assert_eq!(intervals(&found), reported(&recorded, found.metric));
}
