//! Errors and warnings on standard error.

use std::fmt::Display;

use anstyle::{AnsiColor, Style};

/// Prints an error.
pub(crate) fn error(text: impl Display) {
    say("error", AnsiColor::Red, &text);
}

/// Prints a warning.
pub(crate) fn warning(text: impl Display) {
    say("warning", AnsiColor::Yellow, &text);
}

fn say(word: &str, color: AnsiColor, text: &dyn Display) {
    let style = Style::new().bold().fg_color(Some(color.into()));
    anstream::eprintln!("{style}{word}{style:#}: {text}");
}

/// Whether to use colours on standard error.
pub(crate) fn colors_on_stderr() -> bool {
    anstream::AutoStream::choice(&std::io::stderr()) != anstream::ColorChoice::Never
}

/// Whether to use colours on standard output.
pub(crate) fn colors_on_stdout() -> bool {
    anstream::AutoStream::choice(&std::io::stdout()) != anstream::ColorChoice::Never
}
