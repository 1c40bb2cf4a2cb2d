//! Where plans receive telemetry: receivers, their backends, and what services say that they dropped.

use std::path::{Path, PathBuf};
use std::time::Duration;

use windage_model::{Backend, LevelValue};
use windage_plan::{Drops, Plan, SinkDetail, SinkPlan, Template, ToldBy};

const EVERYTHING: &str = include_str!("plans/everything.toml");
const MINIMAL: &str = include_str!("plans/minimal.toml");
const RECEIVERS: &str = include_str!("plans/receivers.toml");

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/templates")
}

fn parse(text: &str) -> Plan {
    Plan::parse(text, "plan.toml", &folder())
        .unwrap_or_else(|error| panic!("{}", error.render(false)))
}

#[test]
fn receivers_are_named_directly_or_by_their_port() {
    let all: Vec<&str> = parse(RECEIVERS).receivers().collect();
    assert_eq!(all, windage_plan::RECEIVER_PLACEHOLDERS);
    assert_eq!(
        parse(EVERYTHING).receivers().collect::<Vec<_>>(),
        ["otlp_http"]
    );
    assert_eq!(parse(MINIMAL).receivers().count(), 0);
    let known = |name: &&str| windage_plan::RESERVED_PLACEHOLDERS.contains(name);
    assert!(windage_plan::RECEIVER_PLACEHOLDERS.iter().all(known));
}

#[test]
fn a_list_of_backends_is_a_sweep() {
    let plan = parse(RECEIVERS);
    let ms = Duration::from_millis;
    let slow = |ms| Backend::Slow { from: ms, to: ms };
    let reject = Backend::Reject {
        status: 429,
        share: 0.1,
        retry_after: Some(ms(2000)),
    };
    let table = [
        ("off", None, "its command exports nothing"),
        ("control", None, "like the baseline"),
        (
            "grpc, sampling 1.0, backend ok",
            Some(Backend::Ok),
            "the last factor changes fastest",
        ),
        (
            "grpc, sampling 1.0, backend slow 200ms",
            Some(slow(ms(200))),
            "the second backend",
        ),
        (
            "grpc, sampling 1.0, backend reject 429 10% retry 2s",
            Some(reject),
            "with all its words",
        ),
        ("grpc, sampling 0.1, backend ok", Some(Backend::Ok), ""),
        (
            "grpc, sampling 0.1, backend slow 200ms",
            Some(slow(ms(200))),
            "",
        ),
        (
            "grpc, sampling 0.1, backend reject 429 10% retry 2s",
            Some(reject),
            "",
        ),
        (
            "datadog, answers_after 50ms",
            Some(slow(ms(50))),
            "words around a factor",
        ),
        ("datadog, answers_after 2s", Some(slow(ms(2000))), ""),
        (
            "ill",
            Some(Backend::Down {
                lasts: Some(ms(5000)),
            }),
            "no factor",
        ),
    ];
    let arms: Vec<(&str, Option<Backend>)> = plan
        .arms
        .iter()
        .map(|arm| (arm.name.as_str(), arm.backend.as_ref().map(|b| b.behaviour)))
        .collect();
    let expected: Vec<(&str, Option<Backend>)> = table
        .iter()
        .map(|(name, backend, _)| (*name, *backend))
        .collect();
    assert_eq!(arms, expected);
    assert_eq!(
        plan.arms[3].level("backend"),
        Some(&LevelValue::Text("slow 200ms".to_owned()))
    );
    assert_eq!(
        plan.arms[3].instance,
        plan.arms[3].id.as_str(),
        "processes of its own"
    );
}

#[test]
fn a_factor_of_that_name_is_the_same_as_a_list() {
    let list = r#"backend = ["ok", "slow 200ms", "reject 429 10% retry 2s"]"#;
    let alone = RECEIVERS
        .replace("sweep = { sampling = [1.0, 0.1] }\n", "")
        .replace("{sampling}", "1");
    let factor = alone.replace(
        list,
        &format!("sweep = {{ {list} }}\nbackend = \"{{backend}}\""),
    );
    assert_ne!(factor, alone);
    assert_eq!(parse(&factor).arms, parse(&alone).arms);
}

#[test]
fn the_default_backend_is_ok() {
    let plan = parse(EVERYTHING);
    let backend = |arm: usize| plan.arms[arm].backend.as_ref().map(|b| b.behaviour);
    assert_eq!((backend(0), backend(2)), (None, Some(Backend::Ok)));
    let silent = SinkPlan {
        keep_bytes: None,
        client_drop_p0s: false,
        detail: SinkDetail::Full,
    };
    assert_eq!(plan.sink, Some(silent));
    let told = SinkPlan {
        keep_bytes: Some(16 << 20),
        client_drop_p0s: true,
        detail: SinkDetail::Counts,
    };
    assert_eq!(parse(RECEIVERS).sink, Some(told));
    assert_eq!(parse(MINIMAL).sink, None, "no receiver");
}

#[test]
fn arms_that_share_processes_may_differ_by_backend_only() {
    let text = r#"name = "shared"
[[service]]
name = "app"
command = ["app", "{listen}", "{otlp_grpc}"]
[load]
model = "closed"
request = "GET http://{app}/"
[[arm]]
name = "well"
baseline = true
instance = "one"
[[arm]]
name = "ill"
instance = "one"
backend = ["slow 200ms", "stall"]
"#;
    let plan = parse(text);
    assert!(plan.arms.iter().all(|arm| arm.instance == "one"));
    let same = text.replace("\"stall\"", "\"ok\"");
    let error = Plan::parse(&same, "plan.toml", &folder())
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("has no `switch` that sets its state"),
        "{error}"
    );
}

#[test]
fn drops_are_resolved() {
    let plan = parse(RECEIVERS);
    let [agent, app] = plan.services.as_slice() else {
        panic!("two services")
    };
    assert_eq!(
        agent.metrics,
        Some(Template::parse("http://{agent}/metrics"))
    );
    assert_eq!(
        app.metrics,
        Some(Template::parse("http://{agent}/app/metrics"))
    );
    let scraped = plan.arms.iter().find(|arm| arm.name.starts_with("grpc"));
    let scraped = scraped.unwrap().scrape.get(&agent.name);
    assert_eq!(scraped, Some(&Duration::from_secs(15)));
    let told = |drops: &Drops| match &drops.told_by {
        ToldBy::Log { pattern } => (drops.reason.clone(), pattern.clone()),
        ToldBy::Metric { name } => (drops.reason.clone(), name.clone()),
    };
    let text = |reason: &str, by: &str| (reason.to_owned(), by.to_owned());
    assert_eq!(
        agent.drops.iter().map(told).collect::<Vec<_>>(),
        [
            text("queue full", "agent_dropped_total"),
            text("queue full", r"dropped (\d+) spans")
        ]
    );
    assert_eq!(
        app.drops.iter().map(told).collect::<Vec<_>>(),
        [
            text("export failed", "app:failed"),
            text("a line for each", "export failed")
        ]
    );
}
