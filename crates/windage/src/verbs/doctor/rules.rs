//! What follows from what was seen: each rule is a function from it to a finding.

mod bpf;
mod machine;
mod means;

use super::finding::Finding;
use super::seen::Seen;

/// Every rule, in the order of the list.
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
        means::privileges,
        means::containment,
        means::cgroup,
        means::pressure,
        means::open_files,
        means::loopback,
        means::disk,
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
        .chain(seen.programs.iter().map(means::program))
        .collect()
}

#[cfg(test)]
mod tests;
