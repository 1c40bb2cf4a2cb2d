//! CPU per request as totals by launch: all CPU of an arm, deferred work included, divided by its
//! requests. Nothing is trimmed. `docs/METHODOLOGY.md` defines the figure.

mod change;

use std::collections::BTreeMap;

use windage_model::{ArmIndex, LoadModel, Metric, Order};
use windage_stats::totals::{
    Effect, PairedTotals, TotalsError, difference, relative, variance_components,
};
use windage_stats::{TwoLevel, TwoLevelError, UnitKind, Units};

use crate::VarianceComponents;
use crate::blocks::Reading as BlockReading;
use crate::compare::{Comparison, Ratios, Scale, by_window, in_unit, mean, own};
use crate::ledger::Ledger;
use crate::metrics::{deferred_offset, with_deferred};
use crate::run::Run;
use crate::turns::{KeptBlock, Totals};

pub(crate) use change::change;

/// The effect on a total: in its unit, and as a share of the baseline.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TotalEffect {
    pub(crate) difference: Effect,
    pub(crate) relative: Effect,
}

/// CPU per request of one launch, in microseconds, in its two parts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Parts {
    /// What grows with requests.
    pub(crate) of_requests_us: f64,
    /// What the arm uses anyway, at the rate that the plan gives to one arm alone.
    pub(crate) idle_us: f64,
}

impl Parts {
    pub(crate) fn whole_us(self) -> f64 {
        self.of_requests_us + self.idle_us
    }
}

/// How cost was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measured {
    /// Arms took turns.
    Interleaved,
    /// In windows with load on one arm alone.
    Isolated,
}

impl Measured {
    /// The word used in files.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Measured::Interleaved => "interleaved",
            Measured::Isolated => "isolated",
        }
    }
}

/// The CPU metrics of an arm.
pub(crate) fn comparisons(run: &Run<'_>, arm: ArmIndex) -> Vec<(Metric, Comparison)> {
    let is_batch = run.records.manifest.load.model == LoadModel::Batch;
    let mut found = vec![(run.cpu_metric(), whole_cpu(run, arm))];
    if run.records.turns.is_empty() {
        return found;
    }
    if !is_batch {
        let of_requests = in_turns(run, arm, |parts| parts.of_requests_us);
        found.push((Metric::CpuOfRequests, of_requests));
    }
    let alone = match is_batch {
        true => Metric::CpuPerIterationIsolated,
        false => Metric::CpuPerRequestIsolated,
    };
    if run.records.windows.count > 0 {
        found.push((alone, isolated(run, arm)));
    }
    found
}

/// The CPU metric of the load.
pub(crate) fn whole_cpu(run: &Run<'_>, arm: ArmIndex) -> Comparison {
    match run.records.turns.is_empty() {
        true => isolated(run, arm),
        false => in_turns(run, arm, Parts::whole_us),
    }
}

/// A part of CPU per request from turns.
fn in_turns(run: &Run<'_>, arm: ArmIndex, part: fn(Parts) -> f64) -> Comparison {
    let by_launch = |of| -> BTreeMap<u32, f64> {
        let parts = interleaved(run, of, &[arm]).into_iter();
        parts.map(|(launch, of)| (launch, part(of))).collect()
    };
    let (of_arm, of_baseline) = (by_launch(arm), by_launch(ArmIndex::BASELINE));
    let found = compare(&of_arm, &of_baseline, run.records.turns.usable_of(arm));
    let is_compared = |launch| of_arm.contains_key(&launch) && of_baseline.contains_key(&launch);
    with_blocks(run, found, &blocks(run, arm, part, is_compared))
}

/// CPU per request by launch from turns, over the blocks in which all of `with` had turns as well.
pub(crate) fn interleaved(run: &Run<'_>, arm: ArmIndex, with: &[ArmIndex]) -> BTreeMap<u32, Parts> {
    let totals = run.records.turns.totals(arm, with).into_iter();
    let Some(alone) = Alone::of(run, arm) else {
        return BTreeMap::new();
    };
    let parts = totals.filter_map(|(launch, totals)| Some((launch, alone.parts(launch, totals)?)));
    parts.collect()
}

/// What an arm does when it has the load alone, or none.
struct Alone {
    /// By launch: its error is then part of the scatter between launches.
    idle_cores: BTreeMap<u32, f64>,
    rate_per_s: f64,
}

