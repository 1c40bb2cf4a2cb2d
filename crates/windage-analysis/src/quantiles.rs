//! Quantiles of response and service time, from histograms streamed block by block.
//!
//! A quantile needs enough answers on either side of it: blocks are merged until each arm has ten
//! on the nearer side, so that a tail percentile is compared in longer stretches than a median.

use std::collections::BTreeMap;

use windage_model::{ArmIndex, Metric, Order};
use windage_record::Times;
use windage_stats::{Launches, two_level};

use crate::compare::{Comparison, Scale};
use crate::gathered::Gathered;

/// Answers that must lie beyond a quantile in each stretch, on its nearer side.
const BEYOND: f64 = 10.0;

/// One window's times with its place.
#[derive(Clone, Debug)]
pub struct Timed {
    /// The launch it was measured in.
    pub launch: u32,
    /// The block it was measured in.
    pub block: u32,
    /// Its arm.
    pub arm: ArmIndex,
    /// How often each time was seen.
    pub times: Times,
}

/// The quantiles that are reported of a kind of time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Quantiles {
    pub(crate) metrics: [(Metric, f64); 5],
}

pub(crate) const RESPONSE_TIME: Quantiles = Quantiles {
    metrics: [
        (Metric::ResponseTimeP10, 0.1),
        (Metric::ResponseTimeP50, 0.5),
        (Metric::ResponseTimeP90, 0.9),
        (Metric::ResponseTimeP99, 0.99),
        (Metric::ResponseTimeP999, 0.999),
    ],
};

pub(crate) const SERVICE_TIME: Quantiles = Quantiles {
    metrics: [
        (Metric::ServiceTimeP10, 0.1),
        (Metric::ServiceTimeP50, 0.5),
        (Metric::ServiceTimeP90, 0.9),
        (Metric::ServiceTimeP99, 0.99),
        (Metric::ServiceTimeP999, 0.999),
    ],
};

/// Gathers histograms in the order in which they were recorded.
pub(crate) fn gather(
    arms: usize,
    quantiles: Quantiles,
    order: Order,
    times: impl Iterator<Item = Timed>,
) -> Finished {
    let mut gatherer = Gatherer::new(arms, quantiles, order);
    times.for_each(|timed| gatherer.add(&timed));
    gatherer.finish()
}

/// The stretches that are being gathered.
pub(crate) struct Gatherer {
    arms: usize,
    /// Blocks hold one arm each: only whole launches have all of them.
    whole_launches: bool,
    tracks: Vec<Track>,
    /// By arm, in the block that is being read.
    block: Vec<Gathered>,
    /// By arm, over the whole run.
    whole: Vec<Gathered>,
    last: Option<(u32, u32)>,
}

impl Gatherer {
    pub(crate) fn new(arms: usize, quantiles: Quantiles, order: Order) -> Gatherer {
        let track = |(metric, quantile)| Track {
            metric,
            quantile,
            gathering: vec![Gathered::default(); arms],
            ratios: vec![BTreeMap::new(); arms],
        };
        Gatherer {
            arms,
            whole_launches: order == Order::Sequential,
            tracks: quantiles.metrics.map(track).into(),
            block: vec![Gathered::default(); arms],
            whole: vec![Gathered::default(); arms],
            last: None,
        }
    }

    /// Adds one window's times. Windows of a block come together, as they were measured.
    pub(crate) fn add(&mut self, timed: &Timed) {
        if timed.arm.get() >= self.arms {
            return;
        }
        match self.last {
            Some((launch, block)) if (launch, block) != (timed.launch, timed.block) => {
                let launch_over = launch != timed.launch;
                if launch_over || !self.whole_launches {
                    self.block_over(launch, launch_over);
                }
            }
            _ => {}
        }
        self.last = Some((timed.launch, timed.block));
        self.block[timed.arm.get()].add(&timed.times);
    }

    fn block_over(&mut self, launch: u32, launch_over: bool) {
        for track in &mut self.tracks {
            track.block_over(&self.block, launch, launch_over);
        }
        for (whole, block) in self.whole.iter_mut().zip(&mut self.block) {
            whole.merge(block);
            block.clear();
        }
    }

