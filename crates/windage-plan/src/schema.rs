//! The JSON Schema of plans, from which editors complete: `crates/windage-plan/plan.schema.json`.
//!
//! It is made from the types that read plans, with the texts of the tables in `docs/FORMAT.md`, and
//! compared with the committed file.

use std::borrow::Cow;
use std::fs;
use std::path::{Path, PathBuf};

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

use crate::wire::{Entries, OneOrMore, PlanFile, Scalar, Spanned, Switch, SwitchTable};

impl<T: JsonSchema> JsonSchema for Spanned<T> {
    fn inline_schema() -> bool {
        T::inline_schema()
    }

    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }

    fn schema_id() -> Cow<'static, str> {
        T::schema_id()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        T::json_schema(generator)
    }
}

impl<V: JsonSchema> JsonSchema for Entries<V> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("Entries_of_{}", V::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let values = generator.subschema_for::<V>();
        json_schema!({ "type": "object", "additionalProperties": values })
    }
}

/// A type that is one of several in JSON.
macro_rules! any_of {
    ($type:ty, $($form:expr),+) => {
        impl JsonSchema for $type {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                stringify!($type).into()
            }

            fn json_schema(generator: &mut SchemaGenerator) -> Schema {
                let forms: Vec<fn(&mut SchemaGenerator) -> Schema> = vec![$($form),+];
                let forms: Vec<Schema> = forms.into_iter().map(|form| form(generator)).collect();
                json_schema!({ "anyOf": forms })
            }
        }
    };
}
any_of!(
    Scalar,
    |of| of.subschema_for::<f64>(),
    |of| of.subschema_for::<bool>(),
    |of| of.subschema_for::<String>()
);
any_of!(OneOrMore, |of| of.subschema_for::<String>(), |of| of
    .subschema_for::<Vec<String>>());
any_of!(Switch, |of| of.subschema_for::<String>(), |of| of
    .subschema_for::<SwitchTable>(
));

/// The type that each table of FORMAT.md describes, by the heading above the table.
const TABLES: &[(&str, &str)] = &[
    ("### Top level", ""),
    ("### `[build]`", "Build"),
    ("### `[cluster]`", "Cluster"),
    // Both have one type; the meaning for services replaces that for agents.
    ("### `[[agent]]`", "Service"),
    ("### `[[service]]`", "Service"),
    ("### `[load]`", "Load"),
    ("#### Several loads", "Regime"),
    ("### `[[arm]]`", "Arm"),
    ("### `[[budget]]`", "Budget"),
    ("### `[[claim]]`", "Claim"),
    ("### `[design]`", "Design"),
    ("### `[sink]`", "Sink"),
    ("### `[profile]`", "Profile"),
];

fn schema() -> Value {
    let generator = SchemaSettings::draft07().into_generator();
    let mut schema = generator.into_root_schema_for::<PlanFile>().to_value();
    simplify(&mut schema);
    schema["title"] = json!("A plan of windage");
    windage_schema::describe(
        &mut schema,
        &windage_schema::format_from("# Formats"),
        TABLES,
    );
    schema
}

/// Removes what only other formats have: null, and sizes of integers.
fn simplify(value: &mut Value) {
    match value {
        Value::Object(of) => {
            if let Some(Value::Array(types)) = of.get_mut("type") {
                types.retain(|of| of != "null");
                if let [only] = &types[..] {
                    of["type"] = only.clone();
                }
            }
            if let Some(Value::Array(forms)) = of.get_mut("anyOf") {
                forms.retain(|of| of["type"] != "null");
                if let [Value::Object(only)] = &forms[..] {
                    let only = only.clone();
                    of.remove("anyOf");
                    of.extend(only);
                }
            }
            for unneeded in ["format", "default"] {
                if of
                    .get(unneeded)
                    .is_some_and(|of| !of.is_object() || of["type"].is_null())
                {
                    of.remove(unneeded);
                }
            }
            of.values_mut().for_each(simplify);
        }
        Value::Array(all) => all.iter_mut().for_each(simplify),
        _ => {}
    }
}

#[test]
fn the_committed_schema_is_that_of_the_code() {
    windage_schema::assert_committed(&schema(), "crates/windage-plan/plan.schema.json");
}

#[test]
fn every_key_of_a_plan_has_its_meaning() {
    let types: Vec<_> = TABLES
        .iter()
        .filter(|(_, of)| !of.is_empty())
        .copied()
        .collect();
    let none: [String; 0] = [];
    assert_eq!(windage_schema::without_meaning(&schema(), &types), none);
}

/// Every plan of the experiments is valid, and a wrong key or type is not.
#[test]
fn plans_are_valid_by_the_schema() {
    let validator = jsonschema::draft7::new(&schema()).unwrap();
    let mut plans = Vec::new();
    let experiments = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
    find(&experiments, &mut plans);
    assert!(plans.len() > 30, "{plans:?}");
    for path in plans {
        let text = fs::read_to_string(&path).unwrap();
        let plan: Value = toml::from_str(&text).unwrap();
        // A list of other plans.
        if plan.get("plans").is_some() {
            continue;
        }
        let errors: Vec<String> = validator
            .iter_errors(&plan)
            .map(|of| of.to_string())
            .collect();
        assert!(errors.is_empty(), "{}: {errors:?}", path.display());
    }
    let service = json!([{ "name": "app", "command": ["app"] }]);
    let plan = |load: Value| json!({ "name": "a", "service": service, "load": load });
    assert!(validator.is_valid(&plan(json!({ "model": "closed" }))));
    for load in [
        json!({ "model": "closed", "speed": 3 }),
        json!({ "model": 3 }),
        json!({ "model": "closed", "connections": "8" }),
        json!({}),
    ] {
        assert!(!validator.is_valid(&plan(load.clone())), "{load}");
    }
}

fn find(folder: &Path, plans: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            find(&path, plans);
        } else if path.extension().is_some_and(|of| of == "toml") {
            plans.push(path);
        }
    }
}
