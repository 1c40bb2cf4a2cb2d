//! Files that are there whole or not at all.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use crate::RecordError;

/// Writes `directory/name` under another name and renames it once it is on disk: a reader, or a
/// crash, finds the old file or the new one, never a part.
pub(crate) fn write(directory: &Path, name: &str, contents: &[u8]) -> Result<(), RecordError> {
    let path = directory.join(name);
    let part = directory.join(format!(".{name}.part"));
    let written = File::create(&part)
        .and_then(|mut file| file.write_all(contents).and_then(|()| file.sync_all()))
        .and_then(|()| fs::rename(&part, &path));
    if let Err(cause) = written {
        // The part is of no use; that it cannot be removed either adds nothing to the cause.
        let _ = fs::remove_file(&part);
        return Err(RecordError::Io {
            doing: "write",
            path,
            cause,
        });
    }
    sync_directory(directory)
}

/// Makes new names in a directory outlive a crash.
pub(crate) fn sync_directory(directory: &Path) -> Result<(), RecordError> {
    File::open(directory)
        .and_then(|d| d.sync_all())
        .map_err(RecordError::io("save the entries of", directory))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_old_file_is_replaced_and_nothing_is_left_over() {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), "a.json", b"a long first text").unwrap();
        write(dir.path(), "a.json", b"short").unwrap();
        assert_eq!(fs::read(dir.path().join("a.json")).unwrap(), b"short");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_failure_names_the_file_and_leaves_no_part() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("a.json")).unwrap();
        let text = write(dir.path(), "a.json", b"x").unwrap_err().to_string();
        assert!(
            text.starts_with("cannot write ") && text.contains("/a.json: "),
            "{text}"
        );
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
