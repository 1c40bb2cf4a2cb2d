//! Values that are written in the plan, or taken from Windage's environment.

use crate::Template;

/// The value of a header or of an environment variable.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// As written in the plan.
    Literal(Template),
    /// Read from Windage's environment when it is needed, never written to disk.
    Environment {
        /// The variable's name, without `$`.
        variable: String,
    },
}

impl Value {
    /// The template, if the value is written in the plan.
    #[must_use]
    pub fn template(&self) -> Option<&Template> {
        match self {
            Value::Literal(template) => Some(template),
            Value::Environment { .. } => None,
        }
    }
}

/// The name of the first `$NAME` in a text, which stands for an environment variable.
#[must_use]
pub fn environment_variable(text: &str) -> Option<&str> {
    text.match_indices('$').find_map(|(at, _)| {
        let name = &text[at + 1..];
        let end = name
            .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
            .unwrap_or(name.len());
        let starts = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        starts.then(|| &name[..end])
    })
}

/// The name in a text that consists of `$NAME`.
pub(crate) fn sole_variable(text: &str) -> Option<&str> {
    environment_variable(text).filter(|variable| text.len() == variable.len() + 1)
}
