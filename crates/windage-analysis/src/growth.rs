//! How fast resident memory grows, in launches that last long enough to show it.
//!
//! Memory is read at the end of each window. In the first half of a launch, or of an attachment of
//! agents, caches fill and code is compiled; the growth is the slope of a straight line through the
//! second half (least squares).

use std::collections::BTreeMap;

use windage_model::{ArmIndex, Place};

/// Readings of so long are averaged, so that those of a day take little room.
const BIN_NS: u64 = 30_000_000_000;
const BINS_PER_HOUR: f64 = 120.0;
/// Less than ten minutes show a start, and no growth.
const LEAST: u64 = 20;

/// Resident memory over time, of an arm's services or agents.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Growth(BTreeMap<(ArmIndex, Life), Bins>);

/// For how long processes live: a launch, or an attachment of agents, of which a block has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Life {
    launch: u32,
    block: Option<u32>,
}

/// The mean of each bin in which memory was read, by the bin's number.
type Bins = BTreeMap<u64, Mean>;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Mean {
    bytes: f64,
    readings: f64,
}

impl Growth {
    /// Adds a reading of services, some nanoseconds after the run began.
    pub(crate) fn take(&mut self, place: Place, at_ns: u64, rss_bytes: Option<u64>) {
        self.note(place, None, at_ns, rss_bytes);
    }

    /// Adds a reading of attached agents.
    pub(crate) fn take_agents(&mut self, place: Place, at_ns: u64, rss_bytes: Option<u64>) {
        self.note(place, Some(place.block), at_ns, rss_bytes);
    }

    fn note(&mut self, place: Place, block: Option<u32>, at_ns: u64, rss_bytes: Option<u64>) {
        let Some(bytes) = rss_bytes else { return };
        let launch = place.launch;
        let bins = self
            .0
            .entry((place.arm, Life { launch, block }))
            .or_default();
        let of = bins.entry(at_ns / BIN_NS).or_default();
        of.readings += 1.0;
        of.bytes += (bytes as f64 - of.bytes) / of.readings;
    }

    /// Bytes per hour, by launch: the mean over its attachments that are long enough.
    pub(crate) fn bytes_per_hour(&self, arm: ArmIndex) -> BTreeMap<u32, f64> {
        let mut slopes: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
        for ((_, life), bins) in self.0.iter().filter(|((of, _), _)| *of == arm) {
            let readings: Vec<_> = bins.iter().map(|(&bin, of)| (bin, of.bytes)).collect();
            if let Some(slope) = slope(&readings) {
                slopes.entry(life.launch).or_default().push(slope);
            }
        }
        let mean = |of: Vec<f64>| of.iter().sum::<f64>() / of.len() as f64 * BINS_PER_HOUR;
        slopes
            .into_iter()
            .map(|(launch, of)| (launch, mean(of)))
            .collect()
    }
}

