//! A run in progress: what is known of its treatments and its control so far.
//!
//! The estimates are those of the report, by the same functions, over what the journal has until now.
//! Histograms are left alone: to read them takes longer than all the rest. In a run of fixed length such
//! estimates are for the eye alone, for an interval made for one length does not keep its confidence
//! when it is looked at again and again (docs/METHODOLOGY.md); in a run with a stop each holds.

use windage_model::{ArmIndex, Interval, Metric, Role};
use windage_record::{Journal, RecordError, RunDir};
use windage_stats::Confidence;

use crate::analyse::Run;
use crate::compare::Comparison;
use crate::conclude::interval;
use crate::family::candidates;
use crate::monitor::is_of_another_sequence;
use crate::quantiles::Finished;
use crate::records::{Gathering, Records};

/// Reads a run while it goes on. What was read is kept, so that a look costs what is new, and one
/// pass over the windows.
pub struct Following {
    run: RunDir,
    journal: Journal,
    gathering: Gathering,
}

/// What is known so far.
#[derive(Clone, Debug, PartialEq)]
pub struct Running {
    /// The load that the run is under at present; `None` where it has only one.
    pub regime: Option<String>,
    /// That of the run's stop, or else the one that the report answers by.
    pub metric: Metric,
    /// The half-width of the interval that the run's stop asks for, as a share; `None` in a run of
    /// fixed length.
    pub asked: Option<f64>,
    /// Every arm but the baseline, in the order of the plan.
    pub estimates: Vec<RunningEstimate>,
}

/// What is known so far of one arm.
#[derive(Clone, Debug, PartialEq)]
pub struct RunningEstimate {
    /// As the plan has it.
    pub name: String,
    /// Treatment or control.
    pub role: Role,
    /// Its relative difference from the baseline.
    pub known: Known,
}

/// How well a relative difference is known.
#[derive(Clone, Debug, PartialEq)]
pub enum Known {
    /// With its interval at 95 %.
    Interval(Interval),
    /// The figure alone.
    Estimate {
        /// As a share of the baseline.
        relative: f64,
        /// Why it has no interval.
        why: NoInterval,
    },
    /// Not at all: never enough of the arm and of the baseline in the same block.
    Nothing,
}

/// Why a figure has no interval yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NoInterval {
    /// The scatter from launch to launch shows in two rounds and more.
    OneRound,
    /// An interval that holds at every look has no end over so few launches or batches.
    TooFew,
}

impl Following {
    /// Follows a run from its beginning; nothing of it is read yet.
    ///
    /// # Errors
    /// When the journal can't be read or is of another format.
    pub fn of(run: RunDir) -> Result<Following, RecordError> {
        Ok(Following {
            journal: Journal::open(&run)?,
            gathering: Gathering::of(run.manifest(), &serde_json::Value::Null),
            run,
        })
    }

    /// Reads what was committed since the last time, and says whether there was anything.
    ///
    /// # Errors
    /// When the journal can't be read or a record is not understood.
    pub fn read_on(&mut self) -> Result<bool, RecordError> {
        let is_more = self.journal.read_on(&self.run)?;
        for entry in self.journal.by_ref() {
            self.gathering.take(entry?);
        }
        Ok(is_more)
    }

    /// What is known from all that was read; `None` while nothing is known of any arm, and where
    /// the report will answer by times, of which the journal has none.
    pub fn running(&mut self) -> Option<Running> {
        self.gathering.present()?.so_far(running)
    }
}

fn running(records: &Records) -> Option<Running> {
    let manifest = &records.manifest;
    let run = Run::new(records, Finished::nothing(), Finished::nothing());
    let stop = manifest.design.stop;
    let (metric, compared) = match stop {
        Some(stop) => (stop.metric, compared(&run, stop.metric)?),
        None => primary(&run)?,
    };
    let others = manifest.arms.iter().filter(|arm| !is_baseline(arm.index));
    let estimates = others.zip(compared).map(|(arm, comparison)| {
        let known = known(&run, comparison);
        RunningEstimate {
            name: arm.name.clone(),
            role: arm.role,
            known,
        }
    });
    let estimates: Vec<RunningEstimate> = estimates.collect();
    let is_any_known = estimates.iter().any(|of| of.known != Known::Nothing);
    is_any_known.then(|| Running {
        regime: manifest.load.regime.clone(),
        metric,
        asked: stop.map(|stop| stop.half_width),
        estimates,
    })
}

fn is_baseline(arm: ArmIndex) -> bool {
    arm == ArmIndex::BASELINE
}

/// The metric that the report would answer by, with every arm's comparison but the baseline's.
fn primary(run: &Run<'_>) -> Option<(Metric, Vec<Comparison>)> {
    candidates(run.records.manifest.load.model)
        .iter()
        // One of times would come before those that follow it: nothing is known in its place.
        .map_while(|&metric| Some((metric, compared(run, metric)?)))
        .find(|(_, compared)| compared.iter().any(|of| of.location.is_ok()))
}

/// `None` for a metric that windows have no figure of.
fn compared(run: &Run<'_>, metric: Metric) -> Option<Vec<Comparison>> {
    let arms = run.records.manifest.arms.iter();
    arms.map(|arm| arm.index)
        .filter(|arm| !is_baseline(*arm))
        .map(|arm| run.of_windows(metric, arm))
        .collect()
}

fn known(run: &Run<'_>, comparison: Comparison) -> Known {
    let Ok(location) = comparison.location else {
        return Known::Nothing;
    };
    let no_interval = |estimate: f64, why| Known::Estimate {
        relative: estimate.exp_m1(),
        why,
    };
    if is_of_another_sequence(run, &location) {
        return no_interval(location.estimate, NoInterval::OneRound);
    }
    match interval(&location, Confidence::P95, run.rules) {
        Some(found) => Known::Interval(found.map(f64::exp_m1)),
        None => {
            let of_sequence = location.units.mean();
            no_interval(of_sequence.unwrap_or(location.estimate), NoInterval::TooFew)
        }
    }
}

#[cfg(test)]
#[path = "running_tests.rs"]
mod tests;
