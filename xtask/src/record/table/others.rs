//! The other experiments that have recorded results: a line each, taken from what they say of
//! themselves.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

/// An experiment that has no row.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Other {
    folder: String,
    /// Its README's heading, without the name before the colon.
    about: String,
    /// Recorded results that its README names: the day, and the way from `experiments/`.
    recorded: Vec<(String, String)>,
}

/// Every folder of `experiments/` whose README names a record and that is not among those `told`, by
/// name.
pub(super) fn others(experiments: &Path, told: &[&str]) -> Result<Vec<Other>> {
    let entries =
        fs::read_dir(experiments).with_context(|| format!("read {}", experiments.display()))?;
    let mut found = Vec::new();
    for entry in entries {
        let path = entry?.path();
        let folder = path.file_name().unwrap_or_default().to_string_lossy();
        let readme = path.join("README.md");
        if readme.is_file() && !told.contains(&folder.as_ref()) {
            let text = fs::read_to_string(&readme)
                .with_context(|| format!("read {}", readme.display()))?;
            found.push(other(&folder, &text));
        }
    }
    found.retain(|other: &Other| !other.recorded.is_empty());
    found.sort_by(|a, b| a.folder.cmp(&b.folder));
    Ok(found)
}

fn other(folder: &str, readme: &str) -> Other {
    let heading = readme.lines().next().unwrap_or_default();
    let heading = heading.trim_start_matches('#').trim();
    let about = heading.split_once(": ").map_or(heading, |(_, about)| about);
    let mut recorded: Vec<(String, String)> = Vec::new();
    let mut rest = readme;
    while let Some((_, link)) = rest.split_once("](../../record/") {
        let (path, behind) = link.split_once(')').unwrap_or((link, ""));
        rest = behind;
        let day = path.split('/').next().unwrap_or_default();
        let is_page = path.ends_with(".md") && !path.contains(char::is_whitespace);
        if is_page && !recorded.iter().any(|(known, _)| known == day) {
            recorded.push((day.to_owned(), format!("../record/{path}")));
        }
    }
    Other {
        folder: folder.to_owned(),
        about: about.to_owned(),
        recorded,
    }
}

/// The list.
pub(super) fn markdown(others: &[Other]) -> String {
    let mut text = String::new();
    for other in others {
        let Other { folder, about, .. } = other;
        let _ = write!(text, "- [{folder}]({folder}/README.md): {about}");
        let days = other.recorded.iter();
        let days: Vec<String> = days.map(|(day, path)| format!("[{day}]({path})")).collect();
        let _ = writeln!(text, " (recorded {})", days.join(", "));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_experiment_says_what_it_is() {
        let readme = "# aa: a server against itself\n\nSee [this](../../record/2026-11-20/aa.md), a \
                      [picture](../../record/2026-11-20/aa.svg), [that](../../record/2026-11-20/b.md) \
                      and [those](../../record/2026-11-22/proxies/README.md).\n";
        let expected = "- [aa](aa/README.md): a server against itself (recorded \
                        [2026-11-20](../record/2026-11-20/aa.md), \
                        [2026-11-22](../record/2026-11-22/proxies/README.md))\n";
        assert_eq!(markdown(&[other("aa", readme)]), expected);
        assert_eq!(other("b", "# What b is\n").about, "What b is");
    }

    #[test]
    fn those_with_rows_or_without_a_record_are_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let recorded = "# x: y\n[z](../../record/2026-11-20/z.md)\n";
        let table = [
            ("told", Some(recorded)),
            ("b", Some(recorded)),
            ("a", Some(recorded)),
            ("new", Some("# x: y\n")),
            ("without", None),
        ];
        for (name, readme) in table {
            fs::create_dir(folder.path().join(name)).unwrap();
            if let Some(readme) = readme {
                fs::write(folder.path().join(name).join("README.md"), readme).unwrap();
            }
        }
        let found = others(folder.path(), &["told"]).unwrap();
        let names: Vec<&str> = found.iter().map(|other| other.folder.as_str()).collect();
        assert_eq!(names, ["a", "b"]);
    }
}
