//! What changed between two revisions that took turns in one run.

use std::collections::BTreeMap;

use windage_model::ArmIndex;
use windage_stats::TwoLevelError;
use windage_stats::totals::PairedTotals;

use super::{TotalEffect, as_log_ratio, compare, effect, located, whole, whole_cpu};
use crate::compare::Comparison;
use crate::run::Run;

/// An arm of the head revision against the same arm of the base. Of the baseline: what the service
/// itself takes more. Of any other arm: how much more it costs, so that a service that became
/// cheaper or dearer as a whole changes nothing. A change of costs is in points of the baseline.
///
/// `None` for an arm of the base, and in a run of one revision.
pub(crate) fn change(run: &Run<'_>, arm: ArmIndex) -> Option<Comparison> {
    let arms = &run.records.manifest.arms;
    let at_base = arms[arm.get()].at_base?;
    if at_base == ArmIndex::BASELINE {
        return Some(whole_cpu(run, arm));
    }
    let mut of_head = arms.iter();
    let off = of_head.find(|of| of.at_base == Some(ArmIndex::BASELINE))?;
    let all = [arm, off.index, at_base, ArmIndex::BASELINE];
    let [on_head, off_head, on_base, off_base] = all.map(|of| whole(run, of, &all));
    let launches = on_head.keys().filter(|launch| {
        let others = [&off_head, &on_base, &off_base];
        others.iter().all(|of| of.contains_key(launch))
    });
    let launches: Vec<u32> = launches.copied().collect();
    let cost = |on: &BTreeMap<u32, f64>, off: &BTreeMap<u32, f64>| {
        let pairs = launches.iter().map(|launch| PairedTotals {
            arm: on[launch],
            baseline: off[launch],
        });
        effect(&pairs.collect::<Vec<_>>())
    };
    let totals = cost(&on_head, &off_head)
        .ok()
        .zip(cost(&on_base, &off_base).ok());
    let totals = totals.and_then(|(head, base)| {
        Some(TotalEffect {
            difference: head.difference.less(&base.difference)?,
            relative: head.relative.less(&base.relative)?,
        })
    });
    Some(Comparison {
        location: totals.as_ref().map(as_log_ratio).ok_or(match launches[..] {
            [_] => TwoLevelError::OneValue,
            _ => TwoLevelError::NoValues,
        }),
        absolute: totals.as_ref().map(|of| located(&of.difference)),
        rounds: launches.len(),
        totals,
        ..compare(&on_head, &on_base, run.records.turns.usable_of(arm))
    })
}
