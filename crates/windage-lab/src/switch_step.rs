//! A step of a switch, with its placeholders filled.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use regex_lite::Regex;
use serde::{Deserialize, Serialize};
use windage_plan::{Switch, Template};

use crate::LabError;
use crate::control_request::Message;

/// A step of a switch, with its placeholders filled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) enum Step {
    Command(String),
    Line {
        to: String,
        send: String,
        answer: Option<String>,
    },
    Http {
        method: String,
        url: String,
        answer: Option<String>,
    },
}

impl Step {
    pub(crate) fn filled(
        switch: &Switch,
        fill: impl Fn(&Template) -> Result<String, LabError>,
    ) -> Result<Step, LabError> {
        let answer = || switch.answer().map(str::to_owned);
        Ok(match switch {
            Switch::Command(command) => Step::Command(fill(command)?),
            Switch::Line { to, send, .. } => Step::Line {
                to: fill(to)?,
                send: fill(send)?,
                answer: answer(),
            },
            Switch::Http { method, url, .. } => Step::Http {
                method: method.clone(),
                url: fill(url)?,
                answer: answer(),
            },
        })
    }

    /// Takes the step. `shell` runs a command and says how it failed. Returns a sentence that says how
    /// the step failed, or `None`.
    pub(crate) fn take(
        &self,
        folder: &Path,
        interrupted: &AtomicBool,
        shell: impl FnOnce(&str) -> Result<Option<String>, LabError>,
    ) -> Result<Option<String>, LabError> {
        let (message, answer) = match self {
            Step::Command(command) => {
                let failed = shell(command)?;
                return Ok(failed.map(|how| format!("The switch command `{command}` {how}")));
            }
            Step::Line { to, send, answer } => (Message::line(to, send.clone(), folder), answer),
            Step::Http {
                method,
                url,
                answer,
            } => (Message::request(method, url.clone()), answer),
        };
        let answer = answer.as_deref().map(Regex::new).transpose();
        let answer = answer.map_err(|error| LabError::Unsupported(format!("`switch`: {error}")))?;
        Ok(match message {
            Ok(message) => message
                .say(answer.as_ref(), interrupted)?
                .map(|how| format!("The switch {message} {how}")),
            Err(why) => Some(format!("A switch could not be sent: {why}")),
        })
    }
}
