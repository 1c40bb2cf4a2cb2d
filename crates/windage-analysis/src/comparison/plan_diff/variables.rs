//! Values of environment variables, which are nobody's business: services get their passwords in
//! them, and a comparison is sent around.

use std::collections::BTreeMap;

use toml::{Table, Value};

/// What stands for a value that the other plan has as well, or does not have at all.
const A_VALUE: &str = "<value>";
/// What stands for a value that is another one in the other plan.
const CHANGED: &str = "<changed>";

/// Environments of a resolved plan, each of which stands on a line of its own.
pub(super) struct Environments {
    /// By the line.
    at: BTreeMap<usize, (Place, Table)>,
}

/// Whose environment it is: the header above it, the name below that, and which of those that have
/// both.
type Place = (String, String, usize);

impl Environments {
    pub(super) fn of(lines: &[&str]) -> Environments {
        let (mut header, mut name) = (String::new(), String::new());
        let mut so_far: BTreeMap<(String, String), usize> = BTreeMap::new();
        let mut at = BTreeMap::new();
        for (number, line) in lines.iter().enumerate() {
            if line.starts_with('[') {
                (header, name) = ((*line).to_owned(), String::new());
            } else if let Some(named) = entry(line, "name") {
                name = named.to_string();
            } else if let Some(env) = entry(line, "env") {
                let count = so_far.entry((header.clone(), name.clone())).or_default();
                let place = (header.clone(), name.clone(), *count);
                *count += 1;
                // What is no table is shown no more than one that is.
                let env = env.try_into().unwrap_or_default();
                at.insert(number, (place, env));
            }
        }
        Environments { at }
    }

    /// A line without such values; those that are another one in the `other` plan are told.
    pub(super) fn shown(&self, number: usize, line: &str, other: &Environments) -> String {
        let Some((place, env)) = self.at.get(&number) else {
            return line.to_owned();
        };
        let in_other = other.at.values().find(|(of, _)| of == place);
        let entries = env.iter().map(|(key, value)| {
            let there = in_other.and_then(|(_, env)| env.get(key));
            let is_changed = there.is_some_and(|there| there != value);
            let shown = if is_changed { CHANGED } else { A_VALUE };
            format!("{} = {shown}", written(key))
        });
        let entries: Vec<String> = entries.collect();
        if entries.is_empty() {
            return "env = {}".to_owned();
        }
        format!("env = {{ {} }}", entries.join(", "))
    }
}

/// The value of a line that has this key.
fn entry(line: &str, key: &str) -> Option<Value> {
    let rest = line.strip_prefix(key)?;
    rest.trim_start().strip_prefix('=')?;
    // A line that goes on below it has a value nevertheless.
    let whole = toml::from_str::<Table>(line).ok();
    let value = whole.and_then(|mut table| table.remove(key));
    Some(value.unwrap_or_else(|| Value::String(String::new())))
}

fn written(key: &str) -> String {
    let is_bare = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
    if !key.is_empty() && key.bytes().all(is_bare) {
        key.to_owned()
    } else {
        Value::String(key.to_owned()).to_string()
    }
}
