//! Entries of the journal, as plain values.

use windage_model::{
    AgentCycle, ArmIndex, CpuSource, Held, PhaseSpent, Place, ProcessTimes, TurnBlock, Warning,
    Window,
};

use crate::Delivered;

/// One entry of the journal.
#[derive(Clone, Debug, PartialEq)]
pub enum Entry {
    /// All processes of a round are up.
    LaunchStarted(Launch),
    /// One arm was measured for a stretch.
    Window(Window),
    /// The arms took turns in a block.
    Turns(TurnBlock),
    /// What was measured before it, windows or turns, forms a complete block.
    BlockDone {
        /// The block, counted from 0 over the whole run.
        block: u32,
    },
    /// The processes of a round are about to be stopped.
    LaunchEnded(LaunchEnd),
    /// What one arm delivered from launch to final flush.
    Delivered(Delivered),
    /// A warning about the run.
    Warning(Warning),
    /// A program's version.
    Version {
        /// The program, by its name in the plan.
        of: String,
        /// The first line of its version output.
        text: String,
    },
    /// What a phase of a batch program used.
    Phase(PhaseSpent),
    /// What a process started for one window used.
    Process(ProcessTimes),
    /// A self-reported fact of a program.
    SelfReport(SelfReport),
    /// What each of several services of an arm used in a launch.
    Services(ServicesUsed),
    /// An arm's agents were attached and have been detached.
    Agent(AgentCycle),
    /// What an arm's processes held after a window.
    Held(HeldAt),
    /// The run ended; a resumed run continues after it.
    RunEnded(Ending),
}

impl Entry {
    /// The block that an entry is a part of, which counts only as a whole; `None` for an entry that
    /// stands for itself.
    pub(crate) fn block(&self) -> Option<u32> {
        match self {
            Entry::Window(window) => Some(window.place.block),
            Entry::Turns(turns) => Some(turns.block),
            Entry::Process(times) => Some(times.place.block),
            _ => None,
        }
    }

    /// The launch of an entry; `None` when it belongs to the whole run.
    #[must_use]
    pub fn launch(&self) -> Option<u32> {
        match self {
            Entry::LaunchStarted(launch) => Some(launch.launch),
            Entry::Window(window) => Some(window.place.launch),
            Entry::Turns(block) => Some(block.launch),
            Entry::LaunchEnded(end) => Some(end.launch),
            Entry::Delivered(delivered) => Some(delivered.launch),
            Entry::Phase(spent) => Some(spent.launch),
            Entry::Process(times) => Some(times.place.launch),
            Entry::SelfReport(said) => Some(said.launch),
            Entry::Services(used) => Some(used.launch),
            Entry::Agent(cycle) => Some(cycle.launch),
            Entry::Held(held) => Some(held.place.launch),
            Entry::Warning(_)
            | Entry::Version { .. }
            | Entry::BlockDone { .. }
            | Entry::RunEnded(_) => None,
        }
    }

    /// The round of an entry, where it says so.
    #[must_use]
    pub fn round(&self) -> Option<u32> {
        match self {
            Entry::LaunchStarted(launch) => Some(launch.round),
            Entry::Window(window) => Some(window.place.round),
            Entry::Turns(block) => Some(block.round),
            Entry::Process(times) => Some(times.place.round),
            Entry::Held(held) => Some(held.place.round),
            _ => None,
        }
    }
}

/// The newly launched processes of a round.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Launch {
    /// Counted from 0 over the whole run.
    pub launch: u32,
    /// The round, from 0.
    pub round: u32,
    /// When the first process started, in nanoseconds since the run began.
    pub started_ns: u64,
    /// Every arm that was launched.
    pub arms: Vec<LaunchedArm>,
}

/// One arm of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaunchedArm {
    /// The arm.
    pub arm: ArmIndex,
    /// The number of its instance; arms with the same number share it and differ by `switch`.
    pub instance: u16,
    /// From launch until ready, in nanoseconds; `None` for a service that was already running.
    pub startup_ns: Option<u64>,
    /// Where the arm's CPU figures come from.
    pub cpu_source: CpuSource,
    /// The resolution of that source, in nanoseconds; 0 when there is no source.
    pub cpu_resolution_ns: u64,
    /// CPU from launch until ready, in nanoseconds; `None` when unreadable.
    pub startup_cpu_ns: Option<u64>,
    /// Requests completed during warm-up.
    pub warmup_completed: u64,
    /// CPU that the arm used while others warmed up, in nanoseconds.
    pub warmup_outside_ns: u64,
    /// Total length of those stretches, in nanoseconds.
    pub warmup_outside_time_ns: u64,
}

