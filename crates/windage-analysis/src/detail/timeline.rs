//! A run's windows as they come in, thinned to what can be drawn.

use std::collections::BTreeMap;

use serde_json::Value;
use windage_model::{ArmIndex, Soundness, Window};

use super::bins::Bins;
use super::sums::{ArmSums, MachineSums, ends_ns};
use super::{ArmSeries, MachineSeries, RoundStretch, Series, WindowStretch};

/// Runs of at most so many windows are drawn window by window.
const MOST_BY_WINDOW: usize = 600;
/// At most so many windows are shown one by one.
const MOST_WINDOWS: usize = 400;
/// More rounds can't be distinguished.
const MOST_ROUNDS: usize = 400;

/// A run over time while its windows come in. Its memory is bounded.
#[derive(Clone, Debug)]
pub(super) struct Timeline {
    /// Online cores of the machine, where known.
    cores: Option<f64>,
    ends_ns: u64,
    windows: usize,
    first_windows: Vec<WindowStretch>,
    /// By launch.
    rounds: BTreeMap<u32, RoundStretch>,
    /// Every window, while there are few.
    points: Vec<Point>,
    bins: Bins,
}

/// One window's own figures.
#[derive(Clone, Copy, Debug)]
struct Point {
    arm: ArmIndex,
    of_machine: MachineSums,
    /// `None` for a void window.
    of_arm: Option<ArmSums>,
}

impl Timeline {
    pub(super) fn new(arms: usize, host: &Value) -> Timeline {
        let cores = host.get("cpus_online").and_then(Value::as_f64);
        Timeline {
            cores: cores.filter(|cores| *cores > 0.0),
            ends_ns: 0,
            windows: 0,
            first_windows: Vec::new(),
            rounds: BTreeMap::new(),
            points: Vec::new(),
            bins: Bins::new(arms),
        }
    }

    /// Adds a window.
    pub(super) fn take(&mut self, window: &Window) {
        let ends_ns = ends_ns(window);
        let soundness = window.soundness();
        let is_usable = soundness != Soundness::Void;
        self.windows += 1;
        self.ends_ns = self.ends_ns.max(ends_ns);
        let stretch = WindowStretch {
            arm: window.place.arm,
            from_s: seconds(window.started_ns),
            to_s: seconds(ends_ns),
            soundness,
        };
        self.take_round(window, &stretch);
        if self.first_windows.len() < MOST_WINDOWS {
            self.first_windows.push(stretch);
        }
        self.bins.add(window, is_usable);
        if self.windows <= MOST_BY_WINDOW {
            self.points.push(Point {
                arm: window.place.arm,
                of_machine: window.into(),
                of_arm: is_usable.then(|| window.into()),
            });
        } else {
            self.points = Vec::new();
        }
    }

    fn take_round(&mut self, window: &Window, stretch: &WindowStretch) {
        // One more than is shown, to detect that there are too many.
        let is_known = self.rounds.contains_key(&window.place.launch);
        if !is_known && self.rounds.len() > MOST_ROUNDS {
            return;
        }
        let round = self.rounds.entry(window.place.launch);
        let round = round.or_insert(RoundStretch {
            round: window.place.round,
            from_s: stretch.from_s,
            to_s: stretch.to_s,
        });
        round.from_s = round.from_s.min(stretch.from_s);
        round.to_s = round.to_s.max(stretch.to_s);
    }

    /// The run over time; `None` without windows.
    pub(super) fn series(mut self) -> Option<Series> {
        let is_by_window = self.windows <= MOST_BY_WINDOW;
        let (arms, machine) = if is_by_window {
            self.by_window()
        } else {
            self.bins.drawn(self.cores)
        };
        if self.rounds.len() > MOST_ROUNDS {
            self.rounds.clear();
        }
        (self.windows > 0).then(|| Series {
            lasts_s: seconds(self.ends_ns),
            bin_s: (!is_by_window).then(|| self.bins.length_s()),
            rounds: self.rounds.into_values().collect(),
            arms,
            machine,
            windows: self.first_windows,
            windows_in_all: self.windows,
        })
    }

    fn by_window(&self) -> (Vec<ArmSeries>, MachineSeries) {
        let mut arms = self.bins.arms();
        for point in &self.points {
            if let (Some(sums), Some(series)) = (point.of_arm, arms.get_mut(point.arm.get())) {
                sums.draw(series);
            }
        }
        let of_machine: Vec<MachineSums> =
            self.points.iter().map(|point| point.of_machine).collect();
        (arms, MachineSums::drawn(&of_machine, self.cores))
    }
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use windage_model::{WarningCode, fixtures};

    use super::*;
    use crate::fixture;

    /// Consecutive windows of half a second, of three arms in turn.
    fn windows(count: u32) -> Vec<Window> {
        let window = |number: u32| {
            let mut window =
                fixture::window(number / 100, number, u16::try_from(number % 3).unwrap());
            window.started_ns = u64::from(number) * 500_000_000;
            window.duration_ns = 400_000_000;
            window.machine.steal_ns = 80_000_000;
            window.machine.cpu_pressure_ns = number.is_multiple_of(2).then_some(100_000_000);
            window
        };
        (0..count).map(window).collect()
    }

    fn series(windows: &[Window], host: &Value) -> Option<Series> {
        let mut timeline = Timeline::new(3, host);
        windows.iter().for_each(|window| timeline.take(window));
        timeline.series()
    }

