//! One arm measured for a stretch: the counters, before anything is computed from them.

use std::ops::AddAssign;

use crate::{ArmIndex, Beside, Exchanges, Outlier, Soundness, Warning};

/// Where a window stands in the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    /// Which launch of the processes, counted from 0 over the whole run; a round that was
    /// resumed has two.
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
    /// `cpuacct.usage` of a cgroup of version 1: nanoseconds, exact when the tasks sleep.
    CgroupV1,
    /// `cpu.stat` of a cgroup of version 2: microseconds, exact when the tasks sleep.
    CgroupV2,
    /// Sum of the CPU clocks of the processes: nanoseconds, exact when they sleep, exited threads
    /// included; processes that exited are lost.
    ProcessClock,
    /// `rusage` of a process that was reaped.
    Rusage,
    /// None: the subject is out of reach (attached by URL).
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
    /// Every other arm that used any while the window lasted.
    pub others_in_window: Vec<ArmCpu>,
    /// Every other arm that used any from the end of the window before to the start of this
    /// one, settle included. What the own arm uses there is in `settle_ns`.
    pub others_before: Vec<ArmCpu>,
    /// The generator's thread, in the window.
    pub generator_ns: u64,
    /// The sink's threads, in the window.
    pub sink_ns: u64,
    /// Windage in all, generator and sink included, in the window.
    pub windage_ns: u64,
}

/// What the machine as a whole did in a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MachineDelta {
    /// Busy CPU of all cores, in nanoseconds; `None` when unreadable.
    pub busy_ns: Option<u64>,
    /// Time that the hypervisor took away, in nanoseconds.
    pub steal_ns: u64,
    /// Time that some task waited for a core (pressure), in nanoseconds; `None` without PSI.
    pub cpu_pressure_ns: Option<u64>,
}

/// What the processes of an arm did besides computing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Activity {
    /// Page faults, minor and major.
    pub page_faults: u64,
    /// How often a thread was given a core. Threads that began since the block did are not in it.
    pub context_switches: u64,
}

impl Activity {
    /// What was done since an earlier reading.
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

/// One arm measured for a stretch.
#[derive(Clone, Debug, PartialEq)]
pub struct Window {
    /// Where it stands in the run.
    pub place: Place,
    /// Its start, in nanoseconds since the run began.
    pub started_ns: u64,
    /// From its start to its last completion (closed loop) or to the end of its schedule
    /// (open loop), in nanoseconds.
    pub duration_ns: u64,
    /// From the end of the window before, or of agents' coming and going since, to the end of this
    /// one, in nanoseconds: the stretch that `cpu.others_before` and `cpu.others_in_window` cover.
    pub stretch_ns: u64,
    /// What the generator did.
    pub exchanges: Exchanges,
    /// Who used CPU.
    pub cpu: WindowCpu,
    /// What the machine did.
    pub machine: MachineDelta,
    /// What ran beside the subject: agents, the kernel's threads.
    pub beside: Beside,
    /// Resident memory of the arm at the window's end, in bytes; `None` when unreadable.
    pub rss_bytes: Option<u64>,
    /// What the arm did besides computing in the window; `None` when unreadable.
    pub activity: Option<Activity>,
    /// What speaks against it.
    pub warnings: Vec<Warning>,
    /// Its slowest exchanges, the slowest first; times are those of the run's clock, as
    /// `started_ns` is.
    pub outliers: Vec<Outlier>,
}

impl Window {
    /// The time that counters are of which are read before and after the load, in nanoseconds: those of
    /// agents, of the machine and of Windage itself.
    #[must_use]
    pub fn read_over_ns(&self) -> u64 {
        self.beside.between_readings_ns.unwrap_or(self.duration_ns)
    }

    /// How far the window may be believed.
    #[must_use]
    pub fn soundness(&self) -> Soundness {
        self.warnings
            .iter()
            .map(|d| d.code.soundness())
            .max()
            .unwrap_or(Soundness::Valid)
    }

    /// Completed requests per second, or `None` when nothing was completed.
    #[must_use]
    pub fn throughput_per_s(&self) -> Option<f64> {
        let achieved_per_s = self.exchanges.achieved_per_s(self.duration_ns)?;
        (achieved_per_s > 0.0).then_some(achieved_per_s)
    }

    /// The longest stall of the generator on the run's clock, from and to; `None` without any.
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
