//! Cuts a run into several experiments, each of consecutive launches: how good would the answer of
//! each have been?
//!
//! Launches are the sample, so an experiment is made of whole launches. With a known cost in every
//! arm, the experiments show how often an interval covers the truth.

use std::collections::BTreeMap;

use windage_model::{ArmIndex, TurnBlock, Window};
use windage_record::{Entry, Journal, Manifest, RecordError, RunDir, Timing};
use windage_stats::Effect;
use windage_stats::totals::{PairedTotals, relative};

use crate::analyse::analysis;
use crate::records::Streamed;
use crate::run::Run;
use crate::totals::{effect, whole};
use crate::{ArmAnalysis, Records, Timed};

/// A run that can be cut.
#[derive(Debug)]
pub struct Cuttable {
    manifest: Manifest,
    host: serde_json::Value,
    entries: Vec<Entry>,
    response_times: Vec<Timed>,
    service_times: Vec<Timed>,
}

/// What some launches of a run show, as if there had been no others.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// How many launches they are.
    pub launches: usize,
    /// Every arm of the run, the baseline included.
    pub arms: Vec<ArmResult>,
}

/// One experiment's result for an arm.
#[derive(Clone, Debug)]
pub struct ArmResult {
    /// The arm compared with the baseline.
    pub analysis: ArmAnalysis,
    /// Its effect on CPU per request; `None` for the baseline, and with fewer than two launches.
    pub cpu: Option<CpuEffect>,
    /// The time that a run of this arm and the baseline alone would have taken, in seconds.
    pub seconds: f64,
    /// CPU per request of the baseline and of the arm, in microseconds, by launch.
    cpu_us: BTreeMap<u32, PairedTotals>,
}

/// The effect on CPU per request, with what its intervals need.
#[derive(Clone, Debug, PartialEq)]
pub struct CpuEffect {
    /// In microseconds.
    pub difference_us: Effect,
    /// As a share of the baseline.
    pub share: Effect,
}

impl Cuttable {
    /// Reads a run under its first load, with all histograms in memory: for runs of minutes, not
    /// hours.
    ///
    /// # Errors
    /// When it can't be read.
    pub fn read(run: &RunDir) -> Result<Cuttable, RecordError> {
        let mut journal = Journal::open(run)?;
        let entries = journal.by_ref().collect::<Result<Vec<_>, _>>()?;
        let mut cuttable = Cuttable {
            manifest: run.manifest().clone(),
            host: run.host()?,
            entries,
            response_times: Vec::new(),
            service_times: Vec::new(),
        };
        let bytes = journal.histogram_bytes();
        let records = cuttable.records(|_| true);
        let arms = cuttable.manifest.arms.iter();
        let arms = arms.map(|arm| (arm.id.to_string(), arm.index)).collect();
        let times =
            |timing| Ok(Streamed::open(run, timing, bytes, &arms, &records.windows)?.collect());
        cuttable.response_times = times(Timing::ResponseTime)?;
        cuttable.service_times = times(Timing::ServiceTime)?;
        Ok(cuttable)
    }

    /// Experiments of so many consecutive launches each, in the order in which they were measured.
    /// Launches that are too few for another experiment are left out.
    #[must_use]
    pub fn experiments(&self, launches: usize) -> Vec<Experiment> {
        let complete = self.complete_launches();
        let groups = complete.chunks_exact(launches.max(1));
        groups.map(|group| self.experiment(group)).collect()
    }

    /// The result of the whole run.
    #[must_use]
    pub fn whole(&self) -> Experiment {
        self.experiment(&self.complete_launches())
    }

    /// Launches whose end was recorded: without it, what they deferred is unknown.
    fn complete_launches(&self) -> Vec<u32> {
        let ended = |entry: &Entry| match entry {
            Entry::LaunchEnded(end) => Some(end.launch),
            _ => None,
        };
        self.entries.iter().filter_map(ended).collect()
    }

    fn experiment(&self, launches: &[u32]) -> Experiment {
        let records = self.records(|launch| launches.contains(&launch));
        let of = |times: &[Timed]| {
            let times = times.iter().filter(|t| launches.contains(&t.launch));
            times.map(again).collect::<Vec<_>>().into_iter()
        };
        let (response_times, service_times) = (of(&self.response_times), of(&self.service_times));
        let run = Run::gathered(&records, response_times, service_times, &[]);
        let arms = (0u16..).zip(analysis(&run).arms).map(|(index, analysis)| {
            let arm = ArmIndex(index);
            let cpu_us = cpu_us(&run, arm);
            ArmResult {
                analysis,
                cpu: cpu_effect(arm, &cpu_us),
                seconds: self.seconds_of(arm, launches),
                cpu_us,
            }
        });
        Experiment {
            launches: launches.len(),
            arms: arms.collect(),
        }
    }

