//! The plans of `experiments/agent-ladder` share their shop: the tables that occur in several plans
//! are the same in all of them.

use std::fs;
use std::path::Path;

/// The headers of the common tables: the shop, the agents of its Go services, the load.
const COMMON: [&str; 6] = [
    "[[service]]",
    "[[agent]]",
    "[agent.env]",
    "[load]",
    "[load.fields]",
    "[[load.flow]]",
];

/// The Go services that have agents.
const WATCHED: [&str; 3] = ["catalogue", "checkout", "front"];

/// The common tables of a plan, as if the plan lay in the folder of the ladder. Ignores that agents
/// beside SDKs need one more facility.
fn common(plan: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../experiments/agent-ladder")
        .join(plan);
    let text = fs::read_to_string(path)
        .unwrap()
        .replace("../../../", "../../")
        .replace("\"../users.csv\"", "\"users.csv\"")
        .replace(", \"bpf_probe_write_user\"]", "]");
    let tables = text.split("\n\n").map(|table| table.trim().to_owned());
    let is_common = |table: &String| {
        let mut lines = table.lines().filter(|line| !line.starts_with('#'));
        lines.next().is_some_and(|head| COMMON.contains(&head))
    };
    tables.filter(is_common).collect()
}

#[test]
fn all_plans_share_the_shop_the_agents_and_the_load() {
    let [ladder, sdk, both] = ["plan.toml", "sdk.toml", "both/plan.toml"].map(common);
    // Eight services, three agents with their environment, the load with its fields and flows.
    assert_eq!(sdk.len(), 8 + 2 * 3 + 5, "{sdk:#?}");
    assert_eq!(sdk, both);
    for table in &sdk {
        assert!(
            ladder.contains(table),
            "the ladder has no such table:\n{table}"
        );
    }
}

#[test]
fn agents_differ_only_in_what_they_watch() {
    for plan in ["plan.toml", "sdk.toml", "both/plan.toml"] {
        let tables = common(plan);
        let of = |service: &str| {
            let name = format!("\"{service}_agent\"");
            let at = tables.iter().position(|table| table.contains(&name));
            let at = at.unwrap_or_else(|| panic!("{plan} has no agent for {service}"));
            [&tables[at], &tables[at + 1]].map(|table| table.replace(service, "SERVICE"))
        };
        let [first, others @ ..] = WATCHED.map(of);
        for other in others {
            assert_eq!(other, first, "{plan}");
        }
    }
}
