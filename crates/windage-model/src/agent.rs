//! Agents beside the process: what they used while they were attached, before anything is computed.

use crate::ArmIndex;

/// What ran beside the subject in a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Beside {
    /// CPU of the agents that were attached, in nanoseconds; `None` when none was, or it is
    /// unreadable.
    pub agent_ns: Option<u64>,
    /// Resident memory of those agents at the window's end, in bytes.
    pub agent_rss_bytes: Option<u64>,
    /// CPU of the kernel's own threads, in nanoseconds; `None` when it was not read.
    pub kernel_threads_ns: Option<u64>,
    /// The time from the reading of counters before the window's load to the one after it, in nanoseconds:
    /// what is read there is of this time, which is a little longer than the load; `None` when it is not
    /// known.
    pub between_readings_ns: Option<u64>,
}

/// One attachment of an arm's agents: from their start until they were gone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentCycle {
    /// The launch of the services that it happened in.
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
    /// From the end of their warm-up until they were asked to end, the stretches of BPF statistics
    /// left out, in nanoseconds.
    pub up_ns: u64,
    /// CPU of the agents in that time, in nanoseconds; `None` when unreadable.
    pub up_cpu_ns: Option<u64>,
    /// Requests that the arm itself (not its bystanders) completed in that time.
    pub requests: u64,
    /// Resident memory of the agents at the end of that time, in bytes; `None` when unreadable.
    pub rss_steady_bytes: Option<u64>,
    /// The highest resident memory of the agents from their start to their end, in bytes; `None`
    /// when unreadable.
    pub rss_peak_bytes: Option<u64>,
    /// From when they were asked to end until they and their BPF programs were gone, in
    /// nanoseconds.
    pub detach_ns: u64,
    /// CPU of the agents in that time, in nanoseconds; `None` when unreadable.
    pub detach_cpu_ns: Option<u64>,
    /// The BPF programs that came with the agents; `None` when the kernel does not let them be
    /// listed.
    pub programs: Option<Vec<BpfProgram>>,
    /// BPF links that came with the agents.
    pub links: u32,
    /// Memory of the BPF programs and maps that came with the agents, in bytes.
    pub bpf_memory_bytes: u64,
    /// What the kernel's run-time statistics say, taken in a stretch of its own; `None` when it was
    /// not taken.
    pub statistics: Option<BpfStatistics>,
    /// What was still there when the agents were gone: BPF programs and links, as
    /// `program 17 (count_requests, kprobe)`, and processes that could not be killed, as `process 4711`.
    pub left_behind: Vec<String>,
    /// How the agents failed, in words; `None` when they lived until they were asked to end.
    pub failed: Option<String>,
}

/// A BPF program that came with an agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BpfProgram {
    /// The kernel's number for it.
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

/// A stretch of load in which the kernel timed every run of a BPF program. That takes two clock
/// reads a run, so nothing else is concluded from it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BpfStatistics {
    /// How long it was, in nanoseconds.
    pub duration_ns: u64,
    /// Requests that were completed in it.
    pub requests: u64,
    /// CPU of the subject in it, in nanoseconds; `None` when unreadable.
    pub cpu_ns: Option<u64>,
    /// CPU of the subject in a stretch of the same length just before, without statistics, in
    /// nanoseconds; `None` when unreadable.
    pub cpu_without_ns: Option<u64>,
    /// Requests that were completed in that.
    pub requests_without: u64,
}
