//! Two runs that differ in one thing at a time.

mod warnings;

use proptest::prelude::*;
use windage_model::{Interval, LevelValue, Validity};

use super::*;
use crate::{Family, InFamily, Missing, MissingCode, Placed, RunPart, RunSide, analyse, fixture};

/// The treatment of the fixture.
const OTEL: usize = 2;
const CPU: Metric = Metric::CpuPerRequest;

/// A run of eight launches in which the treatment costs a fifth.
fn run() -> Analysis {
    let mut run = analyse(
        &fixture::records(8).gathered(),
        [].into_iter(),
        [].into_iter(),
    );
    run.validity = Validity::default();
    run
}

/// The same in another directory, at another time.
fn again() -> Analysis {
    let mut run = run();
    run.run = "20260201-000000-fixture".to_owned();
    run.started = "2026-02-01T00:00:00Z".to_owned();
    run
}

fn interval((estimate, low, high): (f64, f64, f64), confidence: f64) -> Interval {
    Interval {
        estimate,
        low,
        high,
        confidence,
        method: windage_model::Method::MeanByLaunch,
    }
}

/// Gives the treatment an overhead, the same at 90 % and in its family, and makes the metric
/// primary.
fn set(run: &mut Analysis, metric: Metric, ends: (f64, f64, f64)) {
    let of = run.arms[OTEL].metrics.get_mut(&metric).unwrap();
    let difference = of.difference.as_mut().unwrap();
    difference.relative = Some(interval(ends, 0.95));
    difference.relative_90 = Some(interval(ends, 0.90));
    of.inference.in_family = Some(InFamily {
        family: Family::Primary,
        comparisons: 1,
        interval: interval(ends, 0.95),
        interval_90: Some(interval(ends, 0.90)),
        verdict: None,
    });
}

fn otel(of: &Comparison, metric: Metric) -> &ComparedMetric {
    &of.loads[0].arms[OTEL].metrics[&metric]
}

fn codes(of: &Comparison) -> Vec<&'static str> {
    let codes = of.warnings.iter().map(|warning| warning.code.as_str());
    codes.collect()
}

#[test]
fn verdicts_give_the_direction_of_the_change() {
    use ChangeVerdict::{Decreased, Inconclusive, Increased, Unchanged};
    let throughput = Metric::Throughput;
    // metric, overhead in A, overhead in B, verdict at a margin of 0.005
    let table = [
        (CPU, (0.10, 0.09, 0.11), (0.13, 0.12, 0.14), Increased),
        (CPU, (0.13, 0.12, 0.14), (0.10, 0.09, 0.11), Decreased),
        // Less lost throughput is a lower overhead.
        (
            throughput,
            (-0.10, -0.11, -0.09),
            (-0.05, -0.06, -0.04),
            Decreased,
        ),
        (
            throughput,
            (-0.05, -0.06, -0.04),
            (-0.10, -0.11, -0.09),
            Increased,
        ),
        (CPU, (0.10, 0.098, 0.102), (0.101, 0.099, 0.103), Unchanged),
        (CPU, (0.10, 0.09, 0.11), (0.101, 0.09, 0.11), Inconclusive),
        // Both exclude zero and the other's estimate, yet the change may be within the margin.
        (
            CPU,
            (0.10, 0.096, 0.104),
            (0.11, 0.106, 0.114),
            Inconclusive,
        ),
        // An arm that cost nothing and still does; one that saved and now saves more.
        (
            CPU,
            (0.0, -0.002, 0.002),
            (0.0005, -0.002, 0.002),
            Unchanged,
        ),
        (CPU, (-0.02, -0.03, -0.01), (-0.10, -0.11, -0.09), Decreased),
    ];
    for (metric, in_a, in_b, verdict) in table {
        let (mut a, mut b) = (run(), again());
        set(&mut a, metric, in_a);
        set(&mut b, metric, in_b);
        let found = compare(&a, &b);
        let found = otel(&found, metric);
        assert_eq!(found.verdict, Some(verdict), "{in_a:?} {in_b:?}");
        let claims = verdict != Inconclusive;
        assert_eq!(found.holds_in_family(), claims.then_some(true));
    }
}

#[test]
fn changes_are_judged_by_the_larger_margin() {
    for (of_a, of_b, verdict) in [
        (0.005, 0.005, ChangeVerdict::Increased),
        (0.005, 0.05, ChangeVerdict::Unchanged),
        (0.05, 0.005, ChangeVerdict::Unchanged),
    ] {
        let (mut a, mut b) = (run(), again());
        (a.design.margin, b.design.margin) = (of_a, of_b);
        set(&mut a, CPU, (0.10, 0.09, 0.11));
        set(&mut b, CPU, (0.13, 0.12, 0.14));
        let found = compare(&a, &b);
        assert_eq!(found.loads[0].margin, f64::max(of_a, of_b));
        assert_eq!(otel(&found, CPU).verdict, Some(verdict), "{of_a} {of_b}");
    }
}

