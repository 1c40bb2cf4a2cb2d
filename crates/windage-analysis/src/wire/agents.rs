//! Agents in `analysis.json`. Every key that has a unit ends in it.

use serde::Serialize;

use super::{IntervalWire, MissingWire, finite};
use crate::{
    AgentUse, AttachUse, BpfUse, CycleUse, OverCycles, ProbeAccount, ProgramUse, Range, UpUse,
};

#[derive(Serialize)]
pub(super) struct AgentWire<'a> {
    names: &'a [String],
    attachments: usize,
    failed: usize,
    attach: Option<AttachWire>,
    up: Option<UpWire>,
    detach: DetachWire,
    bpf: Option<BpfWire<'a>>,
    probes: Option<ProbesWire<'a>>,
    cycles: Vec<CycleWire<'a>>,
}

#[derive(Serialize)]
struct RangeWire {
    median: Option<f64>,
    max: Option<f64>,
}

/// A figure over attachments; a single one has no interval.
#[derive(Serialize)]
struct OverWire {
    estimate: Option<f64>,
    interval: Option<IntervalWire>,
}

#[derive(Serialize)]
struct AttachWire {
    time_s: RangeWire,
    cpu_s: Option<RangeWire>,
    rss_peak_bytes: Option<RangeWire>,
}

#[derive(Serialize)]
struct UpWire {
    cpu_cores: Option<OverWire>,
    cpu_us_per_request: Option<OverWire>,
    rss_steady_bytes: Option<OverWire>,
    rss_peak_bytes: Option<RangeWire>,
}

#[derive(Serialize)]
struct DetachWire {
    time_s: Option<RangeWire>,
    cpu_s: Option<RangeWire>,
}

#[derive(Serialize)]
struct BpfWire<'a> {
    programs: Vec<ProgramWire<'a>>,
    links: u32,
    memory_bytes: u64,
    events_per_request: Option<OverWire>,
    ns_per_event: Option<OverWire>,
    ns_per_request: Option<OverWire>,
    statistics_cost_us_per_request: Option<OverWire>,
}

#[derive(Serialize)]
struct ProgramWire<'a> {
    name: &'a str,
    kind: &'a str,
    count: usize,
    runs_per_request: Option<f64>,
    ns_per_run: Option<f64>,
    ns_per_request: Option<f64>,
}

#[derive(Serialize)]
struct ProbesWire<'a> {
    service_us_per_request: IntervalWire,
    bpf_us_per_request: OverWire,
    outside_bpf_us_per_request: IntervalWire,
    outside_bpf_at_most_us_per_request: Option<IntervalWire>,
    service_ns_per_event: Option<IntervalWire>,
    #[serde(skip_serializing_if = "Option::is_none")]
    missing: Option<MissingWire<'a>>,
}

#[derive(Serialize)]
struct CycleWire<'a> {
    launch: u32,
    block: u32,
    attach_s: Option<f64>,
    attach_cpu_s: Option<f64>,
    attach_rss_peak_bytes: Option<u64>,
    up_s: Option<f64>,
    up_cpu_s: Option<f64>,
    requests: u64,
    windows_s: Option<f64>,
    windows_cpu_s: Option<f64>,
    bystanders_cpu_s: Option<f64>,
    rss_steady_bytes: Option<u64>,
    rss_peak_bytes: Option<u64>,
    detach_s: Option<f64>,
    detach_cpu_s: Option<f64>,
    bpf_programs: Option<usize>,
    bpf_links: u32,
    bpf_memory_bytes: u64,
    bpf_runs: Option<u64>,
    bpf_run_ns: Option<u64>,
    statistics_requests: Option<u64>,
    statistics_cpu_us_per_request: Option<f64>,
    without_cpu_us_per_request: Option<f64>,
    left_behind: &'a [String],
    failed: Option<&'a str>,
}

impl<'a> From<&'a AgentUse> for AgentWire<'a> {
    fn from(of: &'a AgentUse) -> Self {
        AgentWire {
            names: &of.names,
            attachments: of.cycles.len(),
            failed: of.failed().count(),
            attach: of.attach.as_ref().map(Into::into),
            up: of.up.as_ref().map(Into::into),
            detach: DetachWire {
                time_s: of.detach_time_s.map(Into::into),
                cpu_s: of.detach_cpu_s.map(Into::into),
            },
            bpf: of.bpf.as_ref().map(Into::into),
            probes: of.probes.as_ref().map(Into::into),
            cycles: of.cycles.iter().map(Into::into).collect(),
        }
    }
}

