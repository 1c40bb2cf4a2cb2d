use windage_model::Metric;
use windage_model::fixtures::turn_block;
use windage_record::{LaunchArmEnd, LaunchEnd};

use super::*;
use crate::fixture;

/// A launch of two blocks of turns, in which arm 2 costs `more_us` more per request than the
/// others, which cost 100 µs at a speed of 1, and nothing is deferred.
fn interleaved_launch(launch: u32, speed: f64, more_us: f64) -> Vec<Entry> {
    let mut entries = vec![Entry::LaunchStarted(fixture::launch(launch, &[0, 1, 2]))];
    for block in [launch * 2, launch * 2 + 1] {
        let mut turns = turn_block(launch, block, &[0, 1, 2]);
        for of in &mut turns.arms {
            let more_us = if of.arm == ArmIndex(2) { more_us } else { 0.0 };
            let cpu_us = (100.0 * speed + more_us) * of.exchanges.completed as f64;
            of.cpu_ns = Some((cpu_us * 1e3) as u64);
        }
        entries.push(Entry::Turns(turns));
    }
    let arms = [0, 1, 2].map(|arm| LaunchArmEnd {
        arm: ArmIndex(arm),
        after_last_window_ns: Some(0),
        idle_cpu_ns: Some(0),
        idle_ns: 500_000_000,
        after_turns_ns: Some(0),
        turns_drain_ns: 200_000_000,
        ..LaunchArmEnd::default()
    });
    entries.push(Entry::LaunchEnded(LaunchEnd {
        launch,
        arms: arms.to_vec(),
        ..LaunchEnd::default()
    }));
    entries
}

/// So many launches; what arm 2 costs more depends on the launch.
fn run(launches: u32, more_us: impl Fn(u32) -> f64) -> Cuttable {
    let mut manifest = fixture::records(1).manifest;
    manifest.load.rate_per_s = Some(2_000.0);
    let speed = |launch: u32| 1.0 + 0.1 * fixture::noise(u64::from(launch));
    let entries = (0..launches).flat_map(|l| interleaved_launch(l, speed(l), more_us(l)));
    Cuttable {
        manifest,
        host: serde_json::json!({}),
        entries: entries.collect(),
        response_times: Vec::new(),
        service_times: Vec::new(),
    }
}

fn cpu(experiment: &Experiment, arm: usize) -> &CpuEffect {
    experiment.arms[arm].cpu.as_ref().unwrap()
}

#[test]
fn consecutive_launches_make_an_experiment() {
    let run = run(10, |_| 5.0);
    // Launches in all, how many experiments of how many launches.
    for (launches, expected) in [(1, 10), (3, 3), (5, 2), (6, 1), (10, 1), (11, 0), (0, 10)] {
        let experiments = run.experiments(launches);
        assert_eq!(experiments.len(), expected, "{launches}");
        assert!(experiments.iter().all(|e| e.launches == launches.max(1)));
    }
    assert_eq!(run.whole().launches, 10);
}

#[test]
fn an_experiment_knows_nothing_of_other_launches() {
    let run = run(8, |launch| if launch < 4 { 5.0 } else { 9.0 });
    let experiments = run.experiments(4);
    assert_eq!(experiments.len(), 2);
    for (experiment, expected_us) in experiments.iter().zip([5.0, 9.0]) {
        let found = cpu(experiment, 2);
        assert_eq!(found.share.launches(), 4);
        assert!((found.difference_us.estimate - expected_us).abs() < 1e-6);
        let metric = &experiment.arms[2].analysis.metrics[&Metric::CpuPerRequest];
        let absolute = metric.difference.as_ref().unwrap().absolute;
        assert!(
            (absolute.estimate - expected_us).abs() < 1e-6,
            "{absolute:?}"
        );
        assert!((cpu(experiment, 1).share.estimate).abs() < 1e-9);
        assert_eq!(experiment.arms[0].cpu, None);
    }
    assert!((cpu(&run.whole(), 2).difference_us.estimate - 7.0).abs() < 1e-6);
}

#[test]
fn a_launch_without_an_end_is_left_out() {
    let mut run = run(4, |_| 5.0);
    run.entries.pop();
    assert_eq!((run.whole().launches, run.experiments(2).len()), (3, 1));
}

#[test]
fn arms_are_pooled_within_launches() {
    let whole = run(6, f64::from).whole();
    let pooled = whole.together(&[ArmIndex(1), ArmIndex(2)]).unwrap();
    let (one, two) = (&cpu(&whole, 1).share, &cpu(&whole, 2).share);
    assert!((pooled.estimate - (one.estimate + two.estimate) / 2.0).abs() < 1e-12);
    assert_eq!(pooled.launches(), 6);
    assert_eq!(whole.together(&[]), None);
    assert_eq!(whole.together(&[ArmIndex(9)]), None);
}

#[test]
fn an_experiment_lasts_as_long_as_its_two_arms_alone() {
    let run = run(3, |_| 0.0);
    let whole = run.whole();
    // Three launches of two blocks of a second, of which two of three turns count.
    for (arm, seconds) in [(0, 2.0), (1, 4.0), (2, 4.0)] {
        assert!((whole.arms[arm].seconds - seconds).abs() < 1e-9, "{arm}");
    }
    let windows = Cuttable {
        entries: fixture::records(1).entries().collect(),
        ..run
    };
    // Ten blocks with two windows of each of the pair, 0.11 s and more each.
    let seconds = windows.whole().arms[2].seconds;
    assert!((4.0..7.0).contains(&seconds), "{seconds}");
}

#[test]
fn isolated_windows_make_experiments_too() {
    let recorded = fixture::records(6);
    let run = Cuttable {
        manifest: recorded.manifest.clone(),
        host: serde_json::json!({}),
        entries: recorded.entries().collect(),
        response_times: Vec::new(),
        service_times: Vec::new(),
    };
    let experiments = run.experiments(3);
    assert_eq!(experiments.len(), 2);
    for experiment in &experiments {
        let share = cpu(experiment, 2).share.estimate;
        // A fifth in the windows, plus the deferred cost.
        assert!((share - 0.2).abs() < 0.1, "{share}");
    }
}
