//! Agents beside the process: what they used while attached, before anything is computed from it.

use crate::ArmIndex;

/// What ran beside the subject in a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Beside {
    /// CPU of the attached agents, in nanoseconds; `None` when none was attached or it is
    /// unreadable.
    pub agent_ns: Option<u64>,
    /// Resident memory of those agents at the window's end, in bytes.
    pub agent_rss_bytes: Option<u64>,
    /// CPU of the kernel's own threads, in nanoseconds; `None` when it was not read.
    pub kernel_threads_ns: Option<u64>,
    /// Time between the counter readings before and after the window's load, in nanoseconds. Agent,
    /// machine and Windage counters cover this time, which is slightly longer than the load. `None`
    /// when unknown.
    pub between_readings_ns: Option<u64>,
}

/// One attachment of an arm's agents, from their start until they are detached.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentCycle {
    /// The launch of the services during which it happened.
    pub launch: u32,
    /// The block whose windows it was for, counted from 0 over the whole run.
    pub block: u32,
    /// The arm whose agents they are.
    pub arm: ArmIndex,
    /// From the start of the first agent until the last one was ready, in nanoseconds.
    pub attach_ns: u64,
    /// CPU of the agents in that time, in nanoseconds; `None` when unreadable.
    pub attach_cpu_ns: Option<u64>,
    /// The highest resident memory of the agents in that time, in bytes; `None` when unreadable.
    pub attach_rss_peak_bytes: Option<u64>,
    /// From the end of the agents' warm-up until they are asked to stop, without the stretches of
    /// BPF statistics, in nanoseconds.
    pub up_ns: u64,
    /// CPU of the agents in that time, in nanoseconds; `None` when unreadable.
    pub up_cpu_ns: Option<u64>,
    /// Requests that the arm itself (not its bystanders) completed in that time.
    pub requests: u64,
    /// Resident memory of the agents at the end of that time, in bytes; `None` when unreadable.
    pub rss_steady_bytes: Option<u64>,
    /// The highest resident memory of the agents from start to end, in bytes; `None` when
    /// unreadable.
    pub rss_peak_bytes: Option<u64>,
    /// From the request to stop until the agents are detached (processes ended, BPF programs
    /// unloaded), in nanoseconds.
    pub detach_ns: u64,
    /// CPU of the agents in that time, in nanoseconds; `None` when unreadable.
    pub detach_cpu_ns: Option<u64>,
    /// The BPF programs that came with the agents; `None` when the kernel does not allow listing
    /// them.
    pub programs: Option<Vec<BpfProgram>>,
    /// BPF links that came with the agents.
    pub links: u32,
    /// Memory of the BPF programs and maps that came with the agents, in bytes.
    pub bpf_memory_bytes: u64,
    /// The kernel's run-time statistics, taken in a stretch of their own; `None` when not taken.
    pub statistics: Option<BpfStatistics>,
    /// What was left behind after detaching: BPF programs and links, as
    /// `program 17 (count_requests, kprobe)`, and processes that could not be killed, as
    /// `process 4711`.
    pub left_behind: Vec<String>,
    /// How the agents failed, in words; `None` when they ran until they were asked to stop.
    pub failed: Option<String>,
}

/// A BPF program that came with an agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BpfProgram {
    /// The kernel's id of the program.
    pub id: u32,
    /// Its name, as far as the kernel keeps it (15 bytes); may be empty.
    pub name: String,
    /// Its type, in the kernel's words: `kprobe` (uprobes too), `tracepoint`, `raw_tracepoint`.
    pub kind: String,
    /// Runs during the statistics; zero without them.
    pub runs: u64,
    /// Time in it during the statistics, in nanoseconds; zero without them.
    pub run_ns: u64,
}

/// A stretch of load in which the kernel timed every run of a BPF program. Timing takes two clock
/// reads per run, so no other figure is taken from this stretch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BpfStatistics {
    /// How long it was, in nanoseconds.
    pub duration_ns: u64,
    /// Requests completed in it.
    pub requests: u64,
    /// CPU of the subject in it, in nanoseconds; `None` when unreadable.
    pub cpu_ns: Option<u64>,
    /// CPU of the subject in an equally long stretch just before, without statistics, in
    /// nanoseconds; `None` when unreadable.
    pub cpu_without_ns: Option<u64>,
    /// Requests completed in that stretch.
    pub requests_without: u64,
}
