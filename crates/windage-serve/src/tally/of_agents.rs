//! The figures of one arm's attachments.

use windage_model::AgentCycle;

use super::add;
use crate::families::{self, Family, Samples};
use crate::seconds;

/// An arm's attachments.
#[derive(Debug, Default)]
pub(super) struct OfAgents {
    ended: u64,
    failed: u64,
    left_behind: u64,
    attach_cpu_ns: Option<u64>,
    up_cpu_ns: Option<u64>,
    detach_cpu_ns: Option<u64>,
    last: Option<AgentCycle>,
    /// Seconds per request in BPF programs, of the last attachment that has it.
    bpf_s_per_request: Option<f64>,
}

impl OfAgents {
    pub(super) fn take(&mut self, cycle: &AgentCycle) {
        self.ended += 1;
        self.failed += u64::from(cycle.failed.is_some());
        self.left_behind += cycle.left_behind.len() as u64;
        add(&mut self.attach_cpu_ns, cycle.attach_cpu_ns);
        add(&mut self.up_cpu_ns, cycle.up_cpu_ns);
        add(&mut self.detach_cpu_ns, cycle.detach_cpu_ns);
        self.bpf_s_per_request = bpf_s_per_request(cycle).or(self.bpf_s_per_request);
        self.last = Some(cycle.clone());
    }

    pub(super) fn put(&self, labels: &[(&'static str, &str); 2], samples: &mut Samples) {
        let Some(last) = &self.last else {
            return;
        };
        for (phase, ns) in [
            ("attach", self.attach_cpu_ns),
            ("up", self.up_cpu_ns),
            ("detach", self.detach_cpu_ns),
        ] {
            let labels = [&labels[..], &[("phase", phase)]].concat();
            if let Some(ns) = ns {
                samples.put(families::AGENT_CPU, seconds(ns), &labels);
            }
        }
        let programs = last.programs.as_ref().map(|programs| programs.len() as f64);
        // If programs could not be listed, neither could links and memory.
        let listed = |value| programs.map(|_| value);
        let peak = last.rss_peak_bytes.map(|bytes| bytes as f64);
        let table: [(&'static Family, Option<f64>); 10] = [
            (families::ATTACHMENTS, Some(self.ended as f64)),
            (families::ATTACHMENTS_FAILED, Some(self.failed as f64)),
            (families::LEFT_BEHIND, Some(self.left_behind as f64)),
            (families::AGENT_MEMORY_PEAK, peak),
            (families::ATTACH_TIME, Some(seconds(last.attach_ns))),
            (families::DETACH_TIME, Some(seconds(last.detach_ns))),
            (families::BPF_PROGRAMS, programs),
            (families::BPF_LINKS, listed(f64::from(last.links))),
            (families::BPF_MEMORY, listed(last.bpf_memory_bytes as f64)),
            (families::BPF_TIME, self.bpf_s_per_request),
        ];
        for (family, value) in table {
            samples.put(family, value, labels);
        }
    }
}

fn bpf_s_per_request(cycle: &AgentCycle) -> Option<f64> {
    let requests = cycle.statistics?.requests;
    let programs = cycle.programs.as_ref()?;
    let run_ns: u64 = programs.iter().map(|program| program.run_ns).sum();
    (requests > 0).then(|| seconds(run_ns) / requests as f64)
}
