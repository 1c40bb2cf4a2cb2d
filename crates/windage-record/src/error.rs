//! What can go wrong with a run directory, and what to do about it.

use std::io;
use std::path::{Path, PathBuf};

use windage_model::ArmIndex;

/// A run directory could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// A call on a file failed.
    #[error("cannot {doing} {path}: {cause}; {}", remedy(.cause.kind()))]
    Io {
        /// The call, as a verb.
        doing: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// What the system said.
        cause: io::Error,
    },
    /// The directory for a new run holds something.
    #[error(
        "{path} is not empty; name another directory, or go on with the run in it by `--resume`"
    )]
    NotEmpty {
        /// The directory.
        path: PathBuf,
    },
    /// The directory holds no run.
    #[error(
        "{path} holds no run (it has no manifest.json); name a directory that `windage run` wrote"
    )]
    NotARun {
        /// The directory.
        path: PathBuf,
    },
    /// Another Windage wrote the file in a format that this one does not read.
    #[error(
        "{path} is in format {found}, as windage {windage} wrote it, and this windage reads format \
         {known} alone; use that version, or measure again"
    )]
    OtherFormat {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: u32,
        /// The format that can be read.
        known: u32,
        /// The version that wrote the run.
        windage: String,
    },
    /// A file is not what it should be.
    #[error("{path} is damaged: {why}; restore it from a copy, or measure again")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// A record of the journal is whole but says something that this version does not know.
    #[error(
        "{path}: the record of kind {kind} at byte {offset} cannot be read ({why}); the run was \
         written by windage {windage}: use that version"
    )]
    Undecodable {
        /// The journal.
        path: PathBuf,
        /// Where the record starts.
        offset: u64,
        /// Its kind.
        kind: u8,
        /// What is not understood.
        why: String,
        /// The version that wrote the run.
        windage: String,
    },
    /// Another run is writing to the directory.
    #[error(
        "{path} is being written by {holder}; wait until it has ended, or name another directory"
    )]
    Locked {
        /// The directory.
        path: PathBuf,
        /// Who holds the lock, as far as is known.
        holder: String,
    },
    /// A commit failed: what was measured since the one before is not on disk.
    #[error(
        "cannot save to {path}: {cause}; {safe}; {}, then go on with the run by `--resume`",
        remedy(.cause.kind())
    )]
    Commit {
        /// The file.
        path: PathBuf,
        /// What is safe on disk, in words.
        safe: String,
        /// What the system said.
        cause: io::Error,
    },
    /// More was pushed between two commits than may wait in memory.
    #[error("more than {limit_bytes} bytes wait to be written; commit blocks more often")]
    BufferFull {
        /// The bound.
        limit_bytes: usize,
    },
    /// A record could not be put into its stored form.
    #[error("a record cannot be stored: {why}; shorten the text or list it carries")]
    Unstorable {
        /// Why not.
        why: String,
    },
    /// A window names an arm that is not in the manifest.
    #[error("arm {} is not in the manifest; write every arm of the resolved plan to it", .arm.0)]
    UnknownArm {
        /// The arm.
        arm: ArmIndex,
    },
    /// A figure of the manifest is infinite or not a number, which JSON cannot hold.
    #[error("{key} is not a finite number; give it a finite one in the plan")]
    NotFinite {
        /// The figure.
        key: String,
    },
    /// A histogram log ends before what the journal says was written to it.
    #[error(
        "{path} has {found_bytes} bytes where the journal knows of {expected_bytes}; the run can \
         be reported but not resumed"
    )]
    HistogramsShort {
        /// The histogram log.
        path: PathBuf,
        /// What the journal says.
        expected_bytes: u64,
        /// What there is.
        found_bytes: u64,
    },
    /// A line of a histogram log cannot be read; the others can.
    #[error("{path}, line {line}: {why}; the window's percentiles are lost, its counters are not")]
    HistogramLine {
        /// The histogram log.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// What is wrong with it.
        why: String,
    },
}

impl RecordError {
    pub(crate) fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> RecordError {
        move |cause| RecordError::Io {
            doing,
            path: path.to_owned(),
            cause,
        }
    }
}

/// What to do about a failed call, by the kind of its error.
fn remedy(kind: io::ErrorKind) -> &'static str {
    use io::ErrorKind as K;
    match kind {
        K::StorageFull | K::QuotaExceeded => "free some space on that file system",
        K::FileTooLarge => "raise the limit on file sizes (`ulimit -f`)",
        K::ReadOnlyFilesystem => "name a directory on a file system that can be written",
        K::PermissionDenied => {
            "name a directory that you may write to, or change the permissions of this one"
        }
        K::NotADirectory | K::AlreadyExists => "name another directory",
        K::NotFound => "check the path",
        _ => "check the disk and the path",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_failed_call_names_path_cause_and_remedy() {
        let table = [
            (io::ErrorKind::StorageFull, "free some space"),
            (io::ErrorKind::QuotaExceeded, "free some space"),
            (io::ErrorKind::FileTooLarge, "ulimit -f"),
            (io::ErrorKind::ReadOnlyFilesystem, "can be written"),
            (io::ErrorKind::PermissionDenied, "you may write to"),
            (io::ErrorKind::NotFound, "check the path"),
            (io::ErrorKind::Other, "check the disk"),
        ];
        for (kind, advice) in table {
            let error = RecordError::io("create", Path::new("/runs/7"))(kind.into());
            let text = error.to_string();
            assert!(text.starts_with("cannot create /runs/7: "), "{text}");
            assert!(text.contains(&kind.to_string()), "{text}");
            assert!(text.contains(advice), "{kind:?}: {text}");
        }
    }
}
