//! What a service pays while agents watch another service.

use windage_model::{ArmId, ArmIndex, Metric, Role};
use windage_stats::two_level;

use crate::MetricAnalysis;
use crate::blocks::Reading;
use crate::compare::{self, Comparison, Ratios, Scale, launches};
use crate::conclude::conclude;
use crate::metrics::{deferred_offset, with_deferred};
use crate::run::Run;
use crate::totals;

/// What an arm pays while agents are attached for another arm.
#[derive(Clone, Debug, PartialEq)]
pub struct Bystander {
    /// The arm whose agents are attached.
    pub bystander_of: ArmId,
    /// The control: the same processes with the agents detached.
    pub control: ArmId,
    /// The metric compared: CPU per request, or per iteration for a batch load.
    pub metric: Metric,
    /// The metric compared with the control: the cost to bystanders, with its verdict.
    pub against_control: MetricAnalysis,
    /// The metric compared with the watched arm, which takes the place of `baseline`.
    pub against_watched: MetricAnalysis,
}

/// The arm whose agents are attached in this arm's windows without watching it; `None` for an
/// arm that is not a bystander.
pub(crate) fn watched(run: &Run<'_>, arm: ArmIndex) -> Option<ArmId> {
    let arms = &run.records.manifest.arms;
    let watched = arms.get(arms[arm.get()].bystander_of?.get())?;
    Some(watched.id.clone())
}

/// What an arm pays for another arm's agents; `None` for an arm that is not a bystander, and
/// without a control.
pub(crate) fn bystander(run: &Run<'_>, arm: ArmIndex) -> Option<Bystander> {
    let manifest = &run.records.manifest;
    let watched = manifest.arms[arm.get()].bystander_of?;
    let control = manifest.arms.iter().find(|of| of.role == Role::Control)?;
    let watched = manifest.arms.get(watched.get())?;
    Some(Bystander {
        metric: run.cpu_metric(),
        bystander_of: watched.id.clone(),
        control: control.id.clone(),
        against_control: cpu_against(run, arm, control.index),
        against_watched: cpu_against(run, arm, watched.index),
    })
}

/// CPU per request (iteration) of one arm compared with another, with the deferred cost of both: by
/// launch, or for a single launch in the same halves of blocks.
fn cpu_against(run: &Run<'_>, arm: ArmIndex, against: ArmIndex) -> MetricAnalysis {
    let by_launch = totals::isolated_by_launch(run, arm, against);
    let compared = by_launch.unwrap_or_else(|| by_block(run, arm, against));
    conclude(run.cpu_metric(), arm, run.rules, None, compared)
}

fn by_block(run: &Run<'_>, arm: ArmIndex, against: ArmIndex) -> Comparison {
    let ratios = compare::ratios(run.blocks.halves_of(arm, against), Reading::CpuUs);
    let launches = launches(&ratios, deferred_offset(run, arm, against));
    let whole = |of| with_deferred(run, of, run.blocks.mean(of, Reading::CpuUs));
    Comparison {
        baseline: whole(against),
        arm: whole(arm),
        own: None,
        rounds: launches.len(),
        location: two_level(&launches),
        scale: Scale::LogRatio,
        absolute: None,
        counts: None,
        totals: None,
        windows: run.blocks.windows_with(arm, Reading::CpuUs),
        scatter: None,
        ratios: Ratios::new(),
        warnings: Vec::new(),
    }
}
