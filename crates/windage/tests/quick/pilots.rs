//! Runs that choose their windows first.

use std::fs;

use crate::files::names_in;
use crate::plans::Plan;
use crate::workshop::Workshop;

#[test]
fn a_pilot_is_made_once_and_what_it_chose_stands() {
    let shop = Workshop::new();
    let plan = Plan {
        arms: "",
        window: "auto",
        rounds: 1,
        ..Plan::default()
    };
    shop.write("plan.toml", &plan.text());
    let ended = shop
        .windage(&["run", "plan.toml", "--out", &shop.run, "--json"])
        .code(0)
        .says(&["a pilot of about", "Windows last"]);
    let window_s = ended.json()["design"]["window_s"].as_f64().unwrap();
    assert!(window_s >= 0.02, "{window_s}");
    assert!(names_in(shop.of_run("pilot")).contains(&"journal.bin".to_owned()));

    let text = fs::read_to_string(shop.of_run("manifest.json")).unwrap();
    let manifest: serde_json::Value = serde_json::from_str(&text).unwrap();
    let chosen = &manifest["design"]["pilot"];
    assert_eq!(chosen["window_ns"], manifest["design"]["window_ns"]);
    assert!(chosen["settle_ns"].is_null(), "the plan gives it");
    let resolved = fs::read_to_string(shop.of_run("resolved.toml")).unwrap();
    assert!(!resolved.contains("auto"), "{resolved}");

    // What is gone on with has its windows already.
    let again = shop
        .windage(&["run", "--resume", &shop.run, "--json"])
        .code(0);
    assert!(!again.stderr.contains("pilot"), "{}", again.stderr);
}
