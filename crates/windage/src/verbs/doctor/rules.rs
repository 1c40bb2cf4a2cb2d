//! The rules: each is a function from what was seen to a finding.

mod access;
mod bpf;
mod machine;

use super::facts::Seen;
use super::finding::Finding;

/// All rules, in the order of the list.
pub(super) fn findings(seen: &Seen) -> Vec<Finding> {
    let rules: [fn(&Seen) -> Finding; 28] = [
        machine::linux,
        machine::cores,
        machine::load,
        machine::steal,
        machine::timer,
        machine::tick,
        machine::clocksource,
        machine::frequency,
        machine::aslr,
        access::privileges,
        access::containment,
        access::cgroup,
        access::pressure,
        access::open_files,
        access::loopback,
        access::disk,
        bpf::permission,
        bpf::kprobes,
        bpf::fentry,
        bpf::uprobes,
        bpf::writing,
        bpf::tracefs,
        bpf::tracepoints,
        bpf::raw_tracepoints,
        bpf::btf,
        bpf::run_time,
        bpf::perf_events,
        bpf::hardware_counters,
    ];
    rules
        .iter()
        .map(|rule| rule(seen))
        .chain(seen.programs.iter().map(access::program))
        .collect()
}

#[cfg(test)]
mod tests;