    /// The records of these launches alone.
    fn records(&self, is_asked: impl Fn(u32) -> bool) -> Records {
        let asked = |entry: &&Entry| entry.launch().is_none_or(&is_asked);
        let entries = self.entries.iter().filter(asked).cloned().map(Ok);
        let gathered =
            Records::gather::<std::convert::Infallible>(&self.manifest, &self.host, entries);
        let Ok(mut by_load) = gathered;
        by_load.swap_remove(0)
    }

    /// The time of this arm and of the baseline: their windows, settle included, and their share of
    /// the blocks of turns.
    fn seconds_of(&self, arm: ArmIndex, launches: &[u32]) -> f64 {
        let settle_ns = self.manifest.design.settle_ns;
        let of_entry = |entry: &Entry| match entry {
            Entry::Window(window) => window_s(window, arm, settle_ns),
            Entry::Turns(block) => turns_s(block, arm),
            _ => 0.0,
        };
        let entries = self.entries.iter();
        let asked = entries.filter(|e| e.launch().is_some_and(|l| launches.contains(&l)));
        asked.map(of_entry).sum()
    }
}

impl Experiment {
    /// The effect of several arms as if they were one, on CPU per request as a share of the
    /// baseline. Arms of a run share its baseline, so their effects are not independent; the mean of
    /// each launch is.
    #[must_use]
    pub fn together(&self, arms: &[ArmIndex]) -> Option<Effect> {
        let mut sums: BTreeMap<u32, (PairedTotals, usize)> = BTreeMap::new();
        for arm in arms {
            for (&launch, pair) in &self.arms.get(arm.get())?.cpu_us {
                let nothing = PairedTotals {
                    baseline: 0.0,
                    arm: 0.0,
                };
                let (sum, count) = sums.entry(launch).or_insert((nothing, 0));
                sum.baseline += pair.baseline;
                sum.arm += pair.arm;
                *count += 1;
            }
        }
        let complete = sums.into_values().filter(|(_, count)| *count == arms.len());
        relative(&complete.map(|(sum, _)| sum).collect::<Vec<_>>()).ok()
    }
}

fn again(timed: &Timed) -> Timed {
    Timed {
        times: timed.times.clone(),
        ..*timed
    }
}

/// CPU per request of the baseline and of an arm by launch, over the same blocks.
fn cpu_us(run: &Run<'_>, arm: ArmIndex) -> BTreeMap<u32, PairedTotals> {
    let both = [ArmIndex::BASELINE, arm];
    let [of_arm, of_baseline] = [arm, ArmIndex::BASELINE].map(|of| whole(run, of, &both));
    let pair = |(launch, arm): (u32, f64)| {
        let baseline = *of_baseline.get(&launch)?;
        Some((launch, PairedTotals { baseline, arm }))
    };
    of_arm.into_iter().filter_map(pair).collect()
}

fn cpu_effect(arm: ArmIndex, cpu_us: &BTreeMap<u32, PairedTotals>) -> Option<CpuEffect> {
    let pairs: Vec<PairedTotals> = cpu_us.values().copied().collect();
    let found = effect(&pairs).ok().filter(|_| arm != ArmIndex::BASELINE)?;
    Some(CpuEffect {
        difference_us: found.difference,
        share: found.relative,
    })
}

fn window_s(window: &Window, arm: ArmIndex, settle_ns: u64) -> f64 {
    match window.place.arm {
        of if of == arm || of == ArmIndex::BASELINE => {
            window.duration_ns.saturating_add(settle_ns) as f64 / 1e9
        }
        _ => 0.0,
    }
}

fn turns_s(block: &TurnBlock, arm: ArmIndex) -> f64 {
    let turns = |of: ArmIndex| block.of(of).map_or(0, |of| of.turns);
    let all: u32 = block.arms.iter().map(|of| of.turns).sum();
    let own = match arm {
        ArmIndex::BASELINE => turns(arm),
        _ => turns(arm) + turns(ArmIndex::BASELINE),
    };
    match all {
        0 => 0.0,
        _ => block.lasted_ns as f64 / 1e9 * f64::from(own) / f64::from(all),
    }
}

#[cfg(test)]
#[path = "calibration_tests.rs"]
mod tests;
