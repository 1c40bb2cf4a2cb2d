use super::*;
use crate::fixture::{self, Recorded};
use crate::{Analysis, analyse};
use windage_model::{ArmIndex, Expected, LevelValue, LoadModel};
use windage_record::{DeliveredInWindow, StopScope};

const LEVELS: [f64; 7] = [0.0, 2.5, 10.0, 25.0, 50.0, 75.0, 100.0];
/// CPU of the baseline per request.
const BASELINE_US: f64 = 50.0;
const WINDOW_REQUESTS: u64 = 1_000;

/// The cost of an arm at a level beyond the baseline, in µs per request, and the share of its
/// traces that arrives.
#[derive(Clone, Copy)]
struct Truth {
    cost_us: fn(f64) -> f64,
    arrives: fn(f64) -> f64,
}

const LINE: Truth = Truth {
    cost_us: |level| 2.0 + 0.15 * level,
    arrives: |_| 1.0,
};

/// A run of ten blocks per launch over off, control and one arm per level of `rate`.
fn sweep(rounds: u32, truth: Truth) -> Recorded {
    let mut run = fixture::records(rounds);
    let template = run.manifest.arms.remove(2);
    for (index, level) in (2u16..).zip(LEVELS) {
        let mut arm = template.clone();
        arm.index = ArmIndex(index);
        arm.name = format!("otel, rate {level:?}");
        arm.id = ArmId::from_text(&arm.name).unwrap();
        arm.levels = [("rate".to_owned(), LevelValue::Number(level))].into();
        arm.expected = Some(Expected {
            traces_per_request: Some(level / 100.0),
            ..Expected::default()
        });
        run.manifest.arms.push(arm);
    }
    run.launches.clear();
    run.windows.clear();
    run.ends.clear();
    run.delivered.clear();
    for round in 0..rounds {
        add_round(&mut run, round, truth);
    }
    run
}

fn add_round(run: &mut Recorded, round: u32, truth: Truth) {
    let arms: Vec<u16> = (0..9).collect();
    run.launches.push(fixture::launch(round, &arms));
    // Each arm has its own luck in each launch.
    let luck = |arm: u16| 0.002 * fixture::noise(u64::from(round) * 100 + u64::from(arm));
    for block in round * 10..(round + 1) * 10 {
        for (position, arm) in (0u32..).zip(arms.iter().chain(arms.iter().rev()).copied()) {
            let mut window = fixture::window(round, block, arm);
            let cost_us = usize::from(arm)
                .checked_sub(2)
                .map_or(0.0, |level| (truth.cost_us)(LEVELS[level]));
            let seed = 7_000 + u64::from(block) * 64 + u64::from(position);
            let scatter = 1.0 + luck(arm) + 0.003 * fixture::noise(seed);
            let cpu_us = (BASELINE_US + cost_us) * WINDOW_REQUESTS as f64 * scatter;
            window.cpu.in_window_ns = Some((cpu_us * 1e3) as u64);
            window.duration_ns = (cpu_us * 2e3) as u64;
            window.stretch_ns = window.duration_ns + 10_000_000;
            window.place.position = position;
            run.windows.push(window);
        }
    }
    let ends: Vec<_> = arms.iter().map(|&arm| (arm, 0, 0)).collect();
    run.ends.push(fixture::launch_end(round, &ends));
    for (arm, level) in (2u16..).zip(LEVELS) {
        let requests = 22 * WINDOW_REQUESTS;
        let roots = requests as f64 * level / 100.0 * (truth.arrives)(level);
        let delivered = fixture::delivered(round, arm, requests, roots as u64);
        run.delivered.push(delivered);
    }
}

fn analysed(run: &Recorded) -> Analysis {
    analyse(&run.gathered(), std::iter::empty(), std::iter::empty())
}

fn holds(interval: &Interval, truth: f64) -> bool {
    (interval.low..=interval.high).contains(&truth)
}

