//! Files that a plan names and that are read with it.

use std::fs::{File, metadata};
use std::io::{Error, ErrorKind, Read as _, Result};
use std::path::Path;

use super::checker::Checker;
use crate::Problem;
use crate::wire::Text;

/// The largest template. Configuration is small, and a wrong path may name a device.
pub(super) const MAX_TEMPLATE_BYTES: u64 = 1 << 20;
/// The largest of the other files: they stay in memory for the whole run.
pub(super) const MAX_DATA_BYTES: u64 = 64 << 20;

impl Checker<'_> {
    /// The contents of the file at `path`, or `None` and a problem that calls it `what`.
    pub(super) fn file_bytes(&mut self, what: &str, path: &Text, most: u64) -> Option<Vec<u8>> {
        let read = read_bounded(&self.folder.join(path.get_ref()), most);
        self.readable(what, path, read)
    }

    /// The same for text.
    pub(super) fn file_text(&mut self, what: &str, path: &Text, most: u64) -> Option<String> {
        let read = read_bounded(&self.folder.join(path.get_ref()), most).and_then(|bytes| {
            String::from_utf8(bytes)
                .map_err(|_| Error::new(ErrorKind::InvalidData, "not text in UTF-8"))
        });
        self.readable(what, path, read)
    }

    fn readable<T>(&mut self, what: &str, path: &Text, read: Result<T>) -> Option<T> {
        read.map_err(|error| {
            let message = format!("can't read the {what} `{}`: {error}", path.get_ref());
            self.report(
                Problem::new(path.span(), message, "unreadable")
                    .help("relative paths start at the plan's folder"),
            );
        })
        .ok()
    }
}

fn read_bounded(path: &Path, most: u64) -> Result<Vec<u8>> {
    // Opening a pipe would wait for its writer, so the file type is checked first.
    if !metadata(path)?.is_file() {
        return Err(Error::new(ErrorKind::InvalidInput, "not a regular file"));
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        let mebibytes = most >> 20;
        return Err(Error::new(
            ErrorKind::FileTooLarge,
            format!("larger than {mebibytes} MiB"),
        ));
    }
    Ok(bytes)
}
