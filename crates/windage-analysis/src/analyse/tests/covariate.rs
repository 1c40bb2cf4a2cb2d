//! Noise that generator and subject share.

use super::*;

/// A run in which the generator meets all the noise that the subject meets.
fn with_noise_in_both(moved_at_most: Option<f64>) -> Recorded {
    let mut run = fixture::records(4);
    run.manifest.design.generator_moved_at_most = moved_at_most;
    for window in &mut run.windows {
        let cost = if window.place.arm.get() == 2 {
            1.2
        } else {
            1.0
        };
        let met = window.cpu.in_window_ns.unwrap() as f64 / cost;
        window.cpu.generator_ns = (met / 5.0) as u64;
    }
    run
}

fn in_window(analysis: &Analysis) -> &MetricAnalysis {
    &analysis.arms[2].metrics[&Metric::CpuInWindow]
}

fn half_width(of: &MetricAnalysis) -> f64 {
    let relative = &of.difference.as_ref().unwrap().relative;
    relative.as_ref().unwrap().half_width()
}

#[test]
fn a_covariate_takes_out_shared_noise_only_where_the_plan_bounds_it() {
    let plain = analysed(&with_noise_in_both(None));
    assert_eq!(in_window(&plain).inference.covariate, None);
    let bounded = analysed(&with_noise_in_both(Some(0.000_1)));
    let found = in_window(&bounded);
    let use_of = found.inference.covariate.as_ref().unwrap();
    let gain = use_of.outcome.as_ref().unwrap();
    assert!(gain.correlation > 0.99 && gain.narrower > 0.5, "{gain:?}");
    // The interval holds the truth, and no less than what the plan allows for.
    let relative = found.difference.as_ref().unwrap().relative.clone().unwrap();
    assert!(relative.low <= 0.2 && 0.2 <= relative.high, "{relative:?}");
    assert!(half_width(found) < 0.5 * half_width(in_window(&plain)));
    assert!(half_width(found) >= 0.000_1);
}

#[test]
fn a_covariate_that_had_other_work_is_refused() {
    let mut run = with_noise_in_both(Some(0.000_1));
    for window in &mut run.windows {
        window.exchanges.sent_bytes = 100_000;
        let longer = u64::from(window.place.arm.get() == 2) * 1_000;
        window.exchanges.received_bytes = 200_000 + longer;
    }
    let analysis = analysed(&run);
    let found = in_window(&analysis);
    let use_of = found.inference.covariate.as_ref().unwrap();
    assert_eq!(use_of.outcome, Err(windage_stats::Refused::Unequal));
    assert!(
        (half_width(found) - half_width(in_window(&analysed(&with_noise_in_both(None))))).abs()
            < 1e-12
    );
}
