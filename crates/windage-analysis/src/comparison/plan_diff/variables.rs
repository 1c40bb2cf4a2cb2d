//! Hides values of environment variables: they often contain passwords, and a comparison is shared.

use std::collections::BTreeMap;

use toml::{Table, Value};

/// Replaces a value that the other plan has as well, or does not have at all.
const A_VALUE: &str = "<value>";
/// Replaces a value that differs in the other plan.
const CHANGED: &str = "<changed>";

/// The environments of a resolved plan, each on a line of its own.
pub(super) struct Environments {
    /// By the line.
    at: BTreeMap<usize, (Place, Table)>,
}

/// Which environment it is: the table header above it, the name below the header, and a count for
/// those where both are the same.
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
                // A value that is not a table is hidden as well.
                let env = env.try_into().unwrap_or_default();
                at.insert(number, (place, env));
            }
        }
        Environments { at }
    }

    /// A line without such values; values that differ from the `other` plan are marked.
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

/// The value of this key, if the line has it.
fn entry(line: &str, key: &str) -> Option<Value> {
    let rest = line.strip_prefix(key)?;
    rest.trim_start().strip_prefix('=')?;
    // The value may continue on the lines below.
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
