//! Warnings about comparing, and which loads are compared.

use windage_model::{
    CpuSource, LevelValue, LoadModel, Metric, Order, Reason, Role, Validity, WarningCode, fixtures,
};

use super::{CPU, OTEL, again, codes, run};
use crate::comparison::*;
use crate::{RunSide, TurnFacts, analyse, fixture};

/// What is changed in run B, the codes of the expected warnings, and whether the runs can be
/// compared.
type Case = (fn(&mut Analysis), &'static [&'static str], Comparable);

fn evidence(of: &Comparison) -> Vec<ComparisonEvidence> {
    let warnings = of.warnings.iter();
    warnings.map(|warning| warning.evidence.clone()).collect()
}

fn saturate(arm: &mut ArmAnalysis) {
    for metric in arm.metrics.values_mut() {
        metric.saturated = true;
    }
}

fn warned(run: &mut Analysis, code: WarningCode) {
    run.validity.reasons.push(fixtures::warning(code).into());
}

fn warned_in(run: &mut Analysis, arm: usize, metric: Metric, code: WarningCode) {
    let of = run.arms[arm].metrics.get_mut(&metric).unwrap();
    of.validity.reasons.push(fixtures::warning(code).into());
}

/// Changes run B in each of these ways, one at a time.
fn compared_with_a(table: &[Case]) {
    for (change, expected, comparable) in table {
        let (mut a, mut b) = (run(), again());
        a.host["cpu_model"] = "6502".into();
        a.host["kernel"] = "6.1".into();
        b.host = a.host.clone();
        change(&mut b);
        let found = compare(&a, &b);
        assert_eq!(codes(&found), *expected);
        assert_eq!(found.comparable(), *comparable, "{expected:?}");
        let judged = |of: &ComparedMetric| of.verdict.is_some();
        let metrics = found.loads[0]
            .arms
            .iter()
            .flat_map(|arm| arm.metrics.values());
        let any = metrics.filter(|of| judged(of)).count() > 0;
        assert_eq!(any, *comparable != Comparable::No, "{expected:?}: verdicts");
    }
}

#[test]
fn warnings_about_the_runs() {
    use Comparable::{No, WithCare, Yes};
    compared_with_a(&[
        (|_| {}, &[], Yes),
        (|b| warned(b, WarningCode::NoWindows), &["void"], No),
        (|b| warned(b, WarningCode::Steal), &["suspect"], WithCare),
        (
            |b| warned(b, WarningCode::ControlDiffers),
            &["control_differs"],
            WithCare,
        ),
        (
            |b| b.arms[0].id = ArmId::from_text("other").unwrap(),
            &["other_baseline"],
            No,
        ),
        (|b| b.arms.truncate(1), &["no_common_metric"], No),
        (|b| b.plan = "other".into(), &["other_plan"], WithCare),
        (|b| b.windage = "0.2.0".into(), &["other_windage"], WithCare),
        (
            |b| b.host["cpu_model"] = "Z80".into(),
            &["other_machine"],
            WithCare,
        ),
        (
            |b| b.host["kernel"] = "7.0".into(),
            &["other_kernel"],
            WithCare,
        ),
        // A fact that only one run knows is not a difference.
        (|b| b.host["boost"] = "on".into(), &[], Yes),
        // A fact that changes by the minute is not a different machine.
        (|b| b.host["load_average_1min"] = 3.into(), &[], Yes),
    ]);
}

#[test]
fn warnings_about_a_load() {
    use Comparable::{No, WithCare};
    compared_with_a(&[
        (
            |b| b.design.load = LoadModel::Open,
            &["other_load_model"],
            No,
        ),
        (
            |b| b.design.rate_per_s = Some(100.0),
            &["other_rate"],
            WithCare,
        ),
        (
            |b| b.design.connections = 9,
            &["other_connections"],
            WithCare,
        ),
        (
            |b| b.design.order = Order::Sequential,
            &["other_order"],
            WithCare,
        ),
        (
            |b| b.design.turns = Some(TurnFacts::default()),
            &["measured_differently"],
            WithCare,
        ),
        (
            |b| b.design.cpu_source = CpuSource::Rusage,
            &["other_cpu_source"],
            WithCare,
        ),
        (
            |b| b.primary = Metric::Throughput,
            &["other_primary"],
            WithCare,
        ),
        (|b| b.design.rounds = 1, &["single_launch"], WithCare),
        (
            |b| b.design.request = Some("GET http://{app}/heavy".to_owned()),
            &["other_request"],
            WithCare,
        ),
    ]);
}

