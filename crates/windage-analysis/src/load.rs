//! Facts about the load: rates, failures, and the slowest exchanges of the run.

use windage_model::{Exchanges, LoadModel, Outlier, Window};

use crate::{ArmLoad, Coincidence, SlowExchange};

/// How many slow exchanges of a run are reported.
const SLOWEST: usize = 10;

/// What the generator did to one arm, void windows included.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct LoadTally {
    pub(crate) exchanges: Exchanges,
    duration_ns: u64,
    windows: usize,
}

impl LoadTally {
    /// Adds a window of the arm.
    pub(crate) fn take(&mut self, window: &Window) {
        self.exchanges.merge(&window.exchanges);
        self.duration_ns += window.duration_ns;
        self.windows += 1;
    }

    /// The reported load, except times, which are in histograms; `None` for a batch load and for an
    /// arm without windows.
    pub(crate) fn load(&self, model: LoadModel) -> Option<ArmLoad> {
        let (exchanges, duration_ns) = (self.exchanges, self.duration_ns);
        (self.windows > 0 && model != LoadModel::Batch).then(|| ArmLoad {
            exchanges,
            intended_per_s: exchanges
                .intended_per_s(duration_ns)
                .filter(|_| model == LoadModel::Open),
            offered_per_s: exchanges.offered_per_s(duration_ns),
            achieved_per_s: exchanges.achieved_per_s(duration_ns),
            mean_response_time_us: None,
        })
    }
}

/// The slowest exchanges in windows that are not void, slowest first. At most one per window,
/// because a single event makes many exchanges slow and would fill the list.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Slowest(Vec<SlowExchange>);

impl Slowest {
    /// Takes a window that is not void.
    pub(crate) fn take(&mut self, window: &Window) {
        let slowest = window.outliers.iter().max_by_key(|o| o.response_time_ns());
        let Some(&at) = slowest else { return };
        // Of equally slow ones the first stays.
        let faster = |slow: &SlowExchange| slow.at.response_time_ns() < at.response_time_ns();
        let rank = self.0.iter().position(faster).unwrap_or(self.0.len());
        if rank < SLOWEST {
            self.0.insert(rank, slow_exchange(window, at));
            self.0.truncate(SLOWEST);
        }
    }

    /// The exchanges.
    pub(crate) fn exchanges(&self) -> &[SlowExchange] {
        &self.0
    }
}

fn slow_exchange(window: &Window, at: Outlier) -> SlowExchange {
    SlowExchange {
        place: window.place,
        at,
        coincided: Coincidence {
            stall_ns: window
                .longest_stall()
                .filter(|&(from_ns, to_ns)| at.overlaps(from_ns, to_ns))
                .map(|(from_ns, to_ns)| to_ns - from_ns),
            generator_preemptions: window.exchanges.generator_preemptions,
            generator_run_queue_ns: window.exchanges.generator_run_queue_ns,
            steal_ns: window.machine.steal_ns,
            cpu_pressure_ns: window.machine.cpu_pressure_ns,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::window;
    use crate::windows::Windows;
    use windage_model::{ArmIndex, WarningCode, fixtures};

    fn lasting(intended_ns: u64, response_time_ns: u64) -> Outlier {
        Outlier {
            intended_ns,
            sent_ns: intended_ns,
            completed_ns: intended_ns + response_time_ns,
        }
    }

    #[test]
    fn rates_and_failures_are_those_of_all_windows_of_the_arm() {
        let mut second = window(0, 1, 2);
        second.exchanges.completed = 500;
        second.exchanges.errors.timeout = 500;
        second
            .warnings
            .push(fixtures::warning(WarningCode::ServiceDied));
        let mut tally = LoadTally::default();
        tally.take(&window(0, 0, 2));
        tally.take(&second);
        let load = tally.load(LoadModel::Open).unwrap();
        assert_eq!(load.intended_per_s, Some(10_000.0));
        assert_eq!(load.offered_per_s, Some(10_000.0));
        assert_eq!(load.achieved_per_s, Some(7_500.0));
        assert_eq!(load.exchanges.failed(), 500);
        let closed = tally.load(LoadModel::Closed).unwrap();
        assert_eq!(closed.intended_per_s, None, "nothing was intended");
        assert_eq!(tally.load(LoadModel::Batch), None);
        assert_eq!(LoadTally::default().load(LoadModel::Open), None);
    }

    #[test]
    fn the_slowest_of_each_window_has_what_coincided() {
        let mut first = window(0, 0, 0);
        first.exchanges.longest_stall_ns = 2_000_000;
        first.exchanges.longest_stall_at_ns = 5_000_000;
        first.machine.steal_ns = 10_000_000;
        first.outliers = vec![
            lasting(first.started_ns + 6_000_000, 9_000_000),
            lasting(first.started_ns + 6_500_000, 8_500_000),
        ];
        let mut elsewhere = first.clone();
        elsewhere.outliers = vec![lasting(first.started_ns + 50_000_000, 8_000_000)];
        let mut void = window(0, 1, 1);
        void.outliers = vec![lasting(0, 99_000_000)];
        void.warnings
            .push(fixtures::warning(WarningCode::ServiceDied));
        let mut windows = vec![first, elsewhere, void, window(0, 2, 2)];
        windows.extend((3..20).map(|block| {
            let mut window = window(0, block, 2);
            window.outliers = vec![lasting(window.started_ns, 1_000_000)];
            window
        }));
        let mut kept = Windows::of_arms(3);
        windows.iter().for_each(|w| kept.take(w));
        let slow = kept.slowest.exchanges();
        let times: Vec<u64> = slow.iter().map(|s| s.at.response_time_ns()).collect();
        assert_eq!(times[..3], [9_000_000, 8_000_000, 1_000_000]);
        assert_eq!(times.len(), SLOWEST);
        assert_eq!(slow[0].coincided.stall_ns, Some(2_000_000));
        assert_eq!(slow[1].coincided.stall_ns, None, "at another moment");
        assert_eq!(slow[1].coincided.steal_ns, 10_000_000);
        assert_eq!(slow[2].place.arm, ArmIndex(2));
    }
}
