//! What an arm used in a launch, in its windows and outside them: the source of deferred cost.
//!
//! Batch exporters flush on timers; collectors and JITs run later. What an arm uses outside its own
//! windows is credited to its requests, less its idle CPU.

use std::collections::BTreeMap;

use windage_model::{ArmCpu, ArmIndex, Soundness, Window};
use windage_record::{Launch, LaunchEnd};

/// What one arm used in one launch.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Ledger {
    /// CPU in own windows, in nanoseconds.
    in_window_ns: f64,
    /// Requests completed in own windows.
    measured: f64,
    /// Requests completed in settle times and under load that is not measured; they defer cost as
    /// well.
    unmeasured: f64,
    /// CPU outside own windows, settle and warm-up, in nanoseconds.
    outside_ns: f64,
    /// The time that `outside_ns` covers, in nanoseconds.
    outside_time_ns: f64,
    /// The time of the arm's own settle and unmeasured load, and of agents attaching or detaching,
    /// in which deferred work can't be distinguished from other work.
    hidden_time_ns: f64,
    /// Idle CPU of the arm, in cores; `None` when not measured.
    idle_cores: Option<f64>,
    /// The time in which it was read, in nanoseconds.
    idle_ns: u64,
    /// Whether a reading was missing.
    unreadable: bool,
}

impl Ledger {
    /// CPU in own windows per measured request, in nanoseconds.
    pub(crate) fn in_window_per_request_ns(&self) -> Option<f64> {
        (!self.unreadable && self.measured > 0.0 && self.in_window_ns > 0.0)
            .then(|| self.in_window_ns / self.measured)
    }

    /// CPU deferred beyond windows per request, in nanoseconds; it can be slightly negative when
    /// the idle reading caught unusual activity. `None` without a measured window.
    pub(crate) fn deferred_per_request_ns(&self) -> Option<f64> {
        let requests = self.measured + self.unmeasured;
        if self.unreadable || self.measured <= 0.0 || self.outside_time_ns <= 0.0 {
            return None;
        }
        let idle_ns = self.idle_cores? * self.outside_time_ns;
        Some((self.outside_ns - idle_ns) * self.hidden() / requests)
    }

    /// Deferred work is as frequent in hidden times as anywhere else outside windows.
    fn hidden(&self) -> f64 {
        1.0 + self.hidden_time_ns / self.outside_time_ns
    }

    /// By how many nanoseconds the deferred cost per request changes with each core of idle CPU.
    pub(crate) fn ns_per_idle_core(&self) -> Option<f64> {
        self.deferred_per_request_ns()?;
        Some(-self.outside_time_ns * self.hidden() / (self.measured + self.unmeasured))
    }

    /// Idle CPU of the arm, in cores.
    pub(crate) fn idle_cores(&self) -> Option<f64> {
        self.idle_cores
    }

    /// ln of (in-window + deferred) / in-window.
    pub(crate) fn deferred_log_share(&self) -> Option<f64> {
        let share = self.deferred_per_request_ns()? / self.in_window_per_request_ns()?;
        (share > -1.0).then(|| share.ln_1p())
    }
}

/// Ledgers by launch and arm, filled while the entries of a journal are read in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Ledgers {
    ledgers: BTreeMap<(u32, ArmIndex), Ledger>,
    /// The arm that has the credit of each set of processes.
    credit: BTreeMap<(u32, u16), Credit>,
    /// The set of processes of each arm.
    instances: BTreeMap<(u32, ArmIndex), u16>,
    /// All stretches of a launch together, in nanoseconds.
    stretches_ns: BTreeMap<u32, u64>,
}

/// What a set of processes does outside windows is credited to the arm that last had load there.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Credit {
    arm: ArmIndex,
    /// The launch's stretches when this arm got the credit, in nanoseconds.
    since_ns: u64,
}

impl Ledgers {
    /// Starts the ledgers of a launch.
    pub(crate) fn launch_started(&mut self, launch: &Launch) {
        for arm in &launch.arms {
            self.instances
                .insert((launch.launch, arm.arm), arm.instance);
            // Warm-up goes through the arms in order: the last arm of a set has the credit.
            let credit = Credit {
                arm: arm.arm,
                since_ns: 0,
            };
            self.credit.insert((launch.launch, arm.instance), credit);
        }
    }

    /// Records the readings at the end of a launch. Without those at its start, which may be damaged,
    /// its cost is unknown.
    pub(crate) fn launch_ended(&mut self, end: &LaunchEnd) {
        for arm in &end.arms {
            let has_start = self.instances.contains_key(&(end.launch, arm.arm));
            let entry = self.entry(end.launch, arm.arm);
            entry.unreadable |= !has_start;
            match arm.after_last_window_ns {
                Some(ns) => entry.outside_ns += ns as f64,
                None => entry.unreadable = true,
            }
            entry.outside_time_ns += arm.drain_ns as f64;
            entry.hidden_time_ns += arm.hidden_ns as f64;
            entry.unmeasured += arm.unmeasured as f64;
            entry.idle_ns += arm.idle_ns;
            entry.idle_cores = arm
                .idle_cpu_ns
                .filter(|_| arm.idle_ns > 0)
                .map(|cpu_ns| cpu_ns as f64 / arm.idle_ns as f64);
        }
    }

