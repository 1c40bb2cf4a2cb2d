use std::collections::BTreeMap;

use super::*;

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

fn found(metric: Metric, share: f64, half_width: f64) -> Found {
    BTreeMap::from([(metric, difference(share, half_width))])
}

/// An arm with these estimates from experiments of 10 s; half-width 1 %.
fn arm(name: &str, metric: Metric, truth: Truth, shares: &[f64]) -> ObservedArm {
    let short = shares.iter().map(|&share| found(metric, share, 0.01));
    ObservedArm {
        name: name.to_owned(),
        truth,
        whole: found(metric, shares[0], 0.004),
        whole_s: 40.0,
        experiments: BTreeMap::from([(10, short.collect())]),
    }
}

pub(in super::super) fn findings() -> Findings {
    let (cpu, time) = (Metric::CpuPerRequest, Metric::ServiceTimeP50);
    Findings::of(
        &Observed {
            arms: vec![
                arm("control", cpu, Truth::Nothing, &[0.001, -0.02, 0.002, 0.0]),
                arm(
                    "spin, iterations 390",
                    cpu,
                    Truth::Share(0.01),
                    &[0.011, 0.03],
                ),
                // 1 µs of 50 µs is 2 %.
                arm("busy", cpu, Truth::CpuUs(1.0), &[0.021, 0.029]),
            ],
        },
        &Observed {
            arms: vec![arm("sleep", time, Truth::DelayUs(20.0), &[0.4])],
        },
    )
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
            ("spin, iterations 390", Unit::Share, 0.01, true),
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
    assert_eq!(counts.seconds, 10);
    // For spin, 3 % ± 1 % misses 1 %; for busy, both hold 2 %.
    assert_eq!((counts.inside, counts.with_cost), (3, 4));
    // For the control, −2 % ± 1 % excludes zero.
    assert_eq!((counts.false_positives, counts.without_cost), (1, 4));
    let of_time: Vec<_> = findings
        .counts
        .iter()
        .filter(|c| c.metric == Metric::ServiceTimeP50)
        .map(|c| (c.seconds, c.inside, c.with_cost, c.without_cost))
        .collect();
    assert_eq!(of_time, [(10, 1, 1, 0)]);
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
        (10, 0.01, None),
        (30, 0.00577, Some(10.0)),
        (300, 0.00183, Some(10.0)),
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
fn a_run_too_short_to_cut_is_extrapolated_from_its_full_length() {
    let mut control = arm("control", Metric::CpuPerRequest, Truth::Nothing, &[0.0]);
    control.experiments.clear();
    control.whole_s = 2.5;
    let width = width(
        &Observed {
            arms: vec![control],
        },
        Metric::CpuPerRequest,
        10,
    )
    .unwrap();
    assert!((width.half_width - 0.002).abs() < 1e-12, "{width:?}");
    assert_eq!(width.extrapolated_from_s, Some(2.5));
}