    /// The comparisons of an arm with the baseline.
    pub(crate) fn finish(mut self) -> Finished {
        if let Some((launch, _)) = self.last {
            self.block_over(launch, true);
        }
        for track in &mut self.tracks {
            track.gathering = Vec::new();
        }
        Finished {
            tracks: self.tracks,
            whole: self.whole,
        }
    }
}

/// All stretches compared.
pub(crate) struct Finished {
    tracks: Vec<Track>,
    whole: Vec<Gathered>,
}

impl Finished {
    /// As when no histogram was gathered.
    pub(crate) fn nothing() -> Finished {
        Finished {
            tracks: Vec::new(),
            whole: Vec::new(),
        }
    }

    pub(crate) fn comparisons(
        &self,
        arm: ArmIndex,
        windows: usize,
    ) -> impl Iterator<Item = (Metric, Comparison)> + '_ {
        self.tracks.iter().map(move |track| {
            let mut launches = Launches::default();
            for ratios in track.ratios[arm.get()].values() {
                launches.push(ratios.clone(), 0.0);
            }
            let comparison = Comparison {
                baseline: self.figure_us(ArmIndex::BASELINE, track.quantile),
                arm: self.figure_us(arm, track.quantile),
                rounds: launches.len(),
                location: two_level(&launches),
                scale: Scale::LogRatio,
                windows,
                scatter: None,
                covariate: None,
                ratios: track.ratios[arm.get()].clone(),
                doubts: Vec::new(),
            };
            (track.metric, comparison)
        })
    }

    /// The mean of all times of an arm; `None` when it has none.
    pub(crate) fn mean_us(&self, arm: ArmIndex) -> Option<f64> {
        Some(self.whole.get(arm.get())?.mean_ns()? / 1e3)
    }

    fn figure_us(&self, arm: ArmIndex, quantile: f64) -> Option<f64> {
        let whole = self.whole.get(arm.get())?;
        enough(whole, quantile).then(|| whole.at_quantile(quantile) as f64 / 1e3)
    }
}

/// One quantile's stretches.
struct Track {
    metric: Metric,
    quantile: f64,
    /// By arm, since the last stretch was closed.
    gathering: Vec<Gathered>,
    ratios: Vec<BTreeMap<u32, Vec<f64>>>,
}

impl Track {
    /// Closes the stretch if every arm that has answers has enough of them; the rest of a
    /// launch that is over is too short to be a stretch and is dropped.
    fn block_over(&mut self, block: &[Gathered], launch: u32, launch_over: bool) {
        // Most blocks are a stretch of their own for all but the tails: nothing is copied then.
        if self.gathering.iter().all(Gathered::is_empty) && is_full(block, self.quantile) {
            self.compare(block, launch);
            return;
        }
        for (gathering, block) in self.gathering.iter_mut().zip(block) {
            gathering.merge(block);
        }
        let full = is_full(&self.gathering, self.quantile);
        if full {
            let gathering = std::mem::take(&mut self.gathering);
            self.compare(&gathering, launch);
            self.gathering = gathering;
        }
        if full || launch_over {
            self.gathering.iter_mut().for_each(Gathered::clear);
        }
    }

    /// Notes each arm's quantile as a log ratio to the baseline's.
    fn compare(&mut self, stretch: &[Gathered], launch: u32) {
        let log = |times: &Gathered| {
            // A time of nil has no logarithm; a nanosecond is as good as none.
            let log = || (times.at_quantile(self.quantile).max(1) as f64).ln();
            (!times.is_empty()).then(log)
        };
        let Some(baseline) = stretch.first().and_then(log) else {
            return;
        };
        for (ratios, times) in self.ratios.iter_mut().zip(stretch) {
            if let Some(log) = log(times) {
                ratios.entry(launch).or_default().push(log - baseline);
            }
        }
    }
}

/// Whether every arm that has answers has enough of them. An arm that is no longer measured must
/// not keep the others waiting.
fn is_full(stretch: &[Gathered], quantile: f64) -> bool {
    let present = || stretch.iter().filter(|times| !times.is_empty());
    present().count() > 1 && present().all(|times| enough(times, quantile))
}

