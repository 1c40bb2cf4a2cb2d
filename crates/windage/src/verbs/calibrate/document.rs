//! The calibration as one JSON document: printed by `--json` and kept for reports.

use std::path::Path;
use std::time::SystemTime;

use serde_json::{Map, Value, json};
use windage_model::Metric;

use super::findings::{Findings, Unit, Width};

/// The schema number; it changes only when readers of the old schema would be misled.
const SCHEMA: u32 = 1;

/// Facts of the machine that identify it.
const MACHINE: [&str; 5] = [
    "cpu_model",
    "cpus_online",
    "kernel",
    "virtualised",
    "memory_total_bytes",
];

/// The document. Shares are fractions, not percent.
pub(super) fn json(findings: &Findings, began: SystemTime, runs: &Path) -> Value {
    let made = humantime::format_rfc3339_seconds(began).to_string();
    let date = made.split_once('T').map_or(made.as_str(), |(date, _)| date);
    let host = windage_lab::host_json();
    let machine: Map<String, Value> = MACHINE
        .into_iter()
        .map(|fact| (fact.to_owned(), host[fact].clone()))
        .collect();
    let headline = findings.headline();
    json!({
        "schema": SCHEMA,
        "date": date,
        "made": made,
        "windage": env!("CARGO_PKG_VERSION"),
        "runs": runs.file_name().map(|name| name.to_string_lossy()),
        "machine": machine,
        "coverage": headline.filter(|c| c.with_cost > 0).map(|c| {
            json!({ "inside": c.inside, "of": c.with_cost, "seconds": c.seconds })
        }),
        "false_positives": headline.filter(|c| c.without_cost > 0).map(|c| {
            json!({ "found": c.false_positives, "of": c.without_cost, "seconds": c.seconds })
        }),
        "minimum_detectable_effect": by_time(findings, |width| json!(width.minimum_detectable_effect)),
        "half_width": by_time(findings, |width| json!(width.half_width)),
        "extrapolated_from_s": by_time(findings, |width| json!(width.extrapolated_from_s)),
        "recovery": recovery(findings),
        "experiments": experiments(findings),
    })
}

/// A figure by metric, then by seconds.
fn by_time(findings: &Findings, figure: impl Fn(&Width) -> Value) -> Value {
    let mut by_metric = Map::new();
    let metrics = Metric::ALL.iter();
    for metric in metrics.filter(|m| findings.widths.iter().any(|w| w.metric == **m)) {
        let widths = findings.widths.iter().filter(|w| w.metric == *metric);
        let by_time = widths.map(|width| (width.seconds.to_string(), figure(width)));
        by_metric.insert(metric.as_str().to_owned(), Value::Object(by_time.collect()));
    }
    Value::Object(by_metric)
}

fn recovery(findings: &Findings) -> Vec<Value> {
    let recovered = findings.recovered.iter();
    recovered
        .map(|found| {
            json!({
                "arm": found.arm,
                "metric": found.metric.as_str(),
                "unit": match found.unit {
                    Unit::Share => "share",
                    Unit::Microseconds => "us",
                },
                "truth": found.truth,
                "estimate": found.interval.estimate,
                "low": found.interval.low,
                "high": found.interval.high,
                "inside": found.is_inside(),
            })
        })
        .collect()
}

fn experiments(findings: &Findings) -> Vec<Value> {
    let counts = findings.counts.iter();
    counts
        .map(|c| {
            json!({
                "metric": c.metric.as_str(),
                "seconds": c.seconds,
                "coverage": { "inside": c.inside, "of": c.with_cost },
                "false_positives": { "found": c.false_positives, "of": c.without_cost },
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::findings::tests::findings;
    use super::*;

    #[test]
    fn the_document_has_what_reports_quote() {
        let began = SystemTime::UNIX_EPOCH + Duration::from_secs(1_767_225_600);
        let document = json(&findings(), began, Path::new("windage-runs/r"));
        assert_eq!(document["date"], "2026-01-01");
        assert_eq!(document["runs"], "r");
        assert_eq!(document["coverage"]["inside"], 3);
        assert_eq!(document["coverage"]["of"], 4);
        assert_eq!(document["false_positives"]["found"], 1);
        let visible = &document["minimum_detectable_effect"]["cpu_per_request"];
        assert!((visible["10"].as_f64().unwrap() - 0.015).abs() < 1e-12);
        let from = &document["extrapolated_from_s"]["cpu_per_request"];
        assert_eq!((&from["10"], &from["60"]), (&Value::Null, &json!(10.0)));
        assert_eq!(document["recovery"][1]["inside"], true);
        assert_eq!(
            document["machine"]["cpus_online"],
            windage_lab::host_json()["cpus_online"]
        );
    }
}
