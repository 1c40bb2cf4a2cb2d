//! The cost per event by the way a probe is attached: `experiments/probe-mechanisms`, shortened.

use std::fs;
use std::process::Command;

use windage_analysis::wire::AnalysisWire;

use crate::in_kernel::{assert_gone, attached, can_attach};
use crate::measurements::{arm, replaced};
use crate::sdks::root;
use crate::skip::skip;
use crate::workshop::Workshop;
use crate::{alone, experiment};

/// An iteration is a thousand events. A tracepoint counts on the whole machine, where other
/// processes also make system calls.
const EVENTS: std::ops::RangeInclusive<f64> = 999.0..=1100.0;

/// Runs a shortened plan of the experiment with these lines replaced.
fn measured(plan: &str, changes: &[(&str, &str)]) -> AnalysisWire {
    let shop = Workshop::new();
    let before = attached(&shop.run);
    let plan = fs::read_to_string(experiment("probe-mechanisms").join(plan)).unwrap();
    let turn = (r#"agent_stretch  = "1s""#, r#"agent_stretch = "300ms""#);
    shop.write("plan.toml", &replaced(&plan, &[changes, &[turn]].concat()));
    let args = ["run", "plan.toml", "--for", "8s", "--rounds", "1"];
    let to = ["--out", &shop.run, "--json"];
    let ended = shop.windage(&[&args[..], &to].concat());
    let analysis = ended.code(0).analysis();
    assert_gone(&shop.run, &before);
    analysis
}

/// Checks that an arm has a single program, of this kind, which saw each event.
fn hold_events(analysis: &AnalysisWire, id: &str, kind: &str) {
    let agent = arm(analysis, id).agent.as_ref().unwrap();
    let bpf = agent.bpf.as_ref().unwrap();
    let events = bpf.events_per_request.as_ref().unwrap().estimate.unwrap();
    assert!(EVENTS.contains(&events), "{id}: {bpf:#?}");
    let [program] = &bpf.programs[..] else {
        panic!("{id} has one program: {bpf:#?}");
    };
    assert_eq!(program.kind, kind, "{id}: {bpf:#?}");
}

/// Checks that every trap-based probe costs more than any call-based probe adds, wherever in their
/// intervals both may lie, and by estimate this many times as much.
fn assert_costs(analysis: &AnalysisWire, times: f64, calls: &[&str], traps: &[&str]) {
    let cost = |id: &&str| {
        let cpu = &arm(analysis, id).metrics["cpu_per_iteration"];
        let of = cpu.difference.as_ref().unwrap();
        [of.low, of.estimate, of.high].map(Option::unwrap)
    };
    for (call, trap) in calls
        .iter()
        .flat_map(|call| traps.iter().map(move |trap| (call, trap)))
    {
        let ([_, of_call, call_high], [trap_low, of_trap, _]) = (cost(call), cost(trap));
        assert!(
            call_high < trap_low && times * of_call < of_trap,
            "{call} adds {of_call} us, at most {call_high}; {trap} {of_trap}, at least {trap_low}"
        );
    }
}

#[test]
fn each_mechanism_sees_each_event_and_a_trap_costs_more_than_a_call() {
    let _alone = alone();
    if !can_attach("each_mechanism_sees_each_event") {
        return;
    }
    let to_root = format!("{}/", root().display());
    let analysis = measured("plan.toml", &[("../../", &to_root)]);
    for (id, kind) in [
        ("raw-tracepoint", "raw_tracepoint"),
        ("tracepoint", "tracepoint"),
        ("uprobe", "kprobe"),
        ("uretprobe", "kprobe"),
    ] {
        hold_events(&analysis, id, kind);
    }
    let calls = ["raw-tracepoint", "tracepoint"];
    assert_costs(&analysis, 10.0, &calls, &["uprobe", "uretprobe"]);
}

#[test]
fn bpftrace_sees_each_event_as_well() {
    let _alone = alone();
    if !can_attach("bpftrace_sees_each_event_as_well") || !has_bpftrace() {
        return;
    }
    let to_root = format!("{}/", root().display());
    let to_program = ("{plan}/../../../", &*to_root);
    let analysis = measured("bpftrace/plan.toml", &[to_program, ("../../../", &to_root)]);
    for (id, kind) in [
        ("tracepoint", "tracepoint"),
        ("uprobe", "kprobe"),
        ("uretprobe", "kprobe"),
    ] {
        hold_events(&analysis, id, kind);
    }
    // Its programs count in a hash map, which costs them as much whatever calls them.
    assert_costs(&analysis, 1.0, &["tracepoint"], &["uprobe", "uretprobe"]);
}

fn has_bpftrace() -> bool {
    let version = Command::new("bpftrace").arg("--version").output();
    if version.is_err() {
        skip(
            "bpftrace_sees_each_event_as_well",
            "bpftrace is not installed",
        );
    }
    version.is_ok()
}
