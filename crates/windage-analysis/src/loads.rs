//! Reads a run directory under each of the run's loads.

use windage_model::Window;
use windage_record::{RecordError, RunDir, RunState};

use crate::Records;
use crate::run::Run;

/// A run with its journal read.
pub(crate) struct Reading<'a> {
    run: &'a RunDir,
    under_loads: Vec<Records>,
    /// The state of the run.
    pub(crate) state: RunState,
}

impl<'a> Reading<'a> {
    /// Reads the journal; calls `show` with each window and the index of its load.
    pub(crate) fn begin(
        run: &'a RunDir,
        host: &serde_json::Value,
        show: impl FnMut(usize, &Window),
    ) -> Result<Reading<'a>, RecordError> {
        // Checked before the journal is read: a run that ends in between would seem to be broken
        // off. Without permission to check, the run is read all the same.
        let is_being_written = run.is_being_written().unwrap_or(false);
        let under_loads = Records::read_along(run, host, show)?;
        let ending = under_loads.first().and_then(|of| of.ending.as_ref());
        Ok(Reading {
            run,
            state: RunState::of(is_being_written, ending),
            under_loads,
        })
    }

    /// Calls `conclude` with the run under each of its loads, with quantiles compared at `further`
    /// in addition to the reported ones.
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
