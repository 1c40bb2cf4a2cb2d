//! From an arm's attachments to what its agents used.

use windage_model::ArmIndex;

use super::cycles::{mean, range, ratio};
use super::metrics::{
    Attachment, Figure, all_attachments, attachments, bpf, by_launch, cores, rss_steady,
    us_per_request,
};
use super::{AgentUse, AttachUse, CycleUse, UpUse, probes};
use crate::MetricAnalysis;
use crate::run::Run;

/// What an arm's agents did; the given CPU per request is the arm's. `None` for an arm without
/// agents.
pub(crate) fn agent_use(
    run: &Run<'_>,
    arm: ArmIndex,
    cpu: Option<&MetricAnalysis>,
) -> Option<AgentUse> {
    let facts = &run.records.manifest.arms[arm.get()];
    if facts.agents.is_empty() {
        return None;
    }
    let attached: Vec<Attachment<'_>> = attachments(run, arm).collect();
    let cycles = || attached.iter().map(|of| of.cycle);
    let bpf = probes::bpf_use(&attached, run.rules);
    let account = |(bpf, cpu)| probes::account(bpf, cpu, &attached);
    Some(AgentUse {
        names: facts.agents.clone(),
        cycles: all_attachments(run, arm).map(|of| cycle_use(&of)).collect(),
        attach: attach_use(&attached),
        up: up_use(run, &attached),
        detach_time_s: range(cycles().map(|cycle| seconds(cycle.detach_ns))),
        detach_cpu_s: range(
            cycles()
                .filter_map(|cycle| cycle.detach_cpu_ns)
                .map(seconds),
        ),
        probes: bpf.as_ref().zip(cpu).and_then(account),
        bpf,
    })
}

fn up_use(run: &Run<'_>, attached: &[Attachment<'_>]) -> Option<UpUse> {
    let of = |figure: Figure| ratio(&by_launch(attached, figure), run.rules);
    let peak = attached.iter().filter_map(|of| of.cycle.rss_peak_bytes);
    (!attached.is_empty()).then(|| UpUse {
        cpu_cores: of(cores),
        cpu_us_per_request: of(us_per_request),
        rss_steady_bytes: mean(&by_launch(attached, rss_steady), run.rules),
        rss_peak_bytes: range(peak.map(|bytes| bytes as f64)),
    })
}

fn attach_use(attached: &[Attachment<'_>]) -> Option<AttachUse> {
    let cycles = || attached.iter().map(|of| of.cycle);
    let cpu = cycles().filter_map(|cycle| cycle.attach_cpu_ns);
    let peak = cycles().filter_map(|cycle| cycle.attach_rss_peak_bytes);
    Some(AttachUse {
        time_s: range(cycles().map(|cycle| seconds(cycle.attach_ns)))?,
        cpu_s: range(cpu.map(seconds)),
        rss_peak_bytes: range(peak.map(|bytes| bytes as f64)),
    })
}

fn cycle_use(of: &Attachment<'_>) -> CycleUse {
    let cycle = of.cycle;
    let statistics = cycle.statistics.as_ref();
    let counted = bpf(cycle);
    let us = |cpu_ns: Option<u64>, requests: u64| {
        let us = cpu_ns? as f64 / 1e3 / requests as f64;
        us.is_finite().then_some(us)
    };
    CycleUse {
        launch: cycle.launch,
        block: cycle.block,
        attach_s: seconds(cycle.attach_ns),
        attach_cpu_s: cycle.attach_cpu_ns.map(seconds),
        attach_rss_peak_bytes: cycle.attach_rss_peak_bytes,
        up_s: seconds(cycle.up_ns),
        up_cpu_s: cycle.up_cpu_ns.map(seconds),
        requests: cycle.requests,
        windows_s: of.own.lasted_ns / 1e9,
        windows_cpu_s: of.own.usable_ns / 1e9,
        bystanders_cpu_s: of.bystanders_ns / 1e9,
        rss_steady_bytes: cycle.rss_steady_bytes,
        rss_peak_bytes: cycle.rss_peak_bytes,
        detach_s: seconds(cycle.detach_ns),
        detach_cpu_s: cycle.detach_cpu_ns.map(seconds),
        bpf_programs: cycle.programs.as_ref().map(Vec::len),
        bpf_links: cycle.links,
        bpf_memory_bytes: cycle.bpf_memory_bytes,
        bpf_runs: counted.map(|(_, runs, _)| runs),
        bpf_run_ns: counted.map(|(_, _, run_ns)| run_ns),
        statistics_requests: statistics.map(|of| of.requests),
        statistics_cpu_us_per_request: statistics.and_then(|of| us(of.cpu_ns, of.requests)),
        without_cpu_us_per_request: statistics
            .and_then(|of| us(of.cpu_without_ns, of.requests_without)),
        left_behind: cycle.left_behind.clone(),
        failed: cycle.failed.clone(),
    }
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}