impl Alone {
    /// `None` if its rate is unknown.
    fn of(run: &Run<'_>, arm: ArmIndex) -> Option<Alone> {
        Some(Alone {
            idle_cores: run.records.ledgers.by_launch(arm, Ledger::idle_cores),
            rate_per_s: rate_alone(run, arm)?,
        })
    }

    /// CPU per request over a part of a launch; `None` without a request or a figure of idle CPU.
    fn parts(&self, launch: u32, totals: Totals) -> Option<Parts> {
        let idle_cores = *self.idle_cores.get(&launch)?;
        let of_requests_ns = totals.cpu_ns - idle_cores * totals.time_ns;
        (totals.requests > 0.0).then(|| Parts {
            of_requests_us: of_requests_ns / totals.requests / 1e3,
            idle_us: idle_cores / self.rate_per_s * 1e6,
        })
    }
}

/// By how many microseconds an arm's CPU per request changes with each core of its idle CPU, by launch.
pub(crate) fn us_per_idle_core(
    run: &Run<'_>,
    arm: ArmIndex,
    with: &[ArmIndex],
) -> BTreeMap<u32, f64> {
    if run.records.turns.is_empty() {
        let ledgers = &run.records.ledgers;
        return ledgers.by_launch(arm, |of| Some(of.ns_per_idle_core()? / 1e3));
    }
    let Some(rate_per_s) = rate_alone(run, arm) else {
        return BTreeMap::new();
    };
    let totals = run.records.turns.totals(arm, with).into_iter();
    let us = |of: Totals| 1e6 / rate_per_s - of.time_ns / of.requests / 1e3;
    totals.map(|(launch, of)| (launch, us(of))).collect()
}

/// Requests per second that one arm alone gets: the plan's rate, or what it completed in windows of
/// its own, or, in a run without any, in the time of its turns. `None` if none is known.
fn rate_alone(run: &Run<'_>, arm: ArmIndex) -> Option<f64> {
    let planned = run.records.manifest.load.rate_per_s;
    let in_windows = || {
        let windows = run.records.windows.measured.iter();
        let completed = windows
            .filter(|of| of.arm == arm)
            .map(|of| of.completed as f64);
        let lasted_ns = run.records.windows.arms[arm.get()].duration_ns;
        (lasted_ns > 0.0).then(|| completed.sum::<f64>() * 1e9 / lasted_ns)
    };
    let in_turns = || run.records.turns.rate_per_s(arm);
    let found = planned.or_else(in_windows).filter(|rate| *rate > 0.0);
    found.or_else(in_turns).filter(|rate| *rate > 0.0)
}

/// The cores that an arm would keep busy if it had the load alone, from turns.
pub(crate) fn cores_alone(run: &Run<'_>, arm: ArmIndex) -> Option<f64> {
    let parts = interleaved(run, arm, &[arm]).into_values();
    Some(mean(parts.map(Parts::whole_us))? / 1e6 * rate_alone(run, arm)?)
}

/// CPU per request by launch from isolated windows, in microseconds. Idle CPU is part of a window's
/// CPU, at the rate of the window.
///
/// A launch that was cut short has no deferred cost. Where another launch has that of all of `with`,
/// it is left out; where none does, the figures of all of them are of windows alone.
pub(crate) fn of_windows(run: &Run<'_>, arm: ArmIndex, with: &[ArmIndex]) -> BTreeMap<u32, f64> {
    let ledgers = &run.records.ledgers;
    let has_deferred = |launch: u32| {
        let mut ledgers = with.iter().map(|arm| ledgers.get(launch, *arm));
        ledgers.all(|of| of.is_some_and(|of| of.deferred_per_request_ns().is_some()))
    };
    let mut launches = run.records.launches.iter().map(|of| of.launch);
    let is_deferred_known = launches.any(has_deferred);
    let per_request_us = |ledger: &Ledger| {
        let deferred_ns = match is_deferred_known {
            true => ledger.deferred_per_request_ns()?,
            false => 0.0,
        };
        Some((ledger.in_window_per_request_ns()? + deferred_ns) / 1e3)
    };
    ledgers.by_launch(arm, per_request_us)
}

/// CPU per request by launch as the run's headline has it: from turns, or from isolated windows in a
/// run without turns. Arms of the same `with` are comparable.
pub(crate) fn whole(run: &Run<'_>, arm: ArmIndex, with: &[ArmIndex]) -> BTreeMap<u32, f64> {
    if run.records.turns.is_empty() {
        return of_windows(run, arm, with);
    }
    let parts = interleaved(run, arm, with).into_iter();
    parts.map(|(launch, of)| (launch, of.whole_us())).collect()
}

