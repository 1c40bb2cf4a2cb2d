use hdrhistogram::Histogram;
use windage_model::{LoadModel, Metric, Window};
use windage_record::Timing;

use super::*;
use crate::fixture::run_directory::{ANSWERS, Written, times, under_loads, written};
use crate::of_run_directory;

#[test]
fn the_analysis_is_that_of_the_run_directory() {
    let mut batch = under_loads(1);
    batch.manifest.load.model = LoadModel::Batch;
    let mut nothing = under_loads(1);
    nothing.windows.clear();
    // what was recorded, whether times were, loads, kinds of times, why
    let table = [
        (under_loads(1), true, 1, 2, "a load of requests"),
        (under_loads(2), true, 2, 2, "two loads in turn"),
        (batch, false, 1, 0, "no requests, and no times"),
        (nothing, true, 1, 0, "no window"),
    ];
    for (recorded, is_timed, loads, kinds, why) in table {
        let Written { run, _folder } = written(&recorded, is_timed);
        let found = detailed(&run).unwrap();
        // NaN is not equal to itself.
        let alone = of_run_directory(&run).unwrap();
        assert_eq!(
            format!("{:?}", found.analysis),
            format!("{alone:?}"),
            "{why}"
        );
        assert_eq!(found.state, RunState::Ended, "{why}");
        assert_eq!(found.loads.len(), loads, "{why}");
        let of_loads = found.loads.iter();
        let windows: usize = of_loads
            .clone()
            .filter_map(|load| Some(load.series.as_ref()?.windows_in_all))
            .sum();
        assert_eq!(windows, recorded.windows.len(), "{why}");
        for load in of_loads {
            assert_eq!(load.latency.len(), kinds, "{why}");
            assert_eq!(load.series.is_some(), !recorded.windows.is_empty(), "{why}");
        }
    }
}

#[test]
fn differences_by_quantile_are_those_of_the_metrics() {
    let Written { run, _folder } = written(&under_loads(1), true);
    let found = detailed(&run).unwrap();
    let [response, service] = &found.loads[0].latency[..] else {
        panic!("both kinds of times were recorded");
    };
    use Metric::*;
    let reported = [
        (
            response,
            Timing::ResponseTime,
            [
                ResponseTimeP10,
                ResponseTimeP50,
                ResponseTimeP90,
                ResponseTimeP99,
                ResponseTimeP999,
            ],
        ),
        (
            service,
            Timing::ServiceTime,
            [
                ServiceTimeP10,
                ServiceTimeP50,
                ServiceTimeP90,
                ServiceTimeP99,
                ServiceTimeP999,
            ],
        ),
    ];
    for (latency, timing, metrics) in reported {
        assert_eq!(latency.timing, timing);
        let arms: Vec<usize> = latency.differences.iter().map(|d| d.arm.get()).collect();
        assert_eq!(arms, [1, 2], "the others are compared with the baseline");
        for of_arm in &latency.differences {
            let quantiles: Vec<f64> = of_arm.points.iter().map(|point| point.quantile).collect();
            assert_eq!(quantiles.len(), 15);
            assert!(quantiles.is_sorted_by(|a, b| a < b), "{quantiles:?}");
            for (metric, quantile) in metrics.into_iter().zip([0.1, 0.5, 0.9, 0.99, 0.999]) {
                let of_metric = &found.analysis.arms[of_arm.arm.get()].metrics[&metric];
                let expected = of_metric.difference.as_ref().unwrap();
                let point = of_arm
                    .points
                    .iter()
                    .find(|p| p.quantile == quantile)
                    .unwrap();
                assert_eq!(
                    Some(&point.relative),
                    expected.relative.as_ref(),
                    "{quantile}"
                );
                assert_eq!(point.us.as_ref(), Some(&expected.absolute), "{quantile}");
            }
        }
        // A tenth more at each quantile, within the precision of blocks of two thousand answers.
        for point in &latency.differences[1].points {
            let off = (point.relative.estimate - 0.1).abs();
            assert!(
                off < if point.quantile < 0.99 { 0.02 } else { 0.1 },
                "{point:?}"
            );
        }
    }
}

#[test]
fn times_by_percentile_rise_to_the_longest() {
    let recorded = under_loads(1);
    let Written { run, _folder } = written(&recorded, true);
    let found = detailed(&run).unwrap();
    for latency in &found.loads[0].latency {
        assert_eq!(latency.arms.len(), 3);
        for of_arm in &latency.arms {
            let mut all = Histogram::<u32>::new_with_bounds(1, 86_400_000_000_000, 3).unwrap();
            let own = |window: &&Window| window.place.arm == of_arm.arm;
            for window in recorded.windows.iter().filter(own) {
                all.add(times(window, ANSWERS)).unwrap();
            }
            assert_eq!(of_arm.count, all.len());
            assert!(of_arm.steps.len() <= 100, "{}", of_arm.steps.len());
            assert!(of_arm.steps.is_sorted_by(|a, b| a.0 < b.0 && a.1 <= b.1));
            for &(quantile, us) in &of_arm.steps {
                // The lowest time is what the histogram has at 0.
                let expected_ns = all.highest_equivalent(all.value_at_quantile(quantile));
                assert_eq!(us, expected_ns as f64 / 1e3, "at {quantile}");
            }
            assert_eq!(of_arm.steps.last(), Some(&(1.0, all.max() as f64 / 1e3)));
        }
    }
}
