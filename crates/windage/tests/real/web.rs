//! Web services under their languages' agents, shortened, and mistakes that users make.

use std::fs;

use windage_analysis::wire::ArmWire;

use crate::measurements::{arm, counted, delivers_its_share, fidelity, relative_cpu};
use crate::workshop::{Ended, Workshop};
use crate::{alone, experiment};

/// Standard deviations of sampling within which the share of traces must be.
const BY_CHANCE: f64 = 4.0;

/// An experiment with the arms of every web service.
struct Web {
    plan: &'static str,
    /// Spans per request, by the instrumentation that makes them.
    spans_per_request: [(&'static str, u64); 2],
    versions: [&'static str; 2],
}

const FASTAPI: Web = Web {
    plan: "fastapi",
    spans_per_request: [
        ("opentelemetry.instrumentation.fastapi", 3),
        ("opentelemetry.instrumentation.sqlite3", 3),
    ],
    versions: ["fastapi", "uvicorn"],
};

const FLASK: Web = Web {
    plan: "flask",
    spans_per_request: [
        ("opentelemetry.instrumentation.flask", 1),
        ("opentelemetry.instrumentation.sqlite3", 3),
    ],
    versions: ["flask", "gunicorn"],
};

fn pays_for_what_it_delivers(web: &Web) {
    let analysis = changed(web.plan, &[], "12s").code(0).analysis();
    let [loaded, all, some, none] = [
        "loaded-exporter-none",
        "otel-sampling-1.0",
        "otel-sampling-0.1",
        "otel-sampling-0.0",
    ]
    .map(|id| arm(&analysis, id));
    let costs = [none, all].map(relative_cpu);
    assert!(costs.is_sorted(), "unsampled, sampled: {costs:?}");
    assert!(costs[0] > 0.0 && relative_cpu(loaded) > 0.0, "{costs:?}");
    delivers_every_trace(web, all);
    delivers_its_share(some, BY_CHANCE, 0.0);
    for silent in [loaded, none] {
        assert_eq!(counted(silent, "spans"), 0, "{silent:?}");
    }
    for name in ["python", "otel"].into_iter().chain(web.versions) {
        let version = all.versions.get(name);
        let is_known = version.is_some_and(|version| version.contains('.'));
        assert!(is_known, "{name}: {version:?}");
    }
}

fn delivers_every_trace(web: &Web, arm: &ArmWire) {
    let fidelity = fidelity(arm);
    let requests = counted(arm, "completed_requests");
    assert!(requests > 500, "{fidelity:?}");
    let traces = counted(arm, "root_spans");
    // A readiness check may be answered too late to count, and is traced.
    assert!(
        (requests..=requests + 3).contains(&traces),
        "{requests}: {fidelity:?}"
    );
    let complete = fidelity
        .traces
        .as_ref()
        .and_then(|traces| traces.complete.as_ref());
    assert_eq!(complete.unwrap().estimate, Some(1.0), "{fidelity:?}");
    let sources = &fidelity.by_source;
    assert_eq!(sources.len(), web.spans_per_request.len(), "{fidelity:?}");
    for (scope, spans) in web.spans_per_request {
        let source = sources.iter().find(|source| source.scope == scope);
        assert_eq!(source.unwrap().spans, spans * traces, "{fidelity:?}");
    }
}

#[test]
fn fastapi_pays_for_what_it_delivers() {
    pays_for_what_it_delivers(&FASTAPI);
}

/// Its tracer provider is made before gunicorn forks, and must still export afterwards.
#[test]
fn flask_pays_for_what_it_delivers() {
    pays_for_what_it_delivers(&FLASK);
}

/// Runs an experiment's plan with replacements and without profiles, which would take longer than
/// everything else.
fn changed(name: &str, changes: &[(&str, &str)], length: &str) -> Ended {
    let _alone = alone();
    let shop = Workshop::new();
    let folder = experiment(name).canonicalize().unwrap();
    let mut plan = fs::read_to_string(folder.join("plan.toml")).unwrap();
    let environment = format!("{}/.venv", folder.display());
    let root = format!("{}/", experiment("..").canonicalize().unwrap().display());
    let places = [("../../", &*root), (".venv", &*environment)];
    for (from, to) in changes.iter().chain(&places) {
        assert!(plan.contains(from), "no `{from}` in {plan}");
        plan = plan.replace(from, to);
    }
    let (measured, _) = plan.split_once("[profile]").unwrap();
    shop.write("plan.toml", measured);
    let args = ["run", "plan.toml", "--for", length, "--rounds", "1"];
    shop.windage(&[&args[..], &["--out", &shop.run, "--json"]].concat())
}

#[test]
fn an_import_error_is_shown_in_the_services_words() {
    let ended = changed("fastapi", &[("fastapi_app:app", "gone_app:app")], "2s");
    ended
        .code(5)
        .says(&["Could not import module \"gone_app\""]);
}

#[test]
fn spans_lost_at_uvicorns_exit_are_reported() {
    let changes = [
        ("drain  = \"1500ms\"", "drain = \"0s\""),
        ("[1.0, 0.1, 0.0]", "[1.0]"),
        // Longer than the run, so that a batch is exported only when it is full.
        (
            "OTEL_BSP_SCHEDULE_DELAY     = \"1000\"",
            "OTEL_BSP_SCHEDULE_DELAY = \"600000\"",
        ),
    ];
    let analysis = changed("fastapi", &changes, "2s").code(0).analysis();
    let all = arm(&analysis, "otel-sampling-1.0");
    let spans_per_request: u64 = FASTAPI
        .spans_per_request
        .map(|(_, spans)| spans)
        .iter()
        .sum();
    let expected = counted(all, "completed_requests") * spans_per_request;
    let lost = expected - counted(all, "spans");
    assert_eq!(
        lost,
        expected % 512,
        "the incomplete batch is lost: {all:?}"
    );
}
