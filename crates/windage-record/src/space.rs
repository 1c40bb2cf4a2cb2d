//! The space that a run takes on disk, and what can be removed of it.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use crate::run_dir::{MANIFEST, WORK};
use crate::{RecordError, RunDir};

/// What Windage writes into a run directory, without copies of damaged files.
const WRITTEN: [&str; 15] = [
    "analysis.json",
    "host.json",
    "journal.bin",
    "lock",
    "logs",
    "manifest.json",
    "payloads",
    "plan.toml",
    "profiles",
    "report.html",
    "resolved.toml",
    "response_time.hlog",
    "restored.json",
    "service_time.hlog",
    "work",
];

impl RunDir {
    /// The size of all its files, in bytes.
    ///
    /// # Errors
    /// When a directory can't be listed.
    pub fn bytes(&self) -> Result<u64, RecordError> {
        size(self.path())
    }

    /// The size of the services' own files (`work/`), in bytes.
    ///
    /// # Errors
    /// When a directory can't be listed.
    pub fn work_bytes(&self) -> Result<u64, RecordError> {
        size(&self.path().join(WORK))
    }

    /// The bytes that [`RunDir::remove_work`] would remove.
    ///
    /// # Errors
    /// When it would refuse.
    pub fn removable_work_bytes(&self) -> Result<u64, RecordError> {
        let _lock = self.lock()?;
        match is_directory(&self.path().join(WORK))? {
            true => self.work_bytes(),
            false => Ok(0),
        }
    }

    /// Removes the services' own files. Reports and a resumed run don't need them. Links are removed,
    /// not followed. Returns how many bytes that were.
    ///
    /// # Errors
    /// When the run is being written, or a file can't be removed.
    pub fn remove_work(&self) -> Result<u64, RecordError> {
        let bytes = self.removable_work_bytes()?;
        let _lock = self.lock()?;
        let work = self.path().join(WORK);
        if is_directory(&work)? {
            entries(&work)?.iter().try_for_each(|path| remove(path))?;
        }
        Ok(bytes)
    }

    /// The bytes that [`RunDir::remove`] would remove.
    ///
    /// # Errors
    /// When it would refuse.
    pub fn removable_bytes(&self) -> Result<u64, RecordError> {
        let _lock = self.own()?;
        self.bytes()
    }

    /// Removes the run directory, unless it has something that Windage did not write. Returns how many
    /// bytes that were.
    ///
    /// # Errors
    /// When it has, when it is a link or the run is being written, or when a file can't be removed.
    pub fn remove(self) -> Result<u64, RecordError> {
        let (_lock, bytes) = (self.own()?, self.bytes()?);
        // Without its manifest it would be no run: what fails on the way is tried again by the next
        // removal.
        let mut all = entries(self.path())?;
        all.sort_by_key(|path| (path.ends_with(MANIFEST), !path.ends_with(WORK)));
        all.iter().try_for_each(|path| remove(path))?;
        remove(self.path())?;
        Ok(bytes)
    }

    /// Keeps others from writing the run, if nothing in its directory is foreign.
    fn own(&self) -> Result<File, RecordError> {
        // With a slash at its end, a link would be followed.
        let path: PathBuf = self.path().components().collect();
        if !is_directory(&path)? {
            return Err(RecordError::NotOurs { path });
        }
        let lock = self.lock()?;
        let is_own = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let is_part = name.starts_with('.') && name.ends_with(".part");
            WRITTEN.contains(&&*name) || name.contains(".damaged-") || is_part
        };
        match entries(&path)?.into_iter().find(|path| !is_own(path)) {
            Some(path) => Err(RecordError::NotOurs { path }),
            None => Ok(lock),
        }
    }
}

/// What is in a directory.
fn entries(directory: &Path) -> Result<Vec<PathBuf>, RecordError> {
    let list = || RecordError::io("list", directory);
    let entries = fs::read_dir(directory).map_err(list())?;
    entries
        .map(|entry| Ok(entry.map_err(list())?.path()))
        .collect()
}

