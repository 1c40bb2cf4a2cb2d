//! The JSON Schema of plans, from which editors complete: `crates/windage-plan/plan.schema.json`.
//!
//! It is made from the types that read plans, with the texts of the tables in `docs/FORMAT.md`, and
//! compared with the committed file.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};

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

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn schema() -> Value {
    let generator = SchemaSettings::draft07().into_generator();
    let mut schema = generator.into_root_schema_for::<PlanFile>().to_value();
    simplify(&mut schema);
    schema["title"] = json!("A plan of windage");
    let documents = fs::read_to_string(root().join("docs/FORMAT.md")).unwrap();
    for (heading, of) in TABLES {
        let (_, table) = documents.split_once(&format!("\n{heading}\n")).unwrap();
        let meanings = meanings(table);
        let described = match *of {
            "" => &mut schema,
            name => &mut schema["definitions"][name],
        };
        describe(described["properties"].as_object_mut().unwrap(), &meanings);
    }
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

/// Adds the meanings of keys. A reference stands alone in this draft, so it gets a wrapper.
fn describe(properties: &mut Map<String, Value>, meanings: &BTreeMap<String, String>) {
    for (key, property) in properties {
        let Some(meaning) = meanings.get(key) else {
            continue;
        };
        if property.get("$ref").is_some() {
            *property = json!({ "allOf": [property.take()] });
        }
        property["description"] = json!(meaning);
    }
}

/// What each row of the first table says of the keys in its first cell.
fn meanings(text: &str) -> BTreeMap<String, String> {
    let rows = text.lines().skip_while(|line| !line.starts_with("| key"));
    let rows = rows.take_while(|line| line.starts_with('|')).skip(2);
    let mut meanings = BTreeMap::new();
    for row in rows {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let [_, keys, of_type, default, meaning, _] = &cells[..] else {
            panic!("{row}");
        };
        let mut whole = format!("{meaning}.");
        if !of_type.is_empty() {
            whole.push_str(&format!(" Type: {of_type}."));
        }
        match *default {
            "" | "none" => {}
            required if required.starts_with("required") => {
                whole.push_str(&format!(" It is {required}."))
            }
            default => whole.push_str(&format!(" Default: {default}.")),
        }
        let whole = without_links(&whole).replace('`', "");
        for key in keys.split('`').skip(1).step_by(2) {
            meanings.insert(key.to_owned(), whole.clone());
        }
    }
    meanings
}

/// `[text](target)` as the text alone.
fn without_links(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("](") {
        let (before, name) = before.rsplit_once('[').unwrap_or((before, ""));
        plain.push_str(before);
        plain.push_str(name);
        rest = after.split_once(')').map_or("", |(_, rest)| rest);
    }
    plain + rest
}

#[test]
fn the_committed_schema_is_that_of_the_code() {
    let made = format!("{:#}\n", schema());
    let committed = root().join("crates/windage-plan/plan.schema.json");
    if fs::read_to_string(&committed).ok().as_ref() != Some(&made) {
        let new = root().join("target/plan.schema.json");
        fs::write(&new, made).unwrap();
        panic!(
            "crates/windage-plan/plan.schema.json differs from the code: replace it by target/plan.schema.json"
        );
    }
}

#[test]
fn every_key_of_a_plan_has_its_meaning() {
    let schema = schema();
    let tables = TABLES.iter().filter(|(_, of)| !of.is_empty());
    for (_, of) in tables {
        let properties = schema["definitions"][of]["properties"].as_object().unwrap();
        for (key, property) in properties {
            // A table of its own.
            let is_table = *of == "Design" && key == "thorough";
            assert!(
                is_table || property["description"].is_string(),
                "{of}: {key}"
            );
        }
    }
}

#[test]
fn links_are_shown_as_their_texts() {
    let table = [
        (
            "see [this](a.md#b) and [`that`](#c).",
            "see this and `that`.",
        ),
        ("a list `[]` of (some)", "a list `[]` of (some)"),
    ];
    for (text, expected) in table {
        assert_eq!(without_links(text), expected);
    }
}

/// Every plan of the experiments is valid, and a wrong key or type is not.
#[test]
fn plans_are_valid_by_the_schema() {
    let validator = jsonschema::draft7::new(&schema()).unwrap();
    let mut plans = Vec::new();
    find(&root().join("experiments"), &mut plans);
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
