//! A cache folder for each state of its inputs: made once and reused.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::test::step::announce;
use crate::{command, workspace};

/// Directories that build tools leave next to sources.
const BUILD_OUTPUT: &[&str] = &["bin", "node_modules", "target", "__pycache__"];

/// The folder of this name in the cache, after `make` has filled it.
///
/// The name must identify everything that the contents depend on: a folder is never changed under a
/// test.
pub(crate) fn folder(name: &str, make: impl FnOnce(&Path) -> Result<()>) -> Result<PathBuf> {
    folder_below(&workspace::cache()?, name, make)
}

fn folder_below(
    cache: &Path,
    name: &str,
    make: impl FnOnce(&Path) -> Result<()>,
) -> Result<PathBuf> {
    let folder = cache.join(name);
    // Written last, so that an interrupted folder is made again.
    let complete = folder.join("complete");
    if complete.is_file() {
        return Ok(folder);
    }
    announce(&format!("making {}", folder.display()));
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| format!("remove {}", folder.display()))?;
    }
    fs::create_dir_all(&folder).with_context(|| format!("make {}", folder.display()))?;
    make(&folder)?;
    fs::write(&complete, "").with_context(|| format!("write {}", complete.display()))?;
    Ok(folder)
}

/// The sources of a program that is built elsewhere.
pub(crate) struct Sources {
    root: PathBuf,
    /// Relative to the root, sorted.
    files: Vec<PathBuf>,
}

impl Sources {
    pub(crate) fn of(root: &Path) -> Result<Sources> {
        let mut files = Vec::new();
        gather(root, Path::new(""), &mut files)?;
        files.sort();
        Ok(Sources {
            root: root.to_owned(),
            files,
        })
    }

    /// A hash of names and contents.
    pub(crate) fn hash(&self) -> Result<u32> {
        let mut hasher = crc32fast::Hasher::new();
        for file in &self.files {
            hasher.update(file.as_os_str().as_encoded_bytes());
            hasher.update(&read(&self.root.join(file))?);
        }
        Ok(hasher.finalize())
    }

    pub(crate) fn copy_to(&self, folder: &Path) -> Result<()> {
        let mut copy = Command::new("cp");
        copy.arg("--parents").args(&self.files).arg(folder);
        command::run(copy.current_dir(&self.root))
    }
}

/// A file's content.
pub(crate) fn read(file: &Path) -> Result<Vec<u8>> {
    fs::read(file).with_context(|| format!("read {}", file.display()))
}

fn gather(root: &Path, below: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    let folder = root.join(below);
    for entry in fs::read_dir(&folder).with_context(|| format!("read {}", folder.display()))? {
        let entry = entry?;
        let path = below.join(entry.file_name());
        if !entry.file_type()?.is_dir() {
            files.push(path);
        } else if !BUILD_OUTPUT
            .iter()
            .any(|output| entry.file_name() == *output)
        {
            gather(root, &path, files)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_made_once_and_again_after_a_failure() {
        let cache = tempfile::tempdir().unwrap();
        let mut made = 0;
        let mut make = |fails: bool| {
            folder_below(cache.path(), "thing", |folder| {
                made += 1;
                // Leftovers of an interrupted attempt are removed.
                fs::create_dir(folder.join("part"))?;
                anyhow::ensure!(!fails, "interrupted");
                Ok(())
            })
        };
        assert!(make(true).is_err());
        let first = make(false).unwrap();
        assert_eq!(make(true).unwrap(), first, "it exists: nothing is made");
        assert_eq!(made, 2);
    }

    #[test]
    fn sources_are_hashed_by_name_and_content_and_copied_without_build_output() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        fs::create_dir_all(root.join("src/deep")).unwrap();
        fs::create_dir_all(root.join("node_modules/x")).unwrap();
        fs::write(root.join("src/deep/a"), "1").unwrap();
        fs::write(root.join("lock"), "2").unwrap();
        let hash = || Sources::of(root).unwrap().hash().unwrap();
        let first = hash();

        fs::write(root.join("node_modules/x/y"), "3").unwrap();
        assert_eq!(hash(), first, "installed packages are not sources");
        let copy = tempfile::tempdir().unwrap();
        Sources::of(root).unwrap().copy_to(copy.path()).unwrap();
        assert_eq!(read(&copy.path().join("src/deep/a")).unwrap(), b"1");
        assert!(!copy.path().join("node_modules").exists());

        fs::write(root.join("lock"), "4").unwrap();
        let second = hash();
        assert_ne!(second, first, "another content");
        fs::rename(root.join("lock"), root.join("lock2")).unwrap();
        assert_ne!(hash(), second, "another name");
    }
}
