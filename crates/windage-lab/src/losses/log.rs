//! Reads losses from a log, line by line.

use std::io::{BufRead, Error, ErrorKind, Read, Result};

use regex_lite::Regex;

use crate::log_limit::LEFT_OUT;

/// Only this much of a line is searched; the message is at its beginning.
const MAX_LINE_BYTES: u64 = 64 << 10;

/// The losses that the log's lines report, per pattern: the number in the pattern's first group, or
/// 1 per line if there is no group or it holds no number.
///
/// # Errors
/// When the log can't be read, a part of it was left out, or `is_over` returns true before its end.
pub(super) fn lost(
    mut log: impl BufRead,
    patterns: &[Regex],
    is_over: &dyn Fn() -> bool,
) -> Result<Vec<u64>> {
    let mut lost = vec![0_u64; patterns.len()];
    let mut line = Vec::new();
    loop {
        if is_over() {
            return Err(Error::new(ErrorKind::Interrupted, "interrupted"));
        }
        line.clear();
        log.by_ref()
            .take(MAX_LINE_BYTES)
            .read_until(b'\n', &mut line)?;
        if line.is_empty() {
            return Ok(lost);
        }
        if line.last() != Some(&b'\n') {
            log.skip_until(b'\n')?;
        }
        let text = String::from_utf8_lossy(&line);
        if text.trim_end() == LEFT_OUT {
            let why = "the log was too long, and its middle was left out";
            return Err(Error::other(why));
        }
        for (lost, pattern) in lost.iter_mut().zip(patterns) {
            *lost = lost.saturating_add(in_line(text.trim_end(), pattern));
        }
    }
}

fn in_line(line: &str, pattern: &Regex) -> u64 {
    let Some(found) = pattern.captures(line) else {
        return 0;
    };
    found
        .get(1)
        .and_then(|group| group.as_str().parse().ok())
        .unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patterns(texts: &[&str]) -> Vec<Regex> {
        texts.iter().map(|text| Regex::new(text).unwrap()).collect()
    }

    fn lost_in(log: &[u8], pattern: &str) -> u64 {
        lost(log, &patterns(&[pattern]), &|| false).unwrap()[0]
    }

    #[test]
    fn lines_add_up() {
        let log = b"up\nDropped 12 spans\nother\r\nDropped 30 spans\r\nDropped no spans";
        let table = [
            (r"Dropped (\d+) spans", 42, "the group is the number"),
            ("Dropped", 3, "a line each without a group"),
            (r"Dropped (\w+)", 43, "one for a group that is not a number"),
            (
                r"Dropped (\d+)? ?no",
                1,
                "one for a group that did not match",
            ),
            (
                r"(?:Dropped) (\d+) spans$",
                42,
                "a line ends before its line break",
            ),
            (r"lost (\d+)", 0, "no match"),
        ];
        for (pattern, expected, why) in table {
            assert_eq!(lost_in(log, pattern), expected, "{why}");
        }
        assert_eq!(lost_in(b"", "x"), 0, "an empty log");
        assert_eq!(
            lost_in(
                b"Dropped 18446744073709551615 spans\nDropped 1 spans\n",
                r"Dropped (\d+)"
            ),
            u64::MAX,
            "no overflow"
        );
    }

    #[test]
    fn several_patterns_are_looked_for_at_once() {
        let log: &[u8] = b"queue full: 5\nexport failed: 7\nqueue full: 1\n";
        let patterns = patterns(&[r"queue full: (\d+)", r"failed: (\d+)"]);
        assert_eq!(lost(log, &patterns, &|| false).unwrap(), [6, 7]);
    }

    #[test]
    fn a_long_line_is_one_line_and_takes_bounded_memory() {
        let mut log = b"Dropped 3 spans ".to_vec();
        log.resize(10 * MAX_LINE_BYTES as usize, b'x');
        log.extend_from_slice(b" Dropped 500 spans\nDropped 4 spans\n");
        assert_eq!(lost_in(&log, r"Dropped (\d+) spans"), 7);
        assert_eq!(
            lost_in(b"\xff\xfe Dropped 2 spans\n", r"Dropped (\d+)"),
            2,
            "bytes that are not UTF-8"
        );
    }

    #[test]
    fn a_log_without_its_middle_says_too_little() {
        let log = format!("Dropped\n{LEFT_OUT}\nDropped\n");
        let error = lost(log.as_bytes(), &patterns(&["Dropped"]), &|| false).unwrap_err();
        assert!(error.to_string().contains("left out"), "{error}");
    }

    #[test]
    fn reading_ends_with_the_run() {
        let error = lost(&b"Dropped\n"[..], &patterns(&["Dropped"]), &|| true).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Interrupted);
    }
}