    fn two_cores() -> Value {
        serde_json::json!({"cpus_online": 2})
    }

    #[test]
    fn few_windows_are_drawn_one_by_one() {
        let mut windows = windows(6);
        windows[3].warnings = vec![fixtures::warning(WarningCode::ServiceDied)];
        windows[4].cpu.in_window_ns = None;
        let series = series(&windows, &two_cores()).unwrap();
        assert_eq!((series.bin_s, series.windows_in_all), (None, 6));
        assert_eq!(series.lasts_s, 2.9);
        let [first, second, _] = &series.arms[..] else {
            panic!("an arm is missing: {:?}", series.arms);
        };
        // The fourth window was the first arm's, and is void.
        assert_eq!(first.at_s, [0.2]);
        assert_eq!(first.cpu_us_per_request, [Some(50.0)]);
        assert_eq!(first.rate_per_s, [Some(2_500.0)]);
        assert_eq!(first.rss_bytes, [Some(1e7)]);
        assert_eq!(second.cpu_us_per_request, [Some(50.0), None]);
        assert_eq!(series.machine.at_s.len(), 6);
        assert_eq!(series.machine.steal[3], 0.1);
        assert_eq!(series.machine.pressure[..2], [Some(0.25), None]);
        assert_eq!(series.machine.busy_cores[0], Some(0.15));
        let void = series.windows[3];
        assert_eq!((void.arm, void.soundness), (ArmIndex(0), Soundness::Void));
        assert_eq!((void.from_s, void.to_s), (1.5, 1.9));
    }

    #[test]
    fn a_longer_run_is_thinned() {
        for (count, is_thinned) in [(600, false), (601, true), (5_000, true)] {
            let windows = windows(count);
            let series = series(&windows, &two_cores()).unwrap();
            let count = count as usize;
            assert_eq!(series.bin_s.is_some(), is_thinned, "{count} windows");
            assert_eq!((series.windows.len(), series.windows_in_all), (400, count));
            assert_eq!(series.rounds.len(), count.div_ceil(100));
            assert_eq!(series.rounds[1].from_s, 50.0);
            for arm in &series.arms {
                assert!(arm.at_s.len() <= 240, "{count}: {}", arm.at_s.len());
                assert!(arm.at_s.len() >= 100, "{count}: {}", arm.at_s.len());
                let all_alike =
                    |all: &[Option<f64>], of: f64| all.iter().all(|one| *one == Some(of));
                assert!(all_alike(&arm.cpu_us_per_request, 50.0), "{arm:?}");
                assert!(all_alike(&arm.rate_per_s, 2_500.0), "{arm:?}");
            }
            assert!(
                series
                    .machine
                    .steal
                    .iter()
                    .all(|share| (share - 0.1).abs() < 1e-12)
            );
        }
    }

    #[test]
    fn unknown_figures_are_none() {
        assert_eq!(series(&[], &two_cores()), None);
        let mut windows = windows(601);
        for window in &mut windows {
            window.exchanges.completed = 0;
            window.machine = Default::default();
            window.rss_bytes = None;
            window.place.arm = ArmIndex(window.place.arm.0 * 7);
        }
        let series = series(&windows, &Value::Null).unwrap();
        let first = &series.arms[0];
        assert!(!first.at_s.is_empty());
        assert!(first.cpu_us_per_request.iter().all(Option::is_none));
        assert!(first.rss_bytes.iter().all(Option::is_none));
        assert!(first.rate_per_s.iter().all(|rate| *rate == Some(0.0)));
        assert!(series.machine.busy_cores.iter().all(Option::is_none));
        // Arms that are not in the manifest have no line.
        assert!(series.arms[1].at_s.is_empty() && series.arms.len() == 3);
    }

    #[test]
    fn agents_are_drawn_where_any_were_read() {
        for (count, is_thinned) in [(6, false), (900, true)] {
            let mut windows = windows(count);
            for window in &mut windows {
                if window.place.arm == ArmIndex(2) {
                    window.beside.agent_ns = Some(20_000_000);
                    window.beside.agent_rss_bytes = Some(5_000_000);
                }
            }
            // The first window of the arm: its agents could not be read.
            windows[2].beside = Default::default();
            let series = series(&windows, &two_cores()).unwrap();
            assert_eq!(series.bin_s.is_some(), is_thinned);
            let [.., without, of_arm] = &series.arms[..] else {
                panic!("an arm is missing: {:?}", series.arms);
            };
            assert_eq!(without.agents, None);
            let agents = of_arm.agents.as_ref().unwrap();
            let expected = |figure: f64| {
                let mut all = vec![Some(figure); of_arm.at_s.len()];
                all[0] = None;
                all
            };
            assert_eq!(agents.cores, expected(0.05));
            assert_eq!(agents.rss_bytes, expected(5e6));
        }
    }

    #[test]
    fn too_many_rounds_are_not_shown() {
        let mut windows = windows(1_000);
        for (launch, window) in (0u32..).zip(&mut windows) {
            window.place.launch = launch;
        }
        assert_eq!(
            series(&windows[..400], &two_cores()).unwrap().rounds.len(),
            400
        );
        assert_eq!(series(&windows, &two_cores()).unwrap().rounds, []);
    }
}
