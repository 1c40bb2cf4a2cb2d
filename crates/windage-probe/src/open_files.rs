//! Files kept open, with their names for errors.

use std::io;
use std::path::{Path, PathBuf};

use crate::error::{ProbeError, has_left};
use crate::system::{OpenFile, System};

/// The buffer for one reading of a small file. `/proc/PID/status` is the largest of them, and grows
/// with the masks of cores and memory nodes.
pub(crate) const BUFFER_BYTES: usize = 8192;

/// The most that is read of any file, in case it never ends.
const WHOLE_BYTES_MAX: usize = 16 << 20;

/// A file kept open for repeated reading.
#[derive(Debug)]
pub(crate) struct KeptFile {
    path: PathBuf,
    file: Box<dyn OpenFile>,
}

impl KeptFile {
    pub(crate) fn open(system: &dyn System, path: PathBuf) -> Result<KeptFile, ProbeError> {
        match system.open(&path) {
            Ok(file) => Ok(KeptFile { path, file }),
            Err(source) => Err(ProbeError::File {
                call: "open",
                path,
                source,
            }),
        }
    }

    /// `None` when there is no such file, or its process has ended.
    pub(crate) fn open_if_there(
        system: &dyn System,
        path: PathBuf,
    ) -> Result<Option<KeptFile>, ProbeError> {
        match system.open(&path) {
            Ok(file) => Ok(Some(KeptFile { path, file })),
            Err(error) if has_left(&error) => Ok(None),
            Err(source) => Err(ProbeError::File {
                call: "open",
                path,
                source,
            }),
        }
    }

    /// The file's current content, as much as fits into the buffer.
    pub(crate) fn read<'b>(&self, buffer: &'b mut [u8]) -> Result<&'b [u8], ProbeError> {
        match self.file.read_at(buffer, 0) {
            Ok(length) => Ok(&buffer[..length]),
            Err(source) => Err(self.unreadable(source)),
        }
    }

    /// The same; `None` when its process has ended.
    pub(crate) fn read_if_there<'b>(
        &self,
        buffer: &'b mut [u8],
    ) -> Result<Option<&'b [u8]>, ProbeError> {
        match self.file.read_at(buffer, 0) {
            Ok(length) => Ok(Some(&buffer[..length])),
            Err(error) if has_left(&error) => Ok(None),
            Err(source) => Err(self.unreadable(source)),
        }
    }

    /// The error for content that the parser does not accept.
    pub(crate) fn unknown_form(&self, expected: &'static str, found: &[u8]) -> ProbeError {
        unknown_form(&self.path, expected, found)
    }

    fn unreadable(&self, source: io::Error) -> ProbeError {
        ProbeError::File {
            call: "read",
            path: self.path.clone(),
            source,
        }
    }
}

/// The error for content that the parser does not accept.
pub(crate) fn unknown_form(path: &Path, expected: &'static str, found: &[u8]) -> ProbeError {
    const SHOWN_BYTES: usize = 80;
    let shown = &found[..found.len().min(SHOWN_BYTES)];
    ProbeError::Format {
        path: path.to_owned(),
        expected,
        found: String::from_utf8_lossy(shown).into_owned(),
    }
}

/// The entire content of a file that is read once.
pub(crate) fn read_file(system: &dyn System, path: &Path) -> io::Result<Vec<u8>> {
    let file = system.open(path)?;
    let mut buffer = Vec::new();
    let length = read_to_end(&*file, &mut buffer)?;
    buffer.truncate(length);
    Ok(buffer)
}

/// Fills `buffer` from the file's start and returns the length of the content. The buffer keeps its
/// size, so the next reading of the same file neither allocates nor clears.
fn read_to_end(file: &dyn OpenFile, buffer: &mut Vec<u8>) -> io::Result<usize> {
    let mut length = 0;
    loop {
        if length == buffer.len() {
            if length >= WHOLE_BYTES_MAX {
                return Err(io::ErrorKind::FileTooLarge.into());
            }
            buffer.resize((length * 2).max(BUFFER_BYTES), 0);
        }
        // A `usize` always fits the offset: files end at WHOLE_BYTES_MAX.
        match file.read_at(&mut buffer[length..], length as u64)? {
            0 => return Ok(length),
            more => length += more,
        }
    }
}
