use super::*;
use hdrhistogram::Histogram;

fn timed(launch: u32, block: u32, arm: u16, base_ns: u64, count: u64) -> Timed {
    let mut times = Histogram::<u64>::new_with_bounds(1, 60_000_000_000, 3).unwrap();
    for i in 0..count {
        times.record(base_ns + base_ns * (i % 100) / 100).unwrap();
    }
    Timed {
        launch,
        block,
        arm: ArmIndex(arm),
        times: (&times).into(),
    }
}

fn gather(blocks: u32, count: u64) -> Finished {
    let mut gatherer = Gatherer::new(2, SERVICE_TIME, &[], Order::Mirrored);
    for launch in 0..2 {
        for block in 0..blocks {
            gatherer.add(&timed(launch, block, 0, 1_000_000, count));
            gatherer.add(&timed(launch, block, 1, 1_100_000, count));
        }
    }
    gatherer.finish()
}

#[test]
fn a_slower_arm_is_slower_at_each_quantile() {
    let finished = gather(20, 1000);
    let found: Vec<_> = finished.comparisons(ArmIndex(1), 40).collect();
    for (metric, comparison) in &found {
        let location = comparison.location.as_ref().unwrap();
        assert!(
            (location.estimate.exp_m1() - 0.1).abs() < 2e-3,
            "{}",
            metric.as_str()
        );
    }
    // Medians are compared in each block, p99.9 over stretches of ten.
    let blocks = |at: usize| found[at].1.location.as_ref().unwrap().blocks;
    assert_eq!((found[1].0, blocks(1)), (Metric::ServiceTimeP50, 40));
    assert_eq!((found[4].0, blocks(4)), (Metric::ServiceTimeP999, 4));
    assert!((found[1].1.baseline.unwrap() - 1495.0).abs() < 10.0);
    assert!((finished.mean_us(ArmIndex::BASELINE).unwrap() - 1495.0).abs() < 1.0);
    assert_eq!(finished.mean_us(ArmIndex(2)), None);
}

#[test]
fn an_arm_that_ended_does_not_delay_the_others() {
    let mut gatherer = Gatherer::new(3, SERVICE_TIME, &[], Order::Mirrored);
    for block in 0..10 {
        for arm in (0..3).filter(|&arm| arm < 2 || block == 0) {
            gatherer.add(&timed(0, block, arm, 1_000_000, 1000));
        }
    }
    let finished = gatherer.finish();
    let (_, median) = finished.comparisons(ArmIndex(1), 10).next().unwrap();
    assert_eq!(median.location.unwrap().blocks, 10);
}

/// Low quantiles need answers below them, as high ones need answers above.
#[test]
fn stretches_are_as_long_as_the_nearer_side_requires() {
    // Of 100 answers, ten are below p10 and above p90, 50 on either side of the median, one above
    // p99.
    let table = [
        (100, [20, 20, 20, 2]),
        (50, [10, 20, 10, 1]),
        (20, [4, 20, 4, 0]),
    ];
    for (answers, expected) in table {
        let mut gatherer = Gatherer::new(2, SERVICE_TIME, &[], Order::Mirrored);
        for block in 0..20 {
            gatherer.add(&timed(0, block, 0, 1_000_000, answers));
            gatherer.add(&timed(0, block, 1, 1_100_000, answers));
        }
        let finished = gatherer.finish();
        let stretches: Vec<usize> = finished
            .tracks
            .iter()
            .map(|track| track.ratios[1].get(&0).map_or(0, Vec::len))
            .collect();
        assert_eq!(stretches[..4], expected, "{answers} answers per block");
    }
}

#[test]
fn too_few_answers_give_no_tail() {
    let finished = gather(2, 100);
    let found: Vec<_> = finished.comparisons(ArmIndex(1), 4).collect();
    assert!(found[1].1.location.is_ok());
    assert!(found[4].1.location.is_err());
    assert_eq!(found[4].1.baseline, None);
}

/// In one block of twenty, all answers take a hundred times as long: 5 % of all.
#[test]
fn an_own_quantile_is_that_of_the_launch_and_needs_no_baseline() {
    let mut gatherer = Gatherer::new(2, SERVICE_TIME, &[], Order::Mirrored);
    for launch in 0..2 {
        for block in 0..20 {
            let base_ns = if block == 7 { 100_000_000 } else { 1_000_000 };
            gatherer.add(&timed(launch, block, 1, base_ns, 1000));
        }
    }
    let finished = gatherer.finish();
    for (metric, comparison) in finished.comparisons(ArmIndex(1), 40) {
        let own = comparison.own.unwrap();
        let reported = comparison.arm.unwrap();
        assert_eq!(own.launches, 2);
        assert!(
            (own.estimate / reported - 1.0).abs() < 0.01,
            "{}",
            metric.as_str()
        );
    }
}
