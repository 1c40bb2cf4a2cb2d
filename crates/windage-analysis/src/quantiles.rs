//! Quantiles of response and service time, from histograms streamed block by block.
//!
//! A quantile needs enough answers on either side: blocks are merged until each arm has ten on the
//! nearer side, so a tail percentile is compared over longer stretches than a median.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use windage_model::{ArmIndex, Metric, Order};
use windage_record::Times;
use windage_stats::{Launches, two_level};

use crate::compare::{Comparison, Scale, own};
use crate::merged_times::Gathered;

/// Answers required beyond a quantile in each stretch, on its nearer side.
const BEYOND: f64 = 10.0;

/// One window's times and place.
#[derive(Clone, Debug)]
pub struct Timed {
    /// The launch it was measured in.
    pub launch: u32,
    /// The block it was measured in.
    pub block: u32,
    /// Its arm.
    pub arm: ArmIndex,
    /// How often each time occurred.
    pub times: Times,
}

/// The reported quantiles of a kind of time.
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

/// Additional quantiles at which arms are compared for drawing.
pub(crate) const FURTHER: [f64; 10] = [0.05, 0.2, 0.25, 0.3, 0.4, 0.6, 0.7, 0.75, 0.8, 0.95];

/// Gathers histograms in the order in which they were recorded, and compares them at the reported
/// quantiles and at further ones.
pub(crate) fn gather(
    arms: usize,
    quantiles: Quantiles,
    further: &[f64],
    order: Order,
    times: impl Iterator<Item = Timed>,
) -> Finished {
    let mut gatherer = Gatherer::new(arms, quantiles, further, order);
    times.for_each(|timed| gatherer.add(&timed));
    gatherer.finish()
}

/// The stretches being gathered.
struct Gatherer {
    arms: usize,
    /// Sequential order: each block has one arm, so only whole launches have all of them.
    whole_launches: bool,
    tracks: Vec<Track>,
    /// The current block.
    block: Stretch,
    /// The current launch.
    launch: Stretch,
    /// The whole run.
    whole: Stretch,
    last: Option<(u32, u32)>,
}

impl Gatherer {
    fn new(arms: usize, quantiles: Quantiles, further: &[f64], order: Order) -> Gatherer {
        let track = |(quantile, metric)| Track {
            metric,
            quantile,
            gathering: Stretch::of_arms(arms),
            ratios: vec![BTreeMap::new(); arms],
            own_us: vec![BTreeMap::new(); arms],
        };
        let reported = quantiles.metrics.map(|(metric, at)| (at, Some(metric)));
        let further = further.iter().map(|at| (*at, None));
        let tracks: Vec<Track> = reported.into_iter().chain(further).map(track).collect();
        Gatherer {
            arms,
            whole_launches: order == Order::Sequential,
            tracks,
            block: Stretch::of_arms(arms),
            launch: Stretch::of_arms(arms),
            whole: Stretch::of_arms(arms),
            last: None,
        }
    }

    /// Adds one window's times. Windows of a block come together, in the order of measurement.
    fn add(&mut self, timed: &Timed) {
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
        self.block.add(timed.arm, &timed.times);
    }

    fn block_over(&mut self, launch: u32, launch_over: bool) {
        self.launch.merge(&self.block);
        for track in &mut self.tracks {
            track.block_over(&self.block, launch, launch_over);
            if launch_over {
                track.launch_over(&self.launch, launch);
            }
        }
        self.block.clear();
        if launch_over {
            self.whole.merge(&self.launch);
            self.launch.clear();
        }
    }

    /// Ends gathering and returns the comparisons.
    fn finish(mut self) -> Finished {
        if let Some((launch, _)) = self.last {
            self.block_over(launch, true);
        }
        for track in &mut self.tracks {
            track.gathering = Stretch::default();
        }
        Finished {
            tracks: self.tracks,
            whole: self.whole.by_arm,
        }
    }
}

/// The times of each arm in a stretch of the run.
#[derive(Default)]
struct Stretch {
    by_arm: Vec<Gathered>,
    /// The arms that have any; of a hundred arms these may be few.
    present: Vec<usize>,
}

impl Stretch {
    fn of_arms(arms: usize) -> Stretch {
        Stretch {
            by_arm: vec![Gathered::default(); arms],
            present: Vec::new(),
        }
    }

    fn add(&mut self, arm: ArmIndex, times: &Times) {
        self.changed(arm.get(), |gathered| gathered.add(times));
    }

    fn merge(&mut self, other: &Stretch) {
        for (arm, times) in other.present() {
            self.changed(arm, |gathered| gathered.merge(times));
        }
    }

    fn changed(&mut self, arm: usize, change: impl FnOnce(&mut Gathered)) {
        let gathered = &mut self.by_arm[arm];
        let was_empty = gathered.is_empty();
        change(gathered);
        if was_empty && !gathered.is_empty() {
            self.present.push(arm);
        }
    }

    fn present(&self) -> impl Iterator<Item = (usize, &Gathered)> {
        self.present.iter().map(|&arm| (arm, &self.by_arm[arm]))
    }

    fn is_empty(&self) -> bool {
        self.present.is_empty()
    }

    /// Removes all times but keeps the memory.
    fn clear(&mut self) {
        for arm in self.present.drain(..) {
            self.by_arm[arm].clear();
        }
    }

