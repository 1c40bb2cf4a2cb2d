//! A run at this moment: opened, checked for a writing process, analysed.

use std::fs::{self, DirEntry};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use windage_analysis::{Analysis, concluded};
use windage_record::{RecordError, RunDir, RunState};

use crate::concluded::forgive_going_on;

/// Opens a run.
///
/// # Errors
/// When there is no run or it is damaged; also when something in its directory would block its
/// readers forever, such as a pipe.
pub(crate) fn open(directory: &Path) -> Result<RunDir, RecordError> {
    let folders = [directory.to_owned(), directory.join("profiles")];
    // If a folder can't be listed, its readers report that.
    let mut entries = folders
        .iter()
        .flat_map(fs::read_dir)
        .flatten()
        .filter_map(Result::ok);
    match entries.find(never_ends) {
        None => RunDir::open(directory),
        Some(odd) => Err(RecordError::Damaged {
            path: odd.path(),
            why: "it is a pipe or a device, not a file".to_owned(),
        }),
    }
}

/// Whether a process writes the run in that directory; `false` if that can't be found out.
pub(crate) fn is_being_written(directory: &Path) -> bool {
    open(directory).is_ok_and(|run| is_written(&run))
}

/// The same for an open run. Check it before reading the journal: otherwise a run that ends in
/// between would look broken off.
pub(crate) fn is_written(run: &RunDir) -> bool {
    run.is_being_written().unwrap_or(false)
}

/// The state of a run and its analysis, without the warnings that every run in progress has.
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
    // Only links and unusual entries need a closer look.
    let kind = match entry.file_type() {
        Ok(kind) if !is_plain(kind) => fs::metadata(entry.path()).map(|found| found.file_type()),
        kind => kind,
    };
    kind.is_ok_and(|kind| kind.is_fifo() || kind.is_char_device() || kind.is_block_device())
}
