//! Sums over stretches of a run whose length is unknown until its end.

use windage_model::{ArmIndex, Window};

use super::sums::{ArmSums, MachineSums, Sums, middle_ns};
use super::{AgentSeries, ArmSeries, MachineSeries};

/// At most so many stretches: more can't be distinguished in a picture.
const MOST_STRETCHES: usize = 240;
/// At most so many points over all lines, as long as each arm has two.
const MOST_POINTS: usize = 20_000;
/// The initial length of a stretch. Much shorter than a window, so that any run has several
/// stretches.
const FIRST_LENGTH_NS: u64 = 10_000_000;

/// A run cut into stretches of equal length. The length doubles whenever the run outgrows the
/// stretches, so memory does not grow with the run and nothing is read twice.
#[derive(Clone, Debug)]
pub(super) struct Bins {
    length_ns: u64,
    most: usize,
    /// By stretch.
    machine: Vec<MachineSums>,
    /// By arm and stretch.
    arms: Vec<Vec<ArmSums>>,
}

impl Bins {
    /// The most stretches for a run with so many arms; an even number, so that pairs can be merged.
    pub(super) fn new(arms: usize) -> Bins {
        let most = (MOST_POINTS / (arms + 1)).clamp(2, MOST_STRETCHES) / 2 * 2;
        Bins {
            length_ns: FIRST_LENGTH_NS,
            most,
            machine: Vec::new(),
            arms: vec![Vec::new(); arms],
        }
    }

    /// Adds a window; only a usable one is added to the arm's means.
    pub(super) fn add(&mut self, window: &Window, is_usable: bool) {
        let bin = loop {
            match usize::try_from(middle_ns(window) / self.length_ns) {
                Ok(bin) if bin < self.most => break bin,
                _ => self.halve(),
            }
        };
        add_at(&mut self.machine, bin, &MachineSums::from(window));
        if let Some(of_arm) = self.arms.get_mut(window.place.arm.get())
            && is_usable
        {
            add_at(of_arm, bin, &ArmSums::from(window));
        }
    }

    /// Merges each stretch with its neighbour.
    fn halve(&mut self) {
        self.length_ns = self.length_ns.saturating_mul(2);
        self.machine = in_pairs(&self.machine);
        for of_arm in &mut self.arms {
            *of_arm = in_pairs(of_arm);
        }
    }

    /// The length of a stretch in seconds.
    pub(super) fn length_s(&self) -> f64 {
        self.length_ns as f64 / 1e9
    }

    /// The lines of the arms and of the machine.
    pub(super) fn drawn(&self, cores: Option<f64>) -> (Vec<ArmSeries>, MachineSeries) {
        let mut arms = self.arms();
        for (series, of_arm) in arms.iter_mut().zip(&self.arms) {
            of_arm.iter().for_each(|sums| sums.draw(series));
        }
        (arms, MachineSums::drawn(&self.machine, cores))
    }

    /// An empty line for each arm.
    pub(super) fn arms(&self) -> Vec<ArmSeries> {
        let arms = (0u16..).zip(&self.arms).map(|(arm, sums)| ArmSeries {
            arm: ArmIndex(arm),
            agents: sums
                .iter()
                .any(ArmSums::has_agents)
                .then(AgentSeries::default),
            ..ArmSeries::default()
        });
        arms.collect()
    }
}

fn add_at<S: Sums>(all: &mut Vec<S>, bin: usize, sums: &S) {
    if bin >= all.len() {
        all.resize(bin + 1, S::default());
    }
    all[bin].merge(sums);
}

