//! What arms use outside windows: while others are warmed up, and while agents attach and detach.

use windage_model::ArmIndex;

use crate::readings::{Credit, Reading, used};

/// What an arm used outside windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Spent {
    /// In nanoseconds; `None` when a reading is missing.
    pub(super) cpu_ns: Option<u64>,
    /// The length of those stretches, in nanoseconds.
    pub(super) time_ns: u64,
    /// The time in which the arm itself had load, or its agents attached or detached, in
    /// nanoseconds. What it used in that time can't be attributed.
    pub(super) hidden_ns: u64,
}

/// What each arm used outside windows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Outside(Vec<Spent>);

impl Outside {
    /// Nothing yet, for this number of arms.
    pub(super) fn nothing(arms: usize) -> Outside {
        let nothing = Spent {
            cpu_ns: Some(0),
            time_ns: 0,
            hidden_ns: 0,
        };
        Outside(vec![nothing; arms])
    }

    pub(super) fn of(&self, arm: ArmIndex) -> Spent {
        self.0[arm.get()]
    }

    /// Books what every set of processes used between two readings to the arm credited with it. For
    /// the set that had load, only the time is booked.
    pub(super) fn pass(
        &mut self,
        [from, to]: [&Reading; 2],
        credit: &Credit,
        loaded: Option<usize>,
    ) {
        let lasted_ns = to.at_ns.saturating_sub(from.at_ns);
        for (set, credited) in credit.iter().enumerate() {
            let spent = &mut self.0[credited.get()];
            if Some(set) == loaded {
                spent.hidden_ns += lasted_ns;
                continue;
            }
            let more = used(from, to, set);
            spent.cpu_ns = spent.cpu_ns.zip(more).map(|(sum, more)| sum + more);
            spent.time_ns += lasted_ns;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(at_ns: u64, instances_ns: &[Option<u64>]) -> Reading {
        Reading {
            at_ns,
            instances_ns: instances_ns.to_vec(),
            ..Reading::default()
        }
    }

    fn spent(cpu_ns: Option<u64>, time_ns: u64, hidden_ns: u64) -> Spent {
        Spent {
            cpu_ns,
            time_ns,
            hidden_ns,
        }
    }

    /// Three sets of processes; the first belongs to arms 0 and 1.
    #[test]
    fn what_other_sets_use_is_booked_to_the_credited_arms() {
        let mut outside = Outside::nothing(4);
        let readings = [
            reading(1_000, &[Some(10), Some(100), Some(7)]),
            // The agents of arm 1 attach: its own set has load.
            reading(6_000, &[Some(900), Some(130), Some(7)]),
            // They have detached: the third set has load.
            reading(9_000, &[Some(950), Some(131), Some(800)]),
        ];
        outside.pass(
            [&readings[0], &readings[1]],
            &[0, 2, 3].map(ArmIndex).to_vec(),
            Some(0),
        );
        outside.pass(
            [&readings[1], &readings[2]],
            &[1, 2, 3].map(ArmIndex).to_vec(),
            Some(2),
        );
        let expected = [
            (0, spent(Some(0), 0, 5_000), "only while it had load"),
            (
                1,
                spent(Some(50), 3_000, 0),
                "only after that, when it had none",
            ),
            (2, spent(Some(31), 8_000, 0), "its set had no load at all"),
            (3, spent(Some(0), 5_000, 3_000), "idle at first, then load"),
        ];
        for (arm, spent, why) in expected {
            assert_eq!(outside.of(ArmIndex(arm)), spent, "arm {arm}: {why}");
        }
    }

    #[test]
    fn one_missing_reading_makes_the_total_unknown() {
        let mut outside = Outside::nothing(2);
        let credit = vec![ArmIndex(0), ArmIndex(1)];
        let [there, gone, back] = [Some(5), None, Some(9)].map(|ns| reading(0, &[Some(1), ns]));
        for stretch in [[&there, &gone], [&gone, &back], [&back, &back]] {
            outside.pass(stretch, &credit, Some(0));
        }
        assert_eq!(outside.of(ArmIndex(1)).cpu_ns, None);
        assert_eq!(outside.of(ArmIndex(0)), spent(Some(0), 0, 0));
    }
}
