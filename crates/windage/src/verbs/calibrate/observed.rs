//! What was measured: for every arm the truth, and the estimates of the whole run and of the
//! experiments that it is cut into.

use std::collections::BTreeMap;

use thiserror::Error;
use windage_analysis::{ArmResult, CpuEffect, Cuttable};
use windage_model::{ArmIndex, Difference, Metric, Role};
use windage_record::{ManifestArm, RecordError, RunDir};
use windage_stats::Effect;

use super::part::Part;
use super::truth::{self, Truth, TruthError};

/// Launches of an experiment: as many as a verdict needs, and one to spare.
pub(super) const LAUNCHES: usize = windage_stats::totals::FEWEST_LAUNCHES + 1;

/// One run: its arms without the baseline.
#[derive(Clone, Debug)]
pub(super) struct Observed {
    pub(super) arms: Vec<ObservedArm>,
    /// The arms without a cost as if they were one: CPU per request as a share of the baseline.
    pub(super) without_cost: Option<Effect>,
}

/// An arm, its true cost, and the estimates.
#[derive(Clone, Debug)]
pub(super) struct ObservedArm {
    pub(super) name: String,
    pub(super) truth: Truth,
    pub(super) whole: Estimate,
    /// By group of [`LAUNCHES`] launches; none if the run has fewer.
    pub(super) experiments: Vec<Estimate>,
}

/// What a run or an experiment found for an arm.
#[derive(Clone, Debug)]
pub(super) struct Estimate {
    pub(super) found: Found,
    /// With what the interval of CPU per request needs.
    pub(super) cpu: Option<CpuEffect>,
    pub(super) launches: usize,
    /// Time that belongs to this arm and the baseline, in seconds.
    pub(super) seconds: f64,
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
        let others = manifest.arms.iter().filter(|a| a.role != Role::Baseline);
        let truths = others
            .map(|arm| Ok((arm, truth::of_arm(part, run, arm, baseline)?)))
            .collect::<Result<Vec<(&ManifestArm, Truth)>, TruthError>>()?;
        let cuttable = Cuttable::read(run)?;
        let (whole, experiments) = (cuttable.whole(), cuttable.experiments(LAUNCHES));
        let without_cost = truths.iter().filter(|(_, truth)| *truth == Truth::Nothing);
        let without_cost: Vec<ArmIndex> = without_cost.map(|(arm, _)| arm.index).collect();
        let arms = truths.iter().map(|(arm, truth)| {
            let at = arm.index.get();
            let experiments = experiments.iter();
            ObservedArm {
                name: arm.name.clone(),
                truth: *truth,
                whole: estimate(&whole.arms[at], whole.launches),
                experiments: experiments
                    .map(|of| estimate(&of.arms[at], of.launches))
                    .collect(),
            }
        });
        Ok(Observed {
            arms: arms.collect(),
            without_cost: whole.together(&without_cost),
        })
    }
}

fn estimate(of: &ArmResult, launches: usize) -> Estimate {
    let metrics = of.analysis.metrics.iter();
    let found = metrics.filter_map(|(&metric, result)| {
        let difference = result.difference.as_ref().ok()?;
        Some((metric, *difference))
    });
    Estimate {
        found: found.collect(),
        cpu: of.cpu.clone(),
        launches,
        seconds: of.seconds,
    }
}