/// Whether there is a directory at that path, and no link to one.
fn is_directory(path: &Path) -> Result<bool, RecordError> {
    match fs::symlink_metadata(path) {
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(false),
        found => Ok(found.map_err(RecordError::io("examine", path))?.is_dir()),
    }
}

/// Removes a file, a link, or a directory with its contents, in which links are not followed.
fn remove(path: &Path) -> Result<(), RecordError> {
    let removed = match is_directory(path)? {
        true => fs::remove_dir_all(path),
        false => fs::remove_file(path),
    };
    removed.map_err(RecordError::io("remove", path))
}

/// The size of a file, or of all files in a directory. Links are not followed, and what vanishes
/// meanwhile has none.
fn size(path: &Path) -> Result<u64, RecordError> {
    let found = match fs::symlink_metadata(path) {
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(0),
        found => found.map_err(RecordError::io("examine", path))?,
    };
    if !found.is_dir() {
        return Ok(found.len());
    }
    entries(path)?.iter().map(|path| size(path)).sum()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::fixtures;

    #[test]
    fn only_what_windage_wrote_is_removed_and_links_are_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let outside = dir.path().join("outside");
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("kept"), "kept").unwrap();
        let path = dir.path().join("run");
        let null = serde_json::Value::Null;
        let run = RunDir::create(&path, &fixtures::manifest(), "", "", &null).unwrap();
        let of_service = path.join("work/0+off+app");
        fs::create_dir(&of_service).unwrap();
        fs::write(of_service.join("access.log"), [b'x'; 5000]).unwrap();
        symlink(&outside, of_service.join("link")).unwrap();
        symlink(&outside, path.join("work/link")).unwrap();

        let work = run.work_bytes().unwrap();
        assert!((5000..6000).contains(&work), "{work}");
        assert!(run.bytes().unwrap() > work);
        assert_eq!(run.remove_work().unwrap(), work);
        assert_eq!(run.work_bytes().unwrap(), 0);
        assert!(path.join("work").is_dir(), "for a resumed run");

        fs::write(path.join("notes.md"), "mine").unwrap();
        run.removable_bytes().unwrap_err();
        let error = RunDir::open(&path).unwrap().remove().unwrap_err();
        assert!(error.to_string().contains("notes.md"), "{error}");
        fs::remove_file(path.join("notes.md")).unwrap();

        symlink(&path, dir.path().join("link")).unwrap();
        for link in ["link", "link/"] {
            let run = RunDir::open(dir.path().join(link)).unwrap();
            run.removable_bytes().unwrap_err();
            run.remove().unwrap_err();
        }
        assert!(path.join("plan.toml").exists());

        let held = run.lock().unwrap();
        for error in [
            run.removable_work_bytes().unwrap_err(),
            run.removable_bytes().unwrap_err(),
            run.remove_work().unwrap_err(),
            RunDir::open(&path).unwrap().remove().unwrap_err(),
        ] {
            assert!(matches!(error, RecordError::Locked { .. }), "{error}");
        }
        drop(held);
        RunDir::open(&path).unwrap().remove().unwrap();
        assert!(!path.exists());
        assert_eq!(fs::read_to_string(outside.join("kept")).unwrap(), "kept");
    }

    #[test]
    fn a_link_in_place_of_the_services_files_stays() {
        let dir = tempfile::tempdir().unwrap();
        let outside = dir.path().join("outside");
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("kept"), "kept").unwrap();
        let path = dir.path().join("run");
        let null = serde_json::Value::Null;
        let run = RunDir::create(&path, &fixtures::manifest(), "", "", &null).unwrap();
        fs::remove_dir(path.join("work")).unwrap();
        symlink(&outside, path.join("work")).unwrap();
        assert_eq!(run.remove_work().unwrap(), 0);
        assert!(outside.join("kept").exists());
    }
}