    /// Adds the time outside windows to the arms that have the credit at the end.
    pub(crate) fn close(&mut self) {
        for ((launch, _), credit) in std::mem::take(&mut self.credit) {
            let now_ns = self.stretches_ns.get(&launch).copied().unwrap_or(0);
            self.book_credit(launch, credit, now_ns);
        }
    }

    pub(crate) fn get(&self, launch: u32, arm: ArmIndex) -> Option<&Ledger> {
        self.ledgers.get(&(launch, arm))
    }

    /// All stretches of a launch together, in nanoseconds.
    pub(crate) fn stretches_ns(&self, launch: u32) -> u64 {
        self.stretches_ns.get(&launch).copied().unwrap_or(0)
    }

    /// Whether an arm runs on the same processes as the baseline, with a switch between them.
    pub(crate) fn shares_with_baseline(&self, arm: ArmIndex) -> bool {
        let set = |of: ArmIndex| {
            let sets = self.instances.iter();
            sets.filter(move |((_, arm), _)| *arm == of)
                .map(|(_, set)| set)
        };
        arm != ArmIndex::BASELINE && set(arm).eq(set(ArmIndex::BASELINE)) && set(arm).count() > 0
    }

    /// A value of an arm, by launch.
    pub(crate) fn by_launch(
        &self,
        arm: ArmIndex,
        value: impl Fn(&Ledger) -> Option<f64>,
    ) -> BTreeMap<u32, f64> {
        self.ledgers
            .iter()
            .filter(|((_, of), _)| *of == arm)
            .filter_map(|(&(launch, _), ledger)| Some((launch, value(ledger)?)))
            .collect()
    }

    /// The time in which an arm's idle CPU was read, over all launches, in seconds.
    pub(crate) fn idle_s(&self, arm: ArmIndex) -> f64 {
        let read = self.by_launch(arm, |of| of.idle_cores.map(|_| of.idle_ns as f64 / 1e9));
        read.values().sum()
    }

    fn entry(&mut self, launch: u32, arm: ArmIndex) -> &mut Ledger {
        self.ledgers.entry((launch, arm)).or_default()
    }

    /// Adds a window: its own arm's CPU, and what the other arms used at the same time. A void
    /// window's own CPU is not measured cost, but its requests defer cost like any others.
    pub(crate) fn enter(&mut self, window: &Window) {
        let launch = window.place.launch;
        let own = self.entry(launch, window.place.arm);
        own.hidden_time_ns += window.stretch_ns.saturating_sub(window.duration_ns) as f64;
        own.unmeasured += window.exchanges.settle_completed as f64;
        if window.soundness() == Soundness::Void {
            own.unmeasured += window.exchanges.completed as f64;
        } else if let Some(ns) = window.cpu.in_window_ns {
            own.in_window_ns += ns as f64;
            own.measured += window.exchanges.completed as f64;
        } else {
            own.unreadable = true;
        }
        for ArmCpu { arm, cpu_ns } in window
            .cpu
            .others_in_window
            .iter()
            .chain(&window.cpu.others_before)
        {
            self.entry(launch, *arm).outside_ns += *cpu_ns as f64;
        }
        self.pass_time(window);
    }

    /// A window's time counts as outside time for every set of processes but its own, whose credit
    /// goes to the window's arm.
    fn pass_time(&mut self, window: &Window) {
        let (launch, arm) = (window.place.launch, window.place.arm);
        let now_ns = self.stretches_ns.entry(launch).or_default();
        let before_ns = *now_ns;
        *now_ns = before_ns.saturating_add(window.stretch_ns);
        let since_ns = *now_ns;
        let Some(&own_set) = self.instances.get(&(launch, arm)) else {
            return;
        };
        let passed_on = Credit { arm, since_ns };
        if let Some(credit) = self.credit.insert((launch, own_set), passed_on) {
            self.book_credit(launch, credit, before_ns);
        }
    }

