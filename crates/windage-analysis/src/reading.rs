//! A run directory, read under each of the run's loads.

use std::thread;

use windage_model::Window;
use windage_record::{Committed, Kept, RecordError, RunDir, RunState};

use crate::Records;
use crate::analyse::Run;
use crate::each_arm::joined;
use crate::quantiles::{FURTHER, Finished, RESPONSE_TIME, SERVICE_TIME};

/// What the run directory is left with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leave {
    /// What it had.
    AsItWas,
    /// What was gathered of histograms as well, of so many windows or more, if no more will come.
    GatheredFrom(usize),
}

/// A run whose journal was read.
pub(crate) struct Reading<'a> {
    run: &'a RunDir,
    under_loads: Vec<Records>,
    is_being_written: bool,
    /// Under each load response and service times as they were kept; none where they have to
    /// be gathered.
    kept: Vec<[Finished; 2]>,
    keeps: bool,
}

impl<'a> Reading<'a> {
    /// Reads the journal, and meanwhile what is kept of the histograms.
    pub(crate) fn begin(
        run: &'a RunDir,
        host: &serde_json::Value,
        leave: Leave,
        show: impl FnMut(usize, &Window),
    ) -> Result<Reading<'a>, RecordError> {
        // Asked before the journal is read: a run that ends in between would seem to be broken off.
        let is_being_written = run.is_being_written();
        let from_windows = match leave {
            Leave::GatheredFrom(windows) if matches!(is_being_written, Ok(false)) => windows,
            _ => usize::MAX,
        };
        let (under_loads, kept) = thread::scope(|scope| {
            let kept = scope.spawn(|| found(run));
            (Records::read_along(run, host, show), joined(kept))
        });
        let under_loads = under_loads?;
        let committed = under_loads.first().map(|records| records.committed);
        let kept = kept.filter(|(of, _)| Some(*of) == committed);
        let kept = kept.map_or_else(Vec::new, |(_, kept)| kept);
        let windows: usize = under_loads.iter().map(|of| of.windows.count).sum();
        Ok(Reading {
            run,
            under_loads,
            // Whoever may not ask reads all the same.
            is_being_written: is_being_written.unwrap_or(false),
            keeps: kept.is_empty() && windows >= from_windows,
            kept,
        })
    }

    /// How far the run is.
    pub(crate) fn state(&self) -> RunState {
        let records = self.under_loads.first();
        let ending = records.and_then(|records| records.ending.as_ref());
        RunState::of(self.is_being_written, ending)
    }

    /// Shows the run under each of its loads, compared at `further` quantiles at least.
    pub(crate) fn each_load(
        self,
        further: &[f64],
        mut conclude: impl FnMut(&Run<'_>),
    ) -> Result<(), RecordError> {
        let further = if self.keeps { &FURTHER } else { further };
        let (directory, under_loads) = (self.run, &self.under_loads);
        let mut kept = self.kept.into_iter();
        let mut to_keep = Vec::new();
        thread::scope(|scope| {
            for records in under_loads {
                let run = match kept.next() {
                    Some([response_times, service_times]) => {
                        Run::new(records, response_times, service_times)
                    }
                    None => Run::read(directory, records, further)?,
                };
                if self.keeps {
                    to_keep.push([&run.response_times, &run.service_times].map(Finished::to_kept));
                }
                if self.keeps && to_keep.len() == under_loads.len() {
                    let committed = records.committed;
                    let loads = std::mem::take(&mut to_keep);
                    // A directory that can't be written to is read as well, only not as fast.
                    scope.spawn(move || directory.keep(Kept { committed, loads }));
                }
                conclude(&run);
            }
            Ok(())
        })
    }
}

/// What is kept, and of what.
fn found(run: &RunDir) -> Option<(Committed, Vec<[Finished; 2]>)> {
    let Kept { committed, loads } = run.kept()?;
    let arms = run.manifest().arms.len();
    let of_load = |[response_times, service_times]: [_; 2]| {
        Some([
            Finished::of_kept(response_times, arms, RESPONSE_TIME, &FURTHER)?,
            Finished::of_kept(service_times, arms, SERVICE_TIME, &FURTHER)?,
        ])
    };
    let loads = loads.into_iter().map(of_load);
    Some((committed, loads.collect::<Option<_>>()?))
}

#[cfg(test)]
mod tests;
