//! How an arm is brought about on processes that are up already.

use crate::Template;

/// A step on the way to an arm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Switch {
    /// Run by `sh -c` in the plan's folder.
    Command(Template),
    /// A line is sent to a socket of this machine, and its answer read.
    Line {
        /// `HOST:PORT`, or the path of a Unix socket, which alone has a `/` in it. A relative
        /// path starts at the plan's folder.
        to: Template,
        /// The line, without its end.
        send: Template,
        /// A valid regular expression of `regex-lite` that the answer must match.
        answer: Option<String>,
    },
    /// A request is sent to this machine; any status below 400 will do.
    Http {
        /// An HTTP method, such as `POST`.
        method: String,
        /// `http://HOST[:PORT]/path`, where `HOST[:PORT]` may be `{SERVICE}`.
        url: Template,
        /// The same for the answer's body.
        answer: Option<String>,
    },
}

impl Switch {
    /// Everything in it that is rendered.
    pub fn templates(&self) -> impl Iterator<Item = &Template> {
        let (first, second) = match self {
            Switch::Command(command) => (command, None),
            Switch::Line { to, send, .. } => (to, Some(send)),
            Switch::Http { url, .. } => (url, None),
        };
        std::iter::once(first).chain(second)
    }

    /// What its answer must match.
    #[must_use]
    pub fn answer(&self) -> Option<&str> {
        match self {
            Switch::Command(_) => None,
            Switch::Line { answer, .. } | Switch::Http { answer, .. } => answer.as_deref(),
        }
    }
}