/// Whether an arm has anything that [`whole`] is of.
pub(crate) fn is_measured(run: &Run<'_>, arm: ArmIndex) -> bool {
    match run.records.turns.is_empty() {
        true => run.usable_windows(arm) > 0,
        false => run.records.turns.usable_of(arm) > 0,
    }
}

/// CPU per request from isolated windows. A single launch has no scatter between launches: then the
/// interval is that of a typical request within the launch, and there is no verdict.
fn isolated(run: &Run<'_>, arm: ArmIndex) -> Comparison {
    let typical = typical_cpu(run, arm);
    match isolated_by_launch(run, arm, ArmIndex::BASELINE) {
        Some(found) => Comparison {
            scatter: typical.scatter,
            ratios: typical.ratios,
            ..found
        },
        None => typical,
    }
}

/// CPU per request of one arm compared with another, from isolated windows; `None` for a single
/// launch and for arms measured one after another.
pub(crate) fn isolated_by_launch(
    run: &Run<'_>,
    arm: ArmIndex,
    against: ArmIndex,
) -> Option<Comparison> {
    if run.rules.order == Order::Sequential {
        return None;
    }
    let [of_arm, of_other] = [arm, against].map(|of| of_windows(run, of, &[arm, against]));
    let found = compare(&of_arm, &of_other, run.usable_windows(arm));
    (found.location != Err(TwoLevelError::OneValue)).then_some(found)
}

/// A part of CPU per request in the blocks of the launches that are compared.
fn blocks(
    run: &Run<'_>,
    arm: ArmIndex,
    part: fn(Parts) -> f64,
    is_compared: impl Fn(u32) -> bool,
) -> Vec<Vec<PairedTotals>> {
    let both = [arm, ArmIndex::BASELINE].map(|of| (of, Alone::of(run, of)));
    let pair = |launch: u32, block: &KeptBlock| {
        let us = |(of, alone): &(ArmIndex, Option<Alone>)| {
            let parts = alone.as_ref()?.parts(launch, block.totals(*of)?)?;
            Some(part(parts))
        };
        let (arm, baseline) = (us(&both[0])?, us(&both[1])?);
        block.counts().then_some(PairedTotals { baseline, arm })
    };
    let launches = run.records.turns.by_launch();
    let launches = launches.filter(|(launch, _)| is_compared(*launch));
    launches
        .map(|(launch, blocks)| blocks.iter().filter_map(|of| pair(launch, of)).collect())
        .collect()
}

/// Adds what blocks of turns show: the scatter within launches, and the only interval that a single
/// launch has.
///
/// In a run that may stop early a single launch has no interval: blocks at first and launches later
/// would be two sequences.
fn with_blocks(run: &Run<'_>, found: Comparison, by_launch: &[Vec<PairedTotals>]) -> Comparison {
    let scatter = variance_components(by_launch).map(|found| VarianceComponents {
        launch_sd: found.launch_sd,
        block_sd: found.block_sd,
        window_sd: found.window_sd,
        advice: None,
    });
    let alone = match (by_launch, found.arm.zip(found.baseline)) {
        ([blocks], Some((arm, baseline))) if !run.rules.sequence => {
            within_launch(blocks, PairedTotals { baseline, arm })
        }
        _ => None,
    };
    Comparison {
        location: match &alone {
            Some(totals) => Ok(of_one_launch(as_log_ratio(totals))),
            None => found.location,
        },
        totals: alone.or(found.totals),
        scatter,
        ..found
    }
}

/// The effect in a single launch: its totals, with the scatter of its blocks.
fn within_launch(blocks: &[PairedTotals], totals: PairedTotals) -> Option<TotalEffect> {
    let found = effect(blocks).ok()?;
    let is_positive = totals.baseline > 0.0 && totals.arm > 0.0;
    Some(TotalEffect {
        difference: found
            .difference
            .within_launch(totals.arm - totals.baseline)?,
        relative: found
            .relative
            .within_launch(totals.arm / totals.baseline - 1.0)?,
    })
    .filter(|_| is_positive)
}

/// A location over the blocks of a launch. Its units are no launches.
fn of_one_launch(blocks: TwoLevel) -> TwoLevel {
    TwoLevel {
        launches: 1,
        units: Units::default(),
        ..blocks
    }
}