fn in_pairs<S: Sums>(all: &[S]) -> Vec<S> {
    let merged = all.chunks(2).map(|pair| {
        let mut sums = S::default();
        pair.iter().for_each(|one| sums.merge(one));
        sums
    });
    merged.collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::fixture;

    /// A window of `ms` that begins at `at_ms`.
    fn window(arm: u16, at_ms: u64, ms: u64) -> Window {
        let mut window = fixture::window(0, 0, arm);
        window.started_ns = at_ms * 1_000_000;
        window.duration_ns = ms * 1_000_000;
        window.exchanges.completed = ms * 3;
        window.cpu.in_window_ns = Some(ms * 500_000);
        window
    }

    fn sum<S: Sums>(all: &[S]) -> S {
        let mut total = S::default();
        all.iter().for_each(|one| total.merge(one));
        total
    }

    proptest! {
        /// However often stretches were merged, nothing is lost, and each window is where it would
        /// be if the length had been known from the start.
        #[test]
        fn stretches_do_not_depend_on_when_the_length_became_known(
            windows in prop::collection::vec((0u16..3, 0u64..1 << 32, 1u64..10_000), 1..200),
        ) {
            let windows = windows.into_iter().map(|(arm, at, ms)| window(arm, at, ms));
            let windows: Vec<Window> = windows.collect();
            let mut bins = Bins::new(3);
            for window in &windows {
                bins.add(window, true);
                prop_assert!(bins.machine.len() <= bins.most);
            }
            let mut known = Bins { length_ns: bins.length_ns, ..Bins::new(3) };
            windows.iter().for_each(|window| known.add(window, true));
            prop_assert_eq!(&bins.machine, &known.machine);
            prop_assert_eq!(&bins.arms, &known.arms);
            for (arm, of_arm) in (0u16..).zip(&bins.arms) {
                let own = windows.iter().filter(|window| window.place.arm == ArmIndex(arm));
                let own: Vec<ArmSums> = own.map(ArmSums::from).collect();
                prop_assert_eq!(sum(of_arm), sum(&own));
            }
            let all: Vec<MachineSums> = windows.iter().map(MachineSums::from).collect();
            prop_assert_eq!(sum(&bins.machine), sum(&all));
        }
    }

    #[test]
    fn stretches_double_when_time_passes_their_end() {
        // end of the last window, expected length of stretches, why
        let table = [
            (2_300, 0.01, "240 of the first length are 2.4 s"),
            (2_500, 0.02, "one doubling"),
            (
                60_000,
                0.32,
                "240 of 0.25 s would do, and five doublings are 0.32 s",
            ),
            (3_600_000, 20.48, "an hour"),
        ];
        for (end_ms, expected_s, why) in table {
            let mut bins = Bins::new(2);
            for at_ms in (0..end_ms).step_by(100) {
                bins.add(&window(0, at_ms, 100), true);
            }
            assert_eq!(bins.length_s(), expected_s, "{why}");
            let (arms, machine) = bins.drawn(Some(2.0));
            assert!(arms[0].at_s.is_sorted_by(|a, b| a < b), "{why}");
            assert_eq!(arms[0].at_s, machine.at_s, "{why}");
            assert!(arms[1].at_s.is_empty(), "{why}: the arm had no window");
        }
    }

    #[test]
    fn many_arms_share_the_limit_on_points() {
        for (arms, most) in [
            (1, 240),
            (36, 240),
            (82, 240),
            (83, 238),
            (200, 98),
            (20_000, 2),
        ] {
            assert_eq!(Bins::new(arms).most, most, "{arms} arms");
        }
        let mut bins = Bins::new(200);
        for number in 0..20_000_u16 {
            bins.add(&window(number % 200, u64::from(number) * 1_000, 900), true);
        }
        let (arms, machine) = bins.drawn(Some(2.0));
        let points: usize = arms.iter().map(|arm| arm.at_s.len()).sum();
        assert!(points + machine.at_s.len() <= MOST_POINTS, "{points}");
        assert!(machine.at_s.len() >= 49, "{}", machine.at_s.len());
    }

    #[test]
    fn a_damaged_time_is_in_the_last_stretch() {
        let mut bins = Bins::new(1);
        let (sound, mut damaged) = (window(0, 0, 100), window(0, 0, 100));
        damaged.started_ns = u64::MAX;
        bins.add(&sound, true);
        bins.add(&damaged, true);
        let both = [ArmSums::from(&sound), ArmSums::from(&damaged)];
        assert_eq!(sum(&bins.arms[0]), sum(&both));
        assert!(bins.machine.len() <= bins.most);
    }
}
