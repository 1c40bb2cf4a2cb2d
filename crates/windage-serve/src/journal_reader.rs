//! Reads a run as it grows; no entry is read twice.

use windage_record::{Ending, Entry, Journal, Manifest, RecordError, RunDir};

/// A summary of a journal's entries.
pub(crate) trait Summed {
    /// The summary before the first entry.
    fn of(manifest: &Manifest) -> Self;

    /// Adds one entry, in the order of the journal.
    fn take(&mut self, entry: &Entry);
}

/// A run and the summary of what was read of it so far; windows are not kept.
pub(crate) struct Growing<S> {
    run: RunDir,
    journal: Journal,
    sum: S,
}

impl<S: Summed> Growing<S> {
    /// Opens the run without reading its journal.
    ///
    /// # Errors
    /// When the journal can't be opened.
    pub(crate) fn of(run: RunDir) -> Result<Growing<S>, RecordError> {
        Ok(Growing {
            journal: Journal::open(&run)?,
            sum: S::of(run.manifest()),
            run,
        })
    }

    /// Reads what was written since the last call. After an error nothing more can be read.
    ///
    /// # Errors
    /// When the journal can't be read.
    pub(crate) fn read_on(&mut self) -> Result<(), RecordError> {
        self.journal.read_on(&self.run)?;
        for entry in self.journal.by_ref() {
            self.sum.take(&entry?);
        }
        Ok(())
    }

    pub(crate) fn run(&self) -> &RunDir {
        &self.run
    }

    pub(crate) fn sum(&self) -> &S {
        &self.sum
    }

    /// How the run ended, as far as its journal was read.
    pub(crate) fn ending(&self) -> Option<&Ending> {
        self.journal.ending()
    }
}
