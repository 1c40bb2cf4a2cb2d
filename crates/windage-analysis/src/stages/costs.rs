//! From windows to the cost of stages.
//!
//! A stage is the difference between the totals of two arms, by launch, so stages add up exactly.
//!
//! A single launch has no scatter between launches. There, every arm of a chain has a height: the
//! location of its log ratios to the chain's first arm in isolated windows. A stage is the difference
//! of two heights; its interval comes from log ratios of the two arms in the same halves of blocks.

use std::collections::{BTreeMap, BTreeSet};

use windage_model::{ArmId, ArmIndex, Expected, Interval, LoadModel, Metric, Order};
use windage_stats::totals::{PairedTotals, TotalsError};
use windage_stats::{Confidence, Launches, TwoLevelError, two_level};

use super::chains::{Chain, Twin, chains};
use super::{EndToEnd, Stage, StageCost, Stages};
use crate::blocks::Reading;
use crate::compare::{self, Ratios};
use crate::conclude::{interval, interval_of};
use crate::metrics;
use crate::per_span::{PerRequest, divided, items_per_request};
use crate::run::Run;
use crate::totals;
use crate::{ArmAnalysis, Item, Missing};

/// The costs of all stages of every chain of the plan.
pub(crate) fn stages(run: &Run<'_>, arms: &[ArmAnalysis]) -> Vec<Stages> {
    let chains = chains(&run.records.manifest.arms);
    let stages = chains.iter().map(|chain| stages_of(run, chain, arms));
    stages.collect()
}

fn stages_of(run: &Run<'_>, chain: &Chain, arms: &[ArmAnalysis]) -> Stages {
    let per_request =
        [Item::Span, Item::Event].map(|item| last_arm_sends(run, chain.last(), item, arms));
    let costs = Costs {
        run,
        per_request,
        found: match Found::by_launch(run, chain) {
            Some(found) => found,
            None => Found::InOneLaunch(Heights::of(run, chain)),
        },
    };
    let stage = |(arm, below)| Stage {
        arm: id(run, arm),
        adds_to: id(run, below),
        cost: costs.between(arm, below),
    };
    let [spans, events] = per_request;
    Stages {
        metric: match run.records.manifest.load.model {
            LoadModel::Batch => Metric::CpuPerIteration,
            LoadModel::Open | LoadModel::Closed => Metric::CpuPerRequest,
        },
        from: id(run, chain.from),
        from_us: costs.first_us(chain.from),
        stages: chain.links().map(stage).collect(),
        sum: costs.between(chain.last(), chain.from),
        end_to_end: chain
            .twins
            .iter()
            .map(|twin| whole(run, &costs, chain, *twin))
            .collect(),
        spans_per_request: known(spans),
        events_per_request: known(events),
        rounds: costs.launches(),
    }
}

fn whole(run: &Run<'_>, costs: &Costs<'_>, chain: &Chain, twin: Twin) -> EndToEnd {
    EndToEnd {
        arm: id(run, twin.arm),
        same_as: id(run, twin.same_as),
        cost: costs.between(twin.arm, chain.from),
        gap: costs.between(twin.arm, twin.same_as),
    }
}

/// What the last arm delivered per request, or else what the plan expects.
fn last_arm_sends(run: &Run<'_>, last: ArmIndex, item: Item, arms: &[ArmAnalysis]) -> PerRequest {
    let fidelity = arms.get(last.get()).and_then(|arm| arm.fidelity.as_ref());
    let expected = run.records.manifest.arms[last.get()].expected;
    let expected = expected.and_then(|expected: Expected| match item {
        Item::Span => expected.spans_per_request,
        Item::Event => expected.events_per_request,
        Item::Record => expected.records_per_request,
    });
    match items_per_request(run, last, item, fidelity) {
        PerRequest::None => expected
            .filter(|items| *items > 0.0)
            .map_or(PerRequest::None, |items| PerRequest::Known(items, 0.0)),
        counted => counted,
    }
}

fn id(run: &Run<'_>, arm: ArmIndex) -> ArmId {
    run.records.manifest.arms[arm.get()].id.clone()
}

fn known(items: PerRequest) -> Option<f64> {
    match items {
        PerRequest::Known(items, _) => Some(items),
        PerRequest::Unbounded | PerRequest::None => None,
    }
}

/// What the costs of a chain are computed from.
struct Costs<'a> {
    run: &'a Run<'a>,
    /// Spans and events that the last arm sends per request.
    per_request: [PerRequest; 2],
    found: Found<'a>,
}

