//! What was measured: for every arm the truth, and the estimates of the whole run and of short
//! experiments.

use std::collections::BTreeMap;

use thiserror::Error;
use windage_analysis::{Cuttable, Experiment};
use windage_model::{Difference, Metric, Role};
use windage_record::{RecordError, RunDir};

use super::part::Part;
use super::truth::{self, Truth, TruthError};

/// The lengths of time, in seconds, for which precision is reported.
pub(super) const LENGTHS_S: [u32; 4] = [10, 30, 60, 300];

/// The arms of one run, without the baseline.
#[derive(Clone, Debug)]
pub(super) struct Observed {
    pub(super) arms: Vec<ObservedArm>,
}

/// An arm, its true cost, and the estimates.
#[derive(Clone, Debug)]
pub(super) struct ObservedArm {
    pub(super) name: String,
    pub(super) truth: Truth,
    pub(super) whole: Found,
    /// Time of the whole run that belongs to this arm and the baseline, in seconds.
    pub(super) whole_s: f64,
    /// By length in seconds; a length is absent if the run is shorter.
    pub(super) experiments: BTreeMap<u32, Vec<Found>>,
}

/// The differences that were found, by metric.
pub(super) type Found = BTreeMap<Metric, Difference>;

/// Why a run can't be evaluated.
#[derive(Debug, Error)]
pub(crate) enum ObserveError {
    #[error(transparent)]
    Record(#[from] RecordError),
    #[error(transparent)]
    Truth(#[from] TruthError),
    #[error("the run has no baseline; calibrate again")]
    NoBaseline,
}

impl Observed {
    pub(super) fn of(part: Part, run: &RunDir) -> Result<Observed, ObserveError> {
        let manifest = run.manifest();
        let baseline = manifest.arms.iter().find(|arm| arm.role == Role::Baseline);
        let baseline = baseline.ok_or(ObserveError::NoBaseline)?;
        let cuttable = Cuttable::read(run)?;
        let mut arms = Vec::new();
        for arm in manifest.arms.iter().filter(|a| a.role != Role::Baseline) {
            let experiments = LENGTHS_S.map(|length| {
                let experiments = cuttable.experiments(arm.index, f64::from(length));
                (length, experiments.iter().map(found).collect::<Vec<_>>())
            });
            arms.push(ObservedArm {
                name: arm.name.clone(),
                truth: truth::of_arm(part, run, arm, baseline)?,
                whole: cuttable
                    .whole(arm.index)
                    .as_ref()
                    .map(found)
                    .unwrap_or_default(),
                whole_s: cuttable.seconds_of(arm.index),
                experiments: experiments
                    .into_iter()
                    .filter(|(_, experiments)| !experiments.is_empty())
                    .collect(),
            });
        }
        Ok(Observed { arms })
    }
}

fn found(experiment: &Experiment) -> Found {
    let metrics = experiment.arm.metrics.iter();
    metrics
        .filter_map(|(&metric, result)| {
            let mut difference = *result.difference.as_ref().ok()?;
            // Injected waits have a fixed duration, so their cost is judged in µs.
            if let (Metric::CpuPerRequest, Some(us)) = (metric, &experiment.cpu_difference_us) {
                difference.absolute = *us;
            }
            Some((metric, difference))
        })
        .collect()
}
