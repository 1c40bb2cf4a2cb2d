//! What agents beside the process cost: their own use, the kernel's side of them, the whole bill,
//! and what processes pay that they do not watch.

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

pub use bill::{Bill, BillItem, BillLine};
pub use bystanders::Bystander;
pub(crate) use warnings::of_attachments;

/// A figure of attachments.
#[derive(Clone, Debug, PartialEq)]
pub struct OverCycles {
    /// Over all attachments that did not fail: sums divided by sums where it is a ratio, else the
    /// mean.
    pub estimate: f64,
    /// Its interval over launches, each with the sums of its attachments, which share its luck; in
    /// a launch alone over attachments, each of which draws the agent's luck anew. `None` for a
    /// single one.
    pub interval: Option<Interval>,
}

/// What is told of a figure of which the usual and the worst matter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// The median over attachments.
    pub median: f64,
    /// The highest.
    pub max: f64,
}

/// What an arm's agents did and used, over all their attachments under a load.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentUse {
    /// The agents, by their names in the plan.
    pub names: Vec<String>,
    /// Every attachment in the order in which they ended, those that failed included.
    pub cycles: Vec<CycleUse>,
    /// Attaching; `None` when every attachment failed.
    pub attach: Option<AttachUse>,
    /// From ready until asked to end; `None` when every attachment failed.
    pub up: Option<UpUse>,
    /// From asked to end until they and their BPF programs were gone, in seconds.
    pub detach_time_s: Option<Range>,
    /// CPU of the agents in that time, in seconds; `None` when unreadable.
    pub detach_cpu_s: Option<Range>,
    /// BPF programs that came with the agents; `None` when they could not be listed.
    pub bpf: Option<BpfUse>,
    /// What the kernel's statistics see of what the service pays, and what they do not; `None`
    /// without statistics, and where the service's CPU per request is not known.
    pub probes: Option<ProbeAccount>,
}

impl AgentUse {
    /// Attachments that failed.
    pub fn failed(&self) -> impl Iterator<Item = &CycleUse> {
        self.cycles.iter().filter(|cycle| cycle.failed.is_some())
    }
}

/// One attachment, with the figures that the others are made of.
#[derive(Clone, Debug, PartialEq)]
pub struct CycleUse {
    /// The launch of the services that it happened in.
    pub launch: u32,
    /// The block whose windows it was for.
    pub block: u32,
    /// From the start of the first agent until the last one was ready, in seconds.
    pub attach_s: f64,
    /// CPU of the agents in that time, in seconds; `None` when unreadable, as all below.
    pub attach_cpu_s: Option<f64>,
    /// The highest resident memory in that time, in bytes.
    pub attach_rss_peak_bytes: Option<u64>,
    /// From ready until asked to end, the stretches of statistics left out, in seconds.
    pub up_s: f64,
    /// CPU of the agents in that time, in seconds.
    pub up_cpu_s: Option<f64>,
    /// Requests that the arm itself completed in that time.
    pub requests: u64,
    /// Length of the arm's own windows that are not void, in seconds, of those in which the CPU of
    /// the agents was read, and from reading to reading.
    pub windows_s: f64,
    /// CPU of the agents in them, in seconds.
    pub windows_cpu_s: f64,
    /// CPU of the agents in windows of the arm's bystanders, in seconds.
    pub bystanders_cpu_s: f64,
    /// Resident memory at the end of that time, in bytes.
    pub rss_steady_bytes: Option<u64>,
    /// The highest resident memory from start to end, in bytes.
    pub rss_peak_bytes: Option<u64>,
    /// From asked to end until gone, in seconds.
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
    /// Requests that were completed during the statistics.
    pub statistics_requests: Option<u64>,
    /// CPU of the service for a request during the statistics, in microseconds.
    pub statistics_cpu_us_per_request: Option<f64>,
    /// The same just before, without statistics.
    pub without_cpu_us_per_request: Option<f64>,
    /// What was still there when the agents were gone: BPF programs, links, processes.
    pub left_behind: Vec<String>,
    /// How the agents failed; such an attachment stands in no other figure.
    pub failed: Option<String>,
}

