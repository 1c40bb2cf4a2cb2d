//! Text for a fixed width: cut, broken at spaces, measured in columns.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::number;

/// Text cut to a width in columns, with `…` for what is left out.
pub(super) fn truncated(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut cut = String::new();
    let mut used = 1;
    for c in text.chars() {
        used += c.width().unwrap_or(0);
        if used > width {
            break;
        }
        cut.push(c);
    }
    cut.push('…');
    cut
}

/// A text in lines no wider than `width` columns, broken at spaces; one empty line for an empty
/// text. A unit stays with its figure; a word that is wider than a line is split.
#[must_use]
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = String::new();
    for chunk in chunks(text) {
        if !line.is_empty() {
            if line.width() + 1 + chunk.width() <= width {
                line.push(' ');
                line.push_str(&chunk);
                continue;
            }
            lines.push(std::mem::take(&mut line));
        }
        let mut rest = chunk.as_str();
        while rest.width() > width {
            let (head, tail) = rest.split_at(fitting_prefix(rest, width));
            lines.push(head.to_owned());
            rest = tail;
        }
        line.push_str(rest);
    }
    lines.push(line);
    lines
}

/// Words, each with the units that follow it.
fn chunks(text: &str) -> Vec<String> {
    let mut chunks: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let stem = word.trim_end_matches([',', ';', '.', ')', ':']);
        match chunks.last_mut() {
            Some(last) if number::UNIT_WORDS.contains(&stem) => {
                last.push(' ');
                last.push_str(word);
            }
            _ => chunks.push(word.to_owned()),
        }
    }
    chunks
}

/// The length in bytes of the longest prefix that fits, at least one character.
fn fitting_prefix(text: &str, width: usize) -> usize {
    let mut used = 0;
    for (at, c) in text.char_indices() {
        used += c.width().unwrap_or(0);
        if used > width && at > 0 {
            return at;
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_cut_by_columns_not_characters() {
        let table = [
            ("short", 8, "short"),
            ("otel, sampling 1.0", 8, "otel, s…"),
            ("測定測定", 6, "測定…"),
            ("測定測定", 8, "測定測定"),
        ];
        for (text, width, expected) in table {
            assert_eq!(truncated(text, width), expected);
            assert!(truncated(text, width).width() <= width);
        }
    }

    #[test]
    fn lines_break_at_spaces_and_keep_units() {
        let table: [(&str, usize, &[&str]); 4] = [
            ("one two three", 8, &["one two", "three"]),
            ("costs 22.7 % of", 10, &["costs", "22.7 % of"]),
            ("abcdefghij k", 4, &["abcd", "efgh", "ij k"]),
            ("", 4, &[""]),
        ];
        for (text, width, expected) in table {
            assert_eq!(wrap(text, width), expected, "{text}");
        }
    }
}
