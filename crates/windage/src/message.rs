//! Words to the person at the terminal, on standard error.

use std::fmt::Display;

use anstyle::{AnsiColor, Style};

/// Says what went wrong.
pub(crate) fn error(text: impl Display) {
    say("error", AnsiColor::Red, &text);
}

/// Says what deserves a look.
pub(crate) fn warning(text: impl Display) {
    say("warning", AnsiColor::Yellow, &text);
}

fn say(word: &str, color: AnsiColor, text: &dyn Display) {
    let style = Style::new().bold().fg_color(Some(color.into()));
    anstream::eprintln!("{style}{word}{style:#}: {text}");
}

/// Whether standard error shows colours.
pub(crate) fn colors_on_stderr() -> bool {
    anstream::AutoStream::choice(&std::io::stderr()) != anstream::ColorChoice::Never
}

/// Whether standard output shows colours.
pub(crate) fn colors_on_stdout() -> bool {
    anstream::AutoStream::choice(&std::io::stdout()) != anstream::ColorChoice::Never
}
