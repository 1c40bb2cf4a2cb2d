//! What a service pays while agents watch another service.

use windage_model::{ArmId, ArmIndex, Metric, Role};
use windage_stats::two_level;

use crate::MetricAnalysis;
use crate::analyse::Run;
use crate::blocks::Reading;
use crate::compare::{self, Comparison, Ratios, Scale, launches};
use crate::conclude::conclude;

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

impl Run<'_> {
    /// The arm whose agents are attached in this arm's windows without watching it; `None` for an
    /// arm that is not a bystander.
    pub(crate) fn watched(&self, arm: ArmIndex) -> Option<ArmId> {
        let arms = &self.records.manifest.arms;
        let watched = arms.get(arms[arm.get()].bystander_of?.get())?;
        Some(watched.id.clone())
    }

    /// What an arm pays for another arm's agents; `None` for an arm that is not a bystander, and
    /// without a control.
    pub(crate) fn bystander(&self, arm: ArmIndex) -> Option<Bystander> {
        let manifest = &self.records.manifest;
        let watched = manifest.arms[arm.get()].bystander_of?;
        let control = manifest.arms.iter().find(|of| of.role == Role::Control)?;
        let watched = manifest.arms.get(watched.get())?;
        Some(Bystander {
            metric: self.cpu_metric(),
            bystander_of: watched.id.clone(),
            control: control.id.clone(),
            against_control: self.cpu_against(arm, control.index),
            against_watched: self.cpu_against(arm, watched.index),
        })
    }

    /// CPU per request (iteration) of one arm compared with another in the same halves of blocks,
    /// with the deferred cost of both.
    fn cpu_against(&self, arm: ArmIndex, against: ArmIndex) -> MetricAnalysis {
        let ratios = compare::ratios(self.blocks.halves_of(arm, against), Reading::CpuUs);
        let launches = launches(&ratios, self.deferred_offset(arm, against));
        let whole = |of| self.with_deferred(of, self.blocks.mean(of, Reading::CpuUs));
        let compared = Comparison {
            baseline: whole(against),
            arm: whole(arm),
            rounds: launches.len(),
            location: two_level(&launches),
            scale: Scale::LogRatio,
            windows: self.blocks.windows_with(arm, Reading::CpuUs),
            scatter: None,
            ratios: Ratios::new(),
            warnings: Vec::new(),
        };
        conclude(self.cpu_metric(), arm, self.rules, None, compared)
    }
}
