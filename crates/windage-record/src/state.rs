//! How far a run is.

use std::fs::{File, TryLockError};
use std::io;

use crate::run_dir::LOCK;
use crate::{Ending, RecordError, RunDir};

/// How far a run is, and whether more may come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RunState {
    /// A process is writing it.
    GoingOn,
    /// It ended in order: as planned, early, by a signal, or because it could not go on.
    Ended,
    /// Nobody writes it, and it never came to its end: it was killed.
    BrokenOff,
}

impl RunState {
    /// How far a run is whose journal has that `ending` at its end. Ask whether it
    /// `is_being_written` before the journal is read: a run that ends in between would seem to
    /// have been broken off.
    #[must_use]
    pub fn of(is_being_written: bool, ending: Option<&Ending>) -> RunState {
        match (is_being_written, ending) {
            (true, _) => RunState::GoingOn,
            (false, Some(_)) => RunState::Ended,
            (false, None) => RunState::BrokenOff,
        }
    }

    /// The word used in files and on the wire.
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
    /// Whether a process holds the run's lock, which its writer does from the journal's first byte
    /// to its last. On a file system without locks nobody writes.
    ///
    /// # Errors
    /// When the lock can't be opened or asked for.
    pub fn is_being_written(&self) -> Result<bool, RecordError> {
        let path = self.path().join(LOCK);
        let file = match File::open(&path) {
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

/// Whether a file system refuses all locks, as some network file systems do: a run can only have been
/// copied there, for its writer would have been refused as well.
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
    fn what_refuses_all_locks_is_told_from_what_fails() {
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
