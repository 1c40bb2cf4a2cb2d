//! The JSON Schema of analysis.json: `crates/windage-analysis/analysis.schema.json`.
//!
//! It is made from the types that write it, with the texts of the tables in `docs/FORMAT.md`, and compared with
//! the committed file.

use schemars::generate::SchemaSettings;
use serde_json::{Value, json};
use windage_schema::Described;

use super::AnalysisWire;
use crate::{analyse, fixture};

/// The type that each table of FORMAT.md describes.
const TABLES: &[Described<'_>] = &[
    ("### Top level", ""),
    ("### Top level", "UnderLoad"),
    ("### `budgets`", "Budget"),
    ("### `claims`", "Claim"),
    ("### `design`", "Design"),
    ("`turns`:", "Turns"),
    ("### `arms[]`", "Arm"),
    ("### `arms[].load`", "Load"),
    ("### `arms[].script`", "Script"),
    ("### `outliers[]`", "SlowExchange"),
    ("### `curves[]`", "Curve"),
    ("`fits[]` has", "Fit"),
    ("### `stages[]`", "Stages"),
    ("### `profiles[]`", "Profile"),
    ("### `arms[].planning`", "Planning"),
    ("### `arms[].metrics.NAME`", "Metric"),
    ("### `arms[].agent`", "Agent"),
    ("### `arms[].fidelity`", "Fidelity"),
];

fn schema() -> Value {
    let settings = SchemaSettings::draft07().for_serialize();
    let schema = settings
        .into_generator()
        .into_root_schema_for::<AnalysisWire>();
    // The types' names without what they are called here.
    let text = schema.to_value().to_string().replace("Wire\"", "\"");
    let mut schema: Value = serde_json::from_str(&text).unwrap();
    schema["title"] = json!("analysis.json of windage");
    schema["description"] = json!("What a run found.");
    windage_schema::describe(
        &mut schema,
        &windage_schema::format_from("## analysis.json"),
        TABLES,
    );
    schema
}

#[test]
fn the_committed_schema_is_that_of_the_code() {
    windage_schema::assert_committed(&schema(), "crates/windage-analysis/analysis.schema.json");
}

#[test]
fn every_key_of_these_tables_has_its_meaning() {
    let none: [String; 0] = [];
    assert_eq!(windage_schema::without_meaning(&schema(), TABLES), none);
}

#[test]
fn what_is_written_is_valid_by_the_schema() {
    let validator = jsonschema::draft7::new(&schema()).unwrap();
    let run = fixture::records(4);
    let analysis = analyse(&run.gathered(), std::iter::empty(), std::iter::empty());
    let mut written = fixture::to_json(&analysis);
    let errors: Vec<String> = validator
        .iter_errors(&written)
        .map(|of| of.to_string())
        .collect();
    assert!(errors.is_empty(), "{errors:?}");
    written["arms"][0]["name"] = json!(3);
    assert!(!validator.is_valid(&written));
}
