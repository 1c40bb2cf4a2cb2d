//! Errors of a run directory, with remedies.

use std::io;
use std::path::{Path, PathBuf};

use windage_model::ArmIndex;

/// Why a run directory could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// A call on a file failed.
    #[error("cannot {doing} {path}: {cause}; {}", remedy(.cause.kind()))]
    Io {
        /// What was attempted, as a verb.
        doing: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// The system's error.
        cause: io::Error,
    },
    /// The directory for a new run is not empty.
    #[error(
        "{path} is not empty; name another directory, or continue the run in it with `--resume`"
    )]
    NotEmpty {
        /// The directory.
        path: PathBuf,
    },
    /// The directory is not a run.
    #[error(
        "{path} holds no run (it has no manifest.json); name a directory that `windage run` wrote"
    )]
    NotARun {
        /// The directory.
        path: PathBuf,
    },
    /// Something in a run directory that Windage did not write, or a link in place of one.
    #[error("{path} was not written by windage: move it elsewhere, or remove the run by hand")]
    NotOurs {
        /// The file or directory.
        path: PathBuf,
    },
    /// The file has a format that this version does not read.
    #[error(
        "{path} is in format {found}, as windage {windage} wrote it, but this windage reads only \
         {known}; use that version, or measure again"
    )]
    OtherFormat {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: u32,
        /// The formats that this version reads, in words.
        known: &'static str,
        /// The version that wrote the run.
        windage: String,
    },
    /// The file has a format that this version reads, but does not write.
    #[error(
        "{path} is in format {found}, as windage {windage} wrote it: it can be reported, but only \
         that version can resume it"
    )]
    Older {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: u32,
        /// The version that wrote the run.
        windage: String,
    },
    /// A file is damaged.
    #[error("{path} is damaged: {why}; restore it from a copy, or measure again")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The resolved plan is not the one that the run began with.
    #[error(
        "{path} is not the plan that the run began with: {why}; a run can only be resumed with its \
         own plan, so measure the new one in a new run"
    )]
    OtherPlan {
        /// The file.
        path: PathBuf,
        /// How that is known.
        why: &'static str,
    },
    /// Others than root and the invoking user can have written the run.
    #[error(
        "{path} {why}, so root does not execute the plan of this run; resume it as its owner, or, \
         if you trust all of it, take it over first (`chown -R` to yourself, `chmod -R go-w`)"
    )]
    OthersWrite {
        /// The file or directory.
        path: PathBuf,
        /// Who can have.
        why: String,
    },
    /// A record of the journal is intact but unknown to this version.
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
        /// What is unknown about it.
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
        /// Who holds the lock, if known.
        holder: String,
    },
    /// A commit failed: measurements since the previous one are not on disk.
    #[error(
        "cannot save to {path}: {cause}; {safe}; {}, then continue the run with `--resume`",
        remedy(.cause.kind())
    )]
    Commit {
        /// The file.
        path: PathBuf,
        /// What is safe on disk, for people.
        safe: String,
        /// The system's error.
        cause: io::Error,
    },
    /// Too much was pushed between two commits.
    #[error("more than {limit_bytes} bytes wait to be written; commit blocks more often")]
    BufferFull {
        /// The limit.
        limit_bytes: usize,
    },
    /// A record could not be encoded.
    #[error("a record cannot be stored: {why}; shorten the text or list it carries")]
    Unstorable {
        /// The reason.
        why: String,
    },
    /// A window names an arm that is not in the manifest.
    #[error("arm {} is not in the manifest; write every arm of the resolved plan to it", .arm.0)]
    UnknownArm {
        /// The arm.
        arm: ArmIndex,
    },
    /// A figure of the manifest is infinite or NaN, which JSON cannot hold.
    #[error("{key} is not a finite number; give it a finite one in the plan")]
    NotFinite {
        /// The figure's name.
        key: String,
    },
    /// A histogram log is shorter than the journal says.
    #[error(
        "{path} has {found_bytes} bytes but the journal expects {expected_bytes}; the run can \
         be reported but not resumed"
    )]
    HistogramsShort {
        /// The histogram log.
        path: PathBuf,
        /// Its length according to the journal.
        expected_bytes: u64,
        /// Its actual length.
        found_bytes: u64,
    },
    /// A line of a histogram log cannot be read; other lines can.
    #[error("{path}, line {line}: {why}; the window's percentiles are lost, its counters are not")]
    HistogramLine {
        /// The histogram log.
        path: PathBuf,
        /// The line, counted from 1.
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

/// The remedy for a failed call, by the kind of its error.
fn remedy(kind: io::ErrorKind) -> &'static str {
    use io::ErrorKind as K;
    match kind {
        K::StorageFull | K::QuotaExceeded => "free some space on that file system",
        K::FileTooLarge => "raise the limit on file sizes (`ulimit -f`)",
        K::ReadOnlyFilesystem => "name a directory on a writable file system",
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
            (io::ErrorKind::ReadOnlyFilesystem, "writable file system"),
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