/// Figures of a chain's arms.
enum Found<'a> {
    /// CPU per request of every arm that was ever measured, in the launches that have all of them,
    /// in microseconds.
    ByLaunch(BTreeMap<ArmIndex, Vec<f64>>),
    /// In the only such launch.
    InOneLaunch(Heights<'a>),
}

impl Found<'_> {
    /// `None` for fewer than two launches, without the first arm, and for arms that were measured
    /// one after another.
    fn by_launch(run: &Run<'_>, chain: &Chain) -> Option<Self> {
        let is_measured = |arm: &ArmIndex| totals::is_measured(run, *arm);
        let members: Vec<ArmIndex> = chain.members().filter(is_measured).collect();
        if run.rules.order == Order::Sequential || !members.contains(&chain.from) {
            return None;
        }
        let by_arm = members.iter().map(|arm| totals::whole(run, *arm, &members));
        let by_arm: Vec<BTreeMap<u32, f64>> = by_arm.collect();
        let (first, others) = by_arm.split_first()?;
        let launches = first.keys().copied();
        let has_all = |launch: &u32| others.iter().all(|of| of.contains_key(launch));
        let launches: Vec<u32> = launches.filter(has_all).collect();
        let of_arm = |of: &BTreeMap<u32, f64>| launches.iter().map(|launch| of[launch]).collect();
        let found = members.iter().copied().zip(by_arm.iter().map(of_arm));
        (launches.len() > 1).then(|| Found::ByLaunch(found.collect()))
    }
}

impl Costs<'_> {
    /// Launches that were used.
    fn launches(&self) -> usize {
        match &self.found {
            Found::ByLaunch(by_arm) => by_arm.values().map(Vec::len).next().unwrap_or(0),
            Found::InOneLaunch(heights) => heights.launches.len(),
        }
    }

    /// The cost of the first arm, in microseconds.
    fn first_us(&self, first: ArmIndex) -> Option<f64> {
        match &self.found {
            Found::ByLaunch(by_arm) => compare::mean(by_arm.get(&first)?.iter().copied()),
            Found::InOneLaunch(heights) => heights.first_us,
        }
    }

    /// The cost of an arm over an arm below it.
    fn between(&self, arm: ArmIndex, below: ArmIndex) -> Result<StageCost, Missing> {
        let (absolute, relative) = match &self.found {
            Found::ByLaunch(by_arm) => {
                let of = |arm| by_arm.get(&arm).ok_or(Missing::StageNotMeasured);
                apart(of(arm)?, of(below)?, self.run)?
            }
            Found::InOneLaunch(heights) => heights.between(arm, below)?,
        };
        let [spans, events] = self.per_request;
        Ok(StageCost {
            per_span: divided(&absolute, Item::Span, spans).ok(),
            per_event: divided(&absolute, Item::Event, events).ok(),
            relative,
            absolute,
        })
    }
}

/// The difference between two arms, in microseconds and as a share of the lower one.
fn apart(arm: &[f64], below: &[f64], run: &Run<'_>) -> Result<(Interval, Interval), Missing> {
    let pairs = arm.iter().zip(below);
    let pairs = pairs.map(|(&arm, &baseline)| PairedTotals { baseline, arm });
    let pairs: Vec<PairedTotals> = pairs.collect();
    let effect = totals::effect(&pairs).map_err(|why| match why {
        TotalsError::OneLaunch => Missing::OneValue,
        TotalsError::BaselineZero => Missing::BaselineZero,
        TotalsError::NoLaunches | TotalsError::NotFinite { .. } => Missing::StageNeverTogether,
    })?;
    let at_95 = |of| interval_of(of, pairs.len(), Confidence::P95, run.rules);
    let both = at_95(&effect.difference).zip(at_95(&effect.relative));
    both.ok_or(Missing::UnboundedSequence)
}

/// The heights of a chain's arms above its first arm, in isolated windows.
struct Heights<'a> {
    run: &'a Run<'a>,
    /// Launches in which every arm that was ever measured was measured; at most one, unless the
    /// arms were measured one after another.
    launches: BTreeSet<u32>,
    /// Whether deferred cost is known in these launches.
    with_deferred: bool,
    /// The cost of the first arm, in microseconds.
    first_us: Option<f64>,
    /// As log ratios to the first arm.
    heights: BTreeMap<ArmIndex, Result<f64, Missing>>,
}