#[test]
fn a_change_has_relative_and_absolute_intervals() {
    let (a, b) = (run(), again());
    let found = compare(&a, &b);
    let of = otel(&found, CPU);
    let change = of.change.as_ref().unwrap();
    let relative = change.relative.as_ref().unwrap();
    let alone = of.a.relative.as_ref().unwrap();
    let (below, above) = (alone.estimate - alone.low, alone.high - alone.estimate);
    // Of two equal intervals each end has the lower side of one and the upper side of the other; not
    // exactly, as a ratio's interval is asymmetric.
    let times = relative.half_width() / below.hypot(above);
    assert!((times - 1.0).abs() < 1e-3, "{times}");
    assert_eq!(relative.method, windage_model::Method::Mover);
    assert_eq!((relative.estimate, relative.confidence), (0.0, 0.95));
    assert_eq!(change.absolute.estimate, 0.0);
}

#[test]
fn a_verdict_may_not_hold_in_its_family() {
    let (mut a, mut b) = (run(), again());
    for (run, ends) in [(&mut a, (0.10, 0.09, 0.11)), (&mut b, (0.13, 0.12, 0.14))] {
        set(run, CPU, ends);
        let metric = run.arms[OTEL].metrics.get_mut(&CPU).unwrap();
        let family = metric.inference.in_family.as_mut().unwrap();
        family.comparisons = 4;
        let (estimate, ..) = ends;
        family.interval = interval((estimate, estimate - 0.02, estimate + 0.02), 0.9875);
    }
    let found = compare(&a, &b);
    let of = otel(&found, CPU);
    assert_eq!(of.verdict, Some(ChangeVerdict::Increased));
    assert_eq!(of.holds_in_family(), Some(false));
    let family = of.in_family.as_ref().unwrap();
    assert_eq!(
        (family.comparisons, family.interval.confidence),
        (4, 0.9875)
    );
    let control = &found.loads[0].arms[1].metrics[&CPU];
    assert_eq!(
        (control.in_family.as_ref(), control.verdict.is_some()),
        (None, true)
    );
}

#[test]
fn the_scatter_between_runs_widens_shares_and_microseconds_alike() {
    let (a, mut b) = (run(), again());
    let alone = compare(&a, &b);
    let kept = serde_json::json!({
        "standard_deviation": 0.02, "low": 0.01, "high": 0.05, "runs": 6,
    });
    b.host = serde_json::json!({ "calibration": { "between_runs": { "cpu_per_request": kept } } });
    let widened = compare(&a, &b);
    // The upper half of the intervals: of the share, and in microseconds.
    let reach = |of: &Comparison, metric| {
        let change = otel(of, metric).change.as_ref().unwrap();
        [change.relative.unwrap(), change.absolute].map(|of| of.high - of.estimate)
    };
    let baseline_us = a.arms[OTEL].metrics[&CPU].baseline.unwrap();
    let [before, after] = [&alone, &widened].map(|of| reach(of, CPU));
    for (whole, (before, after)) in [1.0, baseline_us].iter().zip(before.iter().zip(after)) {
        // Student's 97.5 % quantile with five degrees of freedom; both runs scatter by 2 %.
        let between = 2.570_582 * std::f64::consts::SQRT_2 * 0.02 * whole;
        let expected = before.hypot(between);
        assert!((after / expected - 1.0).abs() < 1e-6, "{after} {expected}");
    }
    let other = Metric::Throughput;
    assert_eq!(reach(&alone, other), reach(&widened, other));
}

#[test]
fn a_claim_is_checked_in_its_family_whatever_metric_is_primary() {
    type Change = fn(&mut Option<InFamily>);
    let widen: Change = |of| {
        let of = of.as_mut().unwrap();
        of.family = Family::Secondary;
        of.comparisons = 40;
        of.interval = interval((0.13, 0.10, 0.16), 0.998_75);
    };
    // B's interval in the family, whether "increased" holds in it
    let table: [(Change, bool); 4] = [
        (|_| {}, true),
        (|of| of.as_mut().unwrap().family = Family::Secondary, true),
        (widen, false),
        // A confidence sequence that is still unbounded at this confidence.
        (|of| *of = None, false),
    ];
    for (case, (change, holds)) in table.into_iter().enumerate() {
        let (mut a, mut b) = (run(), again());
        set(&mut a, CPU, (0.10, 0.09, 0.11));
        set(&mut b, CPU, (0.13, 0.12, 0.14));
        change(
            &mut b.arms[OTEL]
                .metrics
                .get_mut(&CPU)
                .unwrap()
                .inference
                .in_family,
        );
        let found = compare(&a, &b);
        let of = otel(&found, CPU);
        assert_eq!(of.verdict, Some(ChangeVerdict::Increased), "{case}");
        assert_eq!(of.holds_in_family(), Some(holds), "{case}");
        let reported = of.in_family.as_ref();
        let expected = (case < 3).then_some((Family::Primary, 1));
        assert_eq!(reported.map(|of| (of.family, of.comparisons)), expected);
    }
}

