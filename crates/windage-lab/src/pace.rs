//! How many iterations make a window: found during an arm's warm-up, and kept from then on.

use std::time::Duration;

use windage_plan::Iterations;

/// A set must last at least this fraction (1/4) of a window to show how long iterations take.
const TELLING_PART: u32 = 4;
/// Expected iterations may take this fraction (1/2) of a window's time limit, because they may slow
/// down.
const SPARED_PART: u32 = 2;
/// A program that does so many in no time is not iterating.
const MOST: u64 = 1 << 32;
/// The number of sets whose median is used, so that one delayed set does not matter.
const LOOKED_BACK: usize = 3;

/// How many iterations one arm is asked for in one launch.
#[derive(Clone, Debug)]
pub(crate) struct Pace {
    window: Duration,
    /// The longest that a set of iterations may take.
    longest: Duration,
    iterations: u64,
    stage: Stage,
    /// Nanoseconds per iteration in the latest sets.
    last_ns: [f64; LOOKED_BACK],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// The duration of an iteration is unknown.
    Seeking,
    /// It is known, and each set of the warm-up updates it.
    Following,
    /// It is fixed.
    Kept,
}

impl Pace {
    /// For a window of that length, with `timeout` as the limit.
    pub(crate) fn new(iterations: Iterations, window: Duration, timeout: Duration) -> Pace {
        let (iterations, stage) = match iterations {
            Iterations::Fixed(number) => (number, Stage::Kept),
            Iterations::Auto => (1, Stage::Seeking),
        };
        Pace {
            window,
            longest: timeout / SPARED_PART,
            iterations,
            stage,
            last_ns: [0.0; LOOKED_BACK],
        }
    }

    /// The iterations of a window.
    pub(crate) fn iterations(&self) -> u64 {
        self.iterations
    }

    pub(crate) fn is_sought(&self) -> bool {
        self.stage == Stage::Seeking
    }

    /// The iterations to ask for next where unmeasured load must last for another `left`.
    pub(crate) fn portion(&self, left: Duration) -> u64 {
        let an_iteration_ns = self.an_iteration_ns();
        if self.is_sought() || an_iteration_ns <= 0.0 {
            return self.iterations;
        }
        whole(left.as_secs_f64() * 1e9 / an_iteration_ns).clamp(1, self.iterations)
    }

    /// Learns from the duration of a set of the warm-up.
    pub(crate) fn learn(&mut self, asked: u64, lasted: Duration) {
        if self.stage == Stage::Kept || asked == 0 {
            return;
        }
        let is_telling = lasted * TELLING_PART >= self.window
            || lasted * 2 > self.longest
            || asked.saturating_mul(2) > MOST;
        if self.is_sought() && !is_telling {
            self.iterations = asked * 2;
            return;
        }
        // The last portion of a stretch may be too short to show anything.
        if !is_telling && asked < self.iterations {
            return;
        }
        let an_iteration_ns = lasted.as_secs_f64() * 1e9 / asked as f64;
        if self.is_sought() {
            self.stage = Stage::Following;
            self.last_ns = [an_iteration_ns; LOOKED_BACK];
        }
        self.last_ns.rotate_left(1);
        self.last_ns[LOOKED_BACK - 1] = an_iteration_ns;
        let holds = |lasts: Duration| whole(lasts.as_secs_f64() * 1e9 / self.an_iteration_ns());
        self.iterations = holds(self.window).min(holds(self.longest)).clamp(1, MOST);
    }

    /// From now on the iterations of a window are fixed.
    pub(crate) fn keep(&mut self) {
        self.stage = Stage::Kept;
    }

    /// The median of the latest sets; zero where the plan sets the number.
    fn an_iteration_ns(&self) -> f64 {
        let mut sorted = self.last_ns;
        sorted.sort_by(f64::total_cmp);
        sorted[LOOKED_BACK / 2]
    }
}

