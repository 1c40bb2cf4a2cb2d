//! Fits text into a number of columns. A character takes zero, one or two of them.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

const ELLIPSIS: char = '…';

/// The columns that a text takes.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

/// The text, or its beginning and an ellipsis if it is too wide.
pub(crate) fn cut(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let mut cut = beginning(text, columns.saturating_sub(1));
    if columns > 0 {
        cut.push(ELLIPSIS);
    }
    cut
}

/// The text, or its two ends with an ellipsis between: names often begin alike and differ in the
/// level at their end.
pub(crate) fn shorten(text: &str, columns: usize) -> String {
    if width(text) <= columns || columns < 5 {
        return cut(text, columns);
    }
    let kept = columns - 1;
    let (before, after) = (kept - kept / 2, kept / 2);
    let backwards: String = text.chars().rev().collect();
    let end = beginning(&backwards, after);
    let mut shortened = beginning(text, before);
    shortened.push(ELLIPSIS);
    shortened.extend(end.chars().rev());
    shortened
}

/// The text, padded with spaces on the right.
pub(crate) fn pad(text: &str, columns: usize) -> String {
    let missing = columns.saturating_sub(width(text));
    format!("{text}{:missing$}", "")
}

/// The text, padded with spaces on the left.
pub(crate) fn pad_left(text: &str, columns: usize) -> String {
    let missing = columns.saturating_sub(width(text));
    format!("{:missing$}{text}", "")
}

/// As many characters as fit.
fn beginning(text: &str, columns: usize) -> String {
    let mut taken = 0;
    text.chars()
        .take_while(|c| {
            taken += c.width().unwrap_or(0);
            taken <= columns
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_text_is_cut_at_a_character() {
        let table = [
            ("", 0, ""),
            ("abc", 3, "abc"),
            ("abcd", 3, "ab…"),
            ("abcd", 1, "…"),
            ("abcd", 0, ""),
            ("日本語", 6, "日本語"),
            // Half of a wide character can't be shown.
            ("日本語", 5, "日本…"),
            ("日本語", 4, "日…"),
        ];
        for (text, columns, expected) in table {
            assert_eq!(cut(text, columns), expected, "{text} in {columns}");
        }
    }

    #[test]
    fn names_keep_both_ends() {
        let table = [
            ("sdk, sampling 0.1", 17, "sdk, sampling 0.1"),
            ("sdk, sampling 0.1", 11, "sdk, …g 0.1"),
            ("sdk, sampling 0.1", 10, "sdk, … 0.1"),
            ("sdk, sampling 0.1", 4, "sdk…"),
            ("日本語日本語", 9, "日本…本語"),
        ];
        for (text, columns, expected) in table {
            let shortened = shorten(text, columns);
            assert_eq!(shortened, expected, "{text} in {columns}");
            assert!(width(&shortened) <= columns);
        }
    }

    #[test]
    fn columns_line_up() {
        assert_eq!(pad("é", 3), "é  ");
        assert_eq!(pad_left("日", 3), " 日");
        assert_eq!(pad("long", 2), "long");
    }
}
