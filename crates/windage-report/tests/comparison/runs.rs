//! Pairs of runs to compare.

use windage_analysis::{Analysis, Compared, Family, InFamily};
use windage_model::fixtures::warning;
use windage_model::{Metric, Role, WarningCode};

use crate::fixtures;

/// The same plan a week later.
pub(super) fn later(mut run: Analysis) -> Analysis {
    run.run = "20261008T120000Z-go-http".to_owned();
    run.found_at.clone_from(&run.run);
    run.started = "2026-10-08T12:00:00Z".to_owned();
    run
}

/// Changes an arm's overhead by this many percentage points.
fn moved(run: &mut Analysis, arm: usize, metric: Metric, by: f64) {
    let of = run.arms[arm].metrics.get_mut(&metric).expect("measured");
    let difference = of.difference.as_mut().expect("a difference");
    let baseline = of.baseline.expect("a baseline");
    for interval in [&mut difference.relative, &mut difference.relative_90] {
        let moved = interval.as_ref().map(|interval| interval.map(|v| v + by));
        *interval = moved;
    }
    difference.absolute = difference.absolute.map(|v| v + by * baseline);
    if let Some(family) = &mut of.inference.in_family {
        family.interval = family.interval.map(|v| v + by);
        family.interval_90 = family.interval_90.as_ref().map(|of| of.map(|v| v + by));
    }
}

/// Compares two runs; treatments without a family get one of their own.
pub(super) fn compared(mut a: Analysis, mut b: Analysis, plans: Option<[&str; 2]>) -> Compared {
    for run in [&mut a, &mut b] {
        alone_in_family(run);
        run.other_loads.iter_mut().for_each(alone_in_family);
    }
    Compared::new(&a, &b, plans)
}

fn alone_in_family(load: &mut Analysis) {
    let treatments = load
        .arms
        .iter_mut()
        .filter(|arm| arm.role == Role::Treatment);
    for (metric, of) in treatments.flat_map(|arm| &mut arm.metrics) {
        let Ok(difference) = &of.difference else {
            continue;
        };
        let is_primary = *metric == load.primary;
        of.inference.in_family.get_or_insert_with(|| InFamily {
            family: if is_primary {
                Family::Primary
            } else {
                Family::Secondary
            },
            comparisons: 1,
            interval: difference.relative.unwrap_or(difference.absolute),
            interval_90: difference.relative_90,
            verdict: of.verdict,
        });
    }
}

/// Another version of the library on a machine with another kernel and a faster service.
pub(super) fn changed() -> Compared {
    let (a, mut b) = (fixtures::demo(), later(fixtures::demo()));
    moved(&mut b, 2, Metric::CpuPerRequest, 0.031);
    moved(&mut b, 3, Metric::CpuPerRequest, -0.012);
    moved(&mut b, 4, Metric::CpuPerRequest, 0.0004);
    moved(&mut b, 2, Metric::ResponseTimeP99, -0.09);
    moved(&mut b, 3, Metric::Throughput, -0.01);
    let baseline = b.arms[0]
        .metrics
        .get_mut(&Metric::CpuPerRequest)
        .expect("measured");
    baseline.arm = Some(55.1);
    b.host["kernel"] = "6.2.0".into();
    b.versions
        .insert("otelhttp".to_owned(), "v0.73.0".to_owned());
    b.design.rounds_planned = 9;
    let mut lone = b.arms[4].clone();
    lone.id = windage_model::ArmId::from_text("new").expect("letters");
    lone.name = "new here".to_owned();
    b.arms.push(lone);
    let plans = [
        "name = 'go-http'\nrounds = 8\n",
        "name = 'go-http'\nrounds = 9\n",
    ];
    compared(a, b, Some(plans))
}

/// A run with a stop rule whose confidence sequence is still unbounded at its family's confidence.
fn no_end() -> Compared {
    let (mut a, mut b) = (fixtures::demo(), later(fixtures::demo()));
    moved(&mut b, 2, Metric::CpuPerRequest, 0.031);
    for run in [&mut a, &mut b] {
        alone_in_family(run);
    }
    for metric in b.arms[2].metrics.values_mut() {
        metric.inference.in_family = None;
    }
    Compared::new(&a, &b, None)
}

