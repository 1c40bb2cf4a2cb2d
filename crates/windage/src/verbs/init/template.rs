//! `--file`: a configuration file of the service becomes a template beside the plan.

use std::fs;
use std::path::PathBuf;

use regex_lite::{Captures, Regex};

use super::error::InitError;
use crate::flags::InitFlags;

/// The template's first line. It names the placeholders, without which the plan would not be valid.
const HEAD: &str = "# {listen}: where the service listens; {setting}: `off` or `on`, where the arms differ; \
                    {dir}: the folder of what it writes\n";
/// What the template's name has at its end, so that the original stays as it is.
const ENDING: &str = ".template";

/// A configuration file and its template.
#[derive(Debug)]
pub(super) struct ConfigFile {
    /// The file's name, which is also that of the rendered file.
    pub(super) name: String,
    /// The template's name; it is in the plan's folder.
    pub(super) template: String,
    /// The template's path.
    pub(super) path: PathBuf,
    /// The file as it is.
    given: PathBuf,
}

impl ConfigFile {
    /// The file that `--file` names.
    ///
    /// # Errors
    ///
    /// If the path has no name in UTF-8, or the command does not use the rendered file.
    pub(super) fn of(flags: &InitFlags) -> Result<Option<ConfigFile>, InitError> {
        let Some(given) = &flags.config else {
            return Ok(None);
        };
        let wrong = |message: String| InitError::Flag {
            flag: "--file",
            message,
        };
        let name = given.file_name().and_then(|name| name.to_str());
        let name = name.ok_or_else(|| wrong(format!("{} is no file", given.display())))?;
        let rendered = format!("{{dir}}/{name}");
        let command = flags.command.as_deref().unwrap_or_default();
        if !command.contains(&rendered) {
            let message = format!(
                "the command does not use the file that is rendered; put {rendered} into --command"
            );
            return Err(wrong(message));
        }
        let template = format!("{name}{ENDING}");
        Ok(Some(ConfigFile {
            name: name.to_owned(),
            path: flags.folder().join(&template),
            template,
            given: given.clone(),
        }))
    }

    /// The template: a comment about its placeholders, and the file as it is. What looks like a
    /// placeholder in it is escaped.
    ///
    /// # Errors
    ///
    /// If the file can't be read.
    pub(super) fn text(&self) -> Result<String, InitError> {
        let text = fs::read_to_string(&self.given).map_err(|source| InitError::Flag {
            flag: "--file",
            message: format!("can't read {}: {source}", self.given.display()),
        })?;
        Ok(HEAD.to_owned() + &escaped(&text))
    }
}

/// The text with each name in braces in double braces, which stand for single ones.
fn escaped(text: &str) -> String {
    let name = Regex::new(r"\{[a-z][a-z0-9_.]*\}").expect("a valid expression");
    let doubled = |found: &Captures<'_>| format!("{{{}}}", &found[0]);
    name.replace_all(text, doubled).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_braces_are_escaped() {
        let text = "http { log '${host} {status}'; location ~ ^/a{2} { } }";
        let expected = "http { log '${{host}} {{status}}'; location ~ ^/a{2} { } }";
        assert_eq!(escaped(text), expected);
    }
}
