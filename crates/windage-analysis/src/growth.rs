//! How fast resident memory grows, in launches that last long enough to show it.
//!
//! Memory is read at the end of each window. A gap between readings ends a stretch: agents were
//! attached anew, or other arms had the load for long. In the first half of a stretch caches fill and
//! code is compiled; the growth is the slope of a straight line through the second half (least
//! squares).

use std::collections::BTreeMap;

use windage_model::{ArmIndex, Place};

/// Readings of so long are averaged, so that those of a day take little room.
const BIN_NS: u64 = 30_000_000_000;
const BINS_PER_HOUR: f64 = 120.0;
/// So many bins without a reading end a stretch.
const GAP: u64 = 2;
/// A stretch of less than ten minutes shows its start, and no growth.
const LEAST: u64 = 20;

/// Resident memory over time, of an arm's services or agents.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Growth(BTreeMap<(ArmIndex, u32), Bins>);

/// The mean of each bin in which memory was read, by the bin's number.
type Bins = BTreeMap<u64, Mean>;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Mean {
    bytes: f64,
    readings: f64,
}

impl Growth {
    /// Adds a reading, some nanoseconds after the run began.
    pub(crate) fn take(&mut self, place: Place, at_ns: u64, rss_bytes: Option<u64>) {
        let Some(bytes) = rss_bytes else { return };
        let bins = self.0.entry((place.arm, place.launch)).or_default();
        let of = bins.entry(at_ns / BIN_NS).or_default();
        of.readings += 1.0;
        of.bytes += (bytes as f64 - of.bytes) / of.readings;
    }

    /// Bytes per hour, by launch: the mean over its stretches that are long enough.
    pub(crate) fn bytes_per_hour(&self, arm: ArmIndex) -> BTreeMap<u32, f64> {
        let launches = self.0.range((arm, 0)..=(arm, u32::MAX));
        let of_launch = |(&(_, launch), bins): (&(ArmIndex, u32), &Bins)| {
            let readings: Vec<_> = bins.iter().map(|(&bin, of)| (bin, of.bytes)).collect();
            let stretches = readings.chunk_by(|(before, _), (bin, _)| bin - before <= GAP + 1);
            let slopes: Vec<f64> = stretches.filter_map(slope).collect();
            let many = slopes.len() as f64;
            (many > 0.0).then(|| (launch, slopes.iter().sum::<f64>() / many * BINS_PER_HOUR))
        };
        launches.filter_map(of_launch).collect()
    }
}

/// Bytes per bin in the second half of a stretch; `None` if it is too short.
fn slope(stretch: &[(u64, f64)]) -> Option<f64> {
    let (first, last) = (stretch.first()?.0, stretch.last()?.0);
    if last - first < LEAST {
        return None;
    }
    let half = u64::midpoint(first, last);
    let settled = stretch.iter().filter(|(bin, _)| *bin >= half);
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
    use windage_model::fixtures::place;

    const ARM: ArmIndex = ArmIndex(2);
    const MIB: f64 = 1_048_576.0;

    /// Readings each second, `bytes` by the second.
    fn growth(seconds: u64, bytes: impl Fn(u64) -> f64) -> Option<f64> {
        let mut growth = Growth::default();
        for second in 0..seconds {
            take(&mut growth, second, bytes(second));
        }
        growth.bytes_per_hour(ARM).get(&0).copied()
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "sizes of processes"
    )]
    fn take(growth: &mut Growth, second: u64, bytes: f64) {
        growth.take(
            place(0, 0, ARM.0),
            second * 1_000_000_000,
            Some(bytes as u64),
        );
    }

    #[test]
    fn a_known_leak_is_found_beside_a_start() {
        let leak = |second: u64| 50.0 * MIB + second as f64 * MIB / 3600.0;
        let found = growth(1800, leak).unwrap();
        assert!((found / MIB - 1.0).abs() < 0.01, "{found}");
        // Caches fill in the first minutes; a collector frees 8 MiB each minute.
        let start = |second: u64| leak(second) - 20.0 * MIB * (-(second as f64) / 60.0).exp();
        let found = growth(1800, start).unwrap();
        assert!((found / MIB - 1.0).abs() < 0.01, "{found}");
        let collected = |second: u64| leak(second) + 8.0 * MIB * (second % 60) as f64 / 60.0;
        let found = growth(3600, collected).unwrap();
        assert!((found / MIB - 1.0).abs() < 0.5, "{found}");
        let flat = growth(1800, |_| 50.0 * MIB).unwrap();
        assert_eq!(flat, 0.0);
    }

    #[test]
    fn a_short_launch_has_no_growth() {
        assert_eq!(growth(599, |second| second as f64 * MIB), None);
        assert_eq!(growth(0, |_| MIB), None);
        assert!(growth(660, |second| second as f64 * MIB).is_some());
    }

    /// Agents start small at each attachment, which is no loss of memory.
    #[test]
    fn attachments_are_stretches_of_their_own() {
        let mut growth = Growth::default();
        for attachment in 0..3 {
            for second in 0..900 {
                let leaked = second as f64 * MIB / 3600.0;
                take(&mut growth, attachment * 2000 + second, 50.0 * MIB + leaked);
            }
        }
        let found = growth.bytes_per_hour(ARM)[&0];
        assert!((found / MIB - 1.0).abs() < 0.01, "{found}");
    }
}
