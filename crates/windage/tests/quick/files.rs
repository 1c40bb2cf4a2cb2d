//! The contents of directories.

use std::fs;
use std::path::{Path, PathBuf};

/// The names in a directory, sorted.
pub(crate) fn names_in(dir: impl AsRef<Path>) -> Vec<String> {
    let mut names: Vec<String> = entries(dir.as_ref())
        .iter()
        .map(|path| path.file_name().unwrap().display().to_string())
        .collect();
    names.sort();
    names
}

/// Every file below a directory.
pub(crate) fn files_below(dir: &Path) -> Vec<PathBuf> {
    let (dirs, mut files): (Vec<_>, Vec<_>) =
        entries(dir).into_iter().partition(|path| path.is_dir());
    files.extend(dirs.iter().flat_map(|dir| files_below(dir)));
    files
}

/// A directory and every directory below it.
pub(crate) fn directories(dir: &Path) -> Vec<PathBuf> {
    let below = entries(dir).into_iter().filter(|path| path.is_dir());
    let below = below.flat_map(|dir| directories(&dir));
    std::iter::once(dir.to_owned()).chain(below).collect()
}

fn entries(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).unwrap();
    entries.map(|entry| entry.unwrap().path()).collect()
}
