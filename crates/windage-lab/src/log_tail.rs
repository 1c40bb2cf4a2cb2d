//! The end of a log, shown to explain why a process died.

use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use crate::rendered::beginning;

/// Lines shown of a log.
const LINES: usize = 12;
/// The shown length of a line. JSON logs put the message after time and source.
const LINE_CHARS: usize = 400;
/// How many bytes are read, however long the lines are.
const BYTES: u64 = 8192;

/// The last lines of a file, indented, or a note that there are none.
pub(crate) fn log_tail(path: &Path) -> String {
    last_lines(&read_end(path).unwrap_or_default())
}

/// The last lines of a text, indented, or a note that there are none.
pub(crate) fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().rev().take(LINES).collect();
    if lines.is_empty() {
        return "  (it printed nothing)".to_owned();
    }
    lines
        .into_iter()
        .rev()
        .map(|line| format!("  {}", beginning(line, LINE_CHARS)))
        .collect::<Vec<_>>()
        .join("\n")
}

/// The end of a file.
pub(crate) fn read_end(path: &Path) -> std::io::Result<String> {
    let mut file = windage_files::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(BYTES)))?;
    let mut bytes = Vec::new();
    file.take(BYTES).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_the_last_lines_only() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("log");
        assert_eq!(log_tail(&path), "  (it printed nothing)");
        let text: String = (0..2000).map(|i| format!("line {i}\n")).collect();
        std::fs::write(&path, text).unwrap();
        let tail = log_tail(&path);
        assert!(
            tail.ends_with("  line 1999") && tail.starts_with("  line 1988"),
            "{tail}"
        );
        std::fs::write(&path, "x".repeat(2 * LINE_CHARS)).unwrap();
        assert_eq!(log_tail(&path), format!("  {}…", "x".repeat(LINE_CHARS)));
    }
}