/// What was read of every arm between a round's last window and the end of its processes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LaunchEnd {
    /// The launch.
    pub launch: u32,
    /// Every arm of it.
    pub arms: Vec<LaunchArmEnd>,
    /// Resident memory of Windage itself at that time, generator and receivers included, in bytes;
    /// `None` when unreadable.
    pub own_rss_bytes: Option<u64>,
}

/// One arm at the end of a launch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LaunchArmEnd {
    /// The arm.
    pub arm: ArmIndex,
    /// CPU from the end of the round's last window to the end of the drain, and while agents of
    /// other arms were attached and detached, in nanoseconds; `None` when unreadable.
    pub after_last_window_ns: Option<u64>,
    /// Total length of those stretches, in nanoseconds.
    pub drain_ns: u64,
    /// CPU in the idle stretch after that drain, in nanoseconds; `None` when unreadable.
    pub idle_cpu_ns: Option<u64>,
    /// The length of the idle stretch, in nanoseconds.
    pub idle_ns: u64,
    /// CPU from the end of the launch's last block of turns to the end of the drain after it, in
    /// nanoseconds; `None` when unreadable, or without turns.
    pub after_turns_ns: Option<u64>,
    /// The length of that drain, in nanoseconds; 0 without turns.
    pub turns_drain_ns: u64,
    /// Peak resident memory since the launch, in bytes; `None` when unreadable.
    pub rss_peak_bytes: Option<u64>,
    /// Proportional set size (PSS), in bytes; `None` when unreadable.
    pub pss_bytes: Option<u64>,
    /// Time outside its windows' stretches in which the arm had unmeasured load, or its own agents
    /// were attached or detached, in nanoseconds; 0 without agents.
    pub hidden_ns: u64,
    /// Requests completed under such load after the arm's last window; earlier ones are in the next
    /// window's `settle_completed`.
    pub unmeasured: u64,
}

/// A self-reported fact of an arm's program in one launch, such as its garbage collector's state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SelfReport {
    /// The launch.
    pub launch: u32,
    /// The program's arm.
    pub arm: ArmIndex,
    /// The subject of the fact.
    pub name: String,
    /// The fact.
    pub text: String,
}

/// What each service of an arm used in a launch, by the clocks of its processes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServicesUsed {
    /// The launch.
    pub launch: u32,
    /// The arm.
    pub arm: ArmIndex,
    /// The length of the stretches that `outside_ns` covers, in nanoseconds.
    pub outside_time_ns: u64,
    /// The length of the stretches that `turns_ns` covers, in nanoseconds.
    pub turns_time_ns: u64,
    /// The length of the idle stretch, in nanoseconds.
    pub idle_time_ns: u64,
    /// The same by the arm's own counter. A cgroup also counts processes that no clock was read of:
    /// those that ended, or that lived for less than a block.
    pub whole: CpuUsed,
    /// Every service that was launched for the arm, in the plan's order.
    pub services: Vec<ServiceUsed>,
}

/// What one service used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServiceUsed {
    /// Its name.
    pub service: String,
    /// Its CPU.
    pub cpu: CpuUsed,
}

/// CPU of a launch, by what its arm did at the time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuUsed {
    /// In the arm's own windows, in nanoseconds.
    pub windows_ns: u64,
    /// Outside them while the arm was credited with it, in nanoseconds.
    pub outside_ns: u64,
    /// In blocks of turns and in the drain after them, in nanoseconds.
    pub turns_ns: u64,
    /// In the idle stretch, in nanoseconds.
    pub idle_ns: u64,
}

/// What an arm's processes held after a window. It is read every ten seconds or so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeldAt {
    /// The window.
    pub place: Place,
    /// When, in nanoseconds since the run began.
    pub at_ns: u64,
    /// Its services; `None` when unreadable.
    pub services: Option<Held>,
    /// The agents that are attached; `None` without any, or when unreadable.
    pub agents: Option<Held>,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// As planned.
    Complete,
    /// Early, because it was precise enough or reached its time limit.
    StoppedEarly {
        /// Which of these, for people.
        reason: String,
    },
    /// On a signal.
    Interrupted,
    /// A service or Windage itself could not continue.
    Died {
        /// What happened, for people.
        text: String,
    },
}