/// Rounds a quotient to a count.
fn whole(quotient: f64) -> u64 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "rounded, never below zero, and clamped to the range"
    )]
    let count = quotient.round().max(0.0) as u64;
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// A warm-up of a number of sets, with a program for which `takes` gives the duration.
    fn warmed_up(pace: &mut Pace, sets: usize, takes: impl Fn(u64) -> Duration) -> Vec<u64> {
        let mut asked = Vec::new();
        for _ in 0..sets {
            let iterations = pace.portion(Duration::from_secs(9));
            asked.push(iterations);
            pace.learn(iterations, takes(iterations));
        }
        pace.keep();
        asked
    }

    fn auto() -> Pace {
        Pace::new(Iterations::Auto, 100 * MS, 5000 * MS)
    }

    #[test]
    fn a_window_is_filled_whatever_an_iteration_takes() {
        let us = Duration::from_micros;
        let table: [(&str, Duration, u64); 7] = [
            ("an instant", Duration::from_nanos(10), 10_000_000),
            ("a microsecond", us(1), 100_000),
            ("a typical one", us(300), 333),
            ("a quarter of a window", us(25_000), 4),
            ("most of a window", us(70_000), 1),
            ("more than a window", us(150_000), 1),
            ("almost the bound", us(4_900_000), 1),
        ];
        for (why, an_iteration, expected) in table {
            let mut pace = auto();
            let takes = |n: u64| an_iteration.mul_f64(n as f64);
            let asked = warmed_up(&mut pace, 40, takes);
            assert_eq!(pace.iterations(), expected, "{why}: {asked:?}");
            assert_eq!(asked[0], 1, "{why}");
            let doubles = asked
                .windows(2)
                .all(|two| two[1] <= two[0] * 2 || two[1] == expected);
            assert!(doubles, "{why}: {asked:?}");
        }
    }

    #[test]
    fn a_program_that_speeds_up_is_followed() {
        let mut pace = auto();
        // A compiler makes the program ten times as fast after some sets.
        let mut fast = false;
        for set in 0..30 {
            let asked = pace.portion(Duration::from_secs(9));
            let an_iteration = if fast { 100 } else { 1000 };
            pace.learn(asked, Duration::from_micros(asked * an_iteration));
            fast = set > 15;
        }
        assert_eq!(pace.iterations(), 1000);
    }

    #[test]
    fn one_delayed_set_changes_nothing() {
        let mut pace = auto();
        let takes = |n: u64| Duration::from_micros(n * 100);
        for set in 0..20 {
            let asked = pace.portion(Duration::from_secs(9));
            let held_up = if set == 19 { 300 * MS } else { Duration::ZERO };
            pace.learn(asked, takes(asked) + held_up);
        }
        assert_eq!(pace.iterations(), 1000);
    }

    #[test]
    fn a_window_stays_within_its_bound() {
        let mut pace = Pace::new(Iterations::Auto, 10_000 * MS, 1000 * MS);
        let takes = |n: u64| 10 * MS * u32::try_from(n).unwrap();
        let asked = warmed_up(&mut pace, 30, takes);
        assert_eq!(pace.iterations(), 50, "{asked:?}");
        assert!(asked.iter().all(|n| takes(*n) <= 1000 * MS), "{asked:?}");
    }

    #[test]
    fn iterations_of_an_idle_program_are_bounded() {
        let mut pace = auto();
        let asked = warmed_up(&mut pace, 80, |_| Duration::ZERO);
        assert!(pace.iterations() <= MOST, "{asked:?}");
        assert!(!pace.is_sought());
    }

    #[test]
    fn kept_iterations_stay_fixed() {
        let mut pace = auto();
        warmed_up(&mut pace, 20, |n| Duration::from_micros(n * 100));
        pace.learn(1000, 900 * MS);
        assert_eq!(pace.iterations(), 1000);
        // A settle takes its part of a window, and at least one iteration.
        let table = [(10, 100), (0, 1), (500, 1000)];
        for (ms, portion) in table {
            assert_eq!(pace.portion(ms * MS), portion, "{ms} ms");
        }
    }

    #[test]
    fn the_plans_number_is_used_as_it_is() {
        let mut pace = Pace::new(Iterations::Fixed(7), 100 * MS, 5000 * MS);
        pace.learn(7, MS);
        assert_eq!((pace.iterations(), pace.portion(MS)), (7, 7));
        assert!(!pace.is_sought());
    }
}