#[test]
fn a_sweep_recovers_known_costs() {
    let analysis = analysed(&sweep(4, LINE));
    let [cpu, throughput] = &analysis.curves[..] else {
        panic!("two metrics: {:?}", analysis.curves);
    };
    assert_eq!((cpu.factor.as_str(), cpu.of.as_str()), ("rate", "otel"));
    assert_eq!(
        (cpu.metric, cpu.scale),
        (Metric::CpuPerRequest, CurveScale::Unit)
    );
    let levels: Vec<f64> = cpu.points.iter().map(|p| p.level).collect();
    assert_eq!(levels, LEVELS);
    assert!(cpu.drop_limit.is_none());
    let [attempted, delivered] = &cpu.fits[..] else {
        panic!("against both: {:?}", cpu.fits);
    };
    for (fit, against, slope) in [
        (attempted, Against::Attempted, 0.15),
        (delivered, Against::Delivered, 15.0),
    ] {
        assert_eq!(fit.against, against);
        let [fixed, proportional] = &fit.terms[..] else {
            panic!("a line: {:?}", fit.terms);
        };
        assert_eq!(fixed.kind, TermKind::Fixed);
        assert_eq!(proportional.kind, TermKind::Proportional);
        assert!(holds(&fixed.coefficient, 2.0), "{fixed:?}");
        assert!(holds(&proportional.coefficient, slope), "{proportional:?}");
        assert!(proportional.coefficient.half_width() < 0.03 * slope);
        assert!(fit.lack_of_fit.unwrap().p > 0.05);
        assert_eq!(fit.held_out.len(), LEVELS.len() - 2);
        assert!(
            fit.held_out.iter().all(HeldOut::is_inside),
            "{:?}",
            fit.held_out
        );
        let ends = (fit.confidence_band[0].x, fit.confidence_band[32].x);
        let far = if against == Against::Attempted {
            100.0
        } else {
            1.0
        };
        assert_eq!(ends, (0.0, far));
        assert!(
            fit.confidence_band
                .iter()
                .all(|at| at.low < at.y && at.y < at.high)
        );
    }
    // Windows are equally long for the same number of requests: a CPU cost reduces throughput.
    assert_eq!(
        (throughput.metric, throughput.scale),
        (Metric::Throughput, CurveScale::Share)
    );
    let most = &throughput.points[6].overhead;
    assert!(
        (most.estimate - (50.0 / 67.0 - 1.0)).abs() < 0.01,
        "{most:?}"
    );
}

#[test]
fn a_saturating_cost_is_bent() {
    let truth = Truth {
        cost_us: |level| 2.0 + 12.0 * level / (level + 10.0),
        ..LINE
    };
    let analysis = analysed(&sweep(4, truth));
    let fit = &analysis.curves[0].fits[0];
    let TermKind::Saturating { half_at } = fit.terms[1].kind else {
        panic!("{:?}", fit.terms);
    };
    assert!((half_at - 10.0).abs() < 1.5, "{half_at}");
    assert!(holds(&fit.terms[1].coefficient, 12.0), "{:?}", fit.terms[1]);
    assert!(
        fit.held_out.iter().all(HeldOut::is_inside),
        "{:?}",
        fit.held_out
    );
}

/// A tracer that delivers at most three traces per ten requests, and whose cost then stops growing.
const CAPPED: Truth = Truth {
    cost_us: |level| 2.0 + 0.15 * level.min(30.0),
    arrives: |level| (30.0 / level).min(1.0),
};

#[test]
fn points_beyond_a_drop_limit_are_shown_and_not_fitted() {
    let analysis = analysed(&sweep(4, CAPPED));
    let curve = &analysis.curves[0];
    let drop_limit = curve.drop_limit.unwrap();
    assert_eq!((drop_limit.above, drop_limit.below), (25.0, 50.0));
    // A request takes 100 µs plus 9 for a cost of 4.5 µs: three of ten of about 8,850 per second.
    let per_s = drop_limit.delivered_per_s.unwrap();
    assert!((per_s - 0.3 * 1e6 / 113.0).abs() < 30.0, "{per_s}");
    let beyond = curve.points.iter().map(|p| p.is_beyond_drop_limit);
    let beyond: Vec<bool> = beyond.collect();
    assert_eq!(beyond, [false, false, false, false, true, true, true]);
    for fit in &curve.fits {
        assert_eq!(fit.terms.len(), 2, "{:?}", fit.terms);
        assert_eq!(fit.held_out.len(), 2);
    }
    assert!(holds(&curve.fits[0].terms[1].coefficient, 0.15));
    assert_eq!(curve.fits[0].confidence_band[32].x, 25.0);
    let last = &curve.points[6];
    assert!((last.delivered.unwrap() - 0.3).abs() < 1e-3);
    assert_eq!(last.attempted, Some(1.0));
}

