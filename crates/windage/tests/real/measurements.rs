//! Public experiments, shortened.

use windage_analysis::wire::{self, AnalysisWire, ArmWire, FidelityWire};

use crate::workshop::Workshop;
use crate::{alone, experiment};

pub(crate) fn measured(name: &str, length: &str) -> AnalysisWire {
    let _alone = alone();
    let shop = Workshop::new();
    let plan = experiment(name).display().to_string();
    let args = [
        "run", &plan, "--for", length, "--rounds", "2", "--out", &shop.run, "--json",
    ];
    // A folder means all plans in it.
    let mut analyses = wire::read(&shop.windage(&args).code(0).stdout).unwrap();
    analyses.swap_remove(0)
}

pub(crate) fn arm<'a>(analysis: &'a AnalysisWire, id: &str) -> &'a ArmWire {
    analysis.arm(id).unwrap()
}

pub(crate) fn relative_cpu(arm: &ArmWire) -> f64 {
    let relative = arm.metrics["cpu_per_request"].relative.as_ref();
    relative.unwrap().estimate.unwrap()
}

pub(crate) fn fidelity(arm: &ArmWire) -> &FidelityWire {
    arm.fidelity.as_ref().unwrap()
}

pub(crate) fn counted(arm: &ArmWire, name: &str) -> u64 {
    fidelity(arm).counts[name].as_u64().unwrap()
}

/// Checks that no more of the sampled telemetry is lost than chance explains.
pub(crate) fn delivers_its_share(arm: &ArmWire, deviations: f64, more: f64) {
    let fidelity = fidelity(arm);
    let expected = fidelity.expected.unwrap();
    let bound = deviations * fidelity.sampling_sd.unwrap() + more;
    assert!(bound < expected, "the bound is meaningful: {fidelity:?}");
    let lost = expected - fidelity.delivered as f64;
    assert!(lost.abs() <= bound, "{fidelity:?}");
}

/// A plan with replacements, each of which must apply.
pub(crate) fn replaced(plan: &str, changes: &[(&str, &str)]) -> String {
    let mut plan = plan.to_owned();
    for (from, to) in changes {
        assert!(plan.contains(from), "no `{from}` in {plan}");
        plan = plan.replace(from, to);
    }
    plan
}

#[test]
fn nginx_differs_little_from_itself() {
    let analysis = measured("aa-nginx", "16s");
    let control = arm(&analysis, "control");
    // One run can't test a 95 % interval; this wider bound holds nearly always.
    assert!(relative_cpu(control).abs() < 0.1, "{control:?}");
    let baseline = &arm(&analysis, "nginx").metrics["cpu_per_request"];
    // The worker's CPU is counted, not just its master's.
    let us = baseline.baseline.unwrap();
    assert!((1.0..100.0).contains(&us), "{baseline:?}");
}

#[test]
fn a_go_server_pays_for_what_it_delivers() {
    let analysis = measured("go-http", "6s");
    let all = arm(&analysis, "otel-sampling-1.0");
    assert!(
        relative_cpu(all) > 0.0,
        "{:?}",
        all.metrics["cpu_per_request"]
    );
    for (id, deviations) in [
        ("otel-sampling-1.0", 0.0),
        ("otel-sampling-0.1", 4.0),
        ("otel-sampling-0.0", 0.0),
    ] {
        let fidelity = fidelity(arm(&analysis, id));
        let lost = fidelity.expected.unwrap() - fidelity.delivered as f64;
        let bound = deviations * fidelity.sampling_sd.unwrap();
        assert!(lost.abs() <= bound, "{id}: {fidelity:?}");
    }
    assert!(fidelity(all).delivered > 1000, "{all:?}");
    let sd = fidelity(arm(&analysis, "otel-sampling-0.1"))
        .sampling_sd
        .unwrap();
    assert!((1.0..1000.0).contains(&sd), "the bound is meaningful: {sd}");
}