/// Deferred CPU is known in one run only; all load is isolated.
fn withheld() -> Compared {
    let (mut a, mut b) = (fixtures::demo(), later(fixtures::demo()));
    for run in [&mut a, &mut b] {
        run.design.turns = None;
        for arm in &mut run.arms {
            arm.metrics.remove(&Metric::CpuOfRequests);
        }
    }
    moved(&mut b, 2, Metric::CpuPerRequest, 0.031);
    b.arms[2].metrics.remove(&Metric::CpuDeferred);
    compared(a, b, None)
}

/// Keeps only these metrics; the first is the primary one.
pub(super) fn only(mut compared: Compared, metrics: &[Metric]) -> Compared {
    compared.comparison.only(metrics).expect("they have it");
    compared
}

/// Idle CPU, which has no ratio to the baseline.
pub(super) fn idle(cores: [f64; 3]) -> Analysis {
    let mut run = fixtures::demo();
    for (arm, more) in run
        .arms
        .iter_mut()
        .zip([None, Some(0.0)].into_iter().chain(cores.map(Some)))
    {
        let mut of = arm.metrics[&Metric::CpuPerRequest].clone();
        (of.baseline, of.verdict) = (Some(0.01), None);
        of.arm = Some(0.01 + more.unwrap_or(0.0));
        if let (Ok(difference), Some(more)) = (&mut of.difference, more) {
            (difference.relative, difference.relative_90) = (None, None);
            difference.absolute.estimate = more;
            (difference.absolute.low, difference.absolute.high) = (more - 0.002, more + 0.002);
        }
        arm.metrics.insert(Metric::CpuIdle, of);
    }
    run
}

/// The primary metric has no ratio.
pub(super) fn in_unit() -> Compared {
    let [a, b] = [idle([0.012, 0.004, 0.0]), later(idle([0.019, 0.004, 0.0]))];
    only(compared(a, b, None), &[Metric::CpuIdle])
}

/// More treatments than are described one by one, in a metric without a ratio.
fn many_in_unit() -> Compared {
    let [mut a, mut b] = [idle([0.012, 0.004, 0.0]), later(idle([0.019, 0.004, 0.0]))];
    for run in [&mut a, &mut b] {
        for i in 0..3 {
            let mut arm = run.arms[4].clone();
            arm.id = windage_model::ArmId::from_text(&format!("more {i}")).expect("letters");
            arm.name = format!("more {i}");
            run.arms.push(arm);
        }
        let last = run.arms.last_mut().expect("arms");
        last.metrics.remove(&Metric::CpuIdle);
    }
    only(compared(a, b, None), &[Metric::CpuIdle])
}

/// A metric where higher is better, with an inconclusive change.
pub(super) fn throughput() -> Compared {
    let (mut a, mut b) = (fixtures::demo(), later(fixtures::demo()));
    moved(&mut b, 2, Metric::Throughput, 0.0005);
    for run in [&mut a, &mut b] {
        run.design.margin = 0.001;
    }
    let compared = compared(a, b, None);
    only(compared, &[Metric::Throughput])
}

pub(super) fn all() -> Vec<(&'static str, Compared)> {
    let of = compared;
    let mut family = later(fixtures::family());
    moved(&mut family, 3, Metric::CpuPerRequest, 0.014);
    let mut warned = later(fixtures::demo());
    for code in [WarningCode::ControlDiffers, WarningCode::Steal] {
        warned.validity.reasons.push(warning(code).into());
    }
    let mut baseline = later(fixtures::demo());
    baseline.arms[0].id = windage_model::ArmId::from_text("noop").expect("letters");
    let evil = "x = '```'\n\u{1b}[31m<script>\u{202e}\n";
    vec![
        ("changed", changed()),
        ("void", of(fixtures::demo(), later(fixtures::void()), None)),
        ("family", of(fixtures::family(), family, Some(["", ""]))),
        (
            "hostile",
            of(
                fixtures::suspect(),
                later(fixtures::suspect()),
                Some(["", evil]),
            ),
        ),
        (
            "regimes",
            of(fixtures::regimes(), later(fixtures::regimes()), None),
        ),
        ("warned", of(fixtures::demo(), warned, None)),
        ("itself", of(fixtures::agents(), fixtures::agents(), None)),
        ("no_end", no_end()),
        ("baseline", of(fixtures::demo(), baseline, None)),
        ("in_unit", in_unit()),
        ("withheld", withheld()),
        ("many_in_unit", many_in_unit()),
        ("throughput", throughput()),
    ]
}