#[test]
fn delivered_telemetry_is_that_of_windows_where_counted() {
    let mut run = sweep(3, LINE);
    // At 100 %, nine of ten traces arrive, in each window and overall.
    for delivered in run.delivered.iter_mut().filter(|d| d.arm == ArmIndex(8)) {
        let blocks = delivered.launch * 10..(delivered.launch + 1) * 10;
        let windows = blocks.flat_map(|block| [8, 9].map(|position| (block, position)));
        delivered.in_windows = windows
            .map(|(block, position)| DeliveredInWindow {
                block,
                position,
                spans: 900,
                root_spans: 900,
            })
            .collect();
        delivered.root_spans = delivered.root_spans * 9 / 10;
    }
    let analysis = analysed(&run);
    let point = &analysis.curves[0].points[6];
    assert!((point.delivered.unwrap() - 0.9).abs() < 1e-9, "{point:?}");
    assert!(point.is_beyond_drop_limit);
}

#[test]
fn a_run_without_intervals_has_no_curve_and_no_panic() {
    type Spoil = fn(&mut Recorded);
    // what is wrong, how, number of curves, number of fits of the first
    let table: [(&str, Spoil, usize, usize); 7] = [
        ("nothing was measured", |run| run.windows.clear(), 0, 0),
        (
            "a single block",
            |run| run.windows.retain(|w| w.place.block == 0),
            2,
            2,
        ),
        (
            "half a block, without scatter",
            |run| {
                run.windows
                    .retain(|w| w.place.block == 0 && w.place.position < 9);
            },
            0,
            0,
        ),
        ("no telemetry", |run| run.delivered.clear(), 2, 1),
        (
            "an arm never measured",
            |run| run.windows.retain(|w| w.place.arm != ArmIndex(5)),
            2,
            2,
        ),
        (
            "CPU unknown",
            |run| {
                run.windows
                    .iter_mut()
                    .for_each(|w| w.cpu.in_window_ns = None)
            },
            2,
            2,
        ),
        (
            "everything lost",
            |run| run.delivered.iter_mut().for_each(|d| d.root_spans = 0),
            2,
            0,
        ),
    ];
    for (what, spoil, curves, fits) in table {
        let mut run = sweep(3, LINE);
        spoil(&mut run);
        let analysis = analysed(&run);
        assert_eq!(analysis.curves.len(), curves, "{what}");
        let of_first = analysis.curves.first().map_or(0, |curve| curve.fits.len());
        assert_eq!(of_first, fits, "{what}");
    }
}

#[test]
fn a_single_launch_has_curves_and_text_levels_have_none() {
    let alone = analysed(&sweep(1, LINE));
    let slope = &alone.curves[0].fits[0].terms[1].coefficient;
    assert!(slope.half_width().is_finite() && (slope.estimate - 0.15).abs() < 0.02);
    let mut words = sweep(2, LINE);
    for arm in &mut words.manifest.arms {
        for level in arm.levels.values_mut() {
            *level = LevelValue::Text(format!("at {level}"));
        }
    }
    assert_eq!(analysed(&words).curves, []);
}

/// An interval of a fixed length does not hold in a run that may stop early.
#[test]
fn a_run_that_may_stop_early_has_points_and_no_fit() {
    let mut run = sweep(8, LINE);
    run.manifest.design.stop = Some(StopScope {
        until: windage_model::Until::Known {
            metric: Metric::CpuPerRequest,
            half_width: 0.01,
        },
        within_ns: 1,
    });
    let analysis = analysed(&run);
    assert_eq!(analysis.curves[0].points.len(), LEVELS.len());
    assert!(analysis.curves.iter().all(|curve| curve.fits.is_empty()));
}

#[test]
fn the_second_metric_depends_on_the_load() {
    for (model, metrics) in [
        (
            LoadModel::Closed,
            &[Metric::CpuPerRequest, Metric::Throughput][..],
        ),
        // Without histograms no median is known.
        (LoadModel::Open, &[Metric::CpuPerRequest]),
        (LoadModel::Batch, &[Metric::CpuPerIteration]),
    ] {
        let mut run = sweep(3, LINE);
        run.manifest.load.model = model;
        let analysis = analysed(&run);
        let found: Vec<Metric> = analysis.curves.iter().map(|c| c.metric).collect();
        assert_eq!(found, metrics, "{model:?}");
    }
}
