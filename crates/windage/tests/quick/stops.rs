//! Runs that end as soon as the stop rule is met.

use crate::plans::Plan;
use crate::workshop::Workshop;

/// A plan whose single launch ends at this half-width of CPU per request, or after this time.
fn plan(half_width: &str, within: &str) -> String {
    let plan = Plan {
        rounds: 1,
        ..Plan::default()
    };
    let stop = format!(
        "stop = {{ metric = 'cpu_per_request', half_width = '{half_width}', within = '{within}' }}"
    );
    plan.text().replace("for = '600ms'", &stop)
}

#[test]
fn a_run_ends_when_its_stop_is_reached() {
    let shop = Workshop::new();
    shop.write("plan.toml", &plan("90%", "60s"));
    let ended = shop
        .windage(&["run", "plan.toml", "--out", &shop.run, "--json"])
        .code(0)
        .says(&["at most", "enough was measured: cpu_per_request is known"]);
    let design = &ended.json()["design"];
    assert_eq!(design["stop"]["is_reached"], true);
    assert_eq!(design["stop"]["half_width"], 0.9);
    // A run that has reached its stop has nothing left to measure.
    let again = ["run", "--resume", &shop.run, "--json"];
    let resumed = shop.windage(&again).code(0).json();
    assert_eq!(resumed["design"]["blocks"], design["blocks"]);
}

#[test]
fn a_stop_not_reached_in_time_is_inconclusive() {
    let shop = Workshop::new();
    shop.write("plan.toml", &plan("0.0001%", "600ms"));
    let ended = shop
        .windage(&["run", "plan.toml", "--out", &shop.run, "--json"])
        .code(3);
    assert_eq!(ended.json()["design"]["stop"]["is_reached"], false);
}

#[test]
fn a_length_on_the_command_line_replaces_the_stop() {
    let shop = Workshop::new();
    shop.write("plan.toml", &plan("0.0001%", "60s"));
    let args = [
        "run",
        "plan.toml",
        "--out",
        &shop.run,
        "--for",
        "300ms",
        "--json",
    ];
    let ended = shop.windage(&args).code(0);
    assert!(ended.json()["design"]["stop"].is_null());
    let few = ["run", "plan.toml", "--rounds", "3"];
    shop.windage(&few).code(2).says(&["--rounds 3", "stop"]);
}
