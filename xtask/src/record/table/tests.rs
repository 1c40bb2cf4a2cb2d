//! The page of a record that was made up, and that of this workspace.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::*;

#[test]
fn the_page_is_what_the_records_give() {
    let page = fs::read_to_string(workspace::root().join(PAGE)).unwrap_or_default();
    let made = make(workspace::root()).unwrap();
    assert!(
        page == made,
        "{PAGE} is not what record/ and the experiments give; run `cargo xtask record table`"
    );
    let experiments = workspace::root().join("experiments");
    let dead: Vec<&str> = links(&page)
        .filter(|link| !experiments.join(link).exists())
        .collect();
    assert!(
        dead.is_empty(),
        "{PAGE} links to what is not there: {dead:?}"
    );
}

/// Where the page's links lead, without the place within a page.
fn links(page: &str) -> impl Iterator<Item = &str> {
    let behind = page
        .match_indices("](")
        .map(|(at, mark)| &page[at + mark.len()..]);
    behind
        .filter_map(|link| link.split([')', '#']).next())
        .filter(|link| !link.is_empty())
}

fn interval(estimate: f64, half_width: f64) -> Value {
    json!({ "estimate": estimate, "low": estimate - half_width, "high": estimate + half_width,
        "confidence": 0.95, "method": "made up" })
}

fn metric(estimate: f64, half_width: f64) -> Value {
    let exceeds_nil = estimate.abs() > half_width;
    json!({
        "difference": interval(estimate, half_width), "exceeds_nil": exceeds_nil,
        "verdict": if exceeds_nil { "costs" } else { "inconclusive" },
        "validity": { "verdict": "valid", "reasons": [] },
    })
}

fn missing(code: &str, text: &str) -> Value {
    json!({ "difference": null, "exceeds_nil": null, "verdict": null,
        "validity": { "verdict": "valid", "reasons": [] },
        "missing": { "code": code, "text": text } })
}

/// What came of `completed` iterations with so many spans each.
fn delivered(completed: u32, spans: u32, lost: u32) -> Value {
    json!({
        "expected": completed * spans, "sampling_sd": 0.0, "lost": lost,
        "beyond_sampling": lost > 0, "wire_bytes_per_span": 180.4,
        "in_windows": { "expected": completed, "lost": 0 },
        "completed_requests": completed, "spans": completed * spans - lost,
    })
}

fn arm(id: &str, metrics: Value, fidelity: Value) -> Value {
    let role = if id == "off" { "baseline" } else { "treatment" };
    json!({ "id": id, "name": id, "role": role, "versions": { "python": "3.11.2", "sdk": "1.45.2" },
        "metrics": metrics, "fidelity": fidelity })
}

fn run(plan: &str, load: Value, arms: Value) -> Value {
    json!({
        "schema": 1, "windage": "0.1.0", "plan": plan,
        "command": format!("windage run experiments/{plan} --json"),
        "started": "2026-11-22T10:00:00Z",
        "host": {
            "kernel": "6.18.0", "os_release": "Debian GNU/Linux 12 (bookworm)",
            "cpu_model": "Some CPU", "cpus_online": 2, "memory_total_bytes": 8_589_934_592_u64,
            "virtualised": true,
        },
        "regime": null, "design": load, "validity": { "verdict": "valid", "reasons": [] },
        "arms": arms,
    })
}

fn design(load: &str, rate: Value) -> Value {
    json!({ "load": load, "rate": rate, "connections": 8, "rounds": 3, "measured_s": 90.0 })
}

/// What a stage, a sum or a gap costs; events come in no stage.
fn stage_cost(us: f64, half_width: f64) -> Value {
    let per_span = interval(us / 23.0, half_width / 23.0);
    json!({ "difference": interval(us, half_width), "exceeds_nil": us.abs() > half_width,
        "per_span": per_span, "per_event": null })
}

fn with(mut cost: Value, keys: Value) -> Value {
    let (Some(cost_keys), Value::Object(keys)) = (cost.as_object_mut(), keys) else {
        panic!("both are objects");
    };
    cost_keys.extend(keys);
    cost
}

