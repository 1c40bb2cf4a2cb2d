//! A folder as a stream: an archive (tar), and the SHA-256 of it behind its end.

use std::fs::File;
use std::io::{self, BufReader, Read as _, Seek as _, SeekFrom, Write};
use std::path::Path;

use sha2::{Digest as _, Sha256};

/// The length of a hash.
const HASH: usize = 32;

/// Passes on what is written, and hashes it.
struct Hashing<W> {
    to: W,
    hash: Sha256,
}

impl<W: Write> Write for Hashing<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.to.write(bytes)?;
        self.hash.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

/// Writes everything in a folder.
///
/// # Errors
/// When a file can't be read, or the stream not be written.
pub(crate) fn pack(folder: &Path, to: impl Write) -> io::Result<()> {
    let hash = Sha256::new();
    let mut tar = tar::Builder::new(Hashing { to, hash });
    tar.follow_symlinks(false);
    tar.append_dir_all(".", folder)?;
    let Hashing { mut to, hash } = tar.into_inner()?;
    to.write_all(&hash.finalize())?;
    to.flush()
}

/// Writes what is in the archive in `file` into a folder, if the archive is whole.
///
/// # Errors
/// When it is not, or can't be read, or the folder not be written.
pub(crate) fn unpack(mut file: &File, folder: &Path) -> io::Result<()> {
    let broken = || io::Error::new(io::ErrorKind::InvalidData, "it did not arrive whole");
    let length = file.seek(SeekFrom::End(0))?;
    let length = length.checked_sub(HASH as u64).ok_or_else(broken)?;
    file.seek(SeekFrom::Start(0))?;
    let mut hashing = Hashing {
        to: io::sink(),
        hash: Sha256::new(),
    };
    io::copy(&mut file.take(length), &mut hashing)?;
    let mut expected = [0; HASH];
    file.read_exact(&mut expected)?;
    if hashing.hash.finalize()[..] != expected {
        return Err(broken());
    }
    file.seek(SeekFrom::Start(0))?;
    tar::Archive::new(BufReader::new(file.take(length))).unpack(folder)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn what_arrives_whole_is_what_was_sent_and_nothing_else_is_taken() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        fs::create_dir_all(from.join("run/logs")).unwrap();
        fs::write(from.join("run/journal.bin"), [7; 70_000]).unwrap();
        fs::write(from.join("run/logs/app.log"), "ready\n").unwrap();
        let mut sent = Vec::new();
        pack(&from, &mut sent).unwrap();
        let unpacked = |bytes: &[u8]| {
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(bytes).unwrap();
            unpack(&file, &to)
        };
        let mut changed = sent.clone();
        changed[40_000] ^= 1;
        for broken in [&changed[..], &sent[..sent.len() - 1], &sent[..10], b""] {
            let error = unpacked(broken).unwrap_err().to_string();
            assert!(error.contains("whole"), "{}: {error}", broken.len());
            assert!(!to.exists(), "{}", broken.len());
        }
        fs::create_dir(&to).unwrap();
        unpacked(&sent).unwrap();
        assert_eq!(fs::read(to.join("run/journal.bin")).unwrap(), [7; 70_000]);
        assert_eq!(fs::read(to.join("run/logs/app.log")).unwrap(), b"ready\n");
    }
}
