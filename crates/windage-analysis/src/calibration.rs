//! Cuts a run into many short experiments: how good would the answer have been after 10 seconds?
//!
//! A run of a minute is also six runs of ten seconds, each made of consecutive blocks. With a known
//! cost in every arm, the experiments show how often an interval covers the truth.

use std::collections::{BTreeMap, BTreeSet};

use windage_model::{ArmIndex, Interval, Method};
use windage_record::{RecordError, RunDir, Timing};
use windage_stats::{Confidence, Launches, two_level};

use crate::blocks::Reading;
use crate::records::Streamed;
use crate::windows::Measured;
use crate::{ArmAnalysis, Records, Timed, analyse};

/// A run that can be cut.
#[derive(Debug)]
pub struct Cuttable {
    records: Records,
    response_times: Vec<Timed>,
    service_times: Vec<Timed>,
}

/// One experiment's result for an arm.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// The arm compared with the baseline.
    pub arm: ArmAnalysis,
    /// The arm's CPU per request less the baseline's, in microseconds: location and interval of the
    /// differences within blocks, estimated as those of log ratios are; `None` when there are too
    /// few.
    ///
    /// A cost that is fixed in time, such as a wait by the clock, is the same difference in every
    /// block but a smaller ratio where the machine is slow. So the location of the ratios times the
    /// baseline's mean is not that difference.
    pub cpu_difference_us: Option<Interval>,
}

/// A block, identified by its launch and its number.
type Block = (u32, u32);

impl Cuttable {
    /// Reads a run under its first load, with all histograms in memory: for runs of minutes, not
    /// hours.
    ///
    /// # Errors
    /// When it can't be read.
    pub fn read(run: &RunDir) -> Result<Cuttable, RecordError> {
        let records = Records::read(run)?.swap_remove(0);
        let arms = records.manifest.arms.iter();
        let arms = arms.map(|arm| (arm.id.to_string(), arm.index)).collect();
        let (bytes, windows) = (records.histogram_bytes, &records.windows);
        let times = |timing| Ok(Streamed::open(run, timing, bytes, &arms, windows)?.collect());
        let response_times = times(Timing::ResponseTime)?;
        let service_times = times(Timing::ServiceTime)?;
        Ok(Cuttable {
            records,
            response_times,
            service_times,
        })
    }

    /// The results for an arm of experiments of the given length in seconds. Each takes consecutive
    /// blocks until the windows of this arm and of the baseline, settle included, add up to that
    /// length: as long as a run of these two arms alone would take. An incomplete experiment at the
    /// end is dropped.
    ///
    /// The cost deferred beyond windows is that of the whole run, because it is read once per
    /// launch.
    #[must_use]
    pub fn experiments(&self, arm: ArmIndex, seconds: f64) -> Vec<Experiment> {
        let experiments = cut(&self.records, arm, seconds);
        experiments
            .iter()
            .filter_map(|blocks| self.analysed(arm, blocks))
            .collect()
    }

    /// The result of the whole run for an arm.
    #[must_use]
    pub fn whole(&self, arm: ArmIndex) -> Option<Experiment> {
        let windows = self.records.windows.measured.iter();
        let blocks = windows.map(|w| (w.launch, w.block)).collect();
        self.analysed(arm, &blocks)
    }

    /// The total time of the windows of an arm and of the baseline in the whole run, settle
    /// included, in seconds.
    #[must_use]
    pub fn seconds_of(&self, arm: ArmIndex) -> f64 {
        let windows = self.records.windows.measured.iter();
        windows.map(|w| seconds_for(&self.records, arm, w)).sum()
    }

    fn analysed(&self, arm: ArmIndex, blocks: &BTreeSet<Block>) -> Option<Experiment> {
        let is_asked = |of: ArmIndex| of == arm || of == ArmIndex::BASELINE;
        let mut records = self.records.clone();
        let taken = |w: &Measured| is_asked(w.arm) && blocks.contains(&(w.launch, w.block));
        records.windows.measured.retain(taken);
        let within = |times: &'_ [Timed]| {
            let asked = |t: &&Timed| is_asked(t.arm) && blocks.contains(&(t.launch, t.block));
            times.iter().filter(asked).map(again).collect::<Vec<_>>()
        };
        let (response_times, service_times) =
            (within(&self.response_times), within(&self.service_times));
        let analysis = analyse(
            &records,
            response_times.into_iter(),
            service_times.into_iter(),
        );
        Some(Experiment {
            arm: analysis.arms.into_iter().nth(arm.get())?,
            cpu_difference_us: cpu_difference_us(&records, arm),
        })
    }
}

fn again(timed: &Timed) -> Timed {
    Timed {
        times: timed.times.clone(),
        ..*timed
    }
}

