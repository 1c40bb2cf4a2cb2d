//! One arm measured for a stretch: the counters, before anything is computed from them.

use std::ops::AddAssign;

use crate::{ArmIndex, Beside, Exchanges, Outlier, Soundness, Warning};

/// A window's place in the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    /// The launch, counted from 0 over the whole run; a resumed round has two.
    pub launch: u32,
    /// The round, from 0.
    pub round: u32,
    /// The block, counted from 0 over the whole run.
    pub block: u32,
    /// The position within the block, from 0.
    pub position: u32,
    /// The arm that got the load.
    pub arm: ArmIndex,
}

/// Where CPU figures come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CpuSource {
    /// `cpuacct.usage` of a cgroup v1: nanoseconds, exact when the tasks sleep.
    CgroupV1,
    /// `cpu.stat` of a cgroup v2: microseconds, exact when the tasks sleep.
    CgroupV2,
    /// Sum of the CPU clocks of the processes: nanoseconds, exact when they sleep, including exited
    /// threads but not exited processes.
    ProcessClock,
    /// `rusage` of a process that was reaped.
    Rusage,
    /// None: the subject's CPU can't be read (attached by URL).
    None,
}

impl CpuSource {
    /// The word used in files and reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            CpuSource::CgroupV1 => "cgroup-v1",
            CpuSource::CgroupV2 => "cgroup-v2",
            CpuSource::ProcessClock => "process-clock",
            CpuSource::Rusage => "rusage",
            CpuSource::None => "none",
        }
    }
}

/// CPU used by one arm between two readings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ArmCpu {
    /// The arm.
    pub arm: ArmIndex,
    /// Nanoseconds of CPU, on all cores.
    pub cpu_ns: u64,
}

/// Who used CPU around a window.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WindowCpu {
    /// The window's own arm, from drained start to drained end; `None` when unreadable.
    pub in_window_ns: Option<u64>,
    /// The window's own arm during settle, before the window.
    pub settle_ns: u64,
    /// Every other arm that used CPU during the window.
    pub others_in_window: Vec<ArmCpu>,
    /// Every other arm that used CPU from the end of the previous window to the start of this one,
    /// settle included. The own arm's share is in `settle_ns`.
    pub others_before: Vec<ArmCpu>,
    /// The generator's thread, in the window.
    pub generator_ns: u64,
    /// The sink's threads, in the window.
    pub sink_ns: u64,
    /// All of Windage, generator and sink included, in the window.
    pub windage_ns: u64,
}

/// What the whole machine did in a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MachineDelta {
    /// Busy CPU of all cores, in nanoseconds; `None` when unreadable.
    pub busy_ns: Option<u64>,
    /// Time that the hypervisor took away, in nanoseconds.
    pub steal_ns: u64,
    /// Time in which some task waited for a core (pressure), in nanoseconds; `None` without PSI.
    pub cpu_pressure_ns: Option<u64>,
}

/// Other activity of an arm's processes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Activity {
    /// Page faults, minor and major.
    pub page_faults: u64,
    /// How often a thread was given a core, without threads that started after the block began.
    pub context_switches: u64,
}

impl Activity {
    /// The increase since an earlier reading.
    #[must_use]
    pub fn since(&self, earlier: &Activity) -> Activity {
        Activity {
            page_faults: self.page_faults.saturating_sub(earlier.page_faults),
            context_switches: self
                .context_switches
                .saturating_sub(earlier.context_switches),
        }
    }
}

impl AddAssign for Activity {
    fn add_assign(&mut self, other: Activity) {
        self.page_faults += other.page_faults;
        self.context_switches += other.context_switches;
    }
}

/// How much of what the kernel keeps by number processes have at a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// Their threads.
    pub threads: u64,
    /// Their open file descriptors: files, sockets, pipes. `None` if this user may not list them.
    pub descriptors: Option<u64>,
}

/// One arm measured for a stretch.
#[derive(Clone, Debug, PartialEq)]
pub struct Window {
    /// Its place in the run.
    pub place: Place,
    /// Its start, in nanoseconds since the run began.
    pub started_ns: u64,
    /// From its start to its last completion (closed loop) or to the end of its schedule
    /// (open loop), in nanoseconds.
    pub duration_ns: u64,
    /// From the end of the previous window, or of attaching or detaching agents since, to the end
    /// of this one, in nanoseconds: the stretch that `cpu.others_before` and `cpu.others_in_window`
    /// cover.
    pub stretch_ns: u64,
    /// What the generator did.
    pub exchanges: Exchanges,
    /// Who used CPU.
    pub cpu: WindowCpu,
    /// What the machine did.
    pub machine: MachineDelta,
    /// What ran beside the subject: agents, kernel threads.
    pub beside: Beside,
    /// Resident memory of the arm at the window's end, in bytes; `None` when unreadable.
    pub rss_bytes: Option<u64>,
    /// Other activity of the arm's processes in the window; `None` when unreadable.
    pub activity: Option<Activity>,
    /// Its warnings.
    pub warnings: Vec<Warning>,
    /// Its slowest exchanges, slowest first; times are on the run's clock, as is `started_ns`.
    pub outliers: Vec<Outlier>,
}

impl Window {
    /// Time between the counter readings before and after the load, in nanoseconds; it applies to
    /// counters of agents, of the machine and of Windage itself.
    /// agents, of the machine and of Windage itself.
    #[must_use]
    pub fn read_over_ns(&self) -> u64 {
        self.beside.between_readings_ns.unwrap_or(self.duration_ns)
    }

    /// The window's validity.
    #[must_use]
    pub fn soundness(&self) -> Soundness {
        self.warnings
            .iter()
            .map(|d| d.code().soundness())
            .max()
            .unwrap_or(Soundness::Valid)
    }

    /// Completed requests per second, or `None` when nothing was completed.
    #[must_use]
    pub fn throughput_per_s(&self) -> Option<f64> {
        let achieved_per_s = self.exchanges.achieved_per_s(self.duration_ns)?;
        (achieved_per_s > 0.0).then_some(achieved_per_s)
    }

    /// The longest generator stall on the run's clock, from and to; `None` without one.
    #[must_use]
    pub fn longest_stall(&self) -> Option<(u64, u64)> {
        let Exchanges {
            longest_stall_ns,
            longest_stall_at_ns,
            ..
        } = self.exchanges;
        let from_ns = self.started_ns.saturating_add(longest_stall_at_ns);
        (longest_stall_ns > 0).then(|| (from_ns, from_ns.saturating_add(longest_stall_ns)))
    }
}