impl From<Range> for RangeWire {
    fn from(range: Range) -> Self {
        RangeWire {
            median: finite(range.median),
            max: finite(range.max),
        }
    }
}

impl From<&OverCycles> for OverWire {
    fn from(figure: &OverCycles) -> Self {
        OverWire {
            estimate: finite(figure.estimate),
            interval: figure.interval.as_ref().map(Into::into),
        }
    }
}

fn over(figure: Option<&OverCycles>) -> Option<OverWire> {
    figure.map(Into::into)
}

impl From<&AttachUse> for AttachWire {
    fn from(of: &AttachUse) -> Self {
        AttachWire {
            time_s: of.time_s.into(),
            cpu_s: of.cpu_s.map(Into::into),
            rss_peak_bytes: of.rss_peak_bytes.map(Into::into),
        }
    }
}

impl From<&UpUse> for UpWire {
    fn from(of: &UpUse) -> Self {
        UpWire {
            cpu_cores: over(of.cpu_cores.as_ref()),
            cpu_us_per_request: over(of.cpu_us_per_request.as_ref()),
            rss_steady_bytes: over(of.rss_steady_bytes.as_ref()),
            rss_peak_bytes: of.rss_peak_bytes.map(Into::into),
        }
    }
}

impl<'a> From<&'a BpfUse> for BpfWire<'a> {
    fn from(of: &'a BpfUse) -> Self {
        BpfWire {
            programs: of.programs.iter().map(Into::into).collect(),
            links: of.links,
            memory_bytes: of.memory_bytes,
            events_per_request: over(of.events_per_request.as_ref()),
            ns_per_event: over(of.ns_per_event.as_ref()),
            ns_per_request: over(of.ns_per_request.as_ref()),
            statistics_cost_us_per_request: over(of.statistics_cost_us_per_request.as_ref()),
        }
    }
}

impl<'a> From<&'a ProgramUse> for ProgramWire<'a> {
    fn from(of: &'a ProgramUse) -> Self {
        ProgramWire {
            name: &of.name,
            kind: &of.kind,
            count: of.count,
            runs_per_request: of.runs_per_request.and_then(finite),
            ns_per_run: of.ns_per_run.and_then(finite),
            ns_per_request: of.ns_per_request.and_then(finite),
        }
    }
}

impl<'a> From<&'a ProbeAccount> for ProbesWire<'a> {
    fn from(of: &'a ProbeAccount) -> Self {
        let per_event = of.service_ns_per_event.as_ref();
        ProbesWire {
            service_us_per_request: (&of.service_us_per_request).into(),
            bpf_us_per_request: (&of.bpf_us_per_request).into(),
            outside_bpf_us_per_request: (&of.outside_bpf_us_per_request).into(),
            outside_bpf_at_most_us_per_request: of
                .outside_bpf_at_most_us_per_request
                .as_ref()
                .map(Into::into),
            service_ns_per_event: per_event.ok().map(Into::into),
            missing: per_event.err().map(Into::into),
        }
    }
}

impl<'a> From<&'a CycleUse> for CycleWire<'a> {
    fn from(of: &'a CycleUse) -> Self {
        CycleWire {
            launch: of.launch,
            block: of.block,
            attach_s: finite(of.attach_s),
            attach_cpu_s: of.attach_cpu_s.and_then(finite),
            attach_rss_peak_bytes: of.attach_rss_peak_bytes,
            up_s: finite(of.up_s),
            up_cpu_s: of.up_cpu_s.and_then(finite),
            requests: of.requests,
            windows_s: finite(of.windows_s),
            windows_cpu_s: finite(of.windows_cpu_s),
            bystanders_cpu_s: finite(of.bystanders_cpu_s),
            rss_steady_bytes: of.rss_steady_bytes,
            rss_peak_bytes: of.rss_peak_bytes,
            detach_s: finite(of.detach_s),
            detach_cpu_s: of.detach_cpu_s.and_then(finite),
            bpf_programs: of.bpf_programs,
            bpf_links: of.bpf_links,
            bpf_memory_bytes: of.bpf_memory_bytes,
            bpf_runs: of.bpf_runs,
            bpf_run_ns: of.bpf_run_ns,
            statistics_requests: of.statistics_requests,
            statistics_cpu_us_per_request: of.statistics_cpu_us_per_request.and_then(finite),
            without_cpu_us_per_request: of.without_cpu_us_per_request.and_then(finite),
            left_behind: &of.left_behind,
            failed: of.failed.as_deref(),
        }
    }
}
