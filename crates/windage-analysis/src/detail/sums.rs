//! Sums over windows, from which the means drawn over time are computed.

use windage_model::Window;

use super::{AgentSeries, ArmSeries, MachineSeries};

/// An arm's sums over windows.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct ArmSums {
    windows: u32,
    middles_ns: u128,
    duration_ns: f64,
    completed: f64,
    /// Over windows in which the CPU was read.
    cpu_ns: f64,
    cpu_completed: f64,
    rss_bytes: f64,
    rss_readings: f64,
    /// Over windows in which the agents' CPU was read.
    agent_ns: f64,
    agent_lasted_ns: f64,
    agent_rss_bytes: f64,
    agent_rss_readings: f64,
}

/// The machine's sums over windows.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct MachineSums {
    windows: u32,
    middles_ns: u128,
    duration_ns: f64,
    steal_ns: f64,
    pressure_ns: f64,
    pressure_duration_ns: f64,
    busy_ns: f64,
    busy_duration_ns: f64,
}

/// Sums that can be added up.
pub(super) trait Sums: Clone + Default {
    fn merge(&mut self, other: &Self);
}

impl From<&Window> for ArmSums {
    fn from(window: &Window) -> ArmSums {
        let completed = window.exchanges.completed as f64;
        let duration_ns = window.duration_ns as f64;
        let (cpu_ns, cpu_completed) = read(window.cpu.in_window_ns, completed);
        let (rss_bytes, rss_readings) = read(window.rss_bytes, 1.0);
        let (agent_ns, agent_lasted_ns) =
            read(window.beside.agent_ns, window.read_over_ns() as f64);
        let (agent_rss_bytes, agent_rss_readings) = read(window.beside.agent_rss_bytes, 1.0);
        ArmSums {
            windows: 1,
            middles_ns: u128::from(middle_ns(window)),
            duration_ns,
            completed,
            cpu_ns,
            cpu_completed,
            rss_bytes,
            rss_readings,
            agent_ns,
            agent_lasted_ns,
            agent_rss_bytes,
            agent_rss_readings,
        }
    }
}

impl Sums for ArmSums {
    fn merge(&mut self, other: &ArmSums) {
        self.windows += other.windows;
        self.middles_ns += other.middles_ns;
        self.duration_ns += other.duration_ns;
        self.completed += other.completed;
        self.cpu_ns += other.cpu_ns;
        self.cpu_completed += other.cpu_completed;
        self.rss_bytes += other.rss_bytes;
        self.rss_readings += other.rss_readings;
        self.agent_ns += other.agent_ns;
        self.agent_lasted_ns += other.agent_lasted_ns;
        self.agent_rss_bytes += other.agent_rss_bytes;
        self.agent_rss_readings += other.agent_rss_readings;
    }
}

impl ArmSums {
    /// Whether any agent was read.
    pub(super) fn has_agents(&self) -> bool {
        self.agent_lasted_ns > 0.0 || self.agent_rss_readings > 0.0
    }

    /// Appends the means as a point; nothing where nothing was measured.
    pub(super) fn draw(&self, series: &mut ArmSeries) {
        let Some(at_s) = mean_s(self.middles_ns, self.windows) else {
            return;
        };
        let cpu_us = quotient(self.cpu_ns / 1e3, self.cpu_completed);
        series.at_s.push(at_s);
        // A counter that never moved can't be read.
        let cpu_us = cpu_us.filter(|us| *us > 0.0);
        series.cpu_us_per_request.push(cpu_us);
        let rate_per_s = quotient(self.completed, self.duration_ns / 1e9);
        series.rate_per_s.push(rate_per_s);
        let rss_bytes = quotient(self.rss_bytes, self.rss_readings);
        series.rss_bytes.push(rss_bytes);
        if let Some(agents) = &mut series.agents {
            self.draw_agents(agents);
        }
    }

    fn draw_agents(&self, agents: &mut AgentSeries) {
        let cores = quotient(self.agent_ns, self.agent_lasted_ns);
        agents.cores.push(cores);
        let rss_bytes = quotient(self.agent_rss_bytes, self.agent_rss_readings);
        agents.rss_bytes.push(rss_bytes);
    }
}

