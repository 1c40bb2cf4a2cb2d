//! Quantiles of response and service time, from histograms streamed block by block.
//!
//! A quantile needs enough answers beyond it: blocks are merged until each arm has ten times
//! 1/(1 − p), so that a tail percentile is compared in longer stretches than a median.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use windage_model::{ArmIndex, Metric, Order};
use windage_stats::{Launches, two_level};

use crate::compare::{Comparison, Scale};

/// Answers that must lie beyond a quantile in each stretch.
const BEYOND: f64 = 10.0;

/// One window's histogram with its place.
#[derive(Debug)]
pub struct Timed {
    /// The launch it was measured in.
    pub launch: u32,
    /// The block it was measured in.
    pub block: u32,
    /// Its arm.
    pub arm: ArmIndex,
    /// Times in nanoseconds.
    pub times: Histogram<u64>,
}

/// The quantiles that are reported of a kind of time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Quantiles {
    pub(crate) metrics: [(Metric, f64); 4],
}

pub(crate) const RESPONSE_TIME: Quantiles = Quantiles {
    metrics: [
        (Metric::ResponseTimeP50, 0.5),
        (Metric::ResponseTimeP90, 0.9),
        (Metric::ResponseTimeP99, 0.99),
        (Metric::ResponseTimeP999, 0.999),
    ],
};

pub(crate) const SERVICE_TIME: Quantiles = Quantiles {
    metrics: [
        (Metric::ServiceTimeP50, 0.5),
        (Metric::ServiceTimeP90, 0.9),
        (Metric::ServiceTimeP99, 0.99),
        (Metric::ServiceTimeP999, 0.999),
    ],
};

/// Gathers histograms in the order in which they were recorded.
pub(crate) struct Gatherer {
    arms: usize,
    /// Blocks hold one arm each: only whole launches have all of them.
    whole_launches: bool,
    tracks: Vec<Track>,
    last: Option<(u32, u32)>,
}

impl Gatherer {
    pub(crate) fn new(arms: usize, quantiles: Quantiles, order: Order) -> Gatherer {
        let track = |(metric, quantile)| Track {
            metric,
            quantile,
            gathering: vec![None; arms],
            whole: vec![None; arms],
            ratios: vec![BTreeMap::new(); arms],
        };
        Gatherer {
            arms,
            whole_launches: order == Order::Sequential,
            tracks: quantiles.metrics.map(track).into(),
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
                let stretch_over = launch_over || !self.whole_launches;
                for track in self.tracks.iter_mut().filter(|_| stretch_over) {
                    track.block_over(launch, launch_over);
                }
            }
            _ => {}
        }
        self.last = Some((timed.launch, timed.block));
        for track in &mut self.tracks {
            merge(&mut track.gathering[timed.arm.get()], &timed.times);
        }
        // One histogram of the whole run for each arm serves all quantiles.
        if let Some(first) = self.tracks.first_mut() {
            merge(&mut first.whole[timed.arm.get()], &timed.times);
        }
    }

    /// The comparisons of an arm with the baseline.
    pub(crate) fn finish(mut self) -> Finished {
        if let Some((launch, _)) = self.last {
            for track in &mut self.tracks {
                track.block_over(launch, true);
            }
        }
        let whole = self
            .tracks
            .first_mut()
            .map(|t| std::mem::take(&mut t.whole))
            .unwrap_or_default();
        Finished {
            tracks: self.tracks,
            whole,
        }
    }
}

/// All stretches compared.
pub(crate) struct Finished {
    tracks: Vec<Track>,
    whole: Vec<Option<Histogram<u64>>>,
}

impl Finished {
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
            };
            (track.metric, comparison)
        })
    }

    fn figure_us(&self, arm: ArmIndex, quantile: f64) -> Option<f64> {
        let whole = self.whole.get(arm.get())?.as_ref()?;
        enough(whole, quantile).then(|| whole.value_at_quantile(quantile) as f64 / 1e3)
    }
}

/// One quantile's stretches.
struct Track {
    metric: Metric,
    quantile: f64,
    gathering: Vec<Option<Histogram<u64>>>,
    whole: Vec<Option<Histogram<u64>>>,
    ratios: Vec<BTreeMap<u32, Vec<f64>>>,
}

impl Track {
    /// Closes the stretch if every arm that has answers has enough of them; the rest of a
    /// launch that is over is too short to be a stretch and is dropped.
    fn block_over(&mut self, launch: u32, launch_over: bool) {
        // An arm that is no longer measured must not keep the others waiting.
        let present = || {
            self.gathering
                .iter()
                .flatten()
                .filter(|times| !times.is_empty())
        };
        let full = present().count() > 1 && present().all(|times| enough(times, self.quantile));
        if full {
            let logs: Vec<Option<f64>> = self
                .gathering
                .iter()
                .map(|times| {
                    let times = times.as_ref().filter(|times| !times.is_empty())?;
                    Some((times.value_at_quantile(self.quantile) as f64).ln())
                })
                .collect();
            if let Some(Some(baseline)) = logs.first() {
                for (ratios, log) in self.ratios.iter_mut().zip(&logs) {
                    if let Some(log) = log {
                        ratios.entry(launch).or_default().push(log - baseline);
                    }
                }
            }
        }
        if full || launch_over {
            for times in self.gathering.iter_mut().flatten() {
                times.reset();
            }
        }
    }
}

fn enough(times: &Histogram<u64>, quantile: f64) -> bool {
    times.len() as f64 * (1.0 - quantile) >= BEYOND
}

fn merge(into: &mut Option<Histogram<u64>>, times: &Histogram<u64>) {
    let target = into.get_or_insert_with(|| {
        let mut empty = times.clone();
        empty.reset();
        empty.auto(true);
        empty
    });
    // A histogram that resizes itself takes any value in.
    let added = target.add(times);
    debug_assert!(added.is_ok(), "{added:?}");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timed(launch: u32, block: u32, arm: u16, base_ns: u64, count: u64) -> Timed {
        let mut times = Histogram::new_with_bounds(1, 60_000_000_000, 3).unwrap();
        for i in 0..count {
            times.record(base_ns + base_ns * (i % 100) / 100).unwrap();
        }
        Timed {
            launch,
            block,
            arm: ArmIndex(arm),
            times,
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
        assert_eq!(found[0].1.location.as_ref().unwrap().blocks, 40);
        assert_eq!(found[3].1.location.as_ref().unwrap().blocks, 4);
        assert!((found[0].1.baseline.unwrap() - 1495.0).abs() < 10.0);
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

    #[test]
    fn too_few_answers_give_no_tail() {
        let finished = gather(2, 100);
        let found: Vec<_> = finished.comparisons(ArmIndex(1), 4).collect();
        assert!(found[0].1.location.is_ok());
        assert!(found[3].1.location.is_err());
        assert_eq!(found[3].1.baseline, None);
    }
}
