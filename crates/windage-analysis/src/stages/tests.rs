//! Stages of known cost.

use windage_model::{ArmCpu, ArmIndex, Expected, LoadModel, Order};
use windage_record::{ManifestArm, fixtures};

use super::*;
use crate::fixture::{self, Recorded, noise};
use crate::{MissingCode, analyse};

/// Off, control, three stages and an end-to-end arm.
const COSTS_US: [f64; 6] = [50.0, 50.0, 52.0, 65.0, 80.0, 80.0];
const LAST: usize = 4;
const TWIN: usize = 5;

/// Approximately normal noise with a standard deviation of 1.
fn chance(seed: u64, counter: u64) -> f64 {
    let at = |part: u64| noise(((seed * 4 + part) << 32) ^ counter);
    at(0) + at(1) + at(2)
}

/// A run of ten blocks per round over arms of these costs, with drift, scatter of 1 % between
/// windows, and the given launch luck.
fn chain_of(costs_us: &[f64], rounds: u32, luck: f64, seed: u64) -> Recorded {
    let mut run = fixture::records(0);
    run.manifest.arms.truncate(2);
    let count = u16::try_from(costs_us.len()).unwrap();
    for index in 2..count {
        run.manifest.arms.push(ManifestArm {
            adds_to: Some(ArmIndex(if index == 2 { 0 } else { index - 1 })),
            ..fixtures::arm(index, &format!("arm {index}"))
        });
    }
    let whole = run.manifest.arms.last_mut().unwrap();
    whole.adds_to = None;
    whole.same_as = Some(ArmIndex(count - 2));
    for round in 0..rounds {
        add_round(&mut run, costs_us, round, luck, seed);
    }
    run
}

fn add_round(run: &mut Recorded, costs_us: &[f64], round: u32, luck: f64, seed: u64) {
    let all: Vec<u16> = (0u16..).take(costs_us.len()).collect();
    run.launches.push(fixture::launch(round, &all));
    let there_and_back: Vec<u16> = all.iter().chain(all.iter().rev()).copied().collect();
    for block in round * 10..(round + 1) * 10 {
        let speed = 1.0 + 0.3 * (f64::from(block) / 7.0).sin();
        for (position, &arm) in (0u32..).zip(&there_and_back) {
            let of_launch = chance(seed, u64::from(round) << 8 | u64::from(arm) | 1 << 30);
            let of_window = chance(seed, u64::from(block) << 8 | u64::from(position));
            let scatter = (luck * of_launch + 0.01 * of_window).exp();
            let mut window = fixture::window(round, block, arm);
            window.place.position = position;
            let us = costs_us[usize::from(arm)] * speed * scatter;
            window.cpu.in_window_ns = Some((us * 1e6) as u64);
            run.windows.push(window);
        }
    }
    let ends: Vec<_> = all.iter().map(|arm| (*arm, 0, 0)).collect();
    run.ends.push(fixture::launch_end(round, &ends));
}

fn of(run: &Recorded) -> Stages {
    let analysis = analyse(&run.gathered(), std::iter::empty(), std::iter::empty());
    assert_eq!(analysis.stages.len(), 1);
    analysis.stages[0].clone()
}

fn us(cost: &Result<StageCost, Missing>) -> f64 {
    cost.as_ref().unwrap().absolute.estimate
}

#[test]
fn stages_add_up_to_the_last_arm_against_the_first() {
    for (rounds, luck, seed) in [(1, 0.0, 1), (3, 0.02, 2), (8, 0.05, 3)] {
        let mut run = chain_of(&COSTS_US, rounds, luck, seed);
        // A window missing from one arm does not matter.
        run.windows.remove(3);
        run.windows[20].cpu.in_window_ns = Some(900_000_000);
        let found = of(&run);
        let sum: f64 = found.stages.iter().map(|stage| us(&stage.cost)).sum();
        assert!((sum - us(&found.sum)).abs() < 1e-9, "{sum} {:?}", found.sum);
        let shares: f64 = found
            .stages
            .iter()
            .filter_map(|stage| found.share_of_sum(&stage.cost))
            .sum();
        assert!((shares - 1.0).abs() < 1e-9, "{shares}");
        let whole = &found.end_to_end[0];
        let gap = us(&whole.cost) - us(&found.sum);
        assert!((gap - us(&whole.gap)).abs() < 1e-9);
        assert_eq!(found.rounds, rounds as usize);
    }
}

