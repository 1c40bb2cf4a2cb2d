//! What can go wrong, with the file or call at fault and what to do about it.

use std::io;
use std::path::PathBuf;

/// A reading that could not be taken.
///
/// That a process has left is not among these: see the crate's documentation.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// A file or directory could not be opened, listed or read.
    #[error("cannot {call} {}: {source}{}", path.display(), remedy(source))]
    File {
        /// What was tried: `open`, `read` or `list`.
        call: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// What the system answered.
        source: io::Error,
    },
    /// A file did not hold what the kernel's documentation says it holds.
    #[error(
        "{} holds {found:?} where {expected} was expected; this kernel writes it in a form that \
         windage does not know: please report it with the file's content",
        path.display()
    )]
    Format {
        /// The file.
        path: PathBuf,
        /// What should have been there.
        expected: &'static str,
        /// The beginning of what was there.
        found: String,
    },
    /// A CPU clock could not be read.
    #[error("cannot read the CPU clock of {whose}: {source}{}", remedy(source))]
    Clock {
        /// The process or thread, in words.
        whose: String,
        /// What the system answered.
        source: io::Error,
    },
    /// A process that was named does not exist.
    #[error(
        "there is no process {process}; give the id of one that runs, as seen from here (a container counts its own)"
    )]
    NoSuchProcess {
        /// The id that was given.
        process: u32,
    },
    /// There is nothing to read: the subject is out of reach.
    #[error(
        "the subject is attached by address only, so its processes can't be read; attach it by pid, unit or cgroup to measure them"
    )]
    OutOfReach,
}

/// What to do about an error of the system, as the end of a message; empty when the error says
/// it all.
pub(crate) fn remedy(error: &io::Error) -> &'static str {
    match error.raw_os_error() {
        Some(libc::EMFILE | libc::ENFILE) => {
            "; each process and thread measured takes descriptors: raise the limit (ulimit -n)"
        }
        Some(libc::EACCES | libc::EPERM) => "; run as the service's user or as root",
        Some(libc::EROFS) => "; the file system is mounted read-only, as in most containers",
        Some(libc::EBUSY) => "; end the processes in it first",
        _ => "",
    }
}

/// Whether the error means that a process has left rather than that something is wrong: `open`
/// answers ENOENT, a file kept open ESRCH.
pub(crate) fn has_left(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENOENT | libc::ESRCH))
}