fn cpu_difference_us(records: &Records, arm: ArmIndex) -> Option<Interval> {
    let mut differences: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for windows in records.windows.measured.chunk_by(same_block) {
        let mean_us = |of| mean_cpu_us(windows.iter().filter(move |w| w.arm == of));
        if let (Some(arm_us), Some(baseline_us)) = (mean_us(arm), mean_us(ArmIndex::BASELINE)) {
            let of_launch = differences.entry(windows[0].launch).or_default();
            of_launch.push(arm_us - baseline_us);
        }
    }
    let mut launches = Launches::default();
    for of_launch in differences.into_values() {
        launches.push(of_launch, 0.0);
    }
    let location = two_level(&launches).ok()?;
    let (low, high) = location.ends(Confidence::P95);
    Some(Interval {
        estimate: location.estimate,
        low,
        high,
        confidence: Confidence::P95.get(),
        method: Method::MeanWithinLaunch,
    })
}

fn same_block(a: &Measured, b: &Measured) -> bool {
    (a.launch, a.block) == (b.launch, b.block)
}

fn mean_cpu_us<'a>(windows: impl Iterator<Item = &'a Measured>) -> Option<f64> {
    let (mut sum, mut count) = (0.0, 0u32);
    for cpu_us in windows.filter_map(|w| Reading::CpuUs.of(w)) {
        sum += cpu_us;
        count += 1;
    }
    (count > 0).then(|| sum / f64::from(count))
}

/// The blocks of each experiment.
fn cut(records: &Records, arm: ArmIndex, seconds: f64) -> Vec<BTreeSet<Block>> {
    let mut experiments = Vec::new();
    let mut blocks = BTreeSet::new();
    let mut taken_s = 0.0;
    for windows in records.windows.measured.chunk_by(same_block) {
        // Not every block holds this arm; only those that do count.
        if !windows.iter().any(|w| w.arm == arm) {
            continue;
        }
        blocks.insert((windows[0].launch, windows[0].block));
        let spent = windows.iter().map(|w| seconds_for(records, arm, w));
        taken_s += spent.sum::<f64>();
        if taken_s >= seconds {
            experiments.push(std::mem::take(&mut blocks));
            taken_s = 0.0;
        }
    }
    experiments
}

/// The time that a window takes in an experiment with this arm and the baseline alone.
fn seconds_for(records: &Records, arm: ArmIndex, window: &Measured) -> f64 {
    if window.arm != arm && window.arm != ArmIndex::BASELINE {
        return 0.0;
    }
    let settle_ns = records.manifest.design.settle_ns;
    window.duration_ns.saturating_add(settle_ns) as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use windage_model::Metric;

    use super::*;
    use crate::fixture;

    fn run(rounds: u32) -> Cuttable {
        Cuttable {
            records: fixture::records(rounds).gathered(),
            response_times: Vec::new(),
            service_times: Vec::new(),
        }
    }

    #[test]
    fn consecutive_blocks_make_an_experiment() {
        // Ten blocks of four windows of the pair, about 0.11 to 0.14 s each: about 0.5 s per block.
        let run = run(1);
        let whole_s = run.seconds_of(ArmIndex(2));
        let experiments = cut(&run.records, ArmIndex(2), whole_s / 5.0);
        assert!((3..=5).contains(&experiments.len()), "{experiments:?}");
        let blocks: Vec<Block> = experiments.iter().flatten().copied().collect();
        assert!(blocks.is_sorted() && blocks[0] == (0, 0), "{blocks:?}");
        assert!(cut(&run.records, ArmIndex(2), whole_s * 1.01).is_empty());
        assert_eq!(cut(&run.records, ArmIndex(2), whole_s * 0.999).len(), 1);
    }

    #[test]
    fn a_fixed_wait_is_measured_correctly() {
        let mut run = run(1);
        let windows = &mut run.records.windows.measured;
        windows.retain(|w| w.arm == ArmIndex::BASELINE);
        let waiting: Vec<Measured> = windows
            .iter()
            .map(|w| Measured {
                arm: ArmIndex(2),
                // 2 µs per request, regardless of the machine's speed.
                cpu_ns: w.cpu_ns.and_then(|ns| ns.checked_add(w.completed * 2_000)),
                ..*w
            })
            .collect();
        windows.extend(waiting);
        windows.sort_by_key(|w| (w.launch, w.block, w.arm));
        let found = cpu_difference_us(&run.records, ArmIndex(2)).unwrap();
        assert!((found.estimate - 2.0).abs() < 1e-9, "{found:?}");
        assert_eq!(cpu_difference_us(&run.records, ArmIndex(1)), None);
    }

    #[test]
    fn an_experiment_agrees_with_the_whole_run() {
        let run = run(1);
        let found = run.experiments(ArmIndex(2), 2.0);
        assert!(found.len() >= 2, "{}", found.len());
        for experiment in found.iter().chain(&run.whole(ArmIndex(2))) {
            assert_eq!(experiment.arm.id.as_str(), "otel");
            let difference_us = experiment.cpu_difference_us.as_ref().unwrap();
            // A fifth of 50 µs, at a speed that varies by 40 %.
            assert!((5.0..15.0).contains(&difference_us.estimate));
            let cpu = &experiment.arm.metrics[&Metric::CpuPerRequest];
            let relative = cpu.difference.as_ref().unwrap().relative.unwrap();
            // A fifth in the windows, plus the deferred cost.
            assert!((relative.estimate - 0.2).abs() < 0.1, "{relative:?}");
            assert!(relative.half_width() < 0.02, "{relative:?}");
        }
    }
}