/// In-window and deferred cost of a typical request: log ratios within blocks, trimmed, shifted in
/// each launch by the deferred cost of both sides.
pub(crate) fn typical_cpu(run: &Run<'_>, arm: ArmIndex) -> Comparison {
    let offset = deferred_offset(run, arm, ArmIndex::BASELINE);
    let in_window = by_window(&run.blocks, arm, run.rules, BlockReading::CpuUs, &offset);
    // The ratios hold deferred cost, so what they are multiplied by does too.
    let baselines = of_windows(run, ArmIndex::BASELINE, &[arm, ArmIndex::BASELINE]);
    let ratios = in_window.location.as_ref().ok();
    let absolute = in_unit(ratios, in_window.ratios.keys(), &baselines);
    Comparison {
        absolute: in_window.absolute.and(absolute),
        baseline: with_deferred(run, ArmIndex::BASELINE, in_window.baseline),
        arm: with_deferred(run, arm, in_window.arm),
        ..in_window
    }
}

/// Compares totals by launch.
pub(crate) fn compare(
    arm: &BTreeMap<u32, f64>,
    baseline: &BTreeMap<u32, f64>,
    measured: usize,
) -> Comparison {
    let pair = |(&launch, &arm): (&u32, &f64)| {
        let baseline = *baseline.get(&launch)?;
        Some((launch, PairedTotals { baseline, arm }))
    };
    let by_launch: Vec<(u32, PairedTotals)> = arm.iter().filter_map(pair).collect();
    // One ratio a launch: a block of turns alone does not show what it deferred, so the first ones
    // of a launch would look too cheap.
    let ratios = by_launch
        .iter()
        .map(|(launch, pair)| (*launch, vec![(pair.arm / pair.baseline).ln()]));
    let ratios: Ratios = ratios.filter(|(_, of)| of[0].is_finite()).collect();
    let pairs: Vec<PairedTotals> = by_launch.into_iter().map(|(_, pair)| pair).collect();
    let totals = effect(&pairs);
    // Both figures are of the same launches, so that their difference is the effect.
    let (baseline_us, arm_us) = match pairs.is_empty() {
        true => (
            mean(baseline.values().copied()),
            mean(arm.values().copied()),
        ),
        false => (
            mean(pairs.iter().map(|pair| pair.baseline)),
            mean(pairs.iter().map(|pair| pair.arm)),
        ),
    };
    Comparison {
        baseline: baseline_us,
        arm: arm_us,
        own: own(arm),
        location: totals.as_ref().map(as_log_ratio).map_err(|why| match why {
            TotalsError::OneLaunch => TwoLevelError::OneValue,
            _ => TwoLevelError::NoValues,
        }),
        absolute: totals.as_ref().ok().map(|of| located(&of.difference)),
        counts: None,
        totals: totals.ok(),
        scale: Scale::LogRatio,
        windows: measured,
        rounds: pairs.len(),
        scatter: None,
        ratios,
        warnings: Vec::new(),
    }
}

/// The effect over pairs; an arm that saves everything has none.
pub(crate) fn effect(pairs: &[PairedTotals]) -> Result<TotalEffect, TotalsError> {
    let found = TotalEffect {
        difference: difference(pairs)?,
        relative: relative(pairs)?,
    };
    match found.relative.estimate > -1.0 {
        true => Ok(found),
        false => Err(TotalsError::BaselineZero),
    }
}

/// An effect as a location, for fits that combine several.
fn located(effect: &Effect) -> TwoLevel {
    TwoLevel {
        estimate: effect.estimate,
        standard_error: effect.standard_error,
        degrees_of_freedom: effect.degrees_of_freedom,
        within_launch_standard_error: None,
        within_launch_degrees_of_freedom: 1.0,
        launches: effect.launches(),
        blocks: effect.launches(),
        units: Units {
            values: effect.by_launch.clone(),
            kind: UnitKind::Launches,
        },
    }
}

/// The share as a log ratio, to first order around the estimate.
fn as_log_ratio(totals: &TotalEffect) -> TwoLevel {
    let share = located(&totals.relative);
    let whole = 1.0 + share.estimate;
    let log = |value: f64| whole.ln() + (value - share.estimate) / whole;
    TwoLevel {
        estimate: whole.ln(),
        standard_error: share.standard_error / whole,
        units: Units {
            values: share.units.values.iter().map(|value| log(*value)).collect(),
            kind: UnitKind::Launches,
        },
        ..share
    }
}

#[cfg(test)]
mod tests;
