//! Tests that can't run here say so in a file, for cargo knows no such end.
//!
//! A test appends one line, its name and the reason, to the file that the environment variable
//! `WINDAGE_TEST_SKIPS` names, and returns.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::workspace;

/// The file that skipped tests are named in; removed at the end.
pub(crate) struct Skips {
    file: PathBuf,
}

impl Skips {
    /// Makes an empty file of this process's own.
    pub(crate) fn create() -> Result<Skips> {
        let folder = workspace::root().join("target");
        let file = folder.join(format!("test-skips-{}", std::process::id()));
        fs::create_dir_all(&folder)
            .and_then(|()| fs::write(&file, ""))
            .with_context(|| format!("write {}", file.display()))?;
        Ok(Skips { file })
    }

    /// The variable that tells tests of it.
    pub(crate) fn variable(&self) -> (&'static str, OsString) {
        ("WINDAGE_TEST_SKIPS", self.file.clone().into_os_string())
    }

    /// The tests that were skipped, each with its reason, once.
    pub(crate) fn read(&self) -> Result<Vec<String>> {
        let text = fs::read_to_string(&self.file)
            .with_context(|| format!("read {}", self.file.display()))?;
        Ok(lines(&text))
    }
}

impl Drop for Skips {
    fn drop(&mut self) {
        // What stays behind lies in target/ and is of no harm.
        let _ = fs::remove_file(&self.file);
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
    fn each_skip_is_told_once() {
        let text = "cgroups: not root\n\nbpf: no kernel headers\n cgroups: not root \n";
        assert_eq!(lines(text), ["bpf: no kernel headers", "cgroups: not root"]);
    }
}
