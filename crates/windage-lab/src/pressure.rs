//! Pressure spikes: stretches in which tasks waited for a core far longer than usual.
//!
//! The display shows them, so that the user knows at once that the machine is busy with something
//! else. Every window records its pressure anyway, and nothing is computed from spikes.

use windage_model::Window;

/// The kernel updates its sum of pressure every two seconds (`PSI_FREQ`, kernel/sched/psi.c). A
/// short window sees a full update or none, so only several windows together give a share.
const STRETCH_NS: u64 = 10_000_000_000;
/// The number of stretches after which the usual pressure is known.
const KNOWN_AFTER: u32 = 3;
/// A spike is this many times the usual pressure …
const TIMES: f64 = 3.0;
/// … and at least this share of the time, because the usual pressure may be near zero.
const SHARE: f64 = 0.25;
/// The weight of each new stretch in the moving average of usual pressure.
const WEIGHT: f64 = 0.2;

/// Adds up the pressure of windows, of all arms.
#[derive(Debug, Default)]
pub(crate) struct Pressure {
    pressure_ns: u64,
    windows_ns: u64,
    usual: f64,
    stretches: u32,
}

/// A stretch with far more pressure than usual. Both figures are shares of the time in windows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spike {
    pub(crate) share: f64,
    pub(crate) usual: f64,
}

impl Pressure {
    /// Adds a window; returns a spike if a stretch ends with it and is one. Without pressure
    /// information in the kernel there are none.
    pub(crate) fn look(&mut self, window: &Window) -> Option<Spike> {
        let pressure_ns = window.machine.cpu_pressure_ns?;
        self.pressure_ns = self.pressure_ns.saturating_add(pressure_ns);
        self.windows_ns = self.windows_ns.saturating_add(window.duration_ns);
        if self.windows_ns < STRETCH_NS {
            return None;
        }
        // Both are far below 2^53, up to which they are exact.
        let share = (self.pressure_ns as f64 / self.windows_ns as f64).min(1.0);
        (self.pressure_ns, self.windows_ns) = (0, 0);
        let usual = self.usual;
        let is_spike = self.stretches >= KNOWN_AFTER && share >= SHARE && share >= TIMES * usual;
        self.take(share);
        is_spike.then_some(Spike { share, usual })
    }

    fn take(&mut self, share: f64) {
        self.stretches = self.stretches.saturating_add(1);
        let weight = WEIGHT.max(1.0 / f64::from(self.stretches));
        self.usual += weight * (share - self.usual);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use windage_model::fixtures;

    const SECOND_NS: u64 = 1_000_000_000;

    fn look(pressure: &mut Pressure, pressure_ns: Option<u64>) -> Option<Spike> {
        let mut window = fixtures::window(fixtures::place(0, 0, 2));
        window.duration_ns = SECOND_NS;
        window.machine.cpu_pressure_ns = pressure_ns;
        pressure.look(&window)
    }

    /// Which stretches are spikes, given their pressure in percent. Each stretch has ten windows,
    /// and one of them sees all of its pressure.
    fn spikes(percents: &[u64]) -> Vec<usize> {
        let mut pressure = Pressure::default();
        let mut stretch = |percent: u64| {
            let sum = percent * STRETCH_NS / 100;
            let reads = (0..10).map(|i| Some(if i == 4 { sum } else { 0 }));
            let seen: Vec<_> = reads.filter_map(|read| look(&mut pressure, read)).collect();
            assert!(seen.iter().all(|spike| spike.share <= 1.0), "{seen:?}");
            !seen.is_empty()
        };
        let found: Vec<bool> = percents.iter().map(|&p| stretch(p)).collect();
        (0..found.len()).filter(|&i| found[i]).collect()
    }

    #[test]
    fn a_spike_is_far_above_the_usual_and_high() {
        let table: &[(&[u64], &[usize], &str)] = &[
            (&[2, 2, 2, 2, 50, 2], &[4], "others ran for ten seconds"),
            (&[2, 2, 2, 2, 20], &[], "ten times as much, but still low"),
            (&[30, 30, 30, 30, 60], &[], "high, where high is usual"),
            (&[0, 0, 0, 30], &[3], "usually zero"),
            (&[2, 90, 2], &[], "the usual pressure is not known yet"),
            (
                &[2, 2, 2, 50, 50, 50],
                &[3, 4],
                "lasting pressure becomes usual",
            ),
        ];
        for (percents, expected, why) in table {
            assert_eq!(spikes(percents), *expected, "{why}");
        }
    }

    #[test]
    fn without_a_counter_there_is_no_spike() {
        let mut pressure = Pressure::default();
        for _ in 0..100 {
            assert_eq!(look(&mut pressure, None), None);
        }
    }
}
