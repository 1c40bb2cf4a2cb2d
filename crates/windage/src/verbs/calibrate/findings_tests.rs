use std::collections::BTreeMap;

use windage_analysis::CpuEffect;
use windage_stats::totals::PairedTotals;

use super::*;
use crate::verbs::calibrate::observed::Estimate;

/// A share of a baseline of 50 µs, with a half-width.
fn difference(share: f64, half_width: f64) -> Difference {
    let interval = |scale: f64| Interval {
        estimate: share * scale,
        low: (share - half_width) * scale,
        high: (share + half_width) * scale,
        confidence: 0.95,
        method: windage_model::Method::MeanByLaunch,
    };
    Difference {
        absolute: interval(50.0),
        relative: Some(interval(1.0)),
        relative_90: None,
        within_launch_half_width: None,
        minimum_detectable_effect: Some(half_width * 1.5),
    }
}

/// Launches whose mean is this share of a baseline of 50 µs, and which scatter by 1 %.
fn effects(share: f64) -> CpuEffect {
    let scatter = |launch: u32| {
        if launch.is_multiple_of(2) {
            0.01
        } else {
            -0.01
        }
    };
    let launches: Vec<PairedTotals> = (0..14)
        .map(|launch| PairedTotals {
            baseline: 50.0,
            arm: 50.0 * (1.0 + share + scatter(launch)),
        })
        .collect();
    CpuEffect {
        difference_us: windage_stats::totals::difference(&launches).unwrap(),
        share: windage_stats::totals::relative(&launches).unwrap(),
    }
}

fn estimate(metric: Metric, share: f64, half_width: f64, seconds: f64) -> Estimate {
    Estimate {
        found: BTreeMap::from([(metric, difference(share, half_width))]),
        cpu: (metric == Metric::CpuPerRequest).then(|| effects(share)),
        launches: 14,
        seconds,
    }
}

/// An arm with these estimates from experiments of 40 s; half-width 1 %.
pub(in super::super) fn arm(
    name: &str,
    metric: Metric,
    truth: Truth,
    shares: &[f64],
) -> ObservedArm {
    let short = shares
        .iter()
        .map(|&share| estimate(metric, share, 0.01, 40.0));
    ObservedArm {
        name: name.to_owned(),
        truth,
        whole: estimate(metric, shares[0], 0.004, 80.0),
        experiments: short.collect(),
    }
}

/// A run with these arms.
pub(in super::super) fn run(arms: Vec<ObservedArm>) -> Observed {
    let without = arms.iter().find(|arm| arm.truth == Truth::Nothing);
    let cpu = without.and_then(|arm| arm.whole.cpu.as_ref());
    Observed {
        without_cost: cpu.map(|cpu| cpu.share.clone()),
        arms,
    }
}

fn cpu_run(more: f64) -> Observed {
    let cpu = Metric::CpuPerRequest;
    run(vec![
        arm(
            "control",
            cpu,
            Truth::Nothing,
            &[0.001 + more, -0.02, 0.002, 0.0],
        ),
        arm(
            "spin, iterations 550",
            cpu,
            Truth::Share(0.01),
            &[0.011 + more, 0.03],
        ),
        // 1 µs of 50 µs is 2 %.
        arm("busy", cpu, Truth::CpuUs(1.0), &[0.021 + more, 0.029]),
    ])
}

fn latency_run() -> Observed {
    let time = Metric::ServiceTimeP50;
    run(vec![arm("sleep", time, Truth::DelayUs(20.0), &[0.4])])
}

pub(in super::super) fn findings() -> Findings {
    Findings::of(&[cpu_run(0.0)], Some(&latency_run()))
}

/// Five CPU runs that differ, without latency.
pub(in super::super) fn findings_of_runs() -> Findings {
    Findings::of(&[0.0, 0.004, -0.004, 0.008, -0.008].map(cpu_run), None)
}

