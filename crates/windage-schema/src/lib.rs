//! JSON Schemas of what Windage reads and writes: made by tests from the types of the code, with the texts of
//! the tables in `docs/FORMAT.md`, and compared with the committed files.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

/// A heading, or another whole line, before a table of keys; and the name of the type that it describes in the
/// schema's `definitions`, empty for the schema itself.
pub type Described<'a> = (&'a str, &'a str);

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The part of `docs/FORMAT.md` from this line on.
///
/// # Panics
/// When it has no such line.
#[must_use]
pub fn format_from(line: &str) -> String {
    let path = root().join("docs/FORMAT.md");
    let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let text = format!("\n{text}");
    let (_, rest) = text
        .split_once(&format!("\n{line}\n"))
        .unwrap_or_else(|| panic!("FORMAT.md has no line `{line}`"));
    format!("\n{rest}")
}

/// Adds what the tables say of each key.
///
/// # Panics
/// When a table, or a type, is missing.
pub fn describe(schema: &mut Value, document: &str, tables: &[Described<'_>]) {
    for (line, of) in tables {
        let (_, table) = document
            .split_once(&format!("\n{line}\n"))
            .unwrap_or_else(|| panic!("FORMAT.md has no line `{line}`"));
        let meanings = meanings(table);
        let described = match *of {
            "" => &mut *schema,
            name => &mut schema["definitions"][name],
        };
        let properties = described["properties"].as_object_mut();
        add(
            properties.unwrap_or_else(|| panic!("`{of}` has no keys")),
            &meanings,
        );
    }
}

/// Adds the meanings of keys. A reference stands alone in this draft, so it gets a wrapper.
fn add(properties: &mut Map<String, Value>, meanings: &BTreeMap<String, String>) {
    for (key, property) in properties {
        let Some(meaning) = meanings.get(key) else {
            continue;
        };
        if property.get("$ref").is_some() {
            *property = json!({ "allOf": [property.take()] });
        }
        if *property == Value::Bool(true) {
            *property = json!({});
        }
        property["description"] = json!(meaning);
    }
}

/// The keys of these types that no table describes, as `TYPE: KEY`.
#[must_use]
pub fn without_meaning(schema: &Value, tables: &[Described<'_>]) -> Vec<String> {
    let mut found = Vec::new();
    for (_, of) in tables {
        let described = match *of {
            "" => schema,
            name => &schema["definitions"][name],
        };
        let properties = described["properties"].as_object().into_iter().flatten();
        let silent = properties.filter(|(_, property)| !property["description"].is_string());
        found.extend(silent.map(|(key, _)| format!("{of}: {key}")));
    }
    found
}

/// What each row of the first table of keys says of the keys in its first cell.
fn meanings(text: &str) -> BTreeMap<String, String> {
    let mut rows = text.lines().skip_while(|line| !line.starts_with("| key"));
    let cells = |row: &str| -> Vec<String> {
        let cells = row.trim().trim_matches('|').split('|');
        cells.map(|cell| cell.trim().to_owned()).collect()
    };
    let columns = cells(rows.next().unwrap_or_default());
    // The line under the headings.
    rows.next();
    let mut meanings = BTreeMap::new();
    for row in rows.take_while(|line| line.starts_with('|')) {
        let cells = cells(row);
        assert_eq!(cells.len(), columns.len(), "{row}");
        let cell = |name: &str| {
            let at = columns.iter().position(|of| of == name);
            at.map_or("", |at| cells[at].as_str())
        };
        let mut whole = format!("{}.", cell("meaning"));
        for (column, says) in [("type", "Type"), ("unit", "Unit")] {
            if !cell(column).is_empty() {
                whole.push_str(&format!(" {says}: {}.", cell(column)));
            }
        }
        match cell("default") {
            "" | "none" => {}
            required if required.starts_with("required") => {
                whole.push_str(&format!(" It is {required}."));
            }
            default => whole.push_str(&format!(" Default: {default}.")),
        }
        let whole = without_links(&whole).replace('`', "");
        for key in cells[0].split('`').skip(1).step_by(2) {
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

/// Compares a schema with a committed file, given from the project's root, and writes another one to `target/`.
///
/// # Panics
/// When they differ.
pub fn assert_committed(schema: &Value, file: &str) {
    let made = format!("{schema:#}\n");
    let committed = root().join(file);
    if fs::read_to_string(&committed).ok().as_ref() == Some(&made) {
        return;
    }
    let name = committed.file_name().unwrap_or_default();
    let new = root().join("target").join(name);
    fs::write(&new, made).unwrap_or_else(|e| panic!("{}: {e}", new.display()));
    panic!(
        "{file} differs from the code: replace it by target/{}",
        name.display()
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENT: &str = "
### Sizes

Some words.

| key | type | default | meaning |
|---|---|---|---|
| `wide`, `high` | number | 1 | how [large](#there) it *is* |
| `name` | text | required | `x` or y |

### Times

| key | unit | meaning |
|---|---|---|
| `lasts_s` | s | how long |
";

    #[test]
    fn keys_have_the_texts_of_their_tables() {
        let mut schema = json!({
            "properties": { "lasts_s": { "type": "number" }, "other": {} },
            "definitions": { "Size": { "properties": {
                "wide": { "$ref": "#/definitions/Number" }, "name": true, "high": {},
            } } },
        });
        let tables = [("### Sizes", "Size"), ("### Times", "")];
        describe(&mut schema, DOCUMENT, &tables);
        let expected = json!({
            "properties": {
                "lasts_s": { "type": "number", "description": "how long. Unit: s." },
                "other": {},
            },
            "definitions": { "Size": { "properties": {
                "wide": {
                    "allOf": [{ "$ref": "#/definitions/Number" }],
                    "description": "how large it *is*. Type: number. Default: 1.",
                },
                "name": { "description": "x or y. Type: text. It is required." },
                "high": { "description": "how large it *is*. Type: number. Default: 1." },
            } } },
        });
        assert_eq!(schema, expected);
        assert_eq!(without_meaning(&schema, &tables), [": other"]);
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
}
