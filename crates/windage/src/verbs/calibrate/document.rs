//! The calibration as one JSON document: printed by `--json` and kept for reports.

use std::path::Path;
use std::time::SystemTime;

use serde_json::{Map, Value, json};
use windage_model::Metric;
use windage_stats::BetweenRuns;

use super::bias::{Bias, Sample};
use super::findings::{Counts, Findings, Unit, Width};
use super::observed::LAUNCHES;

/// The schema number; it changes only when readers of the old schema would be misled.
const SCHEMA: u32 = 2;

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
        "cpu_runs": findings.runs,
        "coverage": headline.filter(|c| c.with_cost > 0).map(coverage),
        "false_positives": headline.filter(|c| c.without_cost > 0).map(false_positives),
        "bias": findings.biases.iter().map(bias).collect::<Vec<_>>(),
        "between_runs": findings.between_runs.as_ref().map(|of| {
            json!({ Metric::CpuPerRequest.as_str(): between_runs(of) })
        }),
        "minimum_detectable_effect": by_time(findings, |width| json!(width.minimum_detectable_effect)),
        "half_width": by_time(findings, |width| json!(width.half_width)),
        "extrapolated_from_s": by_time(findings, |width| json!(width.extrapolated_from_s)),
        "recovery": recovery(findings),
        "experiments": experiments(findings),
    })
}

fn coverage(of: &Counts) -> Value {
    json!({
        "inside": of.inside, "of": of.with_cost, "launches": LAUNCHES, "seconds": of.seconds,
    })
}

fn false_positives(of: &Counts) -> Value {
    json!({
        "found": of.false_positives, "of": of.without_cost, "launches": LAUNCHES,
        "seconds": of.seconds,
    })
}

/// The arm is null for all arms without a cost together.
fn bias(of: &Bias) -> Value {
    let (low, high) = of.ends();
    let (sample, count) = match of.sample {
        Sample::Launches(count) => ("launches", count),
        Sample::Runs(count) => ("runs", count),
    };
    json!({
        "arm": of.arm,
        "metric": Metric::CpuPerRequest.as_str(),
        "unit": unit(of.unit),
        "mean": of.pooled.mean,
        "standard_error": of.pooled.standard_error,
        "low": low,
        "high": high,
        "p_value": of.pooled.p_value,
        "sample": sample,
        "count": count,
    })
}

fn between_runs(of: &BetweenRuns) -> Value {
    json!({
        "standard_deviation": of.standard_deviation,
        "low": of.low,
        "high": of.high,
        "runs": of.runs,
        "is_known": of.is_known(),
    })
}

fn unit(unit: Unit) -> &'static str {
    match unit {
        Unit::Share => "share",
        Unit::Microseconds => "us",
    }
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
                "run": found.run,
                "launches": found.launches,
                "unit": unit(found.unit),
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
                "coverage": coverage(c),
                "false_positives": false_positives(c),
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::findings::tests::{findings, findings_of_runs};
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
        assert!((visible["10"].as_f64().unwrap() - 0.03).abs() < 1e-12);
        let from = &document["extrapolated_from_s"]["cpu_per_request"];
        assert_eq!(from["10"], json!(40.0));
        assert_eq!(document["coverage"]["launches"], 14);
        assert_eq!(document["between_runs"], Value::Null);
        assert_eq!(document["recovery"][1]["inside"], true);
        assert_eq!(
            document["machine"]["cpus_online"],
            windage_lab::host_json()["cpus_online"]
        );
    }

    #[test]
    fn bias_and_scatter_between_runs_have_stable_names() {
        let began = SystemTime::UNIX_EPOCH;
        let document = json(&findings_of_runs(), began, Path::new("r"));
        let of_runs = &document["between_runs"]["cpu_per_request"];
        assert_eq!(
            (&of_runs["runs"], &of_runs["is_known"]),
            (&json!(5), &json!(true))
        );
        let of = |key: &str| of_runs[key].as_f64().unwrap();
        assert!(of("low") <= of("standard_deviation") && of("standard_deviation") < of("high"));
        let bias = &document["bias"];
        assert_eq!(
            (&bias[0]["arm"], &bias[0]["unit"]),
            (&Value::Null, &json!("share"))
        );
        assert_eq!(
            (&bias[2]["arm"], &bias[2]["unit"]),
            (&json!("busy"), &json!("us"))
        );
        assert_eq!(
            (&bias[0]["sample"], &bias[0]["count"]),
            (&json!("runs"), &json!(5))
        );
        assert!(bias[0]["p_value"].as_f64().unwrap() > 0.05);
    }
}
