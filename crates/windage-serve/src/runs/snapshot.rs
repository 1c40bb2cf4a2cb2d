//! A run as it is at this moment: opened, asked whether somebody writes it, analysed.

use std::fs::{self, DirEntry};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use windage_analysis::{Analysis, concluded};
use windage_record::{RecordError, RunDir, RunState};

use crate::concluded::forgive_going_on;

/// Opens a run.
///
/// # Errors
/// When there is none or it is damaged; also when something in its directory would keep whoever reads
/// it waiting for good, as a pipe does.
pub(crate) fn open(directory: &Path) -> Result<RunDir, RecordError> {
    let folders = [directory.to_owned(), directory.join("profiles")];
    // What can't be listed is for those who read it to complain of.
    let mut entries = folders
        .iter()
        .flat_map(fs::read_dir)
        .flatten()
        .filter_map(Result::ok);
    match entries.find(never_ends) {
        None => RunDir::open(directory),
        Some(odd) => Err(RecordError::Damaged {
            path: odd.path(),
            why: "it is a pipe or a device and no file".to_owned(),
        }),
    }
}

/// Whether a process writes the run in that directory; not, where that can't be found out.
pub(crate) fn is_being_written(directory: &Path) -> bool {
    open(directory).is_ok_and(|run| is_written(&run))
}

/// The same of a run that is open. Asked before its journal is read: a run that ends in between would
/// seem to be broken off.
pub(crate) fn is_written(run: &RunDir) -> bool {
    run.is_being_written().unwrap_or(false)
}

/// How far a run is and what is concluded from it, without what speaks against any run that goes on.
///
/// # Errors
/// When its records can't be read.
pub(crate) fn analysed(run: &RunDir) -> Result<(RunState, Analysis), RecordError> {
    let (state, mut analysis) = concluded(run)?;
    if state == RunState::GoingOn {
        forgive_going_on(&mut analysis);
    }
    Ok((state, analysis))
}

fn never_ends(entry: &DirEntry) -> bool {
    let is_plain = |kind: fs::FileType| kind.is_file() || kind.is_dir();
    // Only links and oddities are looked at more closely.
    let kind = match entry.file_type() {
        Ok(kind) if !is_plain(kind) => fs::metadata(entry.path()).map(|found| found.file_type()),
        kind => kind,
    };
    kind.is_ok_and(|kind| kind.is_fifo() || kind.is_char_device() || kind.is_block_device())
}
