//! What a service pays that is not watched, while agents watch another.

use windage_model::{ArmId, ArmIndex, Metric, Role};
use windage_stats::two_level;

use crate::MetricAnalysis;
use crate::analyse::Run;
use crate::blocks::Reading;
use crate::compare::{self, Comparison, Ratios, Scale, launches};
use crate::conclude::conclude;

/// What an arm pays that agents do not watch, while they are attached for another.
#[derive(Clone, Debug, PartialEq)]
pub struct Bystander {
    /// The arm whose agents are attached.
    pub bystander_of: ArmId,
    /// The control: the same processes with the agents gone.
    pub control: ArmId,
    /// What is compared: CPU per request, or an iteration for a batch load.
    pub metric: Metric,
    /// The metric against the control's: the price for bystanders, with its verdict.
    pub against_control: MetricAnalysis,
    /// The metric against the watched arm's, whose `baseline` stands for that arm.
    pub against_watched: MetricAnalysis,
}

impl Run<'_> {
    /// Whose agents are attached in an arm's windows without watching it; `None` for an arm that is
    /// no bystander.
    pub(crate) fn watched(&self, arm: ArmIndex) -> Option<ArmId> {
        let arms = &self.records.manifest.arms;
        let watched = arms.get(arms[arm.get()].bystander_of?.get())?;
        Some(watched.id.clone())
    }

    /// What an arm pays for the agents of another; `None` for an arm that is no bystander, and
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

    /// CPU per request (an iteration) of one arm against another's in the same halves of blocks, with what both
    /// deferred.
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
