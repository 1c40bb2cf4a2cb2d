//! The end of an append-only file.

use std::io;
use std::path::PathBuf;

use crate::RecordError;
use crate::disk::DiskFile;

/// The saved length of a file, the bytes for the next commit, and those that wait for their block
/// to be done.
pub(super) struct Tail {
    pub(super) file: Box<dyn DiskFile>,
    pub(super) path: PathBuf,
    pub(super) saved_bytes: u64,
    pub(super) sealed: Vec<u8>,
    pub(super) open: Vec<u8>,
}

impl Tail {
    /// Continues after the bytes already saved.
    pub(super) fn after(saved_bytes: u64, file: Box<dyn DiskFile>, path: PathBuf) -> Tail {
        Tail {
            file,
            path,
            saved_bytes,
            sealed: Vec::new(),
            open: Vec::new(),
        }
    }

    pub(super) fn seal(&mut self) {
        self.sealed.append(&mut self.open);
    }

    /// The file's length after the next commit.
    pub(super) fn sealed_end(&self) -> u64 {
        self.saved_bytes + self.sealed.len() as u64
    }

    pub(super) fn waiting_bytes(&self) -> usize {
        self.sealed.len() + self.open.len()
    }

    /// Writes where the last commit ended, so that a retry overwrites what a failed attempt has
    /// left there.
    pub(super) fn save(&mut self) -> io::Result<()> {
        if self.sealed.is_empty() {
            return Ok(());
        }
        self.file.write_all_at(&self.sealed, self.saved_bytes)?;
        self.file.sync()?;
        self.saved_bytes = self.sealed_end();
        self.sealed.clear();
        Ok(())
    }

    /// Cuts the file to the part to keep.
    pub(super) fn shorten(&mut self) -> Result<(), RecordError> {
        self.file
            .set_len(self.saved_bytes)
            .and_then(|()| self.file.sync())
            .map_err(RecordError::io("shorten", &self.path))
    }
}
