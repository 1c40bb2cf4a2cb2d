//! What the readings of idle CPU do to an arm's cost.
//!
//! A stretch of half a second meets a timer of one second once or not at all. That error is part of
//! the interval, where nobody sees its cause; and a stretch that met too much makes deferred cost
//! negative.

use std::collections::BTreeMap;

use windage_model::{ArmIndex, Order, Warning};
use windage_stats::{Confidence, Launches, TwoLevel, two_level};

use crate::compare::mean;
use crate::ledger::Ledger;
use crate::run::Run;
use crate::totals;

/// A warning when readings of idle CPU that differ between launches are the cause of most of the error
/// of an arm's difference from the baseline, and of more than the margin.
///
/// With the mean of all readings in place of its own, a launch is free of that error. Where idle CPU
/// itself differs between launches, that adds scatter: turns and idle stretches have it alike.
pub(crate) fn idle_uncertain(run: &Run<'_>, arm: ArmIndex) -> Option<Warning> {
    if arm == ArmIndex::BASELINE || run.rules.order == Order::Sequential {
        return None;
    }
    let (of_arm, of_baseline) = (costs(run, arm, arm), costs(run, ArmIndex::BASELINE, arm));
    let both = |launch: &u32, arm: &Cost| Some((*launch, *arm, *of_baseline.get(launch)?));
    let both = of_arm.iter().filter_map(|(launch, arm)| both(launch, arm));
    let both: Vec<(u32, Cost, Cost)> = both.collect();
    let differences = |cost: fn(&Cost) -> f64| {
        let of = both
            .iter()
            .map(|(launch, arm, off)| (*launch, cost(arm) - cost(off)));
        by_launch(&of.collect())
    };
    let own = differences(|of| of.us)?;
    let own_variance = own.standard_error.powi(2);
    let of_readings = own_variance - differences(|of| of.with_mean_us)?.standard_error.powi(2);
    let (low, high) = own.ends(Confidence::P95);
    let half_width_us = (high - low) / 2.0 * (of_readings.max(0.0) / own_variance).sqrt();
    let cost_us = mean(both.iter().map(|(_, arm, _)| arm.us))?;
    let idle_cores = run.records.ledgers.by_launch(arm, Ledger::idle_cores);
    let is_most = of_readings > own_variance / 2.0;
    (is_most && half_width_us > run.rules.margin * cost_us).then(|| Warning::IdleUncertain {
        idle_s: run.records.ledgers.idle_s(arm),
        idle_cores_low: idle_cores.values().copied().fold(f64::INFINITY, f64::min),
        idle_cores_high: idle_cores.values().copied().fold(0.0, f64::max),
        half_width: half_width_us / cost_us,
    })
}

/// CPU per request of one launch.
#[derive(Clone, Copy)]
struct Cost {
    us: f64,
    /// With the mean of the idle CPU of all launches.
    with_mean_us: f64,
}

/// An arm's costs by launch, over what is comparable with another arm.
fn costs(run: &Run<'_>, arm: ArmIndex, with: ArmIndex) -> BTreeMap<u32, Cost> {
    let idle_cores = run.records.ledgers.by_launch(arm, Ledger::idle_cores);
    let Some(mean_cores) = mean(idle_cores.values().copied()) else {
        return BTreeMap::new();
    };
    let us_per_core = totals::us_per_idle_core(run, arm, &[with]);
    let cost = |(launch, us): (u32, f64)| {
        let more_cores = mean_cores - idle_cores.get(&launch)?;
        let with_mean_us = us + more_cores * us_per_core.get(&launch)?;
        Some((launch, Cost { us, with_mean_us }))
    };
    let whole = totals::whole(run, arm, &[with]).into_iter();
    whole.filter_map(cost).collect()
}

/// A warning when the deferred cost of isolated windows is negative by more than its error and the
/// margin.
pub(crate) fn deferred_negative(run: &Run<'_>, arm: ArmIndex) -> Option<Warning> {
    let share = |of: &Ledger| Some(of.deferred_per_request_ns()? / of.in_window_per_request_ns()?);
    let shares = run.records.ledgers.by_launch(arm, share);
    let (low, high) = by_launch(&shares)?.ends(Confidence::P95);
    (high < -run.rules.margin).then_some(Warning::DeferredNegative {
        relative_low: low,
        relative_high: high,
        confidence: Confidence::P95.get(),
    })
}

/// The mean over launches with its error; `None` in a single launch.
fn by_launch(values: &BTreeMap<u32, f64>) -> Option<TwoLevel> {
    let mut launches = Launches::default();
    values
        .values()
        .for_each(|value| launches.push(vec![*value], 0.0));
    two_level(&launches).ok().filter(|_| values.len() > 1)
}

#[cfg(test)]
mod tests;