impl From<&Window> for MachineSums {
    fn from(window: &Window) -> MachineSums {
        let duration_ns = window.duration_ns as f64;
        let read_over_ns = window.read_over_ns() as f64;
        let (pressure_ns, pressure_duration_ns) =
            read(window.machine.cpu_pressure_ns, read_over_ns);
        let (busy_ns, busy_duration_ns) = read(window.machine.busy_ns, read_over_ns);
        MachineSums {
            windows: 1,
            middles_ns: u128::from(middle_ns(window)),
            duration_ns,
            steal_ns: window.machine.steal_ns as f64,
            pressure_ns,
            pressure_duration_ns,
            busy_ns,
            busy_duration_ns,
        }
    }
}

impl Sums for MachineSums {
    fn merge(&mut self, other: &MachineSums) {
        self.windows += other.windows;
        self.middles_ns += other.middles_ns;
        self.duration_ns += other.duration_ns;
        self.steal_ns += other.steal_ns;
        self.pressure_ns += other.pressure_ns;
        self.pressure_duration_ns += other.pressure_duration_ns;
        self.busy_ns += other.busy_ns;
        self.busy_duration_ns += other.busy_duration_ns;
    }
}

impl MachineSums {
    /// Its position in time: the mean of its windows' middles; `None` without windows.
    fn at_s(&self) -> Option<f64> {
        mean_s(self.middles_ns, self.windows)
    }

    /// The means of each stretch, in order of time; empty stretches are omitted.
    pub(super) fn drawn(all: &[MachineSums], cores: Option<f64>) -> MachineSeries {
        let points = all.iter().filter_map(|sums| Some((sums.at_s()?, sums)));
        let points: Vec<(f64, &MachineSums)> = points.collect();
        let mut series = MachineSeries::default();
        for &(at_s, sums) in &points {
            let from = points.partition_point(|(other_s, _)| *other_s < at_s - NEAR_S);
            let to = points.partition_point(|(other_s, _)| *other_s <= at_s + NEAR_S);
            let mut about = MachineSums::default();
            points[from..to]
                .iter()
                .for_each(|(_, near)| about.merge(near));
            let is_known = sums.pressure_duration_ns > 0.0;
            series.at_s.push(at_s);
            series.steal.push(sums.steal(cores.unwrap_or(1.0)));
            series.pressure.push(about.pressure().filter(|_| is_known));
            series.busy_cores.push(sums.busy_cores(cores));
        }
        series
    }

    fn steal(&self, cores: f64) -> f64 {
        let share = quotient(self.steal_ns, self.duration_ns * cores);
        share.unwrap_or(0.0).min(1.0)
    }

    /// The kernel updates its total every two seconds, so a single window sees a lump of many
    /// windows' pressure, or nothing. Over a few lumps the sum may exceed the elapsed time by one
    /// lump; it is then capped. Over less time a lump says nothing.
    fn pressure(&self) -> Option<f64> {
        let share = quotient(self.pressure_ns, self.pressure_duration_ns)?;
        let holds_lumps = self.pressure_duration_ns >= FEW_LUMPS * LUMP_NS;
        let too_many_ns = if holds_lumps { LUMP_NS } else { 0.0 };
        at_most(1.0, share, too_many_ns / self.pressure_duration_ns)
    }

    /// Counters are read when the service sleeps, slightly after the window's end. Where the time
    /// of reading is unknown, the result can slightly exceed the number of cores; it is then
    /// capped. For windows of a few milliseconds it can exceed it by far, and is omitted.
    fn busy_cores(&self, cores: Option<f64>) -> Option<f64> {
        let busy = quotient(self.busy_ns, self.busy_duration_ns)?;
        cores.map_or(Some(busy), |cores| at_most(cores, busy, READ_LATE))
    }
}

/// Half the stretch over which pressure is averaged.
const NEAR_S: f64 = 5.0;
/// The most pressure that the kernel adds at once.
const LUMP_NS: f64 = 2e9;
/// From so many lumps on, one more changes the share little.
const FEW_LUMPS: f64 = 2.0;
/// The largest share of a window by which its end may be read late.
const READ_LATE: f64 = 0.1;

/// A figure capped at `most`; `None` where it exceeds that by more than the share `excess`.
fn at_most(most: f64, figure: f64, excess: f64) -> Option<f64> {
    (figure <= most * (1.0 + excess)).then(|| figure.min(most))
}

/// A counter and its divisor; both zero where it was not read.
fn read(counter: Option<u64>, by: f64) -> (f64, f64) {
    counter.map_or((0.0, 0.0), |counter| (counter as f64, by))
}

