//! Switches: how running processes are brought into an arm's state.

use crate::Template;

/// One step of a switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Switch {
    /// Run by `sh -c` in the plan's folder.
    Command(Template),
    /// Sends a line to a socket on this machine and reads the answer.
    Line {
        /// `HOST:PORT`, or the path of a Unix socket, which contains a `/`. A relative path starts
        /// at the plan's folder.
        to: Template,
        /// The line, without a line end.
        send: Template,
        /// A valid regular expression of `regex-lite` that the answer must match.
        answer: Option<String>,
    },
    /// Sends a request to this machine; any status below 400 is success.
    Http {
        /// An HTTP method, such as `POST`.
        method: String,
        /// `http://HOST[:PORT]/path`, where `HOST[:PORT]` may be `{SERVICE}`.
        url: Template,
        /// A regular expression that the answer's body must match.
        answer: Option<String>,
    },
}

impl Switch {
    /// All its templates.
    pub fn templates(&self) -> impl Iterator<Item = &Template> {
        let (first, second) = match self {
            Switch::Command(command) => (command, None),
            Switch::Line { to, send, .. } => (to, Some(send)),
            Switch::Http { url, .. } => (url, None),
        };
        std::iter::once(first).chain(second)
    }

    /// The pattern that its answer must match.
    #[must_use]
    pub fn answer(&self) -> Option<&str> {
        match self {
            Switch::Command(_) => None,
            Switch::Line { answer, .. } | Switch::Http { answer, .. } => answer.as_deref(),
        }
    }
}
