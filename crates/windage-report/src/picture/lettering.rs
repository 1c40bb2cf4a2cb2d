//! Measures text, and cuts or breaks it to fit.
//!
//! The viewer's font is unknown at layout, so widths are those of DejaVu Sans, one of the widest:
//! text that fits in it fits in others.

use unicode_width::UnicodeWidthChar;

const ELLIPSIS: char = '…';
/// Width of bold letters relative to regular ones.
pub(super) const BOLD: f64 = 1.08;

/// The approximate width of a text in pixels at this font size.
pub(super) fn width(text: &str, size: f64) -> f64 {
    text.chars().map(ems).sum::<f64>() * size
}

/// The text, with its end replaced by "…" if it is too wide.
pub(super) fn fitted(text: &str, size: f64, room: f64) -> String {
    if width(text, size) <= room {
        return text.to_owned();
    }
    let cut = within(text.chars(), size, room - width("…", size));
    format!("{}{ELLIPSIS}", cut.trim_end())
}

/// An arm's name, with its middle replaced by "…" if it is too wide: names that begin alike differ
/// at their ends.
pub(super) fn name(text: &str, size: f64, room: f64) -> String {
    if width(text, size) <= room {
        return text.to_owned();
    }
    let half = (room - width("…", size)) / 2.0;
    let head = within(text.chars(), size, half);
    let tail: String = within(text.chars().rev(), size, half);
    let tail: String = tail.chars().rev().collect();
    format!("{}{ELLIPSIS}{}", head.trim_end(), tail.trim_start())
}

/// As many letters as fit.
fn within(letters: impl Iterator<Item = char>, size: f64, mut room: f64) -> String {
    let fits = |c: &char| {
        room -= ems(*c) * size;
        room >= 0.0
    };
    letters.take_while(fits).collect()
}

/// The text broken into lines that fit; if it needs more than `most` lines, the last ends in "…".
pub(super) fn wrapped(text: &str, size: f64, room: f64, most: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if width(line, size) + width(" ", size) + width(word, size) <= room => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    if lines.len() > most {
        let rest = lines.split_off(most.saturating_sub(1)).join(" ");
        lines.push(rest);
    }
    let fitted = lines.iter().map(|line| fitted(line, size, room));
    fitted.collect()
}

/// The width of a letter as a share of its size.
fn ems(c: char) -> f64 {
    match c {
        'i' | 'j' | 'l' | 'I' | '|' | '.' | ',' | ':' | ';' | '\'' | '!' | ' ' | '·' => 0.34,
        't' | 'f' | 'r' | '(' | ')' | '[' | ']' | '-' | '/' => 0.42,
        'm' | 'w' | 'M' | 'W' | '%' | '@' => 0.98,
        ELLIPSIS => 1.0,
        '−' | '+' | '±' | '=' | '→' | '←' => 0.84,
        'A'..='Z' => 0.76,
        c => match c.width() {
            Some(0) => 0.0,
            Some(2) => 1.1,
            _ => 0.64,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut() {
        let table = [
            ("otel", 100.0, "otel", "it fits"),
            (
                "otel, sampling 1.0",
                40.0,
                "otel,…",
                "no space before the mark",
            ),
            ("日本語日本語", 40.0, "日本…", "wide letters"),
            ("otel", 5.0, "…", "no room at all"),
            ("", 0.0, "", "nothing"),
        ];
        for (text, room, expected, why) in table {
            assert_eq!(fitted(text, 10.0, room), expected, "{why}");
        }
    }

    #[test]
    fn names_keep_their_ends() {
        let table = [
            ("otel", 100.0, "otel", "it fits"),
            (
                "otel, sampling 1.0",
                70.0,
                "otel,…g 1.0",
                "what differs is at the end",
            ),
            ("otel", 5.0, "…", "no room at all"),
        ];
        for (text, room, expected, why) in table {
            assert_eq!(name(text, 10.0, room), expected, "{why}");
            assert!(room < 10.0 || width(expected, 10.0) <= room, "{why}");
        }
    }

    #[test]
    fn lines_fit_the_width() {
        let text = "mirrored order, 8 rounds, 412 blocks, windows of 100 ms";
        let lines = wrapped(text, 10.0, 160.0, 9);
        assert!(lines.len() > 1);
        assert_eq!(lines.join(" "), text, "nothing is lost");
        assert!(lines.iter().all(|line| width(line, 10.0) <= 160.0));
        let cut = wrapped(text, 10.0, 160.0, 1);
        assert_eq!(cut.len(), 1);
        assert!(cut[0].ends_with('…') && width(&cut[0], 10.0) <= 160.0);
    }
}
