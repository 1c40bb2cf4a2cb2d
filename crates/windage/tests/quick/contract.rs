//! The contract of `analysis.json` with programs that read it.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::read::GzDecoder;
use serde_json::{Map, Value};
use windage_analysis::wire::{AnalysisWire, ArmWire, MetricWire};

use crate::workshop::Ended;

const METRICS: &[&str] = &[
    "throughput",
    "cpu_per_request",
    "cpu_per_request_isolated",
    "typical_cpu_per_request",
    "cpu_of_requests",
    "cpu_in_window",
    "cpu_deferred",
    "cpu_idle",
    "generator_cpu_per_request",
    "machine_cpu_per_request",
    "response_time_p10",
    "response_time_p50",
    "response_time_p90",
    "response_time_p99",
    "response_time_p999",
    "service_time_p10",
    "service_time_p50",
    "service_time_p90",
    "service_time_p99",
    "service_time_p999",
    "rss_steady",
    "rss_peak",
    "rss_growth",
    "threads_growth",
    "descriptors_growth",
    "pss",
    "agent_cpu",
    "agent_cpu_per_request",
    "kernel_threads_cpu_per_request",
    "agent_rss_steady",
    "agent_rss_peak",
    "agent_rss_growth",
    "agent_threads_growth",
    "agent_descriptors_growth",
    "agent_attach_time",
    "agent_attach_cpu",
    "bpf_ns_per_request",
    "bpf_runs_per_request",
    "wire_bytes_per_request",
    "telemetry_lost",
    "errors_per_request",
    "context_switches_per_request",
    "page_faults_per_request",
    "startup_time",
    "startup_cpu",
    "flush_time",
    "flush_cpu",
    "cpu_per_iteration",
    "cpu_per_iteration_isolated",
    "wall_per_iteration",
    "cpu_per_span",
    "cpu_per_event",
    "cpu_per_record",
];

/// The document embedded in a page.
pub(crate) fn document_in(page: &str) -> Value {
    let (_, rest) = page.split_once("data-kind=\"run\">").expect("a document");
    let (packed, _) = rest.split_once("</script>").expect("its end");
    let packed = STANDARD.decode(packed).expect("Base64");
    serde_json::from_reader(GzDecoder::new(packed.as_slice())).expect("a document")
}

/// The analysis that a run prints, checked against the contract.
pub(crate) fn checked(ended: &Ended) -> AnalysisWire {
    check(&ended.json());
    ended.analysis()
}

/// One arm of an analysis.
pub(crate) fn arm<'a>(analysis: &'a AnalysisWire, id: &str) -> &'a ArmWire {
    let arm = analysis.arm(id);
    arm.unwrap_or_else(|| panic!("no arm {id} in {:?}", analysis.under_first_load.arms))
}

/// The relative difference of a metric.
pub(crate) fn relative(metric: &MetricWire) -> f64 {
    let estimate = metric
        .relative
        .as_ref()
        .and_then(|interval| interval.estimate);
    estimate.unwrap_or_else(|| panic!("no estimate in {metric:?}"))
}

/// The codes of all warnings about a run.
pub(crate) fn reasons(analysis: &Value) -> Vec<&str> {
    list(&analysis["validity"]["reasons"])
        .iter()
        .map(|reason| text(&reason["code"]))
        .collect()
}

/// Checks that every key of the contract is there and has the right type.
pub(crate) fn check(analysis: &Value) {
    assert_eq!(analysis["schema"], 1);
    for key in ["windage", "run", "plan", "command"] {
        assert!(!text(&analysis[key]).is_empty(), "{key}");
    }
    assert!(!table(&analysis["host"]).is_empty());
    validity(&analysis["validity"]);
    let arms = list(&analysis["arms"]);
    arms.iter().for_each(check_arm);
    check_turns(analysis);
    let ids: BTreeSet<&str> = arms.iter().map(|arm| text(&arm["id"])).collect();
    assert_eq!(ids.len(), arms.len(), "two arms have one id");
    let of_role = |role| -> Vec<&Value> { arms.iter().filter(|arm| arm["role"] == role).collect() };
    assert_eq!(of_role("control").len(), 1);
    let [baseline] = of_role("baseline")[..] else {
        panic!("there is one baseline");
    };
    assert_eq!(analysis["baseline"], baseline["id"]);
    for (name, metric) in table(&baseline["metrics"]) {
        for key in ["difference", "relative", "exceeds_zero", "verdict"] {
            assert!(metric[key].is_null(), "the baseline has {name}.{key}");
        }
    }
}

/// How arms took turns, and that CPU is marked with how it was measured.
fn check_turns(analysis: &Value) {
    let turns = present(&analysis["design"], "turns");
    let measured = if turns.is_null() {
        "isolated"
    } else {
        assert!(
            turns["blocks"].is_u64() && turns["turn"].is_u64(),
            "{turns}"
        );
        assert!(turns["measured_s"].is_number(), "{turns}");
        number_or_null(turns, "turn_s");
        check_interval("change_by_heaviest", present(turns, "change_by_heaviest"));
        check_interval("changeover_share", present(turns, "changeover_share"));
        number_or_null(turns, "changeover_us");
        "interleaved"
    };
    for arm in list(&analysis["arms"]) {
        let metrics = table(&arm["metrics"]);
        for name in ["cpu_per_request", "cpu_per_iteration"] {
            let of = metrics.get(name).filter(|of| !of.is_null());
            of.inspect(|of| assert_eq!(of["measured"], measured, "{name}"));
        }
        let throughput = metrics.get("throughput");
        throughput.inspect(|of| assert!(present(of, "measured").is_null(), "{of}"));
    }
}

