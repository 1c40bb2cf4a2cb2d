//! A run that is read as it grows: what was read once is not read again.

use windage_record::{Ending, Entry, Journal, Manifest, RecordError, RunDir};

/// What entries of a journal are summed up to.
pub(crate) trait Summed {
    /// Of a run of which nothing was read yet.
    fn of(manifest: &Manifest) -> Self;

    /// Takes one entry more, in the order of the journal.
    fn take(&mut self, entry: &Entry);
}

/// A run, and what was read of it so far, summed up; no window is kept.
pub(crate) struct Growing<S> {
    run: RunDir,
    journal: Journal,
    sum: S,
}

impl<S: Summed> Growing<S> {
    /// Nothing is read of its journal yet.
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

    /// Reads what was written since the last time. After an error there is nothing more to be read.
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