/// A chain of two stages, and its last arm once more.
fn chain() -> Value {
    let stage = |arm: &str, us: f64, share: f64| {
        with(stage_cost(us, 4.0), json!({ "arm": arm, "share": share }))
    };
    let unknown = json!({ "difference": null, "exceeds_nil": null, "per_span": null,
        "per_event": null, "missing": { "code": "too_few", "text": "One launch." } });
    json!({
        "from": "off", "from_value": 64.0,
        "stages": [stage("otel-0.0", 266.0, 0.2), stage("otel-1.0", 1045.0, 0.8)],
        "sum": stage_cost(1311.0, 9.0),
        "wholes": [
            with(stage_cost(1305.0, 9.0), json!({ "arm": "again", "gap": stage_cost(-6.0, 8.0),
                "holds": true })),
            with(stage_cost(1290.0, 9.0), json!({ "arm": "once", "gap": unknown, "holds": null })),
        ],
    })
}

/// A batch program: of spans, as text and sent, and of events.
fn sqlite() -> Value {
    let all = |us: f64, us_a_span: f64| {
        json!({ "cpu_per_iteration": metric(us, us / 50.0), "cpu_per_span": metric(us_a_span, us_a_span / 50.0),
            "rss_steady": metric(20.5e6, 0.2e6), "startup_time": metric(0.4, 0.01) })
    };
    let mut nothing_sent = all(266.0, 0.0);
    nothing_sent["cpu_per_span"] = missing("nothing_delivered", "No span arrived.");
    let mut events = all(400.0, 400.0);
    events["cpu_per_event"] = metric(17.4, 0.3);
    let room = |figure: f64| interval(figure, figure / 50.0);
    let rooms = |us: f64| json!({ "per_core_second": room(1e6 / us), "within": room(1e4 / us) });
    let mut open = rooms(400.0);
    open["within"]["high"] = Value::Null;
    let script = json!({ "iterations": 10_000, "real_s": interval(22.6, 0.4) });
    let mut run = run(
        "python-sqlite",
        design("batch", Value::Null),
        json!([
            arm("off", json!({}), Value::Null),
            with(
                arm("text-otel", all(2254.0, 98.0), delivered(1000, 23, 0)),
                json!({ "script": script }),
            ),
            arm("text-ddtrace", all(630.0, 27.4), delivered(1000, 23, 0)),
            with(
                arm("otel-1.0", all(1311.0, 57.0), delivered(1000, 23, 0)),
                json!({ "planning": { "within_s": 0.01, "spans": rooms(57.0), "events": null } }),
            ),
            arm("otel-0.1", all(420.0, 182.0), delivered(100, 23, 0)),
            arm("otel-0.0", nothing_sent, delivered(100, 0, 0)),
            with(
                arm("events", events, delivered(1000, 1, 0)),
                json!({ "planning": { "within_s": 0.01, "spans": open, "events": rooms(17.4) } }),
            ),
        ]),
    );
    run["stages"] = json!([chain()]);
    run
}

/// A web service in which one metric is suspect, one is missing and something was lost.
fn web() -> Value {
    let mut suspect = metric(31.0, 2.0);
    suspect["validity"] = json!({ "verdict": "suspect", "reasons": [
        { "code": "trend_left", "text": "The difference changes." } ] });
    let lossy = json!({ "cpu_per_request": metric(310.0, 9.0), "cpu_per_span": suspect,
        "rss_steady": metric(40e6, 1e6), "startup_time": metric(0.002, 0.004) });
    let loaded = json!({ "cpu_per_request": metric(12.0, 2.0),
        "cpu_per_span": missing("nothing_delivered", "No span arrived."),
        "pss": metric(10e6, 1e6), "startup_time": missing("too_few", "One launch has no scatter.") });
    let mut run = run(
        "fastapi",
        design("open", json!(200.0)),
        json!([
            arm("otel-1.0", lossy, delivered(1000, 5, 456)),
            arm("loaded", loaded, Value::Null),
        ]),
    );
    run["validity"] = json!({ "verdict": "suspect", "reasons": [
        { "code": "telemetry_lost", "text": "456 of 5000 spans were lost." } ] });
    run["host"]["cpu_model"] = json!("Another CPU");
    run
}

const ROWS: &str = include_str!("samples/rows.toml");

/// A workspace with one record, one older and empty, and three experiments.
fn workspace_with(rows: &str) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    let both = json!({ "schema": 1, "runs": [sqlite(), web()] });
    write("record/2026-11-22/sdks/both.json", &both.to_string());
    write("record/2026-11-22/sdks/sqlite.json", &sqlite().to_string());
    write("record/2026-11-22/sdks/fastapi.html", "<p>");
    write("record/2026-11-22/sdks/rows.toml", rows);
    write("record/2026-11-21/sdks/rows.toml", "[[older]]");
    write("record/2026-11-23/README.md", "no SDKs here");
    for (name, heading) in [
        ("python-sqlite", "x"),
        ("fastapi", "x"),
        (
            "caddy",
            "caddy: a proxy\n\n[recorded](../../record/2026-11-22/caddy.md)",
        ),
    ] {
        write(
            &format!("experiments/{name}/README.md"),
            &format!("# {heading}\n"),
        );
    }
    root
}