fn check_arm(arm: &Value) {
    let id = text(&arm["id"]);
    let alphabet = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "._-".contains(c);
    assert!(!id.is_empty() && id.chars().all(alphabet), "{id}");
    assert!(!text(&arm["name"]).is_empty(), "{id}");
    one_of(&arm["role"], &["baseline", "control", "treatment"]);
    table(&arm["levels"]);
    table(&arm["versions"]);
    for (name, metric) in table(&arm["metrics"]) {
        assert!(METRICS.contains(&name.as_str()), "unknown metric {name}");
        check_metric(&format!("{id}.{name}"), metric);
    }
    let less = present(arm, "isolated_less_interleaved");
    check_interval(&format!("{id}.isolated_less_interleaved"), less);
    let carry_over = present(arm, "carry_over");
    check_interval(&format!("{id}.carry_over"), carry_over);
    let fidelity = present(arm, "fidelity");
    if !fidelity.is_null() {
        one_of(&fidelity["of"], &["spans", "traces"]);
        assert!(fidelity["delivered"].is_u64());
        for key in ["expected", "lost", "bytes_per_span", "wire_bytes_per_span"] {
            number_or_null(fidelity, key);
        }
    }
}

fn check_metric(name: &str, metric: &Value) {
    assert!(!text(&metric["unit"]).is_empty(), "{name}");
    one_of(&metric["direction"], &["lower", "higher"]);
    one_of(&metric["scope"]["load"], &["open", "closed", "batch"]);
    number_or_null(&metric["scope"], "rate");
    assert!(metric["scope"]["saturated"].is_boolean(), "{name}");
    for key in ["baseline", "arm", "margin", "minimum_detectable_effect"] {
        number_or_null(metric, key);
    }
    for key in ["difference", "relative"] {
        check_interval(name, present(metric, key));
    }
    let exceeds_zero = present(metric, "exceeds_zero");
    assert!(
        exceeds_zero.is_boolean() || exceeds_zero.is_null(),
        "{name}"
    );
    if !present(metric, "verdict").is_null() {
        let verdicts = ["costs", "saves", "negligible", "inconclusive"];
        one_of(&metric["verdict"], &verdicts);
    }
    let needed = present(metric, "launches_needed");
    let is_withheld = metric["verdict"] == "inconclusive";
    assert!(
        needed.is_null() || (needed.is_u64() && is_withheld),
        "{name}: {needed}"
    );
    assert!(!text(&metric["family"]).is_empty(), "{name}");
    assert!(
        metric["windows"].is_u64() && metric["rounds"].is_u64(),
        "{name}"
    );
    validity(&metric["validity"]);
    if metric["difference"].is_null() || metric["relative"].is_null() {
        assert!(!text(&metric["missing"]["code"]).is_empty(), "{name}");
        assert!(!text(&metric["missing"]["text"]).is_empty(), "{name}");
    }
}

fn check_interval(name: &str, interval: &Value) {
    if interval.is_null() {
        return;
    }
    let number = |key: &str| {
        let value = interval[key].as_f64();
        value.unwrap_or_else(|| panic!("{name}: no {key} in {interval}"))
    };
    let ordered = number("low") <= number("estimate") && number("estimate") <= number("high");
    assert!(ordered, "{name}: {interval}");
    assert!((0.5..1.0).contains(&number("confidence")), "{name}");
    assert!(!text(&interval["method"]).is_empty(), "{name}");
}

fn validity(validity: &Value) {
    one_of(&validity["verdict"], &["valid", "suspect", "void"]);
    let reasons = list(&validity["reasons"]);
    assert_eq!(validity["verdict"] == "valid", reasons.is_empty());
    for reason in reasons {
        assert!(!text(&reason["code"]).is_empty(), "{reason}");
        one_of(&reason["verdict"], &["suspect", "void"]);
        assert!(!text(&reason["text"]).is_empty(), "{reason}");
        table(&reason["evidence"]);
    }
}

/// A required key, which may be null.
fn present<'a>(of: &'a Value, key: &str) -> &'a Value {
    of.get(key).unwrap_or_else(|| panic!("no {key} in {of}"))
}

fn number_or_null(of: &Value, key: &str) {
    let value = present(of, key);
    assert!(value.is_number() || value.is_null(), "{key}: {value}");
}

fn one_of(value: &Value, words: &[&str]) {
    assert!(words.contains(&text(value)), "{value} is none of {words:?}");
}

fn text(value: &Value) -> &str {
    value
        .as_str()
        .unwrap_or_else(|| panic!("{value} is no text"))
}

fn list(value: &Value) -> &[Value] {
    value
        .as_array()
        .unwrap_or_else(|| panic!("{value} is no list"))
}

fn table(value: &Value) -> &Map<String, Value> {
    value
        .as_object()
        .unwrap_or_else(|| panic!("{value} is no table"))
}
