//! Exports on a timer that is slow compared with a round.
//!
//! A round begins and ends with empty queues, so a slow timer does not lose cost. But a round of few
//! periods has up to one export more than its requests would cause in a service that runs for long,
//! and a drain that is shorter than the timer leaves the last one out.

use std::collections::BTreeMap;
use std::time::Duration;

use windage_model::{ArmIndex, Backend, Role, TurnBlock, Warning, Window};
use windage_record::{Delivered, LaunchEnd};

use crate::records::Records;

/// A round of fewer periods depends on where the timer happens to be.
const FEWEST_PERIODS: f64 = 3.0;

/// When the measured load of each launch began, and when its last reading was, in nanoseconds since
/// the run began.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct LaunchTimes(BTreeMap<u32, (u64, u64)>);

impl LaunchTimes {
    pub(crate) fn window(&mut self, window: &Window) {
        let ends_ns = window.started_ns.saturating_add(window.duration_ns);
        self.loaded(window.place.launch, window.started_ns, ends_ns);
    }

    pub(crate) fn turns(&mut self, block: &TurnBlock) {
        let ends_ns = block.started_ns.saturating_add(block.lasted_ns);
        self.loaded(block.launch, block.started_ns, ends_ns);
    }

    fn loaded(&mut self, launch: u32, started_ns: u64, ended_ns: u64) {
        let (from_ns, to_ns) = self.0.entry(launch).or_insert((started_ns, ended_ns));
        *from_ns = started_ns.min(*from_ns);
        *to_ns = ended_ns.max(*to_ns);
    }

    /// Adds the wait for the last reading.
    pub(crate) fn launch_ended(&mut self, end: &LaunchEnd) {
        let wait_ns = |of: &windage_record::LaunchArmEnd| match of.turns_drain_ns {
            0 => of.drain_ns.saturating_add(of.idle_ns),
            after_turns_ns => after_turns_ns,
        };
        let longest_ns = end.arms.iter().map(wait_ns).max().unwrap_or(0);
        if let Some((_, to_ns)) = self.0.get_mut(&end.launch) {
            *to_ns = to_ns.saturating_add(longest_ns);
        }
    }

    /// From a launch's first measured load to its last reading; `None` when nothing was measured.
    pub(crate) fn lasted(&self, launch: u32) -> Option<Duration> {
        let (from_ns, to_ns) = self.0.get(&launch)?;
        Some(Duration::from_nanos(to_ns.saturating_sub(*from_ns)))
    }

    /// The length of a launch that is neither short nor long among those that ended.
    fn median_s(&self, ends: &[LaunchEnd]) -> Option<f64> {
        let lasted_s = |end: &LaunchEnd| Some(self.lasted(end.launch)?.as_secs_f64());
        median(ends.iter().filter_map(lasted_s).collect())
    }
}

/// A warning about the treatment whose exports are on the slowest timer.
pub(crate) fn timer_longer_than_round(records: &Records) -> Option<Warning> {
    let round_s = records.launch_times.median_s(&records.ends)?;
    let arms = records.manifest.arms.iter();
    let timers = arms
        .filter(|arm| arm.role == Role::Treatment && arm.backend == Backend::Ok)
        .filter_map(|arm| Some((arm, timer_s(records, arm.index)?)));
    let (arm, timer_s) = timers.max_by(|(_, a), (_, b)| a.total_cmp(b))?;
    (round_s < FEWEST_PERIODS * timer_s).then(|| Warning::TimerLongerThanRound {
        arm: arm.id.to_string(),
        timer_s,
        round_s,
    })
}

/// The longest export delay of an arm's launches, their median: a span that ends just after an
/// export waits a whole period for the next one. Retries wait for other reasons.
fn timer_s(records: &Records, arm: ArmIndex) -> Option<f64> {
    let is_plain = |of: &&Delivered| of.arm == arm && of.retried_requests == 0 && of.refused == 0;
    let delivered = records.delivered.iter().filter(is_plain);
    let longest_s = delivered.filter_map(|of| Some(of.delay?.max_ns as f64 / 1e9));
    median(longest_s.collect())
}

/// The lower one of two in the middle.
fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len().checked_sub(1)? / 2;
    Some(values[middle])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Recorded;
    use crate::fixture::in_turns::records_with_turns;
    use windage_record::ExportDelay;

    fn after(run: &mut Recorded, max_ms: u64) {
        for delivered in &mut run.delivered {
            delivered.delay = Some(ExportDelay {
                max_ns: max_ms * 1_000_000,
                ..ExportDelay::default()
            });
        }
    }

    /// Six blocks of a second and a drain of two: rounds of eight seconds. Windows began earlier.
    #[test]
    fn a_round_of_fewer_than_three_periods_is_a_warning() {
        type Change = fn(&mut Recorded);
        let table: [(&str, u64, Change, bool); 7] = [
            ("short periods", 2600, |_| {}, false),
            ("fewer than three", 2700, |_| {}, true),
            ("no delay is known", 0, |run| run.delivered.clear(), false),
            (
                "a single launch is late",
                2600,
                |run| {
                    run.delivered[0].delay.as_mut().unwrap().max_ns = u64::MAX;
                },
                false,
            ),
            (
                "exports were tried again",
                2700,
                |run| {
                    run.delivered
                        .iter_mut()
                        .for_each(|of| of.retried_requests = 1);
                },
                false,
            ),
            (
                "the backend stalls",
                2700,
                |run| {
                    run.manifest.arms[2].backend = Backend::Stall { lasts: None };
                },
                false,
            ),
            ("no launch ended", 2700, |run| run.ends.clear(), false),
        ];
        for (why, max_ms, change, is_expected) in table {
            let mut run = records_with_turns(3, 1);
            run.windows.clear();
            after(&mut run, max_ms);
            change(&mut run);
            let found = timer_longer_than_round(&run.gathered());
            assert_eq!(found.is_some(), is_expected, "{why}: {found:?}");
            if let Some(Warning::TimerLongerThanRound {
                timer_s,
                round_s,
                arm,
            }) = found
            {
                assert_eq!(
                    (arm.as_str(), timer_s, round_s),
                    ("otel", 2.7, 8.0),
                    "{why}"
                );
            }
        }
    }
}