#[test]
fn a_chain_that_begins_at_the_baseline_costs_what_its_last_arm_costs() {
    let run = chain_of(&COSTS_US, 3, 0.01, 4);
    let analysis = analyse(&run.gathered(), std::iter::empty(), std::iter::empty());
    let stages = &analysis.stages[0];
    let last = &analysis.arms[LAST].metrics[&stages.metric];
    let of_arm = &last.difference.as_ref().unwrap().absolute;
    let sum = &stages.sum.as_ref().unwrap().absolute;
    for (found, expected) in [
        (sum.estimate, of_arm.estimate),
        (sum.low, of_arm.low),
        (sum.high, of_arm.high),
        (stages.from_us.unwrap(), last.baseline.unwrap()),
    ] {
        assert!((found - expected).abs() < 1e-9, "{found} {expected}");
    }
}

/// Intervals of stages cover the true cost at their confidence, with several launches and with one;
/// so do the gap's intervals.
#[test]
fn intervals_cover_what_stages_cost() {
    const SEEDS: u64 = 150;
    for (rounds, luck) in [(5, 0.01), (1, 0.0)] {
        let mut covered = [0u32; 4];
        for seed in 0..SEEDS {
            let found = of(&chain_of(&COSTS_US, rounds, luck, 100 + seed));
            let truths = [4.0, 26.0, 15.0 / 65.0 * 100.0, 0.0].map(|percent| percent / 100.0);
            let truths = [truths[0], 65.0 / 52.0 - 1.0, truths[2], truths[3]];
            let costs = found.stages.iter().map(|stage| &stage.cost);
            let costs = costs.chain(found.end_to_end.iter().map(|whole| &whole.gap));
            for ((covered, cost), truth) in covered.iter_mut().zip(costs).zip(truths) {
                let relative = &cost.as_ref().unwrap().relative;
                *covered += u32::from(relative.low <= truth && truth <= relative.high);
            }
        }
        let share = f64::from(covered.iter().sum::<u32>()) / (4 * SEEDS) as f64;
        // 600 intervals of 95 %: 93.2 to 96.8 % in 19 of 20 cases, if they were independent.
        assert!(
            (0.925..=0.985).contains(&share),
            "{rounds} rounds: {covered:?} {share}"
        );
    }
}

#[test]
fn a_true_gap_is_found_and_none_is_not() {
    const SEEDS: u64 = 60;
    // The end-to-end cost beyond the stages, in microseconds; how many of 60 runs find a gap.
    for (planted_us, found_in) in [(0.0, 0..=8), (3.0, 55..=60), (-3.0, 55..=60)] {
        let mut costs_us = COSTS_US;
        costs_us[TWIN] += planted_us;
        let gaps = (0..SEEDS).filter(|seed| {
            let found = of(&chain_of(&costs_us, 5, 0.01, 1000 + seed));
            let whole = &found.end_to_end[0];
            assert_eq!(found.stages[2].arm, whole.same_as);
            whole.is_additive() == Some(false) && us(&whole.gap) * planted_us >= 0.0
        });
        let gaps = gaps.count();
        assert!(found_in.contains(&gaps), "{planted_us}: {gaps}");
    }
}

/// The last stage defers 4 µs of its 15 into the baseline's windows.
#[test]
fn deferred_cost_is_part_of_a_stage() {
    let mut costs_us = COSTS_US;
    costs_us[LAST] -= 4.0;
    let mut run = chain_of(&costs_us, 3, 0.0, 5);
    let windows = run.windows.iter_mut();
    for window in windows.filter(|window| window.place.arm == ArmIndex::BASELINE) {
        // A thousand requests of a window and a hundred of its settle defer cost.
        window.cpu.others_before.push(ArmCpu {
            arm: ArmIndex(4),
            cpu_ns: 4_400_000,
        });
    }
    let found = of(&run);
    // Cost in windows scales with the machine's speed, as the first arm's 50 µs do.
    let speed = found.from_us.unwrap() / 50.0;
    for (stage, expected) in found.stages.iter().zip([2.0, 13.0, 11.0]) {
        let deferred = if stage.arm.as_str() == "arm-4" {
            4.0
        } else {
            0.0
        };
        let (found, expected) = (us(&stage.cost), expected * speed + deferred);
        assert!(
            (found - expected).abs() < 0.4,
            "{}: {found} {expected}",
            stage.arm
        );
    }
}