#[test]
fn a_run_compared_with_itself_has_no_change() {
    let a = run();
    let found = compare(&a, &a);
    assert_eq!(codes(&found), ["same_run"]);
    for arm in &found.loads[0].arms {
        for of in arm.metrics.values().filter(|of| of.change.is_ok()) {
            let change = of.change.as_ref().unwrap();
            let absolute = &change.absolute;
            assert!(absolute.estimate == 0.0 && absolute.low <= 0.0 && absolute.high >= 0.0);
            let verdicts = [
                None,
                Some(ChangeVerdict::Unchanged),
                Some(ChangeVerdict::Inconclusive),
            ];
            assert!(verdicts.contains(&of.verdict), "{:?}", of.verdict);
        }
    }
}

#[test]
fn a_metric_of_one_run_is_missing_with_a_reason() {
    let (mut a, mut b) = (run(), again());
    let mut lone = a.arms[OTEL].clone();
    lone.id = ArmId::from_text("new").unwrap();
    b.arms.push(lone);
    a.arms[OTEL].metrics.remove(&Metric::RssSteady);
    b.arms[OTEL].metrics.get_mut(&CPU).unwrap().difference = Err(Missing::OneValue);
    let found = compare(&a, &b);
    let lone: Vec<_> = found.loads[0]
        .only_in_b
        .iter()
        .map(|arm| arm.id.as_str())
        .collect();
    assert_eq!((lone, found.loads[0].only_in_a.len()), (vec!["new"], 0));
    let table = [
        (Metric::RssSteady, Missing::NotInRun(RunSide::A)),
        (CPU, Missing::InRun(RunSide::B, Box::new(Missing::OneValue))),
    ];
    for (metric, expected) in table {
        let of = otel(&found, metric);
        assert_eq!(of.change.as_ref().unwrap_err(), &expected);
        assert_eq!(of.verdict, None);
    }
    let baseline = &found.loads[0].arms[0].metrics[&CPU];
    assert_eq!(baseline.change, Err(Missing::Baseline));
    assert!(baseline.a.arm.is_some() && baseline.b.arm.is_some());
}

#[test]
fn the_verdict_stands_without_an_absolute_change() {
    let (mut a, mut b) = (run(), again());
    set(&mut a, CPU, (0.10, 0.09, 0.11));
    set(&mut b, CPU, (0.13, 0.12, 0.14));
    let of = b.arms[OTEL].metrics.get_mut(&CPU).unwrap();
    let difference = of.difference.as_mut().unwrap();
    // As when the baseline's own figure is unknown.
    difference.absolute = interval((f64::NAN, f64::NAN, f64::NAN), 0.95);
    let found = compare(&a, &b);
    let of = otel(&found, CPU);
    assert_eq!(of.verdict, Some(ChangeVerdict::Increased));
    let absolute = &of.change.as_ref().unwrap().absolute;
    assert!(absolute.low == f64::NEG_INFINITY && absolute.high == f64::INFINITY);
    let document = fixture::comparison_to_json(&Compared::new(&a, &b, None));
    let change = &document["loads"][0]["arms"][OTEL]["metrics"][CPU.as_str()]["change"];
    assert!(change["relative"]["low"].is_number() && change["absolute"]["low"].is_null());
    // Without a ratio nothing is left.
    let of = b.arms[OTEL].metrics.get_mut(&CPU).unwrap();
    of.difference.as_mut().unwrap().relative = None;
    let found = compare(&a, &b);
    let missing = otel(&found, CPU).change.as_ref().unwrap_err();
    assert_eq!(missing.code(), MissingCode::TooFew);
}

