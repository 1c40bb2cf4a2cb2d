//! Atomic writing of files.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use crate::RecordError;
use crate::disk::{Disk, DiskFile, Opening, sync_directory};

/// A part this much older than a new one is abandoned.
const ABANDONED_AFTER: Duration = Duration::from_secs(3600);
/// As many names as processes with the same id could have left; after that one is free.
const NAMES_TRIED: u32 = 1000;

/// Writes `directory/name` under another name and renames it once it is on disk. A reader, or a
/// crash, finds the old file or the new one, never a part.
pub(crate) fn write(
    disk: &dyn Disk,
    directory: &Path,
    name: &str,
    contents: &[u8],
) -> Result<(), RecordError> {
    let path = directory.join(name);
    let written = begin_part(disk, directory, name).and_then(|(part, file)| {
        remove_abandoned(directory, name, &part);
        let renamed = fill(&*file, contents).and_then(|()| disk.rename(&part, &path));
        renamed.inspect_err(|_| {
            // The part is useless; failing to remove it adds nothing to the cause.
            let _ = fs::remove_file(&part);
        })
    });
    written.map_err(RecordError::io("write", &path))?;
    sync_directory(disk, directory)
}

fn fill(file: &dyn DiskFile, contents: &[u8]) -> io::Result<()> {
    file.write_all_at(contents, 0)?;
    file.sync()
}

/// A new file next to `name` that no other process writes. Leaves existing files and links alone,
/// since their owner is unknown.
fn begin_part(
    disk: &dyn Disk,
    directory: &Path,
    name: &str,
) -> io::Result<(PathBuf, Box<dyn DiskFile>)> {
    static BEGUN: AtomicU32 = AtomicU32::new(0);
    let process = std::process::id();
    for _ in 0..NAMES_TRIED {
        let number = BEGUN.fetch_add(1, Ordering::Relaxed);
        let part = directory.join(format!("{}{process}-{number}{PART_END}", part_start(name)));
        match disk.open(&part, Opening::New) {
            Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => {}
            begun => return begun.map(|file| (part, file)),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

const PART_END: &str = ".part";

fn part_start(name: &str) -> String {
    format!(".{name}.")
}

/// Removes the parts of `name` that killed processes left. Compares the file system's own times of
/// those parts and of the new one. Failing to remove them does no harm.
fn remove_abandoned(directory: &Path, name: &str, begun: &Path) {
    let start = part_start(name);
    let is_part = |found: &str| found.starts_with(&start) && found.ends_with(PART_END);
    let Ok(now) = fs::metadata(begun).and_then(|begun| begun.modified()) else {
        return;
    };
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    for part in entries.filter(|entry| entry.file_name().to_str().is_some_and(is_part)) {
        let modified = part.metadata().and_then(|part| part.modified());
        let age = modified.map(|modified| now.duration_since(modified).unwrap_or_default());
        if age.is_ok_and(|age| age > ABANDONED_AFTER) {
            let _ = fs::remove_file(part.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::SystemDisk;
    use std::fs::File;
    use std::os::unix::fs::symlink;
    use std::time::SystemTime;

    #[test]
    fn the_old_file_is_replaced_and_no_part_is_left() {
        let dir = tempfile::tempdir().unwrap();
        write(&SystemDisk, dir.path(), "a.json", b"a long first text").unwrap();
        write(&SystemDisk, dir.path(), "a.json", b"short").unwrap();
        assert_eq!(fs::read(dir.path().join("a.json")).unwrap(), b"short");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_failure_names_the_file_and_leaves_no_part() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("a.json")).unwrap();
        let text = write(&SystemDisk, dir.path(), "a.json", b"x")
            .unwrap_err()
            .to_string();
        assert!(
            text.starts_with("cannot write ") && text.contains("/a.json: "),
            "{text}"
        );
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    /// Run directories come from others, and `windage report` writes into them.
    #[test]
    fn targets_of_links_are_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let precious = dir.path().join("precious");
        fs::write(&precious, "do not lose").unwrap();
        let run = dir.path().join("run");
        fs::create_dir(&run).unwrap();
        let process = std::process::id();
        symlink(&precious, run.join(".a.json.part")).unwrap();
        symlink(&precious, run.join("a.json")).unwrap();
        for number in 0..50 {
            symlink(
                &precious,
                run.join(format!(".a.json.{process}-{number}.part")),
            )
            .unwrap();
        }
        write(&SystemDisk, &run, "a.json", b"ours").unwrap();
        assert_eq!(fs::read(&precious).unwrap(), b"do not lose");
        let path = run.join("a.json");
        assert!(fs::symlink_metadata(&path).unwrap().is_file());
        assert_eq!(fs::read(&path).unwrap(), b"ours");
    }

    #[test]
    fn abandoned_parts_are_removed() {
        let dir = tempfile::tempdir().unwrap();
        let part = |name: &str, age: Duration| {
            let file = File::create(dir.path().join(name)).unwrap();
            file.set_modified(SystemTime::now() - age).unwrap();
        };
        let old = 2 * ABANDONED_AFTER;
        let table = [
            (".a.json.7-0.part", old, false, "left by a killed process"),
            (".a.json.8-0.part", Duration::ZERO, true, "being written"),
            (".b.json.7-0.part", old, true, "belongs to another file"),
            ("a.json.part", old, true, "not a part of ours"),
        ];
        for (name, age, ..) in table {
            part(name, age);
        }
        write(&SystemDisk, dir.path(), "a.json", b"x").unwrap();
        for (name, _, expected, why) in table {
            assert_eq!(dir.path().join(name).exists(), expected, "{why}");
        }
    }
}
