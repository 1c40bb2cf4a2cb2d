//! The public measurements, in short.

use serde_json::Value;

use crate::workshop::Workshop;
use crate::{alone, experiment};

pub(crate) fn measured(name: &str, length: &str) -> Value {
    let _alone = alone();
    let shop = Workshop::new();
    let plan = experiment(name).display().to_string();
    let args = [
        "run", &plan, "--for", length, "--rounds", "2", "--out", &shop.run, "--json",
    ];
    let document = shop.windage(&args).code(0).json();
    // A folder stands for all the plans in it.
    match document.get("runs") {
        Some(runs) => runs[0].clone(),
        None => document,
    }
}

pub(crate) fn arm<'a>(analysis: &'a Value, id: &str) -> &'a Value {
    let mut arms = analysis["arms"].as_array().unwrap().iter();
    arms.find(|arm| arm["id"] == id).unwrap()
}

pub(crate) fn relative_cpu(arm: &Value) -> f64 {
    let relative = &arm["metrics"]["cpu_per_request"]["relative"];
    relative["estimate"].as_f64().unwrap()
}

pub(crate) fn number(value: &Value) -> f64 {
    value
        .as_f64()
        .unwrap_or_else(|| panic!("{value} is no number"))
}

/// A plan with text replaced, all of which is in it.
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
    // One run is no test of a 95 % interval; this holds of nearly all.
    assert!(relative_cpu(control).abs() < 0.1, "{control}");
    let baseline = &arm(&analysis, "nginx")["metrics"]["cpu_per_request"];
    let us = baseline["baseline"].as_f64().unwrap();
    // The worker's CPU is seen, not its master's alone.
    assert!((1.0..100.0).contains(&us), "{baseline}");
}

#[test]
fn a_go_server_pays_for_what_it_delivers() {
    let analysis = measured("go-http", "6s");
    let all = arm(&analysis, "otel-sampling-1.0");
    assert!(
        relative_cpu(all) > 0.0,
        "{}",
        all["metrics"]["cpu_per_request"]
    );
    let figure = |of: &Value, name: &str| of["fidelity"][name].as_f64().unwrap();
    for (id, deviations) in [
        ("otel-sampling-1.0", 0.0),
        ("otel-sampling-0.1", 4.0),
        ("otel-sampling-0.0", 0.0),
    ] {
        let arm = arm(&analysis, id);
        let lost = figure(arm, "expected") - figure(arm, "delivered");
        let bound = deviations * figure(arm, "sampling_sd");
        assert!(lost.abs() <= bound, "{id}: {}", arm["fidelity"]);
    }
    assert!(figure(all, "delivered") > 1000.0, "{}", all["fidelity"]);
    let sd = figure(arm(&analysis, "otel-sampling-0.1"), "sampling_sd");
    assert!((1.0..1000.0).contains(&sd), "the bound is one: {sd}");
}
