//! The files rendered for a service, and the lines in them that a program's output names.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex_lite::Regex;

/// The most lines shown.
const LINES_MAX: usize = 8;
/// The most characters shown of a line of a file, or of an answer.
pub(crate) const CHARS_MAX: usize = 200;

/// The shown beginning of a line, with control characters escaped: a terminal would obey them.
pub(crate) fn beginning(line: &str, chars: usize) -> String {
    let shown = |c: char| match c.is_control() && c != '\t' {
        true => c.escape_default().to_string(),
        false => c.to_string(),
    };
    let mut beginning: String = line.chars().take(chars).map(shown).collect();
    if line.chars().nth(chars).is_some() {
        beginning.push('…');
    }
    beginning
}

/// `FILE:LINE`, also in brackets, and `FILE line LINE` with words in between.
static NAMED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r#"([^\s\[\]()'"`:,;=]+)(?::|["'`]?,?\s+(?:(?:at|on)\s+)?line\s+)([0-9]+)"#).ok()
});

/// Files below one directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rendered {
    /// The service's `{dir}`.
    pub(crate) dir: PathBuf,
    /// Paths relative to `dir`.
    pub(crate) files: Vec<PathBuf>,
}

impl Rendered {
    /// The lines that a program's output names; empty when it names none.
    pub(crate) fn lines_named_in(&self, output: &str) -> String {
        let named = self.named_in(output);
        let lines: Vec<String> = named
            .into_iter()
            .filter_map(|(file, number)| {
                let text = windage_files::read_to_string(&self.dir.join(file)).ok()?;
                let line = beginning(line(&text, number)?, CHARS_MAX);
                Some(format!("\n  {}:{number}: {line}", file.display()))
            })
            .take(LINES_MAX)
            .collect();
        if lines.is_empty() {
            return String::new();
        }
        let dir = self.dir.display();
        format!("\nas rendered in {dir}:{}", lines.concat())
    }

    /// Files and line numbers, each once, in the order in which they are named.
    fn named_in(&self, output: &str) -> Vec<(&Path, usize)> {
        // The directory may contain spaces; the rest of a file's path does not.
        let output = output.replace(&format!("{}/", self.dir.display()), "");
        let mut named: Vec<(&Path, usize)> = Vec::new();
        let Some(pattern) = NAMED.as_ref() else {
            return named;
        };
        for found in pattern.captures_iter(&output) {
            let (_, [path, number]) = found.extract();
            let path = Path::new(path.trim_start_matches("./"));
            let file = self.files.iter().find(|file| file.ends_with(path));
            let place = file.map(PathBuf::as_path).zip(number.parse().ok());
            if let Some(place) = place.filter(|place| !named.contains(place)) {
                named.push(place);
            }
        }
        named
    }
}

/// A line by its number, which counts from 1.
fn line(text: &str, number: usize) -> Option<&str> {
    text.lines().nth(number.checked_sub(1)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_found_however_they_are_named() {
        let dir = PathBuf::from("/runs/a run/work/0+off+proxy");
        let rendered = Rendered {
            dir: dir.clone(),
            files: vec!["haproxy.cfg".into(), "etc/ot.cfg".into()],
        };
        let whole = dir.join("haproxy.cfg").display().to_string();
        let proxy = |number| vec![("haproxy.cfg", number)];
        let table = [
            (
                format!(
                    "[ALERT]    (12345) : config : parsing [{whole}:5] : unknown keyword 'foo'"
                ),
                proxy(5),
                "HAProxy",
            ),
            (
                format!("nginx: [emerg] unknown directive \"foo\" in {whole}:12"),
                proxy(12),
                "nginx",
            ),
            (
                "haproxy.cfg:3:17: expected".into(),
                proxy(3),
                "a line and a column",
            ),
            ("./haproxy.cfg line 7 is odd".into(), proxy(7), "as a word"),
            (
                "  File \"haproxy.cfg\", line 7".into(),
                proxy(7),
                "as Python has it",
            ),
            (
                "haproxy.cfg, on line 7".into(),
                proxy(7),
                "as several words",
            ),
            (
                "ot.cfg:1 and etc/ot.cfg:1, then ot.cfg:2".into(),
                vec![("etc/ot.cfg", 1), ("etc/ot.cfg", 2)],
                "each line once, by its name alone or with its folder",
            ),
            (
                "/etc/haproxy/haproxy.cfg:3".into(),
                vec![],
                "another file of that name",
            ),
            ("other/ot.cfg:3".into(), vec![], "another folder"),
            ("myhaproxy.cfg:3".into(), vec![], "another name"),
            ("haproxy.cfg is broken; 3 errors".into(), vec![], "no line"),
            ("127.0.0.1:8080 refused".into(), vec![], "an address"),
            (
                "haproxy.cfg:99999999999999999999999".into(),
                vec![],
                "not a line number",
            ),
        ];
        for (output, expected, why) in table {
            let expected: Vec<(&Path, usize)> = expected
                .iter()
                .map(|(file, line)| (Path::new(*file), *line))
                .collect();
            assert_eq!(rendered.named_in(&output), expected, "{why}");
        }
    }

    #[test]
    fn named_lines_are_shown_as_rendered() {
        let dir = tempfile::tempdir().unwrap();
        let long = "x".repeat(3 * CHARS_MAX);
        std::fs::write(dir.path().join("a.conf"), format!("one\n  two\n{long}\n")).unwrap();
        let rendered = Rendered {
            dir: dir.path().to_owned(),
            files: vec!["a.conf".into(), "gone.conf".into()],
        };
        let output = "a.conf:2: what?\na.conf:0, a.conf:9, gone.conf:1 and a.conf:3";
        let expected = format!(
            "\nas rendered in {}:\n  a.conf:2:   two\n  a.conf:3: {}…",
            dir.path().display(),
            &long[..CHARS_MAX]
        );
        assert_eq!(rendered.lines_named_in(output), expected);
        assert_eq!(rendered.lines_named_in("all is well"), "");
        let many: String = (0..100).map(|_| "line\n").collect();
        std::fs::write(dir.path().join("a.conf"), many).unwrap();
        let output: String = (1..=100).map(|n| format!("a.conf:{n}\n")).collect();
        let shown = rendered.lines_named_in(&output);
        assert_eq!(shown.matches("\n  a.conf:").count(), LINES_MAX);
    }
}
