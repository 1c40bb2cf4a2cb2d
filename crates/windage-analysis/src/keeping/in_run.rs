//! Histograms gathered while a run records them.

use hdrhistogram::Histogram;
use windage_model::{Soundness, Window};
use windage_record::{Gather, KeptTimes, Manifest};

use super::FROM_WINDOWS;
use crate::Timed;
use crate::quantiles::{FURTHER, Finished, Gatherer, RESPONSE_TIME, SERVICE_TIME};

/// What is gathered lies in the memory of the machine that is measured, about 90 bytes for each window:
/// of longer runs nothing is.
const MOST_WINDOWS: usize = 500_000;

/// What gathers the histograms of a run from its first window on, so that `quantiles.bin` is there when
/// the run ends: the very file that the first report would leave.
#[must_use]
pub fn gathering(manifest: &Manifest) -> Box<dyn Gather> {
    Box::new(Gathering::within(FROM_WINDOWS..=MOST_WINDOWS, manifest))
}

struct Gathering {
    /// Under each load response and service times; none once there were too many windows.
    under_loads: Vec<[Gatherer; 2]>,
    /// Of the block under way, each with its load and kind.
    waiting: Vec<(usize, usize, Timed)>,
    /// Windows of the block under way, void ones and those without times as well.
    in_block: usize,
    /// Of all blocks that are done.
    windows: usize,
    /// How many windows make it worth while, and possible.
    within: std::ops::RangeInclusive<usize>,
}

impl Gathering {
    fn within(within: std::ops::RangeInclusive<usize>, manifest: &Manifest) -> Gathering {
        let (arms, order) = (manifest.arms.len(), manifest.design.order);
        let of_load = |_| {
            [RESPONSE_TIME, SERVICE_TIME]
                .map(|quantiles| Gatherer::new(arms, quantiles, &FURTHER, order))
        };
        Gathering {
            under_loads: (0..manifest.loads()).map(of_load).collect(),
            waiting: Vec::new(),
            in_block: 0,
            windows: 0,
            within,
        }
    }

    fn has_too_many(&self) -> bool {
        self.windows > *self.within.end()
    }
}

impl Gather for Gathering {
    /// As they are read from the logs: windows that are void are left out, and those in which nothing
    /// was completed have no times there.
    fn window(
        &mut self,
        window: &Window,
        response_time: &Histogram<u32>,
        service_time: &Histogram<u32>,
    ) {
        self.in_block += 1;
        if self.has_too_many() || window.soundness() == Soundness::Void {
            return;
        }
        let place = window.place;
        let load = place.round as usize % self.under_loads.len();
        let kinds = [response_time, service_time].into_iter().enumerate();
        for (kind, times) in kinds.filter(|(_, times)| !times.is_empty()) {
            let timed = Timed {
                launch: place.launch,
                block: place.block,
                arm: place.arm,
                times: times.into(),
            };
            self.waiting.push((load, kind, timed));
        }
    }

    fn block_done(&mut self) {
        self.windows = self
            .windows
            .saturating_add(std::mem::take(&mut self.in_block));
        for (load, kind, timed) in self.waiting.drain(..) {
            self.under_loads[load][kind].add(&timed);
        }
        if self.has_too_many() {
            self.under_loads = Vec::new();
        }
    }

    fn finish(self: Box<Self>) -> Option<Vec<[KeptTimes; 2]>> {
        let is_kept = self.within.contains(&self.windows);
        let finished = |gatherer: Gatherer| Finished::to_kept(&gatherer.finish());
        let under_loads = self.under_loads.into_iter();
        is_kept.then(|| under_loads.map(|kinds| kinds.map(finished)).collect())
    }
}

#[cfg(test)]
mod tests;