#[test]
fn differences_are_listed() {
    let (mut a, mut b) = (run(), again());
    a.host = serde_json::json!({
        "kernel": "6.1", "governors": ["a", "b"], "cpu": {"cores": 2}, "load_average_1min": 1.0,
        "calibration": {"date": "then"}, "removed": true, "none": null,
    });
    b.host = serde_json::json!({
        "kernel": "6.1", "governors": ["a", "c"], "cpu": {"cores": 4}, "load_average_1min": 2.0,
    });
    a.versions.insert("otel".to_owned(), "1.0".to_owned());
    b.versions.insert("otel".to_owned(), "2.0".to_owned());
    b.arms[OTEL]
        .self_reported
        .insert("gc".to_owned(), "on".to_owned());
    b.arms[OTEL].levels = vec![("rate".to_owned(), LevelValue::Number(0.1))];
    b.arms[0].id = ArmId::from_text("bare").unwrap();
    b.design.window_s = 0.25;
    b.design.idle_s = 0.5;
    b.design.request = Some("GET http://{app}/heavy".to_owned());
    b.design.seed = 7;
    let found = compare(&a, &b).differs;
    let reported = |of: &[Differing]| -> Vec<String> {
        let or_none = |of: &Option<String>| of.clone().unwrap_or("–".to_owned());
        let one = |d: &Differing| format!("{}: {} | {}", d.key, or_none(&d.a), or_none(&d.b));
        of.iter().map(one).collect()
    };
    assert_eq!(
        reported(&found.host),
        [
            "cpu.cores: 2 | 4",
            "governors: a, b | a, c",
            "removed: true | –"
        ]
    );
    assert_eq!(
        reported(&found.versions),
        ["otel: 1.0 | 2.0", "otel: gc: – | on"]
    );
    assert_eq!(
        reported(&found.design),
        [
            "baseline: off | bare",
            "otel: rate: – | 0.1",
            "window: 0.1 s | 0.25 s",
            "idle: 0.1 s | 0.5 s",
            "request: GET http://{app}/ | GET http://{app}/heavy"
        ]
    );
}

#[test]
fn cores_differ_only_where_both_runs_know_theirs() {
    let (mut a, mut b) = (run(), again());
    let generator = |cpus: Option<&[u32]>| Placed {
        part: RunPart::Generator,
        cpus: cpus.map(<[u32]>::to_vec),
    };
    b.design.placement = vec![generator(Some(&[2, 3]))];
    assert_eq!(compare(&a, &b).differs.design, []);
    a.design.placement = vec![generator(None)];
    let expected = Differing {
        key: "cores of generator".to_owned(),
        a: Some("any".to_owned()),
        b: Some("2, 3".to_owned()),
    };
    assert_eq!(compare(&a, &b).differs.design, [expected]);
}

#[test]
fn the_document_has_figures_or_reasons() {
    let (a, b) = (run(), again());
    let document = fixture::comparison_to_json(&Compared::new(&a, &b, Some(["x = 1", "x = 2"])));
    assert_eq!(
        (&document["schema"], &document["comparison"]),
        (&1.into(), &1.into())
    );
    assert_eq!(document["comparable"], "yes");
    let load = &document["loads"][0];
    let arms = load["arms"].as_array().unwrap();
    assert_eq!(arms.len(), 3);
    for arm in arms {
        for (name, metric) in arm["metrics"].as_object().unwrap() {
            let has_change = metric["change"].is_object();
            assert_ne!(has_change, metric["missing"].is_object(), "{name}");
            let is_judged = metric["change"]["relative"].is_object();
            assert_eq!(is_judged, metric["verdict"].is_string(), "{name}");
        }
    }
    let tags: Vec<_> = document["plan_diff"]
        .as_array()
        .unwrap()
        .iter()
        .map(|l| &l["tag"])
        .collect();
    assert_eq!(tags, ["delete", "insert"]);
    let unread = fixture::comparison_to_json(&Compared::new(&a, &b, None));
    assert!(unread["plan_diff"].is_null());
}

proptest! {
    #[test]
    fn swapping_the_runs_mirrors_every_change(
        of_a in (-0.2..0.5_f64, 0.0..0.05_f64, 0.0..0.05_f64),
        of_b in (-0.2..0.5_f64, 0.0..0.05_f64, 0.0..0.05_f64),
    ) {
        let (mut a, mut b) = (run(), again());
        let ends = |(estimate, below, above): (f64, f64, f64)| {
            (estimate, estimate - below, estimate + above)
        };
        set(&mut a, CPU, ends(of_a));
        set(&mut b, CPU, ends(of_b));
        let (there, back) = (compare(&a, &b), compare(&b, &a));
        let (there, back) = (otel(&there, CPU), otel(&back, CPU));
        let relative = |of: &ComparedMetric| of.change.clone().unwrap().relative.unwrap();
        let (forth, mirrored) = (relative(there), relative(back));
        prop_assert!((forth.low + mirrored.high).abs() < 1e-12);
        prop_assert!((forth.high + mirrored.low).abs() < 1e-12);
        let opposite = there.verdict.map(|verdict| match verdict {
            ChangeVerdict::Increased => ChangeVerdict::Decreased,
            ChangeVerdict::Decreased => ChangeVerdict::Increased,
            other => other,
        });
        prop_assert_eq!(back.verdict, opposite);
    }
}
