//! What changed between two revisions that took turns in one run.

use std::collections::BTreeMap;

use windage_model::{ArmIndex, Role};
use windage_stats::TwoLevelError;
use windage_stats::totals::PairedTotals;

use super::{TotalEffect, as_log_ratio, compare, effect, located, whole};
use crate::compare::Comparison;
use crate::run::Run;

/// An arm of the head revision against the same arm of the base. Of the baseline: what the service
/// itself takes more. Of any other arm: how much more it costs, so that a service that became
/// cheaper or more expensive as a whole changes nothing. A change of costs is in points of the baseline.
///
/// The control is the same as the baseline, so at either revision the mean of both stands for it.
///
/// `None` for an arm of the base, and in a run of one revision.
pub(crate) fn change(run: &Run<'_>, arm: ArmIndex) -> Option<Comparison> {
    let arms = &run.records.manifest.arms;
    let at_base = arms[arm.get()].at_base?;
    let at_head = |of: ArmIndex| arms.iter().find(|arm| arm.at_base == Some(of));
    let controls = arms.iter().filter(|arm| arm.role == Role::Control);
    let controls = controls.filter_map(|of| Some([of.index, at_head(of.index)?.index]));
    let off = [ArmIndex::BASELINE, at_head(ArmIndex::BASELINE)?.index];
    let (off_base, off_head): (Vec<ArmIndex>, Vec<ArmIndex>) = std::iter::once(off)
        .chain(controls)
        .map(|[base, head]| (base, head))
        .unzip();
    let all = [&[arm, at_base][..], &off_base, &off_head].concat();
    let found = all.iter().map(|of| (*of, whole(run, *of, &all)));
    let found: BTreeMap<ArmIndex, BTreeMap<u32, f64>> = found.collect();
    let launches = found[&arm].keys().filter(|launch| {
        let mut others = found.values();
        others.all(|of| of.contains_key(launch))
    });
    let launches: Vec<u32> = launches.copied().collect();
    let mean_of = |arms: &[ArmIndex], launch: &u32| {
        let sum: f64 = arms.iter().map(|of| found[of][launch]).sum();
        sum / arms.len() as f64
    };
    let cost = |of: &[ArmIndex], than: &[ArmIndex]| {
        let pairs = launches.iter().map(|launch| PairedTotals {
            arm: mean_of(of, launch),
            baseline: mean_of(than, launch),
        });
        effect(&pairs.collect::<Vec<_>>()).ok()
    };
    let totals = if at_base == ArmIndex::BASELINE {
        cost(&off_head, &off_base)
    } else {
        let costs = cost(&[arm], &off_head).zip(cost(&[at_base], &off_base));
        costs.and_then(|(head, base)| {
            Some(TotalEffect {
                difference: head.difference.less(&base.difference)?,
                relative: head.relative.less(&base.relative)?,
            })
        })
    };
    Some(Comparison {
        location: totals.as_ref().map(as_log_ratio).ok_or(match launches[..] {
            [_] => TwoLevelError::OneValue,
            _ => TwoLevelError::NoValues,
        }),
        absolute: totals.as_ref().map(|of| located(&of.difference)),
        rounds: launches.len(),
        totals,
        ..compare(
            &found[&arm],
            &found[&at_base],
            run.records.turns.usable_of(arm),
        )
    })
}
