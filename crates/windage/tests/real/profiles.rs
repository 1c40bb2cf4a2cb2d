//! Profiles of a Go server, by perf.

use std::fs;
use std::process::Command;

use windage_analysis::wire::{AnalysisWire, FunctionWire, ProfileWire};

use crate::measurements::arm;
use crate::skip::skip;
use crate::workshop::Workshop;
use crate::{alone, experiment};

/// The Go server with and without OpenTelemetry, each profiled for a moment.
fn plan() -> String {
    let program = experiment("../subjects/go-http/bin/go-http");
    format!(
        r#"
name = 'profiled'

[[service]]
name = 'app'
command = ['{}', '-listen', '{{listen}}', '-sleep', '0s', '-size', '1024']
ready = {{ http = '/', within = '10s' }}

[load]
model = 'closed'
connections = 4
request = 'GET http://{{app}}/'

[[arm]]
name = 'off'
baseline = true

[[arm]]
name = 'otel'
args = {{ app = ['-telemetry', 'otel'] }}
env = {{ OTEL_EXPORTER_OTLP_ENDPOINT = '{{otlp_http}}' }}

[design]
rounds = 6
blocks = 8
drain = '100ms'
idle = '10ms'

[profile]
with = 'perf'
for = '2s'
rate = '999/s'
"#,
        program.display()
    )
}

fn profile<'a>(analysis: &'a AnalysisWire, id: &str) -> &'a ProfileWire {
    let mut profiles = analysis.under_first_load.profiles.iter();
    profiles.find(|profile| profile.arm == id).unwrap()
}

#[test]
fn perf_finds_the_functions_of_the_sdk() {
    if Command::new("perf").arg("--version").output().is_err() {
        return skip(
            "perf_finds_the_functions_of_the_sdk",
            "perf is not installed (Debian: linux-perf)",
        );
    }
    let _alone = alone();
    let shop = Workshop::new();
    shop.write("plan.toml", &plan());
    let ended = shop.windage(&["run", "plan.toml", "--out", &shop.run, "--json"]);
    let analysis = ended.code(0).analysis();
    let of_arm = profile(&analysis, "otel");
    if let Some(failure) = &of_arm.failure {
        return skip("perf_finds_the_functions_of_the_sdk", &failure.text);
    }
    assert!(of_arm.samples > Some(200), "{of_arm:?}");
    let functions = &of_arm.functions;
    let of_telemetry = |of: &FunctionWire| of.function.contains("otel") && of.is_added;
    let collapsed = fs::read_to_string(shop.of_run("profiles/otel.collapsed")).unwrap();
    assert!(
        collapsed.contains("go.opentelemetry.io/otel"),
        "{functions:?}"
    );
    let baseline = fs::read_to_string(shop.of_run("profiles/off.collapsed")).unwrap();
    assert!(!baseline.contains("sdk/trace."), "the baseline has no SDK");
    assert!(functions.iter().any(of_telemetry), "{functions:?}");
    // The samples distribute exactly what was measured.
    let cpu = &arm(&analysis, "otel").metrics["cpu_per_request"];
    let measured = cpu.difference.as_ref().unwrap().estimate.unwrap();
    let [with, without] = [of_arm, profile(&analysis, "off")].map(|of| of.cpu_us_per_iteration);
    let added = with.unwrap() - without.unwrap();
    assert!((added - measured).abs() < 1e-6, "{added} {measured}");
    assert!(shop.of_run("profiles/otel.svg").exists());
}
