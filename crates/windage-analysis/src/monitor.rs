//! A run in progress: has its stop rule been met?
//!
//! The answer is that of the analysis of the records so far, so there is no second estimator that
//! could disagree. It may be asked at any time: in a run with a stop rule all intervals are
//! confidence sequences, which hold at every look. (In a run of one round the deferred cost is
//! unknown until the end; it shifts the estimate but hardly changes the interval's width.)

use windage_model::{ArmIndex, BudgetVerdict, Metric, Role, Unit, Until};
use windage_record::{Entry, Launch, LaunchEnd, Manifest, StopScope};
use windage_stats::{Confidence, TwoLevel, UnitKind, outlook};

use crate::budgets;
use crate::conclude::{launches_needed, relative_at};
use crate::family::Comparisons;
use crate::metrics::{self, of_windows};
use crate::quantiles::Finished;
use crate::records::Records;
use crate::run::Run;

/// A forecast is given when its whole range is within this factor of it.
const FORECAST_WITHIN: f64 = 1.5;

/// Follows a run that has a stop rule.
#[derive(Clone, Debug)]
pub struct Monitor {
    records: Records,
    stop: StopScope,
    still_needed: Option<u32>,
}

/// How precisely one arm is known.
struct Known {
    half_width: f64,
    /// Blocks or launches still needed; `None` while unknown.
    needed: Option<f64>,
}

impl Monitor {
    /// Follows a run from its beginning; `None` for a run without a stop rule.
    #[must_use]
    pub fn new(manifest: Manifest) -> Option<Monitor> {
        Some(Monitor {
            stop: manifest.design.stop?,
            records: Records::empty(manifest, serde_json::Value::Null),
            still_needed: None,
        })
    }

    /// Records that all processes of a round are up.
    pub fn launched(&mut self, launch: &Launch) {
        self.records.take(Entry::LaunchStarted(launch.clone()));
    }

    /// Records a committed block.
    pub fn block_done(&mut self, measured: &[Entry]) {
        measured
            .iter()
            .for_each(|entry| self.records.take(entry.clone()));
    }

    /// Records the readings after a launch's last window.
    pub fn launch_ended(&mut self, end: &LaunchEnd) {
        self.records.take(Entry::LaunchEnded(end.clone()));
    }

    /// Why the run may end now: every treatment (or the control, where there is no treatment) is
    /// known as precisely as the stop rule asks. `None` while one of them is not.
    pub fn enough(&mut self) -> Option<String> {
        let (metric, asked) = match self.stop.until {
            Until::Known { metric, half_width } => (metric, half_width),
            Until::Budgets => return self.decided(),
        };
        let known = self.known(metric, asked);
        self.still_needed = known.as_ref().and_then(|known| {
            let needed: Option<Vec<f64>> = known.iter().map(|k| k.needed).collect();
            let most = needed?.into_iter().fold(0.0, f64::max).ceil();
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a positive number of blocks or rounds, a million at most"
            )]
            let most = most as u32;
            Some(most)
        });
        let known = known.filter(|known| !known.is_empty())?;
        let widest = known.iter().map(|k| k.half_width).fold(0.0, f64::max);
        known.iter().all(|k| k.half_width <= asked).then(|| {
            format!(
                "{} is known to ±{:.2} %, the stop rule asks for ±{:.2} %",
                metric.as_str(),
                widest * 100.0,
                asked * 100.0
            )
        })
    }

    /// Blocks (in a run of one round) or rounds that are probably still needed after the last call
    /// of [`enough`](Self::enough); `None` until they are known within a factor of 1.5.
    #[must_use]
    pub fn still_needed(&self) -> Option<u32> {
        self.still_needed
    }

    /// All followed arms; `None` when one of them has no interval yet.
    fn known(&mut self, metric: Metric, half_width: f64) -> Option<Vec<Known>> {
        self.records.so_far(|so_far| {
            let run = Run::new(so_far, Finished::nothing(), Finished::nothing());
            watched(&so_far.manifest)
                .map(|arm| known_of(&run, arm, metric, half_width))
                .collect()
        })
    }

    /// That every budget is decided. Times and what arrived are not read during a run, so that budgets
    /// of quantiles and of lost telemetry are open until its end; so are all of shares, whose counts
    /// have an interval for one look.
    fn decided(&mut self) -> Option<String> {
        let mut budgets = self.records.manifest.budgets.iter();
        if budgets.any(|budget| budget.metric.unit() == Unit::Share) {
            return None;
        }
        let verdicts: Vec<BudgetVerdict> = self.records.so_far(|so_far| {
            let run = Run::new(so_far, Finished::nothing(), Finished::nothing());
            let arms = so_far.manifest.arms.iter().map(|arm| arm.index);
            let of_arm = |arm| {
                let comparisons: Comparisons =
                    metrics::comparisons(&run, arm).into_iter().collect();
                budgets::of_arm(&run, arm, &comparisons)
            };
            arms.flat_map(of_arm).map(|of| of.verdict).collect()
        });
        let is_decided = |verdict: &BudgetVerdict| *verdict != BudgetVerdict::Undecided;
        (!verdicts.is_empty() && verdicts.iter().all(is_decided))
            .then(|| "every budget is decided".to_owned())
    }
}

fn known_of(run: &Run<'_>, arm: ArmIndex, metric: Metric, half_width: f64) -> Option<Known> {
    let comparison = of_windows(run, metric, arm)?;
    let location = comparison.location.as_ref().ok()?;
    if is_of_another_sequence(run, location) {
        return None;
    }
    // It would end without a verdict.
    let is_by_launch = location.units.kind == UnitKind::Launches;
    if is_by_launch && launches_needed(&comparison, run.rules).is_some() {
        return None;
    }
    // Without a bounded interval at 99 % the control could not be checked.
    relative_at(&comparison, Confidence::P99, run.rules)?;
    let found = relative_at(&comparison, Confidence::P95, run.rules)?;
    Some(Known {
        half_width: found.half_width(),
        needed: needed(run, location, half_width),
    })
}

