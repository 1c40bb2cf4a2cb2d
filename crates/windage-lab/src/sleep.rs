//! Waits until a set of processes sleeps. What it does after its last answer is part of the work
//! for that answer.

use std::time::{Duration, Instant};

use windage_probe::ArmProbe;

/// Processes are asleep when nothing has run for this long.
const ASLEEP_FOR: Duration = Duration::from_millis(2);
/// Processes that are still awake by then are doing work of their own.
const AT_MOST: Duration = Duration::from_millis(250);
/// The interval between looks; each look reads a file for every thread.
const LOOK_EVERY: Duration = Duration::from_micros(250);

/// The result of one look at a set of processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Look {
    /// No thread runs or waits for a core or a disk.
    sleeps: bool,
    /// CPU used so far. It reveals threads that ran between two looks.
    cpu_ns: u64,
}

/// Consecutive looks at which nothing ran.
#[derive(Clone, Copy, Debug, Default)]
struct Rest {
    since: Option<(Duration, u64)>,
}

impl Rest {
    /// Adds a look, taken `at` after the first; returns whether the set has slept for long enough.
    fn take_in(&mut self, at: Duration, look: Look) -> bool {
        let began = self.since.filter(|(_, cpu_ns)| *cpu_ns == look.cpu_ns);
        self.since = look.sleeps.then(|| began.unwrap_or((at, look.cpu_ns)));
        self.since
            .is_some_and(|(since, _)| at - since >= ASLEEP_FOR)
    }
}

/// Waits until the processes sleep, within a bound. Processes that can't be read count as asleep.
pub(crate) fn until_asleep(probe: &mut ArmProbe) {
    all_asleep(vec![probe], AT_MOST);
}

/// Waits until all these sets of processes sleep, within a bound; returns for each whether it was
/// still awake.
pub(crate) fn all_asleep(probes: Vec<&mut ArmProbe>, within: Duration) -> Vec<bool> {
    let began = Instant::now();
    let mut awake = vec![true; probes.len()];
    let mut sets: Vec<(&mut ArmProbe, Rest)> =
        probes.into_iter().map(|p| (p, Rest::default())).collect();
    while awake.contains(&true) && began.elapsed() < within {
        for ((probe, rest), is_awake) in sets.iter_mut().zip(&mut awake) {
            if *is_awake {
                *is_awake = !rest.take_in(began.elapsed(), look(probe));
            }
        }
        std::thread::sleep(LOOK_EVERY);
    }
    awake
}

fn look(probe: &mut ArmProbe) -> Look {
    match (probe.sleeps(), probe.cpu_ns()) {
        (Ok(sleeps), Ok(cpu_ns)) => Look { sleeps, cpu_ns },
        _ => Look {
            sleeps: true,
            cpu_ns: 0,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_are_asleep_when_nothing_ran_for_long_enough() {
        // At each look, in µs: time, whether it sleeps, and its CPU.
        type Looks = &'static [(u64, bool, u64)];
        let table: [(&str, Looks, Option<u64>); 6] = [
            (
                "asleep from the first",
                &[(0, true, 5), (1000, true, 5), (2000, true, 5)],
                Some(2000),
            ),
            (
                "awake at first",
                &[
                    (0, false, 5),
                    (1000, true, 9),
                    (2500, true, 9),
                    (3000, true, 9),
                ],
                Some(3000),
            ),
            (
                "woke up again",
                &[
                    (0, true, 5),
                    (1500, false, 6),
                    (2000, true, 7),
                    (3900, true, 7),
                ],
                None,
            ),
            (
                "ran between two looks",
                &[
                    (0, true, 5),
                    (1500, true, 6),
                    (2500, true, 6),
                    (3500, true, 6),
                ],
                Some(3500),
            ),
            (
                "never asleep",
                &[(0, false, 1), (5000, false, 2), (9000, false, 3)],
                None,
            ),
            ("just one look", &[(9000, true, 1)], None),
        ];
        for (why, looks, expected) in table {
            let mut rest = Rest::default();
            let found = looks.iter().find(|&&(us, sleeps, cpu_ns)| {
                rest.take_in(Duration::from_micros(us), Look { sleeps, cpu_ns })
            });
            assert_eq!(found.map(|look| look.0), expected, "{why}");
        }
    }
}
