//! State of a run: in progress, ended or killed.

use std::fs::TryLockError;
use std::io;

use crate::run_dir::LOCK;
use crate::{Ending, RecordError, RunDir};

/// The state of a run, and whether more may follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RunState {
    /// A process is writing to it.
    GoingOn,
    /// It ended properly: as planned, early, on a signal, or because of an error.
    Ended,
    /// No process writes to it, and it has no ending: it was killed.
    BrokenOff,
}

impl RunState {
    /// The state of a run whose journal ends with `ending`. Determine `is_being_written` before
    /// reading the journal: otherwise a run that ends in between looks killed.
    #[must_use]
    pub fn of(is_being_written: bool, ending: Option<&Ending>) -> RunState {
        match (is_being_written, ending) {
            (true, _) => RunState::GoingOn,
            (false, Some(_)) => RunState::Ended,
            (false, None) => RunState::BrokenOff,
        }
    }

    /// The name used in files and on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            RunState::GoingOn => "going_on",
            RunState::Ended => "ended",
            RunState::BrokenOff => "broken_off",
        }
    }
}

impl RunDir {
    /// Whether a process holds the run's lock, as its writer does from the journal's first byte to
    /// its last. Always false on a file system without locks.
    ///
    /// # Errors
    /// When the lock can't be opened or queried.
    pub fn is_being_written(&self) -> Result<bool, RecordError> {
        let path = self.path().join(LOCK);
        let file = match windage_files::open(&path) {
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(false),
            opened => opened.map_err(RecordError::io("open", &path))?,
        };
        match file.try_lock_shared() {
            Ok(()) => Ok(false),
            Err(TryLockError::WouldBlock) => Ok(true),
            Err(TryLockError::Error(cause)) if has_no_locks(&cause) => Ok(false),
            Err(TryLockError::Error(cause)) => Err(RecordError::io("lock", &path)(cause)),
        }
    }
}

/// Whether a file system refuses all locks, as some network file systems do: a run there can only
/// be a copy, because its writer would have been refused too.
fn has_no_locks(cause: &io::Error) -> bool {
    matches!(
        cause.raw_os_error(),
        Some(libc::ENOSYS | libc::EOPNOTSUPP | libc::ENOLCK)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_lock_support_is_distinguished_from_failure() {
        let table = [
            (libc::ENOSYS, true, "no such call"),
            (libc::EOPNOTSUPP, true, "not on this file system"),
            (
                libc::ENOLCK,
                true,
                "a network file system without its lock server",
            ),
            (libc::EIO, false, "a broken disk"),
            (libc::EINTR, false, "a signal"),
        ];
        for (error, expected, why) in table {
            let found = has_no_locks(&io::Error::from_raw_os_error(error));
            assert_eq!(found, expected, "{why}");
        }
    }
}
