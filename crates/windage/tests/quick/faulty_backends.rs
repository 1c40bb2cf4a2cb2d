//! A run whose arms have different backends, on the built-in service.

use windage_analysis::wire::{AnalysisWire, FidelityWire};

use crate::contract;
use crate::workshop::Workshop;

const PLAN: &str = r#"
name = "ill"

[[service]]
name    = "app"
command = ["{windage}", "__demo-service", "--listen", "{listen}"]
ready   = { http = "/orders/1", within = "20s" }
stop    = { within = "20s" }
drops   = [{ reason = "the service says so", log = "never dropped (\\d+)" }]

[load]
model       = "open"
rate        = "200/s"
connections = 2
request     = "GET http://{app}/orders/17"

[[arm]]
name     = "off"
baseline = true

[[arm]]
name    = "sdk"
args    = { app = ["--telemetry", "otlp", "--endpoint", "{otlp_http}"] }
backend = ["ok", "partial 50%", "reject 400"]
expect  = { spans_per_request = 4 }

[arm.env]
OTEL_TRACES_SAMPLER     = "always_on"
OTEL_BSP_SCHEDULE_DELAY = "100"
NO_PROXY                = "127.0.0.1"

[sink]
keep = "64KiB"

[design]
window = "100ms"
rounds = 2
blocks = 2
warmup = "100ms"
drain  = "500ms"
idle   = "100ms"
"#;

fn fidelity<'a>(analysis: &'a AnalysisWire, arm: &str) -> &'a FidelityWire {
    contract::arm(analysis, arm).fidelity.as_ref().unwrap()
}

#[test]
fn losses_to_a_faulty_backend_are_counted_by_reason() {
    let shop = Workshop::new();
    shop.write("plan.toml", PLAN);
    let run = ["run", "plan.toml", "--out", &shop.run, "--json"];
    let analysis = contract::checked(&shop.windage(&run).code(0));

    let well = fidelity(&analysis, "sdk-backend-ok");
    assert_eq!(well.lost, Some(0.0), "{well:?}");
    assert_eq!(
        (well.backend.as_str(), &well.counts["refused"]),
        ("ok", &0.into())
    );
    let in_windows = well.in_windows.as_ref().unwrap();
    assert_eq!(in_windows.lost, Some(0.0), "{well:?}");
    let complete = well
        .traces
        .as_ref()
        .and_then(|traces| traces.complete.as_ref());
    assert_eq!(complete.unwrap().estimate, Some(1.0), "{well:?}");
    assert_eq!(well.by_protocol[0].protocol, "otlp-http");
    let delay = well.export_delay.as_ref().unwrap();
    assert!(delay.p50_us > 0.0, "{well:?}");

    let half = fidelity(&analysis, "sdk-backend-partial-50");
    let share = half.delivered as f64 / half.expected.unwrap();
    assert!((0.49..0.51).contains(&share), "{half:?}");
    assert_eq!(half.by_reason[0].code, "refused", "{half:?}");

    let none = fidelity(&analysis, "sdk-backend-reject-400");
    assert_eq!((none.delivered, &none.counts["spans"]), (0, &0.into()));
    assert!(none.counts["refused"].as_u64() > Some(0), "{none:?}");
    assert_eq!(none.by_reason[0].lost, none.expected, "{none:?}");
    let per_span = &contract::arm(&analysis, "sdk-backend-reject-400").metrics["cpu_per_span"];
    let missing = per_span.missing.as_ref().unwrap();
    assert_eq!(missing.code, "nothing_delivered", "{per_span:?}");

    // A fault that the plan asks for is no warning about the run.
    let mut reasons = analysis.under_first_load.validity.reasons.iter();
    assert!(!reasons.any(|reason| reason.code == "telemetry_lost"));
    assert!(shop.of_run("payloads").is_dir(), "bodies are kept");
}
