//! Tables and their notes as GitHub's Markdown.

use std::fmt::Write as _;

/// A table; cells are Markdown already. The first `left` columns are text, the others figures.
pub(super) fn table(headings: &[&str], left: usize, rows: &[Vec<String>]) -> String {
    let rules: Vec<&str> = (0..headings.len())
        .map(|column| if column < left { "---" } else { "---:" })
        .collect();
    let mut text = format!("| {} |\n|{}|\n", headings.join(" | "), rules.join("|"));
    for row in rows {
        let _ = writeln!(text, "| {} |", row.join(" | "));
    }
    text
}

/// Foreign text in a paragraph or a cell: nothing in it is a mark, a tag or a cell's end.
pub(super) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' | '\r' | '\t' => safe.push(' '),
            '<' => safe.push_str("&lt;"),
            '|' | '*' | '_' | '`' | '[' | ']' | '\\' => safe.extend(['\\', character]),
            _ => safe.push(character),
        }
    }
    safe
}

/// Reasons below a table, numbered in the order in which figures refer to them.
#[derive(Debug, Default)]
pub(super) struct Notes(Vec<String>);

impl Notes {
    /// The mark that refers to notes, empty for none; the same text is one note.
    pub(super) fn mark(&mut self, notes: impl IntoIterator<Item = String>) -> String {
        let numbers: Vec<String> = notes.into_iter().map(|note| self.number(note)).collect();
        if numbers.is_empty() {
            return String::new();
        }
        format!("<sup>{}</sup>", numbers.join(", "))
    }

    fn number(&mut self, note: String) -> String {
        let at = self.0.iter().position(|known| *known == note);
        let at = at.unwrap_or_else(|| {
            self.0.push(note);
            self.0.len() - 1
        });
        (at + 1).to_string()
    }

    /// The list, with the blank line that parts it from a table; nothing without a note.
    pub(super) fn markdown(&self) -> String {
        let mut text = String::new();
        if !self.0.is_empty() {
            text.push('\n');
        }
        for (index, note) in self.0.iter().enumerate() {
            let _ = writeln!(text, "{}. {note}", index + 1);
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_text_stays_in_its_cell() {
        assert_eq!(escaped("a|b\n<b>`_`"), "a\\|b &lt;b>\\`\\_\\`");
    }

    #[test]
    fn a_note_is_written_once() {
        let mut notes = Notes::default();
        let marks = [vec!["x"], vec!["y", "x"], vec![]]
            .map(|texts| notes.mark(texts.into_iter().map(str::to_owned)));
        assert_eq!(marks, ["<sup>1</sup>", "<sup>2, 1</sup>", ""]);
        assert_eq!(notes.markdown(), "\n1. x\n2. y\n");
    }
}
