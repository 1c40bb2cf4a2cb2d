//! How much room words take, and words cut or broken to the room there is.
//!
//! A picture is laid out before it is known in which font it will be shown, so widths are those of
//! DejaVu Sans, one of the widest: what fits in it fits in others.

use unicode_width::UnicodeWidthChar;

const ELLIPSIS: char = '…';
/// So many times as wide are bold letters.
pub(super) const BOLD: f64 = 1.08;

/// About how wide a text is, in pixels, in letters of this size.
pub(super) fn width(text: &str, size: f64) -> f64 {
    text.chars().map(ems).sum::<f64>() * size
}

/// The text, its end replaced by "…" where it is wider than the room.
pub(super) fn fitted(text: &str, size: f64, room: f64) -> String {
    if width(text, size) <= room {
        return text.to_owned();
    }
    let cut = within(text.chars(), size, room - width("…", size));
    format!("{}{ELLIPSIS}", cut.trim_end())
}

/// An arm's name, its middle replaced by "…" where it is wider than the room: names that begin alike
/// are told apart by their ends.
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

/// As many letters as there is room for.
fn within(letters: impl Iterator<Item = char>, size: f64, mut room: f64) -> String {
    let fits = |c: &char| {
        room -= ems(*c) * size;
        room >= 0.0
    };
    letters.take_while(fits).collect()
}

/// The text on lines that are no wider than the room; what does not fit on so many ends in "…".
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
    fn what_does_not_fit_is_cut() {
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
    fn lines_are_no_wider_than_the_room() {
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