fn folder(root: &Path) -> PathBuf {
    root.join("record/2026-11-22/sdks")
}

#[test]
fn the_newest_record_makes_the_page() {
    let root = workspace_with(ROWS);
    insta::assert_snapshot!(make(root.path()).unwrap());
}

#[test]
fn without_a_record_the_page_has_no_figure() {
    let root = workspace_with(ROWS);
    fs::remove_dir_all(root.path().join("record")).unwrap();
    fs::create_dir(root.path().join("record")).unwrap();
    let page = make(root.path()).unwrap();
    assert!(page.contains("No SDK is recorded yet"), "{page}");
    assert!(
        page.contains("- [caddy](caddy/README.md): a proxy (recorded ["),
        "{page}"
    );
    assert!(!page.contains("| runtime |"), "{page}");
}

#[test]
fn mistakes_name_what_is_wrong() {
    let table = [
        (
            "arm = \"otel-1.0\"",
            "arm = \"otel-2\"",
            "no arm `otel-2`, only off, text-otel",
        ),
        (
            "arm = \"otel-1.0\"",
            "arm = \"off\"",
            "`off` is the baseline of run `sqlite`",
        ),
        (
            "run = \"sqlite\"",
            "run = \"mysql\"",
            "no [[run]] is called `mysql`",
        ),
        (
            "file = \"sqlite.json\"",
            "file = \"sql.json\"",
            "can't read sql.json",
        ),
        (
            "plan = \"fastapi\"\n",
            "",
            "several runs (python-sqlite, fastapi)",
        ),
        (
            "plan = \"fastapi\"",
            "plan = \"flask\"",
            "no run of plan `flask`",
        ),
        (
            "page = \"fastapi.html\"",
            "page = \"f.html\"",
            "its page f.html is not there",
        ),
        (
            "experiment = \"fastapi\"",
            "experiment = \"web\"",
            "no experiments/web/README.md",
        ),
        ("\"spans, 0.1\"", "\"spans, 0.2\"", "no figure `spans, 0.2`"),
        ("label = \"0.1\"", "label = \"a tenth\"", "a tenth"),
        (
            "plan = \"fastapi\"",
            "plan = \"fastapi\"\nregime = \"y\"",
            "no load `y`, only (no name)",
        ),
    ];
    for (from, to, named) in table {
        assert!(ROWS.contains(from), "{from}");
        let rows = ROWS.replace(from, to);
        let root = workspace_with(&rows);
        let error = format!("{:#}", make(root.path()).unwrap_err());
        assert!(error.contains(named), "{named}: {error}");
        assert!(error.contains("rows.toml"), "{error}");
    }
}

#[test]
fn files_that_are_no_analyses_are_told() {
    let table = [
        ("{", "not JSON"),
        ("{}", "`schema` is none"),
        (r#"{ "schema": 2 }"#, "`schema` is 2"),
        (r#"{ "schema": 1, "runs": 3 }"#, "`runs` is not a list"),
        (r#"{ "schema": 1, "runs": [] }"#, "it has no run"),
        (r#"{ "schema": 1 }"#, "missing field"),
    ];
    for (text, named) in table {
        let root = workspace_with(ROWS);
        fs::write(folder(root.path()).join("sqlite.json"), text).unwrap();
        let error = format!("{:#}", make(root.path()).unwrap_err());
        assert!(error.contains(named), "{named}: {error}");
        assert!(error.contains("sqlite.json"), "{error}");
    }
}

#[test]
fn of_several_loads_one_is_named() {
    let mut two = web();
    let under = |name: &str| {
        let keys = json!({ "regime": name, "design": design("closed", Value::Null),
            "validity": two["validity"], "arms": two["arms"] });
        keys.as_object().unwrap().clone()
    };
    let (steady, saturation) = (under("steady"), under("saturation"));
    two["further"] = json!([saturation]);
    two.as_object_mut().unwrap().extend(steady);
    let run: analysis::Run = serde_json::from_value(two).unwrap();
    let named = run.under(Some("saturation")).unwrap().regime.as_deref();
    assert_eq!(named, Some("saturation"));
    let error = run.under(None).unwrap_err().to_string();
    assert!(
        error.contains("several loads (steady, saturation)"),
        "{error}"
    );
}