#[test]
fn costs_are_divided_by_what_the_last_arm_sends() {
    let per_item = |run: &Recorded| {
        let found = of(run);
        let cost = found.stages[1].cost.clone().unwrap();
        let of = |item: Option<Interval>| item.map(|item| cost.absolute.estimate / item.estimate);
        let per_request = (found.spans_per_request, found.events_per_request);
        (per_request, (of(cost.per_span), of(cost.per_event)))
    };
    let mut run = chain_of(&COSTS_US, 3, 0.01, 6);
    assert_eq!(
        per_item(&run),
        ((None, None), (None, None)),
        "nothing is known"
    );
    run.manifest.arms[LAST].expected = Some(Expected {
        spans_per_request: Some(23.0),
        ..Expected::default()
    });
    let close = |found: Option<f64>, expected: f64| {
        let found = found.unwrap();
        assert!((found - expected).abs() < 1e-9, "{found} {expected}");
    };
    let ((spans, events), (per_span, per_event)) = per_item(&run);
    close(spans, 23.0);
    close(per_span, 23.0);
    assert_eq!((events, per_event), (None, None));
    for launch in 0..3 {
        let mut delivered = fixture::delivered(launch, 4, 22_000, 22_000);
        delivered.span_events = 484_000;
        run.delivered.push(delivered);
    }
    let ((spans, events), (per_span, per_event)) = per_item(&run);
    close(spans, 1.0);
    close(per_span, 1.0);
    close(events, 22.0);
    close(per_event, 22.0);
}

#[test]
fn unmeasured_arms_leave_figures_missing() {
    let mut run = chain_of(&COSTS_US, 3, 0.01, 7);
    run.windows.retain(|window| window.place.arm != ArmIndex(3));
    let found = of(&run);
    let code = |cost: &Result<StageCost, Missing>| cost.as_ref().err().map(Missing::code);
    let codes: Vec<_> = found.stages.iter().map(|s| code(&s.cost)).collect();
    let absent = Some(MissingCode::NotMeasured);
    assert_eq!(codes, [None, absent, absent]);
    let sum = found.sum.as_ref().unwrap().relative.estimate;
    assert!(
        (sum - 0.6).abs() < 0.02,
        "the sum only needs the ends: {sum}"
    );
    assert_eq!(found.end_to_end[0].is_additive(), Some(true));

    run.windows
        .retain(|window| window.place.arm != ArmIndex::BASELINE);
    let found = of(&run);
    assert_eq!((code(&found.sum), found.from_us), (absent, None));
    assert_eq!((found.end_to_end[0].is_additive(), found.rounds), (None, 0));

    let mut run = chain_of(&COSTS_US, 3, 0.01, 8);
    run.manifest.design.order = Order::Sequential;
    for window in &mut run.windows {
        window.place.block = window.place.block * 6 + u32::from(window.place.arm.0);
    }
    let found = of(&run);
    assert_eq!(code(&found.sum), absent, "arms that never share a block");
}

#[test]
fn an_arm_that_died_keeps_its_earlier_launches() {
    let mut run = chain_of(&COSTS_US, 4, 0.01, 9);
    let is_left = |launch: u32, arm: ArmIndex| launch < 3 || arm != ArmIndex(3);
    run.windows.retain(|w| is_left(w.place.launch, w.place.arm));
    let found = of(&run);
    assert_eq!(found.rounds, 3);
    let sum: f64 = found.stages.iter().map(|stage| us(&stage.cost)).sum();
    assert!((sum - us(&found.sum)).abs() < 1e-9);
}

#[test]
fn json_has_every_figure_or_a_reason() {
    let mut run = chain_of(&COSTS_US, 3, 0.01, 10);
    run.manifest.load.model = LoadModel::Batch;
    run.windows.retain(|window| window.place.arm != ArmIndex(3));
    let analysis = analyse(&run.gathered(), std::iter::empty(), std::iter::empty());
    let stages = &fixture::to_json(&analysis)["stages"][0];
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    assert_eq!(text(&stages["metric"]), "cpu_per_iteration");
    assert_eq!(
        (text(&stages["unit"]), text(&stages["from"])),
        ("us".into(), "off".into())
    );
    assert_eq!(text(&stages["stages"][2]["adds_to"]), "arm-3");
    assert_eq!(
        text(&stages["stages"][1]["missing"]["code"]),
        "not_measured"
    );
    assert!(stages["stages"][0]["difference"]["low"].is_number());
    assert!(stages["stages"][0]["missing"].is_null());
    assert!(stages["sum"]["relative"]["estimate"].is_number());
    let whole = &stages["end_to_end"][0];
    assert_eq!(text(&whole["same_as"]), "arm-4");
    assert_eq!(whole["is_additive"], serde_json::json!(true));
    assert_eq!(whole["gap"]["exceeds_zero"], serde_json::json!(false));
}