/// Whether a location rests on batches in a run of several rounds. First looks at batches and later
/// ones at launches would be two sequences, each of which may miss the truth.
pub(crate) fn is_of_another_sequence(run: &Run<'_>, location: &TwoLevel) -> bool {
    run.records.manifest.design.rounds > 1 && location.units.kind != UnitKind::Launches
}

fn needed(run: &Run<'_>, location: &TwoLevel, half_width: f64) -> Option<f64> {
    let units = &location.units;
    // On the scale of log ratios: half the distance of exp(e + h) and exp(e − h).
    let half_width = (half_width / units.mean()?.exp()).asinh();
    let (count, deviation) = (units.values.len(), units.standard_deviation());
    let outlook = outlook(count, deviation, half_width, Confidence::P95)?;
    let blocks = match units.kind {
        UnitKind::Launches => 1.0,
        // Of all blocks of the run: with many arms not every block has this arm.
        UnitKind::Batches => {
            let values_of_a_block = location.blocks as f64 / f64::from(run.blocks.count());
            UnitKind::BATCH as f64 / values_of_a_block
        }
    };
    outlook
        .is_within(FORECAST_WITHIN)
        .then_some(outlook.units_left * blocks)
}

fn watched(manifest: &Manifest) -> impl Iterator<Item = ArmIndex> {
    let arms = &manifest.arms;
    let has_treatment = arms.iter().any(|arm| arm.role == Role::Treatment);
    let role = if has_treatment {
        Role::Treatment
    } else {
        Role::Control
    };
    arms.iter()
        .filter(move |arm| arm.role == role)
        .map(|arm| arm.index)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::in_turns::records_with_turns;
    use crate::fixture::{self, Recorded};
    use windage_model::Metric;

    /// A monitor after so many rounds of ten blocks.
    fn monitor(rounds: u32, half_width: f64) -> Monitor {
        monitor_of(fixture::records(rounds), half_width)
    }

    fn monitor_of(recorded: Recorded, half_width: f64) -> Monitor {
        let mut manifest = recorded.manifest.clone();
        manifest.design.stop = Some(StopScope {
            until: windage_model::Until::Known {
                metric: Metric::CpuPerRequest,
                half_width,
            },
            within_ns: 60_000_000_000,
        });
        let mut monitor = Monitor::new(manifest).unwrap();
        for launch in &recorded.launches {
            monitor.launched(launch);
        }
        monitor.block_done(&recorded.measured());
        for end in &recorded.ends {
            monitor.launch_ended(end);
        }
        monitor
    }

    #[test]
    fn a_run_without_a_stop_has_no_monitor() {
        assert!(Monitor::new(fixture::records(3).manifest).is_none());
    }

    #[test]
    fn enough_agrees_with_the_analysis() {
        let mut wide = monitor(16, 0.02);
        let reason = wide.enough().unwrap();
        assert!(
            reason.starts_with("cpu_per_request is known to ±"),
            "{reason}"
        );
        assert_eq!(wide.still_needed(), Some(0));
        let mut narrow = monitor(16, 0.000_1);
        assert_eq!(narrow.enough(), None);
    }

    #[test]
    fn too_few_launches_are_never_enough() {
        assert_eq!(monitor(2, 0.5).enough(), None);
        assert_eq!(monitor(2, 0.5).still_needed(), None);
    }

    /// A launch in which batches scatter by a tenth of what single values do; four blocks make a
    /// batch.
    #[test]
    fn blocks_that_are_still_needed_are_blocks() {
        let mut recorded = fixture::records(40);
        for window in &mut recorded.windows {
            window.place.launch = 0;
            window.place.round = 0;
        }
        let mut manifest = recorded.manifest.clone();
        manifest.design.rounds = 1;
        let mut still_needed = Vec::new();
        for half_width in [0.000_2, 0.000_1] {
            manifest.design.stop = Some(StopScope {
                until: windage_model::Until::Known {
                    metric: Metric::CpuInWindow,
                    half_width,
                },
                within_ns: 60_000_000_000,
            });
            let mut monitor = Monitor::new(manifest.clone()).unwrap();
            monitor.launched(&recorded.launches[0]);
            monitor.block_done(&recorded.measured());
            monitor.enough();
            let run = monitor.records.clone();
            assert_eq!(run.windows.measured.len(), 40 * 10 * 6);
            still_needed.push(monitor.still_needed().unwrap());
        }
        // Half the width takes about four times as many blocks in all, of which 400 were measured.
        let [wide, narrow] = still_needed[..] else {
            panic!("two answers")
        };
        assert_eq!(narrow % 4, 0, "whole batches of four blocks");
        let totals = f64::from(narrow + 400) / f64::from(wide + 400);
        assert!(
            (1.0..=4.6).contains(&totals) && narrow > wide,
            "{wide} {narrow}"
        );
    }

    #[test]
    fn fifteen_launches_are_never_enough() {
        assert_eq!(monitor(15, 0.9).enough(), None);
        assert!(monitor(16, 0.9).enough().is_some());
    }

    #[test]
    fn launches_of_turns_are_counted_and_not_their_blocks() {
        for (launches, is_enough) in [(1, false), (2, false), (15, false), (16, true)] {
            let mut monitor = monitor_of(records_with_turns(launches, 1), 0.5);
            assert_eq!(monitor.enough().is_some(), is_enough, "{launches}");
        }
    }
}
