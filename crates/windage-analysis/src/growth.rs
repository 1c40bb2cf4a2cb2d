//! How fast memory, threads and open descriptors grow, in launches that last long enough to show it.
//!
//! Memory is read at the end of each window, the others every ten seconds or so. In the first half of
//! a launch, or of an attachment of agents, caches fill, code is compiled, and pools of threads and
//! connections are filled; the growth is the slope of a straight line through the second half (least
//! squares).

use std::collections::BTreeMap;

use windage_model::{ArmIndex, Held, Metric, Place, Window};
use windage_record::HeldAt;

/// Readings of so long are averaged, so that those of a day take little room.
const BIN_NS: u64 = 30_000_000_000;
const BINS_PER_HOUR: f64 = 120.0;
/// Less than ten minutes show a start, and no growth.
const LEAST: u64 = 20;

/// What may grow, of services.
pub(crate) const OF_SERVICES: [Metric; 3] = [
    Metric::RssGrowth,
    Metric::ThreadsGrowth,
    Metric::DescriptorsGrowth,
];

/// What may grow, of agents.
pub(crate) const OF_AGENTS: [Metric; 3] = [
    Metric::AgentRssGrowth,
    Metric::AgentThreadsGrowth,
    Metric::AgentDescriptorsGrowth,
];

/// What may grow, over time, of each arm's services or agents.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Growth(BTreeMap<(Metric, ArmIndex, Life), Bins>);

/// For how long processes live: a launch, or an attachment of agents, of which a block has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Life {
    launch: u32,
    block: Option<u32>,
}

/// The mean of each bin with a reading, by the bin's number.
type Bins = BTreeMap<u64, Mean>;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Mean {
    value: f64,
    readings: f64,
}

impl Growth {
    /// Adds the memory at a window's end.
    pub(crate) fn take(&mut self, window: &Window) {
        let at_ns = window.started_ns.saturating_add(window.duration_ns);
        let mut note = |metric, bytes| self.note(metric, window.place, at_ns, bytes);
        note(Metric::RssGrowth, window.rss_bytes);
        note(Metric::AgentRssGrowth, window.beside.agent_rss_bytes);
    }

    /// Adds threads and descriptors.
    pub(crate) fn take_held(&mut self, held: &HeldAt) {
        let HeldAt {
            place,
            at_ns,
            services,
            agents,
        } = *held;
        let mut note = |metric, count| self.note(metric, place, at_ns, count);
        note(Metric::ThreadsGrowth, services.map(|of| of.threads));
        let descriptors = |of: Option<Held>| of?.descriptors;
        note(Metric::DescriptorsGrowth, descriptors(services));
        note(Metric::AgentThreadsGrowth, agents.map(|of| of.threads));
        note(Metric::AgentDescriptorsGrowth, descriptors(agents));
    }

    /// Adds a reading, some nanoseconds after the run began.
    fn note(&mut self, metric: Metric, place: Place, at_ns: u64, value: Option<u64>) {
        let Some(value) = value else { return };
        let life = Life {
            launch: place.launch,
            block: OF_AGENTS.contains(&metric).then_some(place.block),
        };
        let bins = self.0.entry((metric, place.arm, life)).or_default();
        let of = bins.entry(at_ns / BIN_NS).or_default();
        of.readings += 1.0;
        of.value += (value as f64 - of.value) / of.readings;
    }

    /// The growth per hour, by launch: the mean over its attachments that are long enough.
    pub(crate) fn per_hour(&self, metric: Metric, arm: ArmIndex) -> BTreeMap<u32, f64> {
        let mut slopes: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
        let lives = self.0.iter();
        let lives = lives.filter(|((what, of, _), _)| (*what, *of) == (metric, arm));
        for ((_, _, life), bins) in lives {
            let readings: Vec<_> = bins.iter().map(|(&bin, of)| (bin, of.value)).collect();
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

/// By how much the second half of a life grows per bin; `None` if it is too short.
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
    use windage_model::Interval;
    use windage_model::fixtures::place;
    use windage_record::Entry;

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
            growth.note(
                Metric::RssGrowth,
                place(0, 0, ARM.0),
                second * 1_000_000_000,
                whole(bytes(second)),
            );
        }
        growth.per_hour(Metric::RssGrowth, ARM).get(&0).copied()
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
                    growth.note(
                        Metric::AgentRssGrowth,
                        place(0, block, ARM.0),
                        at * 1_000_000_000,
                        whole(leak(second)),
                    );
                }
            }
            let found = growth.per_hour(Metric::AgentRssGrowth, ARM);
            found.get(&0).copied()
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

    /// A descriptor every two minutes in the services and a thread every six in the agents, in each
    /// of three launches of half an hour, beside a pool that is filled in the first minute.
    #[test]
    fn descriptors_and_threads_grow_apart_from_memory() {
        let mut run = fixture::records(3);
        run.manifest.arms[2].agents = vec!["agent".to_owned()];
        for (launch, arm, second) in readings(3, 3, 1800) {
            let leaks = u64::from(arm == ARM.0);
            let pool = second.min(60) / 10;
            let held = |threads, descriptors| Held {
                threads,
                descriptors: Some(descriptors),
            };
            run.reported.push(Entry::Held(HeldAt {
                place: place(launch, launch * 10, arm),
                at_ns: second * 1_000_000_000,
                services: Some(held(9 + pool, 20 + pool + leaks * second / 120)),
                agents: (leaks == 1).then(|| held(12 + second / 360, 30)),
            }));
        }
        let analysis = analyse(&run.gathered(), std::iter::empty(), std::iter::empty());
        let found = |metric| -> f64 {
            let found = &analysis.arms[2].metrics[&metric];
            found.difference.as_ref().unwrap().absolute.estimate
        };
        assert_eq!(found(Metric::ThreadsGrowth), 0.0);
        let descriptors = found(Metric::DescriptorsGrowth);
        assert!((descriptors - 30.0).abs() < 1.0, "{descriptors}");
        let of_agents = found(Metric::AgentThreadsGrowth);
        assert!((of_agents - 10.0).abs() < 1.0, "{of_agents}");
        assert_eq!(found(Metric::AgentDescriptorsGrowth), 0.0);
        let control = &analysis.arms[1].metrics;
        assert!(control.contains_key(&Metric::DescriptorsGrowth));
        assert!(!control.contains_key(&Metric::AgentThreadsGrowth));
    }

    /// Readings every ten seconds.
    fn readings(launches: u32, arms: u16, lasts: u64) -> Vec<(u32, u16, u64)> {
        let all = (0..launches).flat_map(|launch| (0..arms).map(move |arm| (launch, arm)));
        let each = |(launch, arm)| (0..lasts / 10).map(move |n| (launch, arm, n * 10));
        all.flat_map(each).collect()
    }
}
