//! A run in progress: what is known about its treatments and its control so far.
//!
//! The estimates are those of the report, by the same functions, over the journal so far.
//! Histograms are not read, because that takes longer than everything else. In a run of fixed
//! length these estimates are for display only: an interval for a fixed length does not keep its
//! confidence when it is looked at repeatedly (docs/METHODOLOGY.md). In a run with a stop rule each
//! of them holds.

use windage_model::{ArmIndex, Interval, Metric, Role, Until};
use windage_record::{Journal, RecordError, RunDir};
use windage_stats::Confidence;

use crate::compare::Comparison;
use crate::conclude::relative_at;
use crate::family::candidates;
use crate::metrics::of_windows;
use crate::monitor::is_of_another_sequence;
use crate::quantiles::Finished;
use crate::records::{Gathering, Records};
use crate::run::Run;

/// Reads a run in progress. What was read is kept, so an update costs the new entries and one pass
/// over the windows.
pub struct Following {
    run: RunDir,
    journal: Journal,
    gathering: Gathering,
}

/// The estimates so far.
#[derive(Clone, Debug, PartialEq)]
pub struct Running {
    /// The load that the run is under now; `None` where it has only one.
    pub regime: Option<String>,
    /// The metric of the stop rule, or else the primary metric.
    pub metric: Metric,
    /// The half-width that the stop rule asks for, as a share; `None` in a run of fixed length.
    pub asked: Option<f64>,
    /// Every arm but the baseline, in the order of the plan.
    pub estimates: Vec<RunningEstimate>,
}

/// The estimate for one arm so far.
#[derive(Clone, Debug, PartialEq)]
pub struct RunningEstimate {
    /// The arm's name in the plan.
    pub name: String,
    /// Treatment or control.
    pub role: Role,
    /// Its relative difference from the baseline.
    pub known: Known,
}

/// How well a relative difference is known.
#[derive(Clone, Debug, PartialEq)]
pub enum Known {
    /// With its 95 % interval.
    Interval(Interval),
    /// The estimate alone.
    Estimate {
        /// As a share of the baseline.
        relative: f64,
        /// Why it has no interval.
        why: NoInterval,
    },
    /// Unknown: never enough of the arm and the baseline in the same block.
    Nothing,
}

/// Why an estimate has no interval yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NoInterval {
    /// The scatter between launches needs at least two rounds.
    OneRound,
    /// A confidence sequence over so few launches or batches is unbounded.
    TooFew,
}

impl Following {
    /// Follows a run from its beginning; nothing is read yet.
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

    /// Reads what was committed since the last call; returns whether there was anything.
    ///
    /// # Errors
    /// When the journal can't be read or has an unknown record.
    pub fn read_on(&mut self) -> Result<bool, RecordError> {
        let is_more = self.journal.read_on(&self.run)?;
        for entry in self.journal.by_ref() {
            self.gathering.take(entry?);
        }
        Ok(is_more)
    }

    /// The estimates from everything read so far; `None` while there are none for any arm, and
    /// where the primary metric will be a time, which the journal does not have.
    pub fn running(&mut self) -> Option<Running> {
        self.gathering.present()?.so_far(running)
    }
}

fn running(records: &Records) -> Option<Running> {
    let manifest = &records.manifest;
    let run = Run::new(records, Finished::nothing(), Finished::nothing());
    let asked = manifest.design.stop.and_then(|stop| match stop.until {
        Until::Known { metric, half_width } => Some((metric, half_width)),
        Until::Budgets => None,
    });
    let (metric, compared) = match asked {
        Some((metric, _)) => (metric, compared(&run, metric)?),
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
        asked: asked.map(|(_, half_width)| half_width),
        estimates,
    })
}

fn is_baseline(arm: ArmIndex) -> bool {
    arm == ArmIndex::BASELINE
}

/// The primary metric of the report, with the comparison of every arm but the baseline.
fn primary(run: &Run<'_>) -> Option<(Metric, Vec<Comparison>)> {
    candidates(run.records.manifest.load.model)
        .iter()
        // A metric of times would come before those that follow it, so there is no primary metric
        // yet.
        .map_while(|&metric| Some((metric, compared(run, metric)?)))
        .find(|(_, compared)| compared.iter().any(|of| of.location.is_ok()))
}

/// `None` for a metric that is not computed from windows.
fn compared(run: &Run<'_>, metric: Metric) -> Option<Vec<Comparison>> {
    let arms = run.records.manifest.arms.iter();
    arms.map(|arm| arm.index)
        .filter(|arm| !is_baseline(*arm))
        .map(|arm| of_windows(run, metric, arm))
        .collect()
}

fn known(run: &Run<'_>, comparison: Comparison) -> Known {
    let Ok(location) = &comparison.location else {
        return Known::Nothing;
    };
    let no_interval = |estimate: f64, why| Known::Estimate {
        relative: estimate.exp_m1(),
        why,
    };
    if is_of_another_sequence(run, location) {
        return no_interval(location.estimate, NoInterval::OneRound);
    }
    match relative_at(&comparison, Confidence::P95, run.rules) {
        Some(found) => Known::Interval(found),
        None => {
            let of_sequence = location.units.mean();
            no_interval(of_sequence.unwrap_or(location.estimate), NoInterval::TooFew)
        }
    }
}

#[cfg(test)]
#[path = "running_tests.rs"]
mod tests;