    /// Whether every arm with answers has enough of them. An arm that is no longer measured must
    /// not delay the others.
    fn is_full(&self, quantile: f64) -> bool {
        let mut present = self.present();
        self.present.len() > 1 && present.all(|(_, times)| enough(times, quantile))
    }
}

/// All stretches, compared.
pub(crate) struct Finished {
    tracks: Vec<Track>,
    whole: Vec<Gathered>,
}

impl Finished {
    /// The result without any histogram.
    pub(crate) fn nothing() -> Finished {
        Finished {
            tracks: Vec::new(),
            whole: Vec::new(),
        }
    }

    /// The reported comparisons of an arm.
    pub(crate) fn comparisons(
        &self,
        arm: ArmIndex,
        windows: usize,
    ) -> impl Iterator<Item = (Metric, Comparison)> + '_ {
        let tracks = self.tracks.iter();
        tracks.filter_map(move |track| Some((track.metric?, self.compared(track, arm, windows))))
    }

    /// Every quantile at which an arm was compared, reported and further ones, in order.
    pub(crate) fn by_quantile(&self, arm: ArmIndex, windows: usize) -> Vec<(f64, Comparison)> {
        let tracks = self.tracks.iter();
        let compared = tracks.map(|track| (track.quantile, self.compared(track, arm, windows)));
        let mut compared: Vec<_> = compared.collect();
        compared.sort_by(|(a, _), (b, _)| a.total_cmp(b));
        compared
    }

    fn compared(&self, track: &Track, arm: ArmIndex, windows: usize) -> Comparison {
        let mut launches = Launches::default();
        for ratios in track.ratios[arm.get()].values() {
            launches.push(ratios.clone(), 0.0);
        }
        Comparison {
            baseline: self.figure_us(ArmIndex::BASELINE, track.quantile),
            arm: self.figure_us(arm, track.quantile),
            own: own(&track.own_us[arm.get()]),
            rounds: launches.len(),
            location: two_level(&launches),
            scale: Scale::LogRatio,
            absolute: None,
            counts: None,
            totals: None,
            windows,
            scatter: None,
            ratios: track.ratios[arm.get()].clone(),
            warnings: Vec::new(),
        }
    }

    /// How often each time of an arm occurred over the whole run; `None` when there were none.
    pub(crate) fn whole(&self, arm: ArmIndex) -> Option<&Gathered> {
        let whole = self.whole.get(arm.get())?;
        (!whole.is_empty()).then_some(whole)
    }

    /// The mean of all times of an arm; `None` when there were none.
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
    /// `None` for a quantile that is not reported.
    metric: Option<Metric>,
    quantile: f64,
    /// Since the last stretch was closed.
    gathering: Stretch,
    /// Ratios to the baseline, by arm.
    ratios: Vec<OfLaunches>,
    /// Quantiles of whole launches, by arm.
    own_us: Vec<BTreeMap<u32, f64>>,
}

/// Log ratios by launch, in the order of their stretches.
type OfLaunches = BTreeMap<u32, Vec<f64>>;

impl Track {
    /// Closes the stretch if every arm with answers has enough of them. The rest of a finished
    /// launch is too short for a stretch and is dropped.
    fn block_over(&mut self, block: &Stretch, launch: u32, launch_over: bool) {
        // Except for tails, most blocks are a stretch by themselves: nothing is copied then.
        if self.gathering.is_empty() && block.is_full(self.quantile) {
            self.compare(block, launch);
            return;
        }
        self.gathering.merge(block);
        let full = self.gathering.is_full(self.quantile);
        if full {
            let gathering = std::mem::take(&mut self.gathering);
            self.compare(&gathering, launch);
            self.gathering = gathering;
        }
        if full || launch_over {
            self.gathering.clear();
        }
    }

    /// Adds each arm's quantile as a log ratio to the baseline's.
    fn compare(&mut self, stretch: &Stretch, launch: u32) {
        // A time of zero has no logarithm; one nanosecond is close enough.
        let log = |times: &Gathered| (times.at_quantile(self.quantile).max(1) as f64).ln();
        let baseline = stretch.by_arm.first().filter(|times| !times.is_empty());
        let Some(baseline) = baseline.map(log) else {
            return;
        };
        for (arm, times) in stretch.present() {
            let ratio = log(times) - baseline;
            self.ratios[arm].entry(launch).or_default().push(ratio);
        }
    }

    /// Keeps each arm's own quantile over a whole launch, if enough answers were beyond it.
    fn launch_over(&mut self, times: &Stretch, launch: u32) {
        let enough = times.present().filter(|(_, of)| enough(of, self.quantile));
        for (arm, of) in enough {
            let us = of.at_quantile(self.quantile) as f64 / 1e3;
            self.own_us[arm].insert(launch, us);
        }
    }
}

fn enough(times: &Gathered, quantile: f64) -> bool {
    // A hundred answers have ten beyond 0.9, though 1.0 − 0.9 is slightly less than 0.1.
    times.len() as f64 * nearer_side(quantile) >= BEYOND - 1e-9
}

/// The share of times on the nearer side of a quantile.
fn nearer_side(quantile: f64) -> f64 {
    quantile.min(1.0 - quantile)
}
