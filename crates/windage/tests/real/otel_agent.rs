//! OpenTelemetry's eBPF agent beside a Go server: `experiments/agent-constant-rate`, shortened,
//! killed in the middle, and with nothing to watch.

use std::fs;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use windage_analysis::wire::{ArmWire, EvidenceWire};

use crate::in_kernel::{assert_gone, attached, can_attach};
use crate::measurements::{arm, fidelity, replaced};
use crate::sdks::root;
use crate::workshop::{Ended, Workshop};
use crate::{alone, experiment};

/// The most spans that the agent may lose: its probe has room for 50 requests in flight, which are
/// only exceeded if the machine stalls.
const LOST: f64 = 0.05;
/// A request in flight when load ends is answered and traced, but not counted.
const IN_FLIGHT: f64 = 0.01;

/// The agent finds no process.
const NOBODY: [(&str, &str); 3] = [
    (
        r#""-target-pid", "{app.pid}""#,
        r#""-target-exe", "/nobody""#,
    ),
    (r#"expect = { spans_per_request = "{sampling}" }"#, ""),
    (r#"agent_stretch  = "1s""#, r#"agent_stretch = "300ms""#),
];

/// The plan under one regime that the agent can follow without loss, with all requests sampled and
/// replacements.
fn plan(changes: &[(&str, &str)]) -> String {
    let text = fs::read_to_string(experiment("agent-constant-rate").join("plan.toml")).unwrap();
    let (first, further) = text.split_once("[[regime]]").unwrap();
    let (_, arms) = further.split_once("[[arm]]").unwrap();
    let plan = replaced(
        &format!("{first}[[arm]]{arms}"),
        &[
            ("../../", &format!("{}/", root().display())),
            (r#"regime      = "3,000/s""#, ""),
            (r#""3000/s""#, r#""500/s""#),
            // The agent tracks fifty requests at a time; more in flight are lost.
            ("connections = 100", "connections = 40"),
            ("[1.0, 0.1]", "[1.0]"),
        ],
    );
    replaced(&plan, changes)
}

/// Each arm's agent is attached once.
fn run(shop: &Workshop, plan: &str) -> Ended {
    shop.write("plan.toml", plan);
    let args = ["run", "plan.toml", "--for", "1s", "--rounds", "1"];
    let to = ["--out", &shop.run, "--json"];
    shop.windage(&[&args[..], &to].concat())
}

#[test]
fn every_request_of_a_go_server_is_traced() {
    let _alone = alone();
    if !can_attach("every_request_of_a_go_server_is_traced") {
        return;
    }
    let shop = Workshop::new();
    let before = attached(&shop.run);
    let analysis = run(&shop, &plan(&[])).code(0).analysis();
    assert_gone(&shop.run, &before);

    let [silent, sending] =
        ["no-exporter-sampling-1.0", "otlp-sampling-1.0"].map(|id| arm(&analysis, id));
    for watched in [silent, sending] {
        assert_its_programs_ran(watched);
    }
    let fidelity = fidelity(sending);
    let expected = fidelity.expected.unwrap();
    assert!(expected > 500.0, "{fidelity:?}");
    let share = fidelity.delivered as f64 / expected;
    assert!(
        (1.0 - LOST..1.0 + IN_FLIGHT).contains(&share),
        "{share}: {fidelity:?}"
    );
    assert!(silent.fidelity.is_none(), "{silent:?}");

    let arm = arm(&analysis, "bystander");
    let bystander = arm.bystander.as_ref().unwrap();
    assert_eq!(bystander.bystander_of, "otlp-sampling-1.0");
    assert!(arm.metrics["cpu_per_request"].windows > 0, "{arm:#?}");
    assert!(arm.agent.is_none(), "{arm:#?}");
}

/// Each request triggers two probes, at its beginning and end, and one per header.
fn assert_its_programs_ran(arm: &ArmWire) {
    let agent = arm.agent.as_ref().unwrap();
    let bpf = agent.bpf.as_ref().unwrap();
    let events = bpf.events_per_request.as_ref().unwrap().estimate.unwrap();
    assert!((3.0..=5.0).contains(&events), "{bpf:#?}");
    for program in &bpf.programs {
        assert_eq!(program.kind, "kprobe", "{program:?}");
        assert!(program.runs_per_request > Some(0.0), "{program:?}");
        assert!(program.ns_per_run > Some(0.0), "{program:?}");
    }
    let up = agent.up.as_ref().unwrap();
    assert!(up.cpu_cores.as_ref().unwrap().estimate > Some(0.0));
    let [cycle] = &agent.cycles[..] else {
        panic!("the agent was attached once: {agent:#?}");
    };
    assert!(cycle.attach_s > Some(0.0), "{cycle:#?}");
    let programs = cycle.bpf_programs.unwrap();
    assert!(
        programs > 0 && cycle.bpf_links as usize >= programs,
        "{cycle:#?}"
    );
    assert!(cycle.left_behind.is_empty(), "{cycle:#?}");
    assert!(cycle.failed.is_none(), "{cycle:#?}");
}

#[test]
fn killing_windage_ends_the_agent() {
    let _alone = alone();
    if !can_attach("killing_windage_ends_the_agent") {
        return;
    }
    let shop = Workshop::new();
    let before = attached(&shop.run);
    let mut going = shop.start_plan(&plan(&[(
        r#"agent_stretch  = "1s""#,
        r#"agent_stretch = "3s""#,
    )]));
    going.until("the agent has attached", || {
        let logs = shop.logs_of("otel");
        logs.iter()
            .any(|log| log.contains("instrumentation loaded successfully"))
    });
    assert_ne!(attached(&shop.run), before);
    kill(Pid::from_raw(going.pid().cast_signed()), Signal::SIGKILL).unwrap();
    // `end` checks that no process is left.
    going.end();
    assert_gone(&shop.run, &before);
}

#[test]
fn an_agent_that_finds_no_process_is_reported() {
    let _alone = alone();
    if !can_attach("an_agent_that_finds_no_process_is_reported") {
        return;
    }
    // Ready as soon as it searches: it then runs without any program.
    let searching = replaced(
        &plan(&NOBODY),
        &[("instrumentation loaded successfully", "Polling for process")],
    );
    let analysis = run(&Workshop::new(), &searching).code(0).analysis();
    let idle = analysis.under_first_load.validity.reasons.iter();
    let idle: Vec<&EvidenceWire> = idle
        .filter(|reason| reason.code == "agent_idle")
        .map(|reason| &reason.evidence["arm"])
        .collect();
    let ids = ["no-exporter-sampling-1.0", "otlp-sampling-1.0"];
    assert_eq!(
        idle,
        ids.map(|id| EvidenceWire::Text(id.to_owned())).each_ref()
    );
    let agent = arm(&analysis, "otlp-sampling-1.0").agent.as_ref().unwrap();
    let bpf = agent.bpf.as_ref().unwrap();
    assert!(bpf.programs.is_empty(), "{bpf:#?}");

    // Ready when it has attached, which never happens.
    let waited_for = replaced(&plan(&NOBODY), &[(r#"within = "60s""#, r#"within = "3s""#)]);
    run(&Workshop::new(), &waited_for).code(5).says(&[
        "`otel`",
        "was not ready within 3s",
        "instrumentation loaded successfully",
        "Polling for process",
        "/nobody",
        "ready.within",
    ]);
}