    fn book_credit(&mut self, launch: u32, credit: Credit, until_ns: u64) {
        let outside_ns = until_ns.saturating_sub(credit.since_ns);
        self.entry(launch, credit.arm).outside_time_ns += outside_ns as f64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use windage_model::WindowCpu;

    fn kept(windows: &[Window], launches: &[Launch], ends: &[LaunchEnd]) -> Ledgers {
        let mut ledgers = Ledgers::default();
        launches.iter().for_each(|l| ledgers.launch_started(l));
        windows.iter().for_each(|w| ledgers.enter(w));
        ends.iter().for_each(|e| ledgers.launch_ended(e));
        ledgers.close();
        ledgers
    }

    /// Two arms take turns; the second flushes 3 ms in each of the first's windows and idles at a
    /// hundredth of a core.
    #[test]
    fn work_outside_own_windows_is_credited_to_its_requests() {
        let mut windows = Vec::new();
        for block in 0..10 {
            for arm in [0u16, 2] {
                let mut window = fixture::window(0, block, arm);
                window.duration_ns = 100_000_000;
                window.stretch_ns = 100_000_000;
                window.exchanges.completed = 1000;
                window.exchanges.settle_completed = 0;
                window.cpu = WindowCpu {
                    in_window_ns: Some(50_000_000),
                    others_in_window: match arm {
                        0 => vec![ArmCpu {
                            arm: ArmIndex(2),
                            cpu_ns: 4_000_000,
                        }],
                        _ => vec![],
                    },
                    ..WindowCpu::default()
                };
                windows.push(window);
            }
        }
        let ledgers = kept(
            &windows,
            &[fixture::launch(0, &[0, 2])],
            &[fixture::launch_end(0, &[(0, 0, 0), (2, 0, 1_000_000)])],
        );
        let arm = ledgers.get(0, ArmIndex(2)).unwrap();
        // 4 ms per window less the idle hundredth of 100 ms, over 1000 requests: 3 µs each.
        assert_eq!(arm.in_window_per_request_ns(), Some(50_000.0));
        assert!((arm.deferred_per_request_ns().unwrap() - 3_000.0).abs() < 1.0);
        assert!((arm.deferred_log_share().unwrap() - 0.06f64.ln_1p()).abs() < 1e-6);
        let baseline = ledgers.get(0, ArmIndex::BASELINE).unwrap();
        assert_eq!(baseline.deferred_per_request_ns(), Some(0.0));
    }

    /// Two arms share their processes by a switch: time outside windows belongs to the arm that has
    /// the credit, as its CPU does.
    #[test]
    fn arms_that_share_processes_share_the_time_outside() {
        let mut launch = fixture::launch(0, &[0, 2, 3]);
        launch.arms[2].instance = 2;
        let windows: Vec<_> = [0u16, 2, 0, 3, 0]
            .map(|arm| fixture::window(0, u32::from(arm), arm))
            .into();
        let ledgers = kept(&windows, &[launch], &[]);
        let outside_s = |arm| ledgers.get(0, ArmIndex(arm)).unwrap().outside_time_ns / 110e6;
        // The last arm in order has the credit from the warm-up until the first window.
        assert_eq!((outside_s(0), outside_s(2), outside_s(3)), (2.0, 1.0, 2.0));
    }

    /// Deferred work during unmeasured load can't be distinguished: it is assumed to be as frequent
    /// as elsewhere, and those requests defer some as well.
    #[test]
    fn unmeasured_load_hides_deferred_work_and_defers_some() {
        let mut window = fixture::window(0, 0, 0);
        window.duration_ns = window.stretch_ns;
        window.exchanges.completed = 1000;
        window.exchanges.settle_completed = 0;
        let deferred_ns = |hidden_ns, unmeasured| {
            let mut end = fixture::launch_end(0, &[(0, 3_000_000, 0)]);
            end.arms[0].hidden_ns = hidden_ns;
            end.arms[0].unmeasured = unmeasured;
            let launch = fixture::launch(0, &[0]);
            let ledgers = kept(std::slice::from_ref(&window), &[launch], &[end]);
            let ledger = *ledgers.get(0, ArmIndex(0)).unwrap();
            ledger.deferred_per_request_ns().unwrap()
        };
        let alone = deferred_ns(0, 0);
        assert!(alone > 0.0);
        // The drain is a second.
        for (hidden_ns, unmeasured, expected) in [
            (500_000_000, 0, alone * 1.5),
            (0, 1000, alone / 2.0),
            (500_000_000, 500, alone),
        ] {
            let found = deferred_ns(hidden_ns, unmeasured);
            assert!(
                (found - expected).abs() < 1e-6 * alone,
                "{hidden_ns} {unmeasured}: {found}"
            );
        }
    }

    /// A drain follows the warm-up, so that what it deferred is in no reading of the windows.
    #[test]
    fn a_warm_up_defers_nothing_into_windows() {
        let windows = [fixture::window(0, 0, 0)];
        let end = fixture::launch_end(0, &[(0, 3_000_000, 0)]);
        let deferred_ns = |warmup_completed| {
            let mut launch = fixture::launch(0, &[0]);
            launch.arms[0].warmup_completed = warmup_completed;
            launch.arms[0].warmup_outside_ns = warmup_completed * 1000;
            let ledgers = kept(&windows, &[launch], std::slice::from_ref(&end));
            let ledger = ledgers.get(0, ArmIndex(0)).copied();
            ledger.unwrap().deferred_per_request_ns().unwrap()
        };
        assert!(deferred_ns(0) > 0.0);
        assert_eq!(deferred_ns(10_000).to_bits(), deferred_ns(0).to_bits());
    }

    #[test]
    fn without_an_idle_reading_deferred_cost_is_unknown() {
        let windows = [fixture::window(0, 0, 0)];
        let ledgers = kept(&windows, &[fixture::launch(0, &[0])], &[]);
        assert_eq!(
            ledgers
                .get(0, ArmIndex(0))
                .unwrap()
                .deferred_per_request_ns(),
            None
        );
    }
}
