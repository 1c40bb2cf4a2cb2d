//! Finds the runs in a directory.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::stamps::Stamps;

/// A run directory that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    /// Its name below the directory, with `/` if it is in a folder of several runs.
    pub(crate) name: String,
    /// Where it is.
    pub(crate) path: PathBuf,
    /// When it was last written.
    pub(crate) stamps: Stamps,
}

/// The runs in a directory and in its folders, or the one run that the directory is; each once,
/// however many links lead to it.
///
/// # Errors
/// When the directory can't be listed. Unreadable entries below it are left out.
pub(crate) fn scan(directory: &Path) -> io::Result<Vec<Found>> {
    let own_name = directory
        .file_name()
        .map(|name| readable(name.as_encoded_bytes()));
    if let (Some(name), Some(found)) = (own_name, Stamps::of(directory)) {
        return Ok(vec![Found {
            name,
            path: directory.to_owned(),
            stamps: found,
        }]);
    }
    let (mut found, mut in_folders) = (Vec::new(), Vec::new());
    for (name, path) in folders(directory)? {
        match Stamps::of(&path) {
            Some(stamps) => found.push(Found { name, path, stamps }),
            None => in_folders.extend(in_folder(&name, &path)),
        }
    }
    // Under its shortest name.
    found.append(&mut in_folders);
    let mut seen = BTreeSet::new();
    found.retain(|found| {
        let directory = fs::metadata(&found.path);
        directory.is_ok_and(|directory| seen.insert((directory.dev(), directory.ino())))
    });
    Ok(found)
}

/// The runs in a folder that is not a run itself, such as `windage run FOLDER --out DIR` makes.
fn in_folder(folder: &str, path: &Path) -> Vec<Found> {
    let inner = folders(path).unwrap_or_default().into_iter();
    inner
        .filter_map(|(name, path)| {
            Some(Found {
                name: format!("{folder}/{name}"),
                stamps: Stamps::of(&path)?,
                path,
            })
        })
        .collect()
}

/// The directories in a directory by name, then links to directories; hidden ones are left out.
fn folders(directory: &Path) -> io::Result<Vec<(String, PathBuf)>> {
    let mut folders = Vec::new();
    for entry in fs::read_dir(directory)? {
        // Entries that vanished during the listing are left out.
        let Ok(entry) = entry else { continue };
        let name = readable(entry.file_name().as_encoded_bytes());
        let kind = entry.file_type();
        let is_file = kind.as_ref().is_ok_and(|kind| kind.is_file());
        let is_link = kind.is_ok_and(|kind| kind.is_symlink());
        if !is_file && !name.starts_with('.') {
            folders.push((is_link, name, entry.path()));
        }
    }
    folders.sort_unstable();
    let folders = folders.into_iter();
    Ok(folders.map(|(_, name, path)| (name, path)).collect())
}

/// A name as text. Invalid bytes are written as `\xff` and a backslash is doubled, so that
/// different names stay different.
fn readable(name: &[u8]) -> String {
    match std::str::from_utf8(name) {
        Ok(name) => name.replace('\\', r"\\"),
        Err(_) => name.escape_ascii().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::symlink;

    fn names(directory: &Path) -> Vec<String> {
        let mut names: Vec<_> = scan(directory)
            .unwrap()
            .into_iter()
            .map(|f| f.name)
            .collect();
        names.sort();
        names
    }

    #[test]
    fn runs_are_found_where_runs_are_made() {
        let table: [(&[&str], &[&str], &str); 8] = [
            (&[], &[], "an empty directory"),
            (&["a/manifest.json", "b/manifest.json"], &["a", "b"], "runs"),
            (
                &["all/a/manifest.json", "b/manifest.json"],
                &["all/a", "b"],
                "a folder of runs",
            ),
            (&["x/y/a/manifest.json"], &[], "deeper than that"),
            (
                &["a/manifest.json", "a/b/manifest.json"],
                &["a"],
                "a directory in a run is part of it",
            ),
            (&["a/journal.bin"], &["a"], "a run that lost its manifest"),
            (
                &["notes/readme", "manifest.txt", ".a/manifest.json"],
                &[],
                "no runs",
            ),
            (
                &["a b/manifest.json", "ä%2f/manifest.json"],
                &["a b", "ä%2f"],
                "odd names",
            ),
        ];
        for (files, expected, what) in table {
            let directory = tempfile::tempdir().unwrap();
            for file in files {
                let path = directory.path().join(file);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, "").unwrap();
            }
            assert_eq!(names(directory.path()), expected, "{what}");
        }
    }

    #[test]
    fn the_directory_may_be_a_run() {
        let directory = tempfile::tempdir().unwrap();
        let run = directory.path().join("20260101-000000-app");
        fs::create_dir_all(run.join("b")).unwrap();
        for file in ["manifest.json", "b/manifest.json"] {
            fs::write(run.join(file), "").unwrap();
        }
        assert_eq!(names(&run), ["20260101-000000-app"]);
    }

    #[test]
    fn names_that_are_not_text_stay_different() {
        let directory = tempfile::tempdir().unwrap();
        for name in [&b"a\xff"[..], b"a\xfe", br"a\xff"] {
            let run = directory.path().join(OsStr::from_bytes(name));
            fs::create_dir(&run).unwrap();
            fs::write(run.join("manifest.json"), "").unwrap();
        }
        assert_eq!(
            names(directory.path()),
            [r"a\\xff", r"a\xfe", r"a\xff"],
            "a backslash is doubled, an invalid byte begins with one"
        );
    }

    #[test]
    fn a_run_is_found_once_whatever_links_lead_to_it() {
        let directory = tempfile::tempdir().unwrap();
        for run in ["b", "all/c"] {
            let run = directory.path().join(run);
            fs::create_dir_all(&run).unwrap();
            fs::write(run.join("manifest.json"), "").unwrap();
        }
        for (link, to) in [("a", "b"), ("loop", "."), ("any", "all"), ("all/b", "../b")] {
            symlink(to, directory.path().join(link)).unwrap();
        }
        assert_eq!(names(directory.path()), ["all/c", "b"]);
        fs::remove_dir_all(directory.path().join("all")).unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        symlink(directory.path().join("b"), elsewhere.path().join("x")).unwrap();
        assert_eq!(names(elsewhere.path()), ["x"], "a link is enough");
    }

    #[test]
    fn a_missing_directory_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        assert!(scan(&directory.path().join("gone")).is_err());
    }
}
