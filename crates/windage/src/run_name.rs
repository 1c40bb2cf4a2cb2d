//! Default names of run directories.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use windage_record::RUNS;

/// The directory of a run that is given by its path, or by its id as reports show it.
pub(crate) fn find(run: &Path) -> PathBuf {
    let below = Path::new(RUNS).join(run);
    if !run.exists() && below.is_dir() {
        below
    } else {
        run.to_owned()
    }
}

/// `windage-runs/20260101-120000-PLAN`, with a number appended if that exists.
pub(crate) fn unused(parent: &Path, plan: &str, now: SystemTime) -> PathBuf {
    // RFC 3339 to the second without punctuation: it sorts by time and needs no quoting.
    let stamp: String = humantime::format_rfc3339_seconds(now)
        .to_string()
        .chars()
        .filter_map(|c| match c {
            'T' => Some('-'),
            c if c.is_ascii_digit() => Some(c),
            _ => None,
        })
        .collect();
    let first = parent.join(format!("{stamp}-{plan}"));
    std::iter::once(first.clone())
        .chain((2..).map(|n| PathBuf::from(format!("{}-{n}", first.display()))))
        .find(|path| !path.exists())
        .unwrap_or(first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn names_sort_by_time_and_are_unused() {
        let dir = tempfile::tempdir().unwrap();
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_767_225_600);
        let first = unused(dir.path(), "a", now);
        assert!(first.ends_with("20260101-000000-a"), "{}", first.display());
        std::fs::create_dir(&first).unwrap();
        assert!(unused(dir.path(), "a", now).ends_with("20260101-000000-a-2"));
    }
}
