//! The figures of one arm's windows.

use windage_model::{Soundness, Window};

use super::add;
use super::of_agents::OfAgents;
use crate::families::{self, Family, Samples};
use crate::seconds;

/// The figures of one arm under one load.
#[derive(Debug, Default)]
pub(super) struct OfArm {
    windows: [u64; 3],
    window_ns: u64,
    completed: u64,
    /// By cause, in the order of [`CAUSES`].
    failed: [u64; 5],
    dropped: u64,
    cpu_ns: Option<u64>,
    rss_bytes: Option<u64>,
    busy_ns: Option<u64>,
    kernel_threads_ns: Option<u64>,
    agent_ns: Option<u64>,
    agent_rss_bytes: Option<u64>,
    block: OfBlock,
    pub(super) agents: OfAgents,
}

const CAUSES: [&str; 5] = ["status", "connect", "timeout", "closed", "protocol"];

/// The last block that has an arm.
#[derive(Debug, Default)]
struct OfBlock {
    block: u32,
    completed: u64,
    duration_ns: u64,
    /// CPU and completed requests in windows whose CPU is known.
    cpu_ns: u64,
    completed_of_cpu: u64,
}

impl OfArm {
    pub(super) fn take(&mut self, window: &Window) {
        self.windows[match window.soundness() {
            Soundness::Valid => 0,
            Soundness::Suspect => 1,
            Soundness::Void => 2,
        }] += 1;
        self.window_ns += window.duration_ns;
        let exchanges = &window.exchanges;
        self.completed += exchanges.completed;
        let errors = exchanges.errors;
        let failed = [
            exchanges.status.errors(),
            errors.connect,
            errors.timeout,
            errors.closed,
            errors.protocol,
        ];
        for (sum, failed) in self.failed.iter_mut().zip(failed) {
            *sum += failed;
        }
        self.dropped += exchanges.dropped;
        add(&mut self.cpu_ns, window.cpu.in_window_ns);
        self.rss_bytes = window.rss_bytes.or(self.rss_bytes);
        add(&mut self.busy_ns, window.machine.busy_ns);
        add(&mut self.kernel_threads_ns, window.beside.kernel_threads_ns);
        add(&mut self.agent_ns, window.beside.agent_ns);
        self.agent_rss_bytes = window.beside.agent_rss_bytes.or(self.agent_rss_bytes);
        self.block.take(window);
    }

    pub(super) fn put(&self, labels: &[(&'static str, &str); 2], samples: &mut Samples) {
        let words = [Soundness::Valid, Soundness::Suspect, Soundness::Void];
        for (word, windows) in words.iter().zip(self.windows) {
            let labels = [&labels[..], &[("soundness", word.as_str())]].concat();
            samples.put(families::WINDOWS, windows as f64, &labels);
        }
        for (cause, failed) in CAUSES.iter().zip(self.failed) {
            let labels = [&labels[..], &[("cause", *cause)]].concat();
            samples.put(families::FAILED, failed as f64, &labels);
        }
        let table: [(&'static Family, Option<f64>); 11] = [
            (families::WINDOW_TIME, Some(seconds(self.window_ns))),
            (families::REQUESTS, Some(self.completed as f64)),
            (families::DROPPED, Some(self.dropped as f64)),
            (families::SERVICE_CPU, self.cpu_ns.map(seconds)),
            (families::SERVICE_MEMORY, self.rss_bytes.map(|b| b as f64)),
            (families::BLOCK_RATE, self.block.requests_per_s()),
            (families::BLOCK_CPU, self.block.cpu_s_per_request()),
            (families::AGENT_WINDOW_CPU, self.agent_ns.map(seconds)),
            (
                families::AGENT_MEMORY,
                self.agent_rss_bytes.map(|b| b as f64),
            ),
            (families::MACHINE_BUSY, self.busy_ns.map(seconds)),
            (
                families::KERNEL_THREADS_CPU,
                self.kernel_threads_ns.map(seconds),
            ),
        ];
        for (family, value) in table {
            samples.put(family, value, labels);
        }
        self.agents.put(labels, samples);
    }
}

impl OfBlock {
    fn take(&mut self, window: &Window) {
        if window.place.block != self.block {
            *self = OfBlock {
                block: window.place.block,
                ..OfBlock::default()
            };
        }
        self.completed += window.exchanges.completed;
        self.duration_ns += window.duration_ns;
        if let Some(ns) = window.cpu.in_window_ns {
            self.cpu_ns += ns;
            self.completed_of_cpu += window.exchanges.completed;
        }
    }

    fn requests_per_s(&self) -> Option<f64> {
        (self.duration_ns > 0).then(|| self.completed as f64 / seconds(self.duration_ns))
    }

    fn cpu_s_per_request(&self) -> Option<f64> {
        (self.completed_of_cpu > 0).then(|| seconds(self.cpu_ns) / self.completed_of_cpu as f64)
    }
}