#[test]
fn warnings_about_arms() {
    use Comparable::{WithCare, Yes};
    compared_with_a(&[
        (
            |b| b.arms[OTEL].levels = vec![("rate".to_owned(), LevelValue::Number(0.1))],
            &["other_level"],
            WithCare,
        ),
        (
            |b| b.arms[OTEL].role = Role::Control,
            &["other_level"],
            WithCare,
        ),
        (
            |b| warned_in(b, 0, Metric::Throughput, WarningCode::SendLag),
            &["suspect_metric"],
            WithCare,
        ),
        (
            |b| saturate(&mut b.arms[OTEL]),
            &["saturated_in_one"],
            WithCare,
        ),
        (
            |b| {
                saturate(&mut b.arms[0]);
                saturate(&mut b.arms[OTEL]);
            },
            &["saturated_in_one"],
            WithCare,
        ),
        // An arm that A does not have.
        (
            |b| {
                let mut lone = b.arms[OTEL].clone();
                lone.id = ArmId::from_text("new").unwrap();
                saturate(&mut lone);
                b.arms.push(lone);
            },
            &[],
            Yes,
        ),
    ]);
}

#[test]
fn warnings_about_metrics_are_listed_by_arm() {
    let (a, mut b) = (run(), again());
    for arm in 0..3 {
        warned_in(&mut b, arm, Metric::Throughput, WarningCode::SendLag);
        warned_in(&mut b, arm, CPU, WarningCode::SendLag);
    }
    warned_in(&mut b, OTEL, CPU, WarningCode::NotDrained);
    let mut lone = b.arms[OTEL].clone();
    lone.id = ArmId::from_text("new").unwrap();
    b.arms.push(lone);
    let found = compare(&a, &b);
    let of = |code, arms: &[&str]| (code, arms.iter().map(|&arm| arm.to_owned()).collect());
    let expected = vec![
        of(WarningCode::SendLag, &["off", "control", "otel"]),
        of(WarningCode::NotDrained, &["otel"]),
    ];
    let expected = ComparisonEvidence::OfArms(RunSide::B, expected);
    assert_eq!(evidence(&found), [expected]);
    let of = super::otel(&found, CPU);
    assert_eq!(of.a.validity, Validity::default());
    let reasons: Vec<_> = of.b.validity.reasons.iter().map(Reason::code).collect();
    assert_eq!(reasons, [WarningCode::SendLag, WarningCode::NotDrained]);
}

#[test]
fn cpu_with_deferred_cost_is_not_judged_against_cpu_without() {
    let without_idle = || {
        let mut recorded = fixture::records(8);
        recorded.manifest.design.idle_ns = 0;
        for arm in recorded.ends.iter_mut().flat_map(|end| &mut end.arms) {
            (arm.idle_cpu_ns, arm.idle_ns) = (None, 0);
        }
        let mut run = analyse(&recorded.gathered(), [].into_iter(), [].into_iter());
        run.validity = Validity::default();
        run.started = "2026-02-01T00:00:00Z".to_owned();
        run
    };
    let (with, without) = (run(), without_idle());
    // run A, run B, codes, whether CPU per request is judged, why
    let table: [(&Analysis, &Analysis, &[&str], bool, &str); 4] = [
        (&with, &again(), &[], true, "both know the deferred cost"),
        (
            &with,
            &without,
            &["deferred_in_one", "suspect_metric"],
            false,
            "B's cost is lower because its deferred cost was not read",
        ),
        (
            &without,
            &with,
            &["deferred_in_one", "suspect_metric"],
            false,
            "the same with the runs swapped",
        ),
        (
            &without,
            &Analysis {
                run: "another".to_owned(),
                started: "2026-03-01T00:00:00Z".to_owned(),
                ..without_idle()
            },
            &["suspect_metric", "suspect_metric"],
            true,
            "both are in-window cost",
        ),
    ];
    for (a, b, expected, is_judged, why) in table {
        let found = compare(a, b);
        assert_eq!(codes(&found), expected, "{why}");
        let of = super::otel(&found, CPU);
        assert!(of.change.as_ref().unwrap().relative.is_some(), "{why}");
        assert_eq!(of.verdict.is_some(), is_judged, "{why}");
        assert_eq!(of.is_withheld(), !is_judged, "{why}");
        let other = super::otel(&found, Metric::CpuInWindow);
        assert!(
            other.verdict.is_some(),
            "{why}: no other metric is withheld"
        );
    }
}