#[test]
fn the_whole_run_is_compared_with_the_truth() {
    let findings = findings();
    let found: Vec<_> = findings
        .recovered
        .iter()
        .map(|r| (r.arm.as_str(), r.unit, r.truth, r.is_inside()))
        .collect();
    assert_eq!(
        found,
        [
            ("control", Unit::Share, 0.0, true),
            ("spin, iterations 550", Unit::Share, 0.01, true),
            ("busy", Unit::Microseconds, 1.0, true),
            ("sleep", Unit::Microseconds, 20.0, true),
        ]
    );
    assert!((findings.recovered[2].interval.estimate - 1.05).abs() < 1e-9);
}

#[test]
fn experiments_are_counted_by_injected_cost() {
    let findings = findings();
    let counts = findings.headline().unwrap();
    assert!((counts.seconds - 40.0).abs() < 1e-9);
    // For spin, 3 % ± 1 % misses 1 %; for busy, both hold 2 %.
    assert_eq!((counts.inside, counts.with_cost), (3, 4));
    // For the control, −2 % ± 1 % excludes zero.
    assert_eq!((counts.false_positives, counts.without_cost), (1, 4));
    let of_time: Vec<_> = findings
        .counts
        .iter()
        .filter(|c| c.metric == Metric::ServiceTimeP50)
        .map(|c| (c.inside, c.with_cost, c.without_cost))
        .collect();
    assert_eq!(of_time, [(1, 1, 0)]);
}

#[test]
fn longer_times_are_extrapolated_by_their_square_root_and_marked() {
    let findings = findings();
    let of_cpu: Vec<&Width> = findings
        .widths
        .iter()
        .filter(|w| w.metric == Metric::CpuPerRequest)
        .collect();
    let table = [
        (10, 0.02, Some(40.0)),
        (60, 0.008_165, Some(40.0)),
        (300, 0.003_651, Some(40.0)),
    ];
    for (seconds, half_width, from_s) in table {
        let width = of_cpu.iter().find(|w| w.seconds == seconds).unwrap();
        assert!((width.half_width - half_width).abs() < 1e-5, "{width:?}");
        let visible = half_width * 1.5;
        assert!(
            (width.minimum_detectable_effect - visible).abs() < 2e-5,
            "{width:?}"
        );
        assert_eq!(width.extrapolated_from_s, from_s, "{seconds}");
        assert_eq!(width.experiments, 4);
    }
    // Without a control there are no half-widths.
    assert!(
        !findings
            .widths
            .iter()
            .any(|w| w.metric == Metric::ServiceTimeP50)
    );
}

#[test]
fn a_length_that_was_measured_is_not_scaled() {
    for (seconds, from_s) in [
        (40.0, Some(40.0)),
        (60.0, None),
        (62.0, None),
        (64.0, Some(64.0)),
    ] {
        let mut control = arm("control", Metric::CpuPerRequest, Truth::Nothing, &[0.0]);
        control.experiments[0].seconds = seconds;
        let width = width(&[run(vec![control])], Metric::CpuPerRequest, 60).unwrap();
        assert_eq!(width.extrapolated_from_s, from_s, "{seconds}");
    }
}

#[test]
fn a_run_too_short_to_cut_is_scaled_from_its_full_length() {
    let mut control = arm("control", Metric::CpuPerRequest, Truth::Nothing, &[0.0]);
    control.experiments.clear();
    control.whole.seconds = 2.5;
    let runs = [run(vec![control])];
    let width = width(&runs, Metric::CpuPerRequest, 10).unwrap();
    assert!((width.half_width - 0.002).abs() < 1e-12, "{width:?}");
    assert_eq!(width.extrapolated_from_s, Some(2.5));
    assert_eq!(counts(&runs, Metric::CpuPerRequest), None);
}

#[test]
fn runs_are_counted_together() {
    let findings = findings_of_runs();
    let spin = findings
        .recovered
        .iter()
        .filter(|r| r.arm.starts_with("spin"));
    let numbers: Vec<usize> = spin.map(|r| r.run).collect();
    assert_eq!(numbers, [1, 2, 3, 4, 5]);
    assert_eq!(findings.headline().unwrap().without_cost, 20);
    assert!(findings.between_runs.unwrap().is_known());
    assert_eq!(findings.biases.len(), 3, "A/A, spin and busy");
}