/// Bytes per bin in the second half of a life; `None` if it is too short.
fn slope(life: &[(u64, f64)]) -> Option<f64> {
    let (first, last) = (life.first()?.0, life.last()?.0);
    if last - first < LEAST {
        return None;
    }
    let half = u64::midpoint(first, last);
    let settled = life.iter().filter(|(bin, _)| *bin >= half);
    let settled: Vec<(f64, f64)> = settled.map(|(bin, y)| ((bin - half) as f64, *y)).collect();
    let mean =
        |of: fn(&(f64, f64)) -> f64| settled.iter().map(of).sum::<f64>() / settled.len() as f64;
    let (x_mean, y_mean) = (mean(|of| of.0), mean(|of| of.1));
    let both: f64 = settled
        .iter()
        .map(|(x, y)| (x - x_mean) * (y - y_mean))
        .sum();
    let spread: f64 = settled.iter().map(|(x, _)| (x - x_mean).powi(2)).sum();
    (spread > 0.0).then(|| both / spread)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{analyse, fixture};
    use windage_model::fixtures::place;
    use windage_model::{Interval, Metric, Window};

    const ARM: ArmIndex = ArmIndex(2);
    const MIB: f64 = 1_048_576.0;

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "sizes of processes"
    )]
    fn whole(bytes: f64) -> Option<u64> {
        Some(bytes as u64)
    }

    /// Readings each second, `bytes` by the second.
    fn growth(seconds: u64, bytes: impl Fn(u64) -> f64) -> Option<f64> {
        let mut growth = Growth::default();
        for second in 0..seconds {
            growth.take(
                place(0, 0, ARM.0),
                second * 1_000_000_000,
                whole(bytes(second)),
            );
        }
        growth.bytes_per_hour(ARM).get(&0).copied()
    }

    fn leak(second: u64) -> f64 {
        50.0 * MIB + second as f64 * MIB / 3600.0
    }

    #[test]
    fn a_known_leak_is_found_beside_a_start() {
        let found = growth(1800, leak).unwrap();
        assert!((found / MIB - 1.0).abs() < 0.01, "{found}");
        // Caches fill in the first minutes.
        let start = |second: u64| leak(second) - 20.0 * MIB * (-(second as f64) / 60.0).exp();
        let found = growth(1800, start).unwrap();
        assert!((found / MIB - 1.0).abs() < 0.01, "{found}");
        // A collector frees 8 MiB each minute.
        let collected = |second: u64| leak(second) + 8.0 * MIB * (second % 60) as f64 / 60.0;
        let found = growth(3600, collected).unwrap();
        assert!((found / MIB - 1.0).abs() < 0.5, "{found}");
        assert_eq!(growth(1800, |_| 50.0 * MIB), Some(0.0));
    }

    #[test]
    fn a_short_launch_has_no_growth() {
        assert_eq!(growth(599, |second| second as f64 * MIB), None);
        assert_eq!(growth(0, |_| MIB), None);
        assert!(growth(660, |second| second as f64 * MIB).is_some());
    }

    /// Agents start small at each attachment, which is no loss of memory.
    #[test]
    fn attachments_are_apart() {
        let of_attachments = |seconds: u64| {
            let mut growth = Growth::default();
            for block in 0..90 {
                for second in 0..seconds {
                    let at = u64::from(block) * (seconds + 8) + second;
                    growth.take_agents(
                        place(0, block, ARM.0),
                        at * 1_000_000_000,
                        whole(leak(second)),
                    );
                }
            }
            growth.bytes_per_hour(ARM).get(&0).copied()
        };
        assert_eq!(of_attachments(8), None, "90 attachments in 24 minutes");
        let found = of_attachments(900).unwrap();
        assert!((found / MIB - 1.0).abs() < 0.01, "{found}");
    }

    /// An hour in each of three launches: the arm's services leak 2 MiB per hour more than the
    /// baseline's, its agents 3 MiB.
    #[test]
    fn services_and_agents_have_growth_of_their_own() {
        let mut run = fixture::records(3);
        run.manifest.arms[2].agents = vec!["agent".to_owned()];
        let second = |of: &Window| u64::from(of.place.block % 10) * 360;
        for window in &mut run.windows {
            let at = second(window);
            window.started_ns = at * 1_000_000_000;
            let extra = f64::from(window.place.arm == ARM) * 2.0 * (leak(at) - leak(0));
            window.rss_bytes = whole(leak(at) + extra);
        }
        let found = |run: &fixture::Recorded, metric| -> Option<Interval> {
            let analysis = analyse(&run.gathered(), std::iter::empty(), std::iter::empty());
            let found = analysis.arms[2].metrics.get(&metric)?;
            Some(found.difference.as_ref().unwrap().absolute)
        };
        let of_services = found(&run, Metric::RssGrowth).unwrap().estimate / MIB;
        assert!((of_services - 2.0).abs() < 0.01, "{of_services}");
        assert_eq!(found(&run, Metric::AgentRssGrowth), None);
        for window in run.windows.iter_mut().filter(|of| of.place.arm == ARM) {
            let at = second(window);
            window.beside.agent_rss_bytes = whole(3.0 * leak(at));
            // One attachment.
            window.place.block -= window.place.block % 10;
        }
        let of_agents = found(&run, Metric::AgentRssGrowth).unwrap().estimate / MIB;
        assert!((of_agents - 3.0).abs() < 0.01, "{of_agents}");
    }
}
