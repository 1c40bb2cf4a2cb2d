//! The Grafana dashboard queries only what is exported.

// clippy.toml allows it in `#[test]` functions; shared helpers need the attribute.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;

use serde_json::Value;
use windage_serve::{DASHBOARD, FAMILIES};

fn dashboard() -> Value {
    serde_json::from_str(DASHBOARD).unwrap()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().unwrap()
}

fn panels(dashboard: &Value) -> Vec<&Value> {
    let all = list(&dashboard["panels"]).iter();
    all.filter(|panel| panel["type"] != "row").collect()
}

/// All PromQL queries, of panels and of variables.
fn queries(dashboard: &Value) -> Vec<String> {
    let of_panels = panels(dashboard);
    let targets = of_panels.iter().flat_map(|panel| list(&panel["targets"]));
    let expressions = targets.map(|target| target["expr"].as_str().unwrap().to_owned());
    let variables = list(&dashboard["templating"]["list"]).iter();
    let of_variables = variables.filter_map(|variable| variable["definition"].as_str());
    expressions.chain(of_variables.map(str::to_owned)).collect()
}

/// The names of series in a query: words that begin with `windage_`.
fn series(query: &str) -> BTreeSet<String> {
    let is_of_a_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let words = query.split(|c| !is_of_a_name(c));
    words
        .filter(|word| word.starts_with("windage_"))
        .map(str::to_owned)
        .collect()
}

#[test]
fn queries_name_what_is_exported() {
    let exported: BTreeSet<String> = FAMILIES.iter().map(|f| f.series_name()).collect();
    let dashboard = dashboard();
    let queries = queries(&dashboard);
    let mut asked = BTreeSet::new();
    for query in &queries {
        let named = series(query);
        assert!(!named.is_empty(), "{query}");
        let unknown: Vec<_> = named.difference(&exported).collect();
        assert!(unknown.is_empty(), "{unknown:?} in {query}");
        asked.extend(named);
    }
    for shown in [
        "windage_overhead_ratio",
        "windage_overhead_low_ratio",
        "windage_overhead_high_ratio",
        "windage_agent_window_cpu_seconds_total",
        "windage_agent_resident_memory_bytes",
        "windage_block_service_cpu_per_request_seconds",
        "windage_blocks_total",
        "windage_validity",
    ] {
        assert!(asked.contains(shown), "{shown} is not shown");
    }
}

#[test]
fn the_data_source_is_a_variable() {
    let dashboard = dashboard();
    let variables = list(&dashboard["templating"]["list"]);
    assert_eq!(variables[0]["name"], "datasource");
    assert_eq!(variables[0]["type"], "datasource");
    let of_panels = panels(&dashboard);
    let targets = of_panels.iter().flat_map(|panel| list(&panel["targets"]));
    let further = variables.iter().filter(|v| v["type"] == "query");
    for part in of_panels.iter().copied().chain(targets).chain(further) {
        assert_eq!(part["datasource"]["uid"], "${datasource}", "{part}");
    }
}

#[test]
fn panels_are_distinct_and_do_not_overlap() {
    let dashboard = dashboard();
    let all = list(&dashboard["panels"]);
    let ids: BTreeSet<u64> = all.iter().map(|p| p["id"].as_u64().unwrap()).collect();
    assert_eq!(ids.len(), all.len());
    let mut taken = BTreeSet::new();
    for panel in all {
        let place = |key: &str| panel["gridPos"][key].as_u64().unwrap();
        assert!(place("x") + place("w") <= 24, "{}", panel["title"]);
        for x in place("x")..place("x") + place("w") {
            for y in place("y")..place("y") + place("h") {
                assert!(taken.insert((x, y)), "{} overlaps", panel["title"]);
            }
        }
    }
}
