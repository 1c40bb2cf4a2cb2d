//! TOML as text: lines, and values in them.

use std::fmt::{Display, Write as _};
use std::time::Duration;

use crate::{Template, units};

/// Writes TOML, one line per key.
#[derive(Default)]
pub(super) struct Toml {
    pub(super) text: String,
}

impl Toml {
    pub(super) fn comment(&mut self, comment: &str) {
        self.line(&format!("# {comment}"));
    }

    pub(super) fn table(&mut self, header: &str) {
        self.line("");
        self.line(header);
    }

    pub(super) fn entry(&mut self, key: &str, value: impl Display) {
        self.line(&format!("{key} = {value}"));
    }

    pub(super) fn optional(&mut self, key: &str, value: Option<String>) {
        if let Some(value) = value {
            self.entry(key, value);
        }
    }

    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }
}

pub(super) fn duration(duration: Duration) -> String {
    quote(&units::print_duration(duration))
}

pub(super) fn template(template: &Template) -> String {
    quote(template.as_str())
}

pub(super) fn list(items: impl IntoIterator<Item = impl Display>) -> String {
    let items: Vec<String> = items.into_iter().map(|item| item.to_string()).collect();
    format!("[{}]", items.join(", "))
}

pub(super) fn inline<K: AsRef<str>>(entries: impl IntoIterator<Item = (K, String)>) -> String {
    let bare = |key: &str| {
        !key.is_empty()
            && key
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'))
    };
    let entries: Vec<String> = entries
        .into_iter()
        .map(|(key, value)| {
            let key = key.as_ref();
            if bare(key) {
                format!("{key} = {value}")
            } else {
                format!("{} = {value}", quote(key))
            }
        })
        .collect();
    if entries.is_empty() {
        "{}".to_owned()
    } else {
        format!("{{ {} }}", entries.join(", "))
    }
}

/// A basic string: one line, so that it can stand in an inline table and as a key.
pub(super) fn quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            c if c.is_control() => {
                // Writing to a String does not fail.
                let _ = write!(quoted, "\\u{:04X}", u32::from(c));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}
