//! What the journal holds, as plain values.

use windage_model::{AgentCycle, ArmIndex, CpuSource, PhaseSpent, ProcessTimes, Warning, Window};

use crate::Delivered;

/// One entry of the journal.
#[derive(Clone, Debug, PartialEq)]
#[expect(
    clippy::large_enum_variant,
    reason = "nearly all entries are windows, which would only be boxed to be unboxed"
)]
pub enum Entry {
    /// All processes of a round are up.
    LaunchStarted(Launch),
    /// One arm was measured for a stretch.
    Window(Window),
    /// The windows before it form a whole block.
    BlockDone {
        /// The block, counted from 0 over the whole run.
        block: u32,
    },
    /// The processes of a round are about to end.
    LaunchEnded(LaunchEnd),
    /// What one arm delivered from launch to final flush.
    Delivered(Delivered),
    /// Something speaks against the run as a whole.
    Warning(Warning),
    /// What a program said of its own version.
    Version {
        /// Which program, by the plan's name for it.
        of: String,
        /// Its first line.
        text: String,
    },
    /// What a phase of a batch program took.
    Phase(PhaseSpent),
    /// What a whole process, started for one window, used.
    Process(ProcessTimes),
    /// What a program said about itself.
    SelfReport(SelfReport),
    /// An arm's agents were attached, and are gone.
    Agent(AgentCycle),
    /// The run ended; a resumed run goes on after it.
    RunEnded(Ending),
}

/// The processes of a round, launched afresh.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Launch {
    /// Counted from 0 over the whole run.
    pub launch: u32,
    /// The round, from 0.
    pub round: u32,
    /// When the first process was started, in nanoseconds since the run began.
    pub started_ns: u64,
    /// Every arm that was launched.
    pub arms: Vec<LaunchedArm>,
}

/// One arm of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaunchedArm {
    /// The arm.
    pub arm: ArmIndex,
    /// The number of its set of processes; arms with the same one share it by a switch.
    pub instance: u16,
    /// From launch until ready, in nanoseconds; `None` for a service that ran already.
    pub startup_ns: Option<u64>,
    /// Where the arm's CPU figures come from.
    pub cpu_source: CpuSource,
    /// The smallest step of that source, in nanoseconds; 0 when there is no source.
    pub cpu_resolution_ns: u64,
    /// CPU from launch until ready, in nanoseconds; `None` when unreadable.
    pub startup_cpu_ns: Option<u64>,
    /// Requests that the warm-up completed.
    pub warmup_completed: u64,
    /// CPU that the arm used while others were warmed up, in nanoseconds.
    pub warmup_outside_ns: u64,
    /// The length of those stretches, in nanoseconds.
    pub warmup_outside_time_ns: u64,
}

/// What was read of every arm between a round's last window and the end of its processes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LaunchEnd {
    /// The launch.
    pub launch: u32,
    /// Every arm of it.
    pub arms: Vec<LaunchArmEnd>,
    /// Resident memory of windage itself then, generator and receivers included, in bytes; `None` when
    /// unreadable.
    pub own_rss_bytes: Option<u64>,
}

/// One arm at the end of a launch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LaunchArmEnd {
    /// The arm.
    pub arm: ArmIndex,
    /// CPU from the end of the round's last window to the end of the drain, and while agents of
    /// others came and went, in nanoseconds; `None` when unreadable.
    pub after_last_window_ns: Option<u64>,
    /// The length of those stretches, in nanoseconds.
    pub drain_ns: u64,
    /// CPU in the idle stretch that follows the drain, in nanoseconds; `None` when unreadable.
    pub idle_cpu_ns: Option<u64>,
    /// The length of the idle stretch, in nanoseconds.
    pub idle_ns: u64,
    /// The highest resident memory since the launch, in bytes; `None` when unreadable.
    pub rss_peak_bytes: Option<u64>,
    /// The proportional share of memory, in bytes; `None` when unreadable.
    pub pss_bytes: Option<u64>,
    /// The time in which the arm had load that is not measured, or agents of its own came and went, before
    /// and after its windows' stretches, in nanoseconds; 0 without agents.
    pub hidden_ns: u64,
    /// Requests completed under such load after the arm's last window; those before it are in that
    /// window's `settle_completed`.
    pub unmeasured: u64,
}

/// What an arm's program said about itself in one launch, such as the state of its garbage collector.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SelfReport {
    /// The launch.
    pub launch: u32,
    /// Whose program it is.
    pub arm: ArmIndex,
    /// What it speaks of.
    pub name: String,
    /// What it says.
    pub text: String,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// As planned.
    Complete,
    /// Before its time, because it was precise enough or ran out of the time allowed.
    StoppedEarly {
        /// Which of these, in words.
        reason: String,
    },
    /// By a signal.
    Interrupted,
    /// A service or Windage itself could not go on.
    Died {
        /// What happened, in words.
        text: String,
    },
}
