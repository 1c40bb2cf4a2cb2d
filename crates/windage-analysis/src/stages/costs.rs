//! From windows to the cost of stages.
//!
//! Every arm of a chain has a height: the location of its log ratios to the chain's first arm. A
//! stage is the difference of two heights, so stages add up exactly. Its interval comes from that
//! difference in each launch; with a single launch, from log ratios of the two arms in the same
//! halves of blocks.

use std::collections::{BTreeMap, BTreeSet};

use windage_model::{ArmId, ArmIndex, Interval, LoadModel, Metric};
use windage_record::Expected;
use windage_stats::{Confidence, Launches, TwoLevelError, location, two_level};

use super::chains::{Chain, Twin, chains};
use super::{EndToEnd, Stage, StageCost, Stages};
use crate::blocks::Reading;
use crate::compare::{self, Ratios};
use crate::conclude::interval;
use crate::metrics;
use crate::per_span::{PerRequest, divided, items_per_request};
use crate::run::Run;
use crate::{ArmAnalysis, Item, Missing};

/// The costs of all stages of every chain of the plan.
pub(crate) fn stages(run: &Run<'_>, arms: &[ArmAnalysis]) -> Vec<Stages> {
    let chains = chains(&run.records.manifest.arms);
    let stages = chains.iter().map(|chain| stages_of(run, chain, arms));
    stages.collect()
}

fn stages_of(run: &Run<'_>, chain: &Chain, arms: &[ArmAnalysis]) -> Stages {
    let per_request = Item::ALL.map(|item| last_arm_sends(run, chain.last(), item, arms));
    let heights = Heights::of(run, chain, per_request);
    let stage = |(arm, below)| Stage {
        arm: id(run, arm),
        adds_to: id(run, below),
        cost: heights.between(arm, below),
    };
    let [spans, events] = per_request;
    Stages {
        metric: match run.records.manifest.load.model {
            LoadModel::Batch => Metric::CpuPerIteration,
            LoadModel::Open | LoadModel::Closed => Metric::CpuPerRequest,
        },
        from: id(run, chain.from),
        from_us: heights.first_us,
        stages: chain.links().map(stage).collect(),
        sum: heights.between(chain.last(), chain.from),
        end_to_end: chain
            .twins
            .iter()
            .map(|twin| whole(run, &heights, chain, *twin))
            .collect(),
        spans_per_request: known(spans),
        events_per_request: known(events),
        rounds: heights.launches.len(),
    }
}

fn whole(run: &Run<'_>, heights: &Heights<'_>, chain: &Chain, twin: Twin) -> EndToEnd {
    EndToEnd {
        arm: id(run, twin.arm),
        same_as: id(run, twin.same_as),
        cost: heights.between(twin.arm, chain.from),
        gap: heights.between(twin.arm, twin.same_as),
    }
}

/// What the last arm delivered per request, or else what the plan expects.
fn last_arm_sends(run: &Run<'_>, last: ArmIndex, item: Item, arms: &[ArmAnalysis]) -> PerRequest {
    let fidelity = arms.get(last.get()).and_then(|arm| arm.fidelity.as_ref());
    let expected = run.records.manifest.arms[last.get()].expected;
    let expected = expected.and_then(|expected: Expected| match item {
        Item::Span => expected.spans_per_request,
        Item::Event => expected.events_per_request,
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

/// The heights of a chain's arms above its first arm.
struct Heights<'a> {
    run: &'a Run<'a>,
    /// Launches in which every arm that was ever measured was measured.
    launches: BTreeSet<u32>,
    /// Whether deferred cost is known in these launches.
    with_deferred: bool,
    /// The cost of the first arm, in microseconds.
    first_us: Option<f64>,
    /// As log ratios to the first arm.
    heights: BTreeMap<ArmIndex, Result<f64, Missing>>,
    /// The same in each of those launches.
    by_launch: BTreeMap<ArmIndex, Vec<f64>>,
    /// Spans and events that the last arm sends per request.
    per_request: [PerRequest; 2],
}

impl<'a> Heights<'a> {
    fn of(run: &'a Run<'a>, chain: &Chain, per_request: [PerRequest; 2]) -> Heights<'a> {
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
            by_launch: BTreeMap::new(),
            per_request,
        };
        let zero = vec![0.0; heights.launches.len()];
        heights.by_launch.insert(chain.from, zero);
        for (arm, ratios) in ratios.iter().filter(|(arm, _)| **arm != chain.from) {
            let height = heights.located(&heights.launches_of(ratios, *arm, chain.from));
            let height = height.map(|height| height.estimate);
            heights.heights.insert(*arm, height);
            let in_each = heights.in_each_launch(ratios, *arm, chain.from);
            heights.by_launch.insert(*arm, in_each);
        }
        heights
    }

    /// The cost of an arm over an arm below it.
    fn between(&self, arm: ArmIndex, below: ArmIndex) -> Result<StageCost, Missing> {
        let (top, bottom) = (self.height(arm)?, self.height(below)?);
        let below_us = self.first_us.ok_or(Missing::StageNotMeasured)? * bottom.exp();
        let located = self.located(&self.apart(arm, below))?;
        // Log ratios of a single launch differ from it, because a trimmed mean is not additive.
        let moved = top - bottom - located.estimate;
        let relative = located.map(|ratio| (ratio + moved).exp_m1());
        let absolute = relative.map(|share| share * below_us);
        let [spans, events] = self.per_request;
        Ok(StageCost {
            per_span: divided(&absolute, Item::Span, spans).ok(),
            per_event: divided(&absolute, Item::Event, events).ok(),
            relative,
            absolute,
        })
    }

    fn height(&self, arm: ArmIndex) -> Result<f64, Missing> {
        let height = self.heights.get(&arm).cloned();
        height.unwrap_or(Err(Missing::StageNotMeasured))
    }

    /// The difference between two arms, by launch. Arms of a long chain share few blocks, but each
    /// shares all of its own with the first arm: with several launches all their windows are used.
    fn apart(&self, arm: ArmIndex, below: ArmIndex) -> Launches {
        let heights = self.by_launch.get(&arm).zip(self.by_launch.get(&below));
        let mut launches = Launches::default();
        match heights {
            Some((tops, bottoms)) if self.launches.len() > 1 => {
                for (top, bottom) in tops.iter().zip(bottoms) {
                    launches.push(vec![top - bottom], 0.0);
                }
                launches
            }
            _ => {
                let paired = self.run.blocks.halves_of(arm, below);
                self.launches_of(&compare::ratios(paired, Reading::CpuUs), arm, below)
            }
        }
    }

    /// The location of an arm's log ratios to the first arm in each of those launches; NaN where
    /// there is none.
    fn in_each_launch(&self, ratios: &Ratios, arm: ArmIndex, first: ArmIndex) -> Vec<f64> {
        let located = |launch: &u32| {
            let found = location(ratios.get(launch)?)?;
            Some(found.estimate + self.offset(*launch, arm, first))
        };
        let launches = self.launches.iter();
        launches.map(|l| located(l).unwrap_or(f64::NAN)).collect()
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
