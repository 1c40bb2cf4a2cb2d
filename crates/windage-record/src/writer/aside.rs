//! Copies of damaged files, made before a resumed run writes.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::RecordError;
use crate::disk::{Disk, sync_directory};

/// As many copies as there can be of one run.
const COPIES_MAX: u32 = 1000;

/// Copies files of a directory, as far as they exist, to `NAME.damaged-N`, without their endings and
/// with the first number that is free for all of them. Returns the copies once they are on disk; on
/// failure there is none.
pub(super) fn copy_aside(
    disk: &dyn Disk,
    directory: &Path,
    names: &[&str],
) -> Result<Vec<PathBuf>, RecordError> {
    let copy_of = |name: &str, number: u32| {
        let copy = format!("damaged-{number}");
        directory.join(name).with_extension(copy)
    };
    let is_free = |number: &u32| {
        let mut names = names.iter();
        names.all(|name| fs::symlink_metadata(copy_of(name, *number)).is_err())
    };
    let number = (1..COPIES_MAX).find(is_free).unwrap_or(COPIES_MAX);
    let mut copies = Vec::new();
    for name in names.iter().filter(|name| directory.join(name).exists()) {
        let copy = copy_of(name, number);
        if let Err(cause) = duplicate(&directory.join(name), &copy) {
            // The copies are useless; failing to remove one adds nothing to the cause.
            for copy in &copies {
                let _ = fs::remove_file(copy);
            }
            return Err(RecordError::io("write", &copy)(cause));
        }
        copies.push(copy);
    }
    sync_directory(disk, directory)?;
    Ok(copies)
}

fn duplicate(from: &Path, to: &Path) -> io::Result<()> {
    let mut from = windage_files::open(from)?;
    let mut copy = windage_files::create_new(to)?;
    let written = io::copy(&mut from, &mut copy).and_then(|_| copy.sync_all());
    written.inspect_err(|_| {
        let _ = fs::remove_file(to);
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::SystemDisk;

    #[test]
    fn copies_have_one_number_and_replace_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        fs::write(path("a.bin"), "a").unwrap();
        fs::write(path("b.log"), "b").unwrap();
        fs::write(path("b.damaged-1"), "kept").unwrap();
        let names = ["a.bin", "b.log", "missing.log"];
        let expected = [path("a.damaged-2"), path("b.damaged-2")];
        assert_eq!(
            copy_aside(&SystemDisk, dir.path(), &names).unwrap(),
            expected
        );
        assert_eq!(fs::read(path("b.damaged-2")).unwrap(), b"b");
        assert_eq!(fs::read(path("b.damaged-1")).unwrap(), b"kept");
    }

    #[test]
    fn a_failed_copy_leaves_none() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("a.bin"), "a").unwrap();
        // A directory can be opened but not read.
        fs::create_dir(dir.path().join("b.log")).unwrap();
        let error = copy_aside(&SystemDisk, dir.path(), &["a.bin", "b.log"]).unwrap_err();
        assert!(error.to_string().contains("b.damaged-1"), "{error}");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2);
    }
}