/// The position in time of a window.
pub(super) fn middle_ns(window: &Window) -> u64 {
    window.started_ns.midpoint(ends_ns(window))
}

/// The end of a window.
pub(super) fn ends_ns(window: &Window) -> u64 {
    window.started_ns.saturating_add(window.duration_ns)
}

fn mean_s(sum_ns: u128, count: u32) -> Option<f64> {
    let mean_ns = sum_ns.checked_div(u128::from(count))?;
    Some(mean_ns as f64 / 1e9)
}

fn quotient(of: f64, by: f64) -> Option<f64> {
    (by > 0.0).then(|| of / by)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    /// Consecutive windows of `ms`, with so much machine CPU in each.
    fn machine(count: u64, ms: u64, busy_ms: u64) -> Vec<Window> {
        let window = |number: u64| {
            let mut window = fixture::window(0, 0, 0);
            window.started_ns = number * ms * 1_000_000;
            window.duration_ns = ms * 1_000_000;
            window.machine.busy_ns = Some(busy_ms * 1_000_000);
            window.machine.cpu_pressure_ns = Some(0);
            window
        };
        (0..count).map(window).collect()
    }

    fn drawn(windows: &[Window], cores: Option<f64>) -> MachineSeries {
        let sums: Vec<MachineSums> = windows.iter().map(MachineSums::from).collect();
        MachineSums::drawn(&sums, cores)
    }

    #[test]
    fn busy_cores_are_capped_and_impossible_values_omitted() {
        // window in ms, CPU in it in ms, cores online, cores drawn, why
        let table = [
            (100, 150, Some(2.0), Some(1.5), "as it was read"),
            (
                100,
                204,
                Some(2.0),
                Some(2.0),
                "its end is read a little late",
            ),
            (10, 22, Some(2.0), Some(2.0), "a tenth late"),
            (10, 24, Some(2.0), None, "too short to tell"),
            (100, 350, None, Some(3.5), "the number of cores is unknown"),
        ];
        for (ms, busy_ms, cores, expected, why) in table {
            let found = drawn(&machine(1, ms, busy_ms), cores);
            assert_eq!(found.busy_cores, [expected], "{why}");
        }
    }

    #[test]
    fn counters_cover_the_time_between_readings() {
        let mut windows = machine(3, 10, 24);
        for window in &mut windows {
            window.machine.cpu_pressure_ns = Some(3_000_000);
            window.beside.agent_ns = Some(6_000_000);
            window.beside.between_readings_ns = Some(12_000_000);
        }
        let found = drawn(&windows, Some(4.0));
        assert_eq!(found.busy_cores, [Some(2.0); 3]);
        assert_eq!(found.pressure, [Some(0.25); 3]);
        let mut of_arm = ArmSeries {
            agents: Some(AgentSeries::default()),
            ..ArmSeries::default()
        };
        ArmSums::from(&windows[0]).draw(&mut of_arm);
        assert_eq!(of_arm.agents.unwrap().cores, [Some(0.5)]);
    }

    #[test]
    fn lumps_of_pressure_leave_no_gaps() {
        // Pressure for 0.95 of the time, added by the kernel every two seconds.
        let mut windows = machine(600, 100, 10);
        for at in (0..600).step_by(20) {
            windows[at].machine.cpu_pressure_ns = Some(1_900_000_000);
        }
        let found = drawn(&windows, Some(2.0));
        let shares: Vec<f64> = found.pressure.iter().map(|share| share.unwrap()).collect();
        // In the first and last five seconds there are fewer lumps.
        let whole = &shares[50..550];
        assert!(whole.iter().all(|share| (0.94..=1.0).contains(share)));
        assert!(whole.contains(&1.0));
        // windows, lumps of two seconds, pressure of the last, why
        let table = [
            (39, 0, Some(0.0), "no task waited"),
            (
                39,
                2,
                None,
                "less than two lumps long, and more than can be",
            ),
            (40, 3, Some(1.0), "two lumps long, with one too many"),
            (40, 4, None, "two too many"),
        ];
        for (count, lumps, expected, why) in table {
            let mut windows = machine(count, 100, 10);
            windows[..lumps]
                .iter_mut()
                .for_each(|window| window.machine.cpu_pressure_ns = Some(2_000_000_000));
            let found = drawn(&windows, Some(2.0));
            assert_eq!(found.pressure.last(), Some(&expected), "{why}");
        }
    }
}
