//! The calls with which a run directory is written. Tests fake them, to fail one after another and
//! to cut the power.

use std::fmt::Debug;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::RecordError;

/// A file system.
pub(crate) trait Disk: Debug + Sync {
    fn create_directory(&self, path: &Path) -> io::Result<()>;
    fn open(&self, path: &Path, how: Opening) -> io::Result<Box<dyn DiskFile>>;
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Makes the entries of a directory survive a power cut: until then new files, and new names,
    /// may be missing afterwards.
    fn sync_directory(&self, path: &Path) -> io::Result<()>;
}

/// An open file.
pub(crate) trait DiskFile: Send + Sync {
    fn write_all_at(&self, bytes: &[u8], at: u64) -> io::Result<()>;
    fn set_len(&self, bytes: u64) -> io::Result<()>;
    /// Makes the contents survive a power cut.
    fn sync(&self) -> io::Result<()>;
}

/// How a file is opened for writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Opening {
    /// It must not exist.
    New,
    /// With its contents, if it exists.
    Kept,
}

/// The system's own.
#[derive(Debug)]
pub(crate) struct SystemDisk;

impl Disk for SystemDisk {
    fn create_directory(&self, path: &Path) -> io::Result<()> {
        windage_files::create_dir(path)
    }

    fn open(&self, path: &Path, how: Opening) -> io::Result<Box<dyn DiskFile>> {
        let opened = match how {
            Opening::New => windage_files::create_new(path),
            Opening::Kept => windage_files::open_or_create(path),
        };
        Ok(Box::new(opened?))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        File::open(path)?.sync_all()
    }
}

impl DiskFile for File {
    fn write_all_at(&self, bytes: &[u8], at: u64) -> io::Result<()> {
        FileExt::write_all_at(self, bytes, at)
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        File::set_len(self, bytes)
    }

    /// With the file's length, which is needed to read it back.
    fn sync(&self) -> io::Result<()> {
        self.sync_data()
    }
}

/// Makes new directory entries survive a power cut.
pub(crate) fn sync_directory(disk: &dyn Disk, directory: &Path) -> Result<(), RecordError> {
    disk.sync_directory(directory)
        .map_err(RecordError::io("save the entries of", directory))
}

/// Creates a directory and those above it, as far as they are missing, so that they survive a power
/// cut.
pub(crate) fn create_directories(disk: &dyn Disk, path: &Path) -> Result<(), RecordError> {
    let missing = path.ancestors().take_while(|above| !above.exists());
    let missing: Vec<&Path> = missing.filter(|above| *above != Path::new("")).collect();
    for directory in missing.into_iter().rev() {
        match disk.create_directory(directory) {
            // Another process was faster.
            Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists && directory.is_dir() => {}
            created => created.map_err(RecordError::io("create", path))?,
        }
        sync_directory(disk, parent_of(directory))?;
    }
    Ok(())
}

fn parent_of(path: &Path) -> &Path {
    match path.parent() {
        None => Path::new("/"),
        Some(parent) if parent == Path::new("") => Path::new("."),
        Some(parent) => parent,
    }
}

#[cfg(test)]
mod tests;