impl<'a> Heights<'a> {
    fn of(run: &'a Run<'a>, chain: &Chain) -> Heights<'a> {
        let ratios = |arm| compare::ratios(run.blocks.halves_of(arm, chain.from), Reading::CpuUs);
        let ratios: BTreeMap<ArmIndex, Ratios> = chain
            .members()
            .map(|arm| (arm, ratios(arm)))
            .filter(|(_, ratios)| !ratios.is_empty())
            .collect();
        let (launches, with_deferred) = launches_of_all(run, &ratios);
        let in_windows = run.blocks.mean(chain.from, Reading::CpuUs);
        let mut heights = Heights {
            run,
            launches,
            with_deferred,
            first_us: match with_deferred {
                true => metrics::with_deferred(run, chain.from, in_windows),
                false => in_windows,
            },
            heights: BTreeMap::from([(chain.from, Ok(0.0))]),
        };
        for (arm, ratios) in ratios.iter().filter(|(arm, _)| **arm != chain.from) {
            let height = heights.located(&heights.launches_of(ratios, *arm, chain.from));
            let height = height.map(|height| height.estimate);
            heights.heights.insert(*arm, height);
        }
        heights
    }

    /// The difference between two arms, in microseconds and as a share of the lower one.
    fn between(&self, arm: ArmIndex, below: ArmIndex) -> Result<(Interval, Interval), Missing> {
        let (top, bottom) = (self.height(arm)?, self.height(below)?);
        let below_us = self.first_us.ok_or(Missing::StageNotMeasured)? * bottom.exp();
        let paired = self.run.blocks.halves_of(arm, below);
        let ratios = compare::ratios(paired, Reading::CpuUs);
        let located = self.located(&self.launches_of(&ratios, arm, below))?;
        // Log ratios differ from the difference of heights, because a trimmed mean is not additive.
        let moved = top - bottom - located.estimate;
        let relative = located.map(|ratio| (ratio + moved).exp_m1());
        Ok((relative.map(|share| share * below_us), relative))
    }

    fn height(&self, arm: ArmIndex) -> Result<f64, Missing> {
        let height = self.heights.get(&arm).cloned();
        height.unwrap_or(Err(Missing::StageNotMeasured))
    }

    /// The deferred cost of two arms, as a log ratio.
    fn offset(&self, launch: u32, arm: ArmIndex, below: ArmIndex) -> f64 {
        let deferred = |of| deferred_log_share(self.run, launch, of).unwrap_or_default();
        match self.with_deferred {
            true => deferred(arm) - deferred(below),
            false => 0.0,
        }
    }

    /// Log ratios of two arms in those launches.
    fn launches_of(&self, ratios: &Ratios, arm: ArmIndex, below: ArmIndex) -> Launches {
        let mut launches = Launches::default();
        for (launch, ratios) in ratios.iter().filter(|(l, _)| self.launches.contains(l)) {
            launches.push(ratios.clone(), self.offset(*launch, arm, below));
        }
        launches
    }

    /// A log ratio with its interval.
    fn located(&self, launches: &Launches) -> Result<Interval, Missing> {
        let location = two_level(launches).map_err(missing)?;
        interval(&location, Confidence::P95, self.run.rules).ok_or(Missing::UnboundedSequence)
    }
}

/// The launches in which all these arms were measured, and whether their deferred cost is known
/// there. Where it is known in some launches, it is part of the cost, and the others, with
/// in-window cost alone, are left out.
fn launches_of_all(run: &Run<'_>, arms: &BTreeMap<ArmIndex, Ratios>) -> (BTreeSet<u32>, bool) {
    let launches = run.records.launches.iter().map(|launch| launch.launch);
    let measured: BTreeSet<u32> = launches
        .filter(|launch| arms.values().all(|ratios| ratios.contains_key(launch)))
        .filter(|_| !arms.is_empty())
        .collect();
    let is_known = |launch: &u32| {
        let mut arms = arms.keys();
        arms.all(|arm| deferred_log_share(run, *launch, *arm).is_some())
    };
    let known: BTreeSet<u32> = measured.iter().copied().filter(is_known).collect();
    if known.is_empty() {
        (measured, false)
    } else {
        (known, true)
    }
}

fn deferred_log_share(run: &Run<'_>, launch: u32, arm: ArmIndex) -> Option<f64> {
    run.records.ledgers.get(launch, arm)?.deferred_log_share()
}

fn missing(why: TwoLevelError) -> Missing {
    match why {
        TwoLevelError::NoValues => Missing::StageNeverTogether,
        TwoLevelError::OneValue => Missing::OneValue,
    }
}
