//! Tests that can't run here report it in a file, because cargo has no result for that.
//!
//! A test appends one line, its name and the reason, to the file that the environment variable
//! `WINDAGE_TEST_SKIPS` names, and returns.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;

use anyhow::{Context, Result};
use tempfile::NamedTempFile;

/// The file that lists skipped tests; removed at the end.
pub(crate) struct Skips(NamedTempFile);

impl Skips {
    /// Creates an empty file for this process.
    pub(crate) fn create() -> Result<Skips> {
        let file = NamedTempFile::new().context("make a temporary file")?;
        Ok(Skips(file))
    }

    /// The variable by which tests find it.
    pub(crate) fn variable(&self) -> (&'static str, OsString) {
        ("WINDAGE_TEST_SKIPS", self.0.path().as_os_str().to_owned())
    }

    /// The skipped tests, each with its reason, once.
    pub(crate) fn read(&self) -> Result<Vec<String>> {
        let text = fs::read_to_string(&self.0).context("read the list of skips")?;
        Ok(lines(&text))
    }
}

fn lines(text: &str) -> Vec<String> {
    let unique: BTreeSet<&str> = text
        .lines()
        .map(str::trim)
        .filter(|l| !l.is_empty())
        .collect();
    unique.into_iter().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_skip_is_reported_once() {
        let text = "cgroups: not root\n\nbpf: no kernel headers\n cgroups: not root \n";
        assert_eq!(lines(text), ["bpf: no kernel headers", "cgroups: not root"]);
    }
}
