//! A run directory, read under each of the run's loads.

use windage_model::Window;
use windage_record::{RecordError, RunDir, RunState};

use crate::Records;
use crate::analyse::Run;

/// A run whose journal was read.
pub(crate) struct Reading<'a> {
    run: &'a RunDir,
    under_loads: Vec<Records>,
    /// How far the run is.
    pub(crate) state: RunState,
}

impl<'a> Reading<'a> {
    /// Reads the journal, and shows each window with the number of its load.
    pub(crate) fn begin(
        run: &'a RunDir,
        host: &serde_json::Value,
        show: impl FnMut(usize, &Window),
    ) -> Result<Reading<'a>, RecordError> {
        // Asked before the journal is read: a run that ends in between would seem to be broken off.
        // Whoever may not ask reads all the same.
        let is_being_written = run.is_being_written().unwrap_or(false);
        let under_loads = Records::read_along(run, host, show)?;
        let ending = under_loads.first().and_then(|of| of.ending.as_ref());
        Ok(Reading {
            run,
            state: RunState::of(is_being_written, ending),
            under_loads,
        })
    }

    /// Shows the run under each of its loads, compared at `further` quantiles beyond those that are
    /// reported.
    pub(crate) fn each_load(
        &self,
        further: &[f64],
        mut conclude: impl FnMut(&Run<'_>),
    ) -> Result<(), RecordError> {
        for records in &self.under_loads {
            conclude(&Run::read(self.run, records, further)?);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
