//! A labelled line, and text from outside made safe to show.

use serde::Serialize;

/// A labelled line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Fact {
    pub(crate) label: String,
    pub(crate) text: String,
}

impl Fact {
    pub(crate) fn new(label: impl Into<String>, text: impl Into<String>) -> Fact {
        Fact {
            label: label.into(),
            text: text.into(),
        }
    }
}

/// Makes text from outside safe to show on one line: applies [`visible`] and collapses runs of
/// spaces, which layouts use between cells.
#[must_use]
pub fn one_line(text: &str) -> String {
    let visible = visible(text);
    visible.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Replaces invisible characters of text from outside by spaces: control characters, which could
/// move a terminal's cursor; marks that change the writing direction; and characters that XML
/// forbids.
pub(crate) fn visible(text: &str) -> String {
    let shown = text.chars().map(|c| match c {
        c if c.is_control() => ' ',
        '\u{61c}'
        | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{feff}'
        | '\u{fffe}'..='\u{ffff}' => ' ',
        c => c,
    });
    shown.collect()
}

/// A word, quoted for a shell where necessary.
pub(crate) fn shell_word(word: &str) -> String {
    let safe = |c: char| c.is_ascii_alphanumeric() || "-_./:@%+=,".contains(c);
    if !word.is_empty() && word.chars().all(safe) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_from_outside_can_not_steer_a_terminal() {
        let table = [
            ("plain, é ✓", "plain, é ✓"),
            ("a\u{1b}[31mred", "a [31mred"),
            ("two\nlines\r", "two lines"),
            ("wide   gap", "wide gap"),
            ("evil\u{202e}txt", "evil txt"),
            ("evil\u{61c}txt", "evil txt"),
            ("no\u{fffe}xml\u{ffff}", "no xml"),
        ];
        for (text, expected) in table {
            assert_eq!(one_line(text), expected);
        }
    }

    #[test]
    fn words_are_quoted_for_the_shell() {
        let table = [
            ("2026-go", "2026-go"),
            ("a b", "'a b'"),
            ("it's", r"'it'\''s'"),
            ("", "''"),
        ];
        for (word, expected) in table {
            assert_eq!(shell_word(word), expected);
        }
    }
}
