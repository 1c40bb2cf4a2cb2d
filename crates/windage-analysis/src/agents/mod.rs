//! What agents beside the process cost: their own use, their BPF programs, the bill, and the cost
//! to bystanders.

mod attachments;
mod bill;
mod bystanders;
mod cycles;
mod metrics;
mod pieces;
mod probes;
mod warnings;

use windage_model::Interval;

use crate::Missing;

pub(crate) use attachments::agent_use;
pub(crate) use bill::bill;
pub use bill::{Bill, BillItem, BillLine};
pub use bystanders::Bystander;
pub(crate) use bystanders::{bystander, watched};
pub(crate) use metrics::of_agents;
pub(crate) use warnings::of_attachments;

/// A figure of attachments.
#[derive(Clone, Debug, PartialEq)]
pub struct OverCycles {
    /// Over all attachments that did not fail: for a ratio the sums divided, otherwise the mean.
    pub estimate: f64,
    /// Its interval: over launches, each with the sums of its attachments, which share launch luck;
    /// in a run of one launch over attachments, each of which draws agent luck anew. `None` for a
    /// single one.
    pub interval: Option<Interval>,
}

/// Median and maximum of a figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// The median over attachments.
    pub median: f64,
    /// The highest.
    pub max: f64,
}

/// What an arm's agents did and used, over all their attachments under one load.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentUse {
    /// The agents, by their names in the plan.
    pub names: Vec<String>,
    /// Every attachment, in the order in which they ended, including failed ones.
    pub cycles: Vec<CycleUse>,
    /// Attaching; `None` when every attachment failed.
    pub attach: Option<AttachUse>,
    /// From ready until asked to stop; `None` when every attachment failed.
    pub up: Option<UpUse>,
    /// From the request to stop until the agents are detached, in seconds.
    pub detach_time_s: Option<Range>,
    /// CPU of the agents while they detach, in seconds; `None` when unreadable.
    pub detach_cpu_s: Option<Range>,
    /// BPF programs that came with the agents; `None` when they could not be listed.
    pub bpf: Option<BpfUse>,
    /// What the kernel's statistics count and do not count of the service's cost; `None` without
    /// statistics, and where the service's CPU per request is unknown.
    pub probes: Option<ProbeAccount>,
}

impl AgentUse {
    /// Attachments that failed.
    pub fn failed(&self) -> impl Iterator<Item = &CycleUse> {
        self.cycles.iter().filter(|cycle| cycle.failed.is_some())
    }
}

/// One attachment, with the figures from which the others are computed.
#[derive(Clone, Debug, PartialEq)]
pub struct CycleUse {
    /// The launch of the services during which it happened.
    pub launch: u32,
    /// The block whose windows it was for.
    pub block: u32,
    /// From the start of the first agent until the last one was ready, in seconds.
    pub attach_s: f64,
    /// CPU of the agents in that time, in seconds; `None` when unreadable, as for all below.
    pub attach_cpu_s: Option<f64>,
    /// The highest resident memory in that time, in bytes.
    pub attach_rss_peak_bytes: Option<u64>,
    /// From ready until asked to stop, without the stretches of statistics, in seconds.
    pub up_s: f64,
    /// CPU of the agents in that time, in seconds.
    pub up_cpu_s: Option<f64>,
    /// Requests that the arm itself completed in that time.
    pub requests: u64,
    /// Total length of the arm's own windows that are not void and in which the agents' CPU was
    /// read, from reading to reading, in seconds.
    pub windows_s: f64,
    /// CPU of the agents in them, in seconds.
    pub windows_cpu_s: f64,
    /// CPU of the agents in windows of the arm's bystanders, in seconds.
    pub bystanders_cpu_s: f64,
    /// Resident memory at the end of that time, in bytes.
    pub rss_steady_bytes: Option<u64>,
    /// The highest resident memory from start to end, in bytes.
    pub rss_peak_bytes: Option<u64>,
    /// From the request to stop until detached, in seconds.
    pub detach_s: f64,
    /// CPU of the agents in that time, in seconds.
    pub detach_cpu_s: Option<f64>,
    /// How many BPF programs came with the agents; `None` when they could not be listed.
    pub bpf_programs: Option<usize>,
    /// BPF links that came with them.
    pub bpf_links: u32,
    /// Memory of their BPF programs and maps, in bytes.
    pub bpf_memory_bytes: u64,
    /// Runs of all their programs during the statistics; `None` without statistics, as below.
    pub bpf_runs: Option<u64>,
    /// Time in them during the statistics, in nanoseconds.
    pub bpf_run_ns: Option<u64>,
    /// Requests completed during the statistics.
    pub statistics_requests: Option<u64>,
    /// CPU of the service per request during the statistics, in microseconds.
    pub statistics_cpu_us_per_request: Option<f64>,
    /// The same just before, without statistics.
    pub without_cpu_us_per_request: Option<f64>,
    /// What was left behind after detaching: BPF programs, links, processes.
    pub left_behind: Vec<String>,
    /// How the agents failed; a failed attachment is in no other figure.
    pub failed: Option<String>,
}

