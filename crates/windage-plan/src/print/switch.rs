//! Prints `switch`.

use super::toml_text::{inline, quote, template};
use crate::Switch;

pub(super) fn print(switch: &Switch) -> String {
    let mut entries = match switch {
        Switch::Command(command) => return template(command),
        Switch::Line { to, send, .. } => vec![("to", template(to)), ("send", template(send))],
        Switch::Http { method, url, .. } => vec![("http", quote(&format!("{method} {url}")))],
    };
    entries.extend(switch.answer().map(|answer| ("answer", quote(answer))));
    inline(entries)
}
