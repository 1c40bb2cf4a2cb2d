//! The families of comparisons whose intervals must hold together.
//!
//! Of twenty comparisons without a true difference, one 95 % interval excludes zero. So every
//! treatment's intervals are also given at the Bonferroni-adjusted confidence of their family. The
//! primary metric and all other metrics are separate families, so that further metrics do not make
//! the primary one harder to detect.

use std::collections::BTreeMap;

use windage_model::{LoadModel, Metric, Role};

use crate::compare::Comparison;
use crate::{Family, Seat};

/// The comparisons of one arm.
pub(crate) type Comparisons = BTreeMap<Metric, Comparison>;

/// The families of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Families {
    pub(crate) primary: Metric,
    in_primary: usize,
    in_secondary: usize,
}

impl Families {
    /// Counts the comparisons of every treatment.
    pub(crate) fn of<'a>(
        load: LoadModel,
        arms: impl Iterator<Item = (Role, &'a Comparisons)> + Clone,
    ) -> Families {
        let treatments = arms.clone().filter(|(role, _)| *role == Role::Treatment);
        let primary = primary_metric(load, arms);
        let (mut in_primary, mut in_secondary) = (0, 0);
        for (metric, comparison) in treatments.flat_map(|(_, comparisons)| comparisons) {
            let place = if *metric == primary {
                &mut in_primary
            } else {
                &mut in_secondary
            };
            *place += usize::from(comparison.location.is_ok());
        }
        Families {
            primary,
            in_primary,
            in_secondary,
        }
    }

    /// The family of an arm's metric; the control is checked separately.
    pub(crate) fn seat(&self, role: Role, metric: Metric) -> Option<Seat> {
        let (family, comparisons) = if metric == self.primary {
            (Family::Primary, self.in_primary)
        } else {
            (Family::Secondary, self.in_secondary)
        };
        (role == Role::Treatment && comparisons > 0).then_some(Seat {
            family,
            comparisons,
        })
    }
}

/// The metrics that can answer "what does it cost?", the first choice first.
pub(crate) fn candidates(load: LoadModel) -> &'static [Metric] {
    use Metric::{CpuPerIteration, CpuPerRequest, ResponseTimeP50, Throughput, WallPerIteration};
    match load {
        LoadModel::Batch => &[CpuPerIteration, WallPerIteration],
        // At a fixed rate throughput is given; latency can change.
        LoadModel::Open => &[CpuPerRequest, ResponseTimeP50, Throughput],
        LoadModel::Closed => &[CpuPerRequest, Throughput, ResponseTimeP50],
    }
}

/// The first of them that was compared for an arm.
pub(crate) fn first_compared(load: LoadModel, arm: &Comparisons) -> Option<Metric> {
    let is_compared = |metric: &&Metric| arm.get(metric).is_some_and(|c| c.location.is_ok());
    candidates(load).iter().find(is_compared).copied()
}

/// The first of them that was compared for any arm but the baseline (whose comparison with itself
/// says nothing), or else the first that has a figure.
fn primary_metric<'a>(
    load: LoadModel,
    arms: impl Iterator<Item = (Role, &'a Comparisons)> + Clone,
) -> Metric {
    let any = |metric: Metric, is: fn(Role, &Comparison) -> bool| {
        let mut found = arms
            .clone()
            .filter_map(|(role, arm)| Some((role, arm.get(&metric)?)));
        found.any(|(role, comparison)| is(role, comparison))
    };
    let is_compared = |role, c: &Comparison| role != Role::Baseline && c.location.is_ok();
    let compared = candidates(load).iter().find(|&&m| any(m, is_compared));
    let seen = || {
        candidates(load)
            .iter()
            .find(|&&m| any(m, |_, c| c.arm.is_some()))
    };
    *compared.or_else(seen).unwrap_or(&candidates(load)[0])
}