/// The cost of attaching.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AttachUse {
    /// In seconds.
    pub time_s: Range,
    /// CPU of the agents, in seconds; `None` when unreadable.
    pub cpu_s: Option<Range>,
    /// The highest resident memory, in bytes; `None` when unreadable.
    pub rss_peak_bytes: Option<Range>,
}

/// What the agents used while attached, without attaching and detaching.
#[derive(Clone, Debug, PartialEq)]
pub struct UpUse {
    /// In the arm's own windows that are not void, in cores; `None` when unreadable, as for all
    /// below.
    pub cpu_cores: Option<OverCycles>,
    /// Per request of the arm, in microseconds: in all that time except windows of bystanders.
    pub cpu_us_per_request: Option<OverCycles>,
    /// Resident memory at the end, in bytes.
    pub rss_steady_bytes: Option<OverCycles>,
    /// The highest resident memory from start to end, in bytes.
    pub rss_peak_bytes: Option<Range>,
}

/// BPF programs, links and maps of the agents.
#[derive(Clone, Debug, PartialEq)]
pub struct BpfUse {
    /// Programs, grouped by name and kind, those with the most time first.
    pub programs: Vec<ProgramUse>,
    /// BPF links that came with the agents: the maximum over attachments.
    pub links: u32,
    /// Memory of programs and maps, in bytes: the maximum over attachments.
    pub memory_bytes: u64,
    /// Runs of all programs per request; `None` without statistics, as for all below.
    pub events_per_request: Option<OverCycles>,
    /// Time in a program per run, in nanoseconds, including about one clock read; also `None` when
    /// no program ran.
    pub ns_per_event: Option<OverCycles>,
    /// Time in all programs per request, in nanoseconds.
    pub ns_per_request: Option<OverCycles>,
    /// The service's cost of the statistics themselves per request, in microseconds: its CPU with
    /// statistics less its CPU just before, without.
    pub statistics_cost_us_per_request: Option<OverCycles>,
}

/// Programs of one name and kind, over all attachments.
#[derive(Clone, Debug, PartialEq)]
pub struct ProgramUse {
    /// Their name, as far as the kernel keeps it (15 bytes).
    pub name: String,
    /// Their type, in the kernel's words.
    pub kind: String,
    /// How many were loaded at once: the maximum over attachments.
    pub count: usize,
    /// Runs per request; `None` without statistics, as below.
    pub runs_per_request: Option<f64>,
    /// Time per run, in nanoseconds; also `None` when none ran.
    pub ns_per_run: Option<f64>,
    /// Time per request, in nanoseconds.
    pub ns_per_request: Option<f64>,
}

/// What probes cost the service, compared with the part that the kernel's statistics count.
#[derive(Clone, Debug, PartialEq)]
pub struct ProbeAccount {
    /// CPU overhead of the service per request, in microseconds (`cpu_per_request`).
    pub service_us_per_request: Interval,
    /// Time in BPF programs per request, in microseconds; for programs that run in the service's
    /// context this is a part of the former.
    pub bpf_us_per_request: OverCycles,
    /// The former less the latter, in microseconds: traps, entries and exits of probes, colder
    /// caches. It is a lower bound: programs that run elsewhere (in interrupts, in other processes)
    /// make it too small, and so does the clock read that the statistics count with each run.
    pub outside_bpf_us_per_request: Interval,
    /// The upper bound: the same if the whole cost of the statistics lay within the time that they
    /// count. It holds for programs that run in the service's context. `None` where that cost is
    /// unknown.
    pub outside_bpf_at_most_us_per_request: Option<Interval>,
    /// CPU of the service per run of a program, in nanoseconds; an error when the programs never
    /// ran, or so unevenly that the ratio is unbounded.
    pub service_ns_per_event: Result<Interval, Missing>,
}

#[cfg(test)]
mod tests;
