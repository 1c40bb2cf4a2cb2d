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
    let sets = probes.len();
    let mut probes = probes;
    let look = |set: usize| look(probes[set]);
    let pause = || std::thread::sleep(LOOK_EVERY);
    all_at_rest(sets, within, &|| began.elapsed(), look, pause)
}

/// Looks at each set until it rests, within a bound; returns for each whether it was still awake.
fn all_at_rest(
    sets: usize,
    within: Duration,
    clock: &dyn Fn() -> Duration,
    mut look: impl FnMut(usize) -> Look,
    mut pause: impl FnMut(),
) -> Vec<bool> {
    let mut awake = vec![true; sets];
    let mut rests = vec![Rest::default(); sets];
    while awake.contains(&true) && clock() < within {
        for (set, rest) in rests.iter_mut().enumerate() {
            if awake[set] {
                awake[set] = !rest.take_in(clock(), look(set));
            }
        }
        if awake.contains(&true) {
            pause();
        }
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
    use crate::clock::whole_ns;

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

    #[test]
    fn several_sets_are_awaited_together() {
        let ms = Duration::from_millis;
        // By set: until when it runs, in ms; whether it was still awake; when the wait ended.
        type Row = (&'static [u64], &'static [bool], u64, &'static str);
        let table: [Row; 5] = [
            (&[], &[], 0, "nothing to wait for"),
            (&[0, 0], &[false, false], 2, "asleep at once"),
            (&[0, 7], &[false, false], 9, "one ends later"),
            (&[0, 100, 5], &[false, true, false], 20, "one never ends"),
            (&[19], &[true], 20, "asleep too late to be sure"),
        ];
        for (runs_until_ms, expected, ends_ms, why) in table {
            let now = std::cell::Cell::new(Duration::ZERO);
            let look = |set: usize| {
                let end = ms(runs_until_ms[set]);
                Look {
                    sleeps: now.get() >= end,
                    cpu_ns: whole_ns(now.get().min(end)),
                }
            };
            let pause = || now.set(now.get() + ms(1));
            let clock = || now.get();
            let sets = runs_until_ms.len();
            let awake = all_at_rest(sets, ms(20), &clock, look, pause);
            assert_eq!(awake, expected, "{why}");
            assert_eq!(now.get(), ms(ends_ms), "{why}");
        }
    }
}