#[test]
fn codes_are_listed_once_gravest_first() {
    let (a, mut b) = (run(), again());
    b.plan = "other".to_owned();
    warned(&mut b, WarningCode::NoWindows);
    warned(&mut b, WarningCode::Steal);
    assert_eq!(codes(&compare(&a, &b)), ["void", "other_plan", "suspect"]);
    let graves = ComparisonWarningCode::ALL
        .iter()
        .map(|code| code.is_grave());
    assert!(
        graves.is_sorted_by(|one, next| one >= next),
        "grave ones stand first"
    );
}

#[test]
fn saturation_names_the_run_and_the_arm() {
    let (mut a, mut b) = (run(), again());
    for arm in a.arms.iter_mut().chain(&mut b.arms) {
        for metric in arm.metrics.values_mut() {
            metric.saturated = false;
        }
    }
    saturate(&mut a.arms[0]);
    saturate(&mut b.arms[0]);
    saturate(&mut a.arms[1]);
    saturate(&mut b.arms[OTEL]);
    let found = compare(&a, &b);
    // The baselines do not differ in saturation.
    let of = |run, arm: &str| ComparisonEvidence::Items(Some(run), vec![arm.to_owned()]);
    let expected = [of(RunSide::A, "control"), of(RunSide::B, "otel")];
    assert_eq!(evidence(&found), expected);
}

#[test]
fn machine_and_kernel_have_separate_warnings() {
    let (mut a, mut b) = (run(), again());
    a.host = serde_json::json!({ "kernel": "6.1", "cpu_governors": ["a", "b"], "smt": null });
    b.host = serde_json::json!({ "kernel": "7.0", "cpu_governors": ["a"], "smt": "on" });
    let found = compare(&a, &b);
    let of = |values: [&str; 2]| values.map(str::to_owned);
    let expected = [
        ComparisonEvidence::Fact("cpu_governors", of(["a, b", "a"])),
        ComparisonEvidence::Values(of(["6.1", "7.0"]).map(Some)),
    ];
    assert_eq!(evidence(&found), expected);
}

#[test]
fn loads_are_paired_by_name_or_kind() {
    let of = |names: &[Option<&str>]| {
        let mut loads: Vec<Analysis> = names
            .iter()
            .zip([100.0, 200.0])
            .map(|(name, rate)| {
                let mut load = again();
                load.regime = name.map(str::to_owned);
                load.design.rate_per_s = Some(rate);
                load
            })
            .collect();
        let mut first = loads.remove(0);
        first.other_loads = loads;
        first
    };
    let (low, high) = (Some("low"), Some("high"));
    // A, B, loads of both, only in A, only in B
    type Names = &'static [&'static str];
    let table: [(_, _, Names, Names, Names); 5] = [
        (
            of(&[low, high]),
            of(&[low, high]),
            &["low", "high"],
            &[],
            &[],
        ),
        (
            of(&[low, high]),
            of(&[low, Some("new")]),
            &["low"],
            &["high"],
            &["new"],
        ),
        // The only load of a run without regimes has no name.
        (of(&[None]), of(&[low, high]), &["low"], &[], &["high"]),
        (of(&[low, high]), of(&[None]), &["low"], &["high"], &[]),
        (
            of(&[low, high]),
            of(&[Some("x"), Some("y")]),
            &[],
            &["low", "high"],
            &["x", "y"],
        ),
    ];
    for (a, b, common, only_in_a, only_in_b) in table {
        let found = compare(&a, &b);
        let names = found.loads.iter().map(|load| load.regime.as_deref());
        assert_eq!(names.flatten().collect::<Vec<_>>(), common);
        assert_eq!(found.only_in_a, only_in_a);
        assert_eq!(found.only_in_b, only_in_b);
        let is_told = found
            .warnings
            .iter()
            .any(|c| c.code == ComparisonWarningCode::LoadMissing);
        assert_eq!(is_told, !(only_in_a.is_empty() && only_in_b.is_empty()));
        if common.is_empty() {
            assert_eq!(found.comparable(), Comparable::No);
        }
    }
}

#[test]
fn a_void_load_does_not_void_the_others() {
    let of = || {
        let mut run = again();
        let mut further = again();
        (run.regime, further.regime) = (Some("low".into()), Some("high".into()));
        run.other_loads = vec![further];
        run
    };
    let (a, mut b) = (of(), of());
    b.started = "2026-03-01T00:00:00Z".to_owned();
    warned(&mut b.other_loads[0], WarningCode::NoWindows);
    let found = compare(&a, &b);
    let comparable: Vec<_> = found.loads.iter().map(|load| load.comparable).collect();
    assert_eq!(comparable, [Comparable::Yes, Comparable::No]);
    assert_eq!(found.comparable(), Comparable::WithCare);
    assert_eq!(found.b.validity, Soundness::Void);
}