/// What attaching took.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AttachUse {
    /// In seconds.
    pub time_s: Range,
    /// CPU of the agents, in seconds; `None` when unreadable.
    pub cpu_s: Option<Range>,
    /// The highest resident memory, in bytes; `None` when unreadable.
    pub rss_peak_bytes: Option<Range>,
}

/// What the agents used while they were attached, attaching and detaching left out.
#[derive(Clone, Debug, PartialEq)]
pub struct UpUse {
    /// In the arm's own windows that are not void, in cores; `None` when unreadable, as all below.
    pub cpu_cores: Option<OverCycles>,
    /// For a request of the arm, in microseconds: in all that time but windows of bystanders.
    pub cpu_us_per_request: Option<OverCycles>,
    /// Resident memory at the end, in bytes.
    pub rss_steady_bytes: Option<OverCycles>,
    /// The highest resident memory from start to end, in bytes.
    pub rss_peak_bytes: Option<Range>,
}

/// The kernel's side of the agents.
#[derive(Clone, Debug, PartialEq)]
pub struct BpfUse {
    /// Programs, those of the same name and kind together, those that took most time first.
    pub programs: Vec<ProgramUse>,
    /// BPF links that came with the agents: the most of an attachment.
    pub links: u32,
    /// Memory of programs and maps, in bytes: the most of an attachment.
    pub memory_bytes: u64,
    /// Runs of all programs for a request; `None` without statistics, as all below.
    pub events_per_request: Option<OverCycles>,
    /// Time in a program for one run, in nanoseconds, with about one read of the clock; also `None`
    /// when none ran.
    pub ns_per_event: Option<OverCycles>,
    /// Time in all programs for a request, in nanoseconds.
    pub ns_per_request: Option<OverCycles>,
    /// What the statistics themselves cost the service for a request, in microseconds: its CPU
    /// with them less that just before, without.
    pub statistics_cost_us_per_request: Option<OverCycles>,
}

/// Programs of one name and kind, over all attachments.
#[derive(Clone, Debug, PartialEq)]
pub struct ProgramUse {
    /// Their name, as far as the kernel keeps it.
    pub name: String,
    /// Their type, in the kernel's words.
    pub kind: String,
    /// How many there were at once: the most of an attachment.
    pub count: usize,
    /// Runs for a request; `None` without statistics, as below.
    pub runs_per_request: Option<f64>,
    /// Time in one run, in nanoseconds; also `None` when none ran.
    pub ns_per_run: Option<f64>,
    /// Time for a request, in nanoseconds.
    pub ns_per_request: Option<f64>,
}

/// What a probe costs the service against what the kernel's statistics see of it.
#[derive(Clone, Debug, PartialEq)]
pub struct ProbeAccount {
    /// CPU of the service for a request beyond the baseline's, in microseconds
    /// (`cpu_per_request`).
    pub service_us_per_request: Interval,
    /// Time in BPF programs for a request, in microseconds; a program that runs in the service's
    /// context is a part of the former.
    pub bpf_us_per_request: OverCycles,
    /// The former less the latter, in microseconds: traps, entries and exits of probes, colder
    /// caches. A bound, not a count: programs that run elsewhere (in interrupts, in other
    /// processes) make it too small, and so does the read of a clock that statistics count with
    /// each run.
    pub outside_bpf_us_per_request: Interval,
    /// The same if all that the statistics themselves cost the service lay within the time that
    /// they count: no more than this is outside of programs that run in the service's context.
    /// `None` where that cost is not known.
    pub outside_bpf_at_most_us_per_request: Option<Interval>,
    /// CPU of the service for one run of a program, in nanoseconds; an error when the programs
    /// never ran, or so unevenly that the ratio has no bound.
    pub service_ns_per_event: Result<Interval, Missing>,
}

#[cfg(test)]
mod tests;