fn enough(times: &Gathered, quantile: f64) -> bool {
    times.len() as f64 * quantile.min(1.0 - quantile) >= BEYOND
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdrhistogram::Histogram;

    fn timed(launch: u32, block: u32, arm: u16, base_ns: u64, count: u64) -> Timed {
        let mut times = Histogram::<u64>::new_with_bounds(1, 60_000_000_000, 3).unwrap();
        for i in 0..count {
            times.record(base_ns + base_ns * (i % 100) / 100).unwrap();
        }
        Timed {
            launch,
            block,
            arm: ArmIndex(arm),
            times: (&times).into(),
        }
    }

    fn gather(blocks: u32, count: u64) -> Finished {
        let mut gatherer = Gatherer::new(2, SERVICE_TIME, Order::Mirrored);
        for launch in 0..2 {
            for block in 0..blocks {
                gatherer.add(&timed(launch, block, 0, 1_000_000, count));
                gatherer.add(&timed(launch, block, 1, 1_100_000, count));
            }
        }
        gatherer.finish()
    }

    #[test]
    fn a_slower_arm_is_slower_at_each_quantile() {
        let finished = gather(20, 1000);
        let found: Vec<_> = finished.comparisons(ArmIndex(1), 40).collect();
        for (metric, comparison) in &found {
            let location = comparison.location.as_ref().unwrap();
            assert!(
                (location.estimate.exp_m1() - 0.1).abs() < 2e-3,
                "{}",
                metric.as_str()
            );
        }
        // Medians are compared in each block, p99.9 in stretches of ten.
        let blocks = |at: usize| found[at].1.location.as_ref().unwrap().blocks;
        assert_eq!((found[1].0, blocks(1)), (Metric::ServiceTimeP50, 40));
        assert_eq!((found[4].0, blocks(4)), (Metric::ServiceTimeP999, 4));
        assert!((found[1].1.baseline.unwrap() - 1495.0).abs() < 10.0);
        assert!((finished.mean_us(ArmIndex::BASELINE).unwrap() - 1495.0).abs() < 1.0);
        assert_eq!(finished.mean_us(ArmIndex(2)), None);
    }

    #[test]
    fn an_arm_that_is_gone_does_not_hold_up_the_others() {
        let mut gatherer = Gatherer::new(3, SERVICE_TIME, Order::Mirrored);
        for block in 0..10 {
            for arm in (0..3).filter(|&arm| arm < 2 || block == 0) {
                gatherer.add(&timed(0, block, arm, 1_000_000, 1000));
            }
        }
        let finished = gatherer.finish();
        let (_, median) = finished.comparisons(ArmIndex(1), 10).next().unwrap();
        assert_eq!(median.location.unwrap().blocks, 10);
    }

    /// Low quantiles need answers below them as high ones need them above.
    #[test]
    fn stretches_are_as_long_as_the_nearer_side_asks() {
        // Ten of 100 answers are below p10, 50 beside the median, one is above p99.
        for (answers, p10, p50, p99) in [(100, 20, 20, 2), (50, 10, 20, 1), (20, 4, 20, 0)] {
            let mut gatherer = Gatherer::new(2, SERVICE_TIME, Order::Mirrored);
            for block in 0..20 {
                gatherer.add(&timed(0, block, 0, 1_000_000, answers));
                gatherer.add(&timed(0, block, 1, 1_100_000, answers));
            }
            let finished = gatherer.finish();
            let stretches: Vec<usize> = finished
                .tracks
                .iter()
                .map(|track| track.ratios[1].get(&0).map_or(0, Vec::len))
                .collect();
            let found = [stretches[0], stretches[1], stretches[3]];
            assert_eq!(found, [p10, p50, p99], "{answers} answers a block");
        }
    }

    #[test]
    fn too_few_answers_give_no_tail() {
        let finished = gather(2, 100);
        let found: Vec<_> = finished.comparisons(ArmIndex(1), 4).collect();
        assert!(found[1].1.location.is_ok());
        assert!(found[4].1.location.is_err());
        assert_eq!(found[4].1.baseline, None);
    }
}
