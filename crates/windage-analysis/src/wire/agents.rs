//! Agents in `analysis.json`. Every key that has a unit ends in it.

use serde::Serialize;

use super::{IntervalWire, MissingWire, Sentences, finite, missing};
use crate::{
    AgentUse, AttachUse, BpfUse, CycleUse, OverCycles, ProbeAccount, ProgramUse, Range, UpUse,
};

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "read"), derive(serde::Deserialize))]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct AgentWire {
    pub names: Vec<String>,
    pub attachments: usize,
    pub failed: usize,
    pub attach: Option<AttachWire>,
    pub up: Option<UpWire>,
    pub detach: DetachWire,
    pub bpf: Option<BpfWire>,
    pub probes: Option<ProbesWire>,
    pub cycles: Vec<CycleWire>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "read"), derive(serde::Deserialize))]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RangeWire {
    pub median: Option<f64>,
    pub max: Option<f64>,
}

/// A figure over attachments; with a single attachment it has no interval.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "read"), derive(serde::Deserialize))]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct OverWire {
    pub estimate: Option<f64>,
    pub interval: Option<IntervalWire>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "read"), derive(serde::Deserialize))]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct AttachWire {
    pub time_s: RangeWire,
    pub cpu_s: Option<RangeWire>,
    pub rss_peak_bytes: Option<RangeWire>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "read"), derive(serde::Deserialize))]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct UpWire {
    pub cpu_cores: Option<OverWire>,
    pub cpu_us_per_request: Option<OverWire>,
    pub rss_steady_bytes: Option<OverWire>,
    pub rss_peak_bytes: Option<RangeWire>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "read"), derive(serde::Deserialize))]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DetachWire {
    pub time_s: Option<RangeWire>,
    pub cpu_s: Option<RangeWire>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "read"), derive(serde::Deserialize))]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct BpfWire {
    pub programs: Vec<ProgramWire>,
    pub links: u32,
    pub memory_bytes: u64,
    pub events_per_request: Option<OverWire>,
    pub ns_per_event: Option<OverWire>,
    pub ns_per_request: Option<OverWire>,
    pub statistics_cost_us_per_request: Option<OverWire>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "read"), derive(serde::Deserialize))]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ProgramWire {
    pub name: String,
    pub kind: String,
    pub count: usize,
    pub runs_per_request: Option<f64>,
    pub ns_per_run: Option<f64>,
    pub ns_per_request: Option<f64>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "read"), derive(serde::Deserialize))]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ProbesWire {
    pub service_us_per_request: IntervalWire,
    pub bpf_us_per_request: OverWire,
    pub outside_bpf_us_per_request: IntervalWire,
    pub outside_bpf_at_most_us_per_request: Option<IntervalWire>,
    pub service_ns_per_event: Option<IntervalWire>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<MissingWire>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(any(test, feature = "read"), derive(serde::Deserialize))]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CycleWire {
    pub launch: u32,
    pub block: u32,
    pub attach_s: Option<f64>,
    pub attach_cpu_s: Option<f64>,
    pub attach_rss_peak_bytes: Option<u64>,
    pub up_s: Option<f64>,
    pub up_cpu_s: Option<f64>,
    pub requests: u64,
    pub windows_s: Option<f64>,
    pub windows_cpu_s: Option<f64>,
    pub bystanders_cpu_s: Option<f64>,
    pub rss_steady_bytes: Option<u64>,
    pub rss_peak_bytes: Option<u64>,
    pub detach_s: Option<f64>,
    pub detach_cpu_s: Option<f64>,
    pub bpf_programs: Option<usize>,
    pub bpf_links: u32,
    pub bpf_memory_bytes: u64,
    pub bpf_runs: Option<u64>,
    pub bpf_run_ns: Option<u64>,
    pub statistics_requests: Option<u64>,
    pub statistics_cpu_us_per_request: Option<f64>,
    pub without_cpu_us_per_request: Option<f64>,
    pub left_behind: Vec<String>,
    pub failed: Option<String>,
}

impl AgentWire {
    pub(super) fn new(of: &AgentUse, words: &dyn Sentences) -> Self {
        AgentWire {
            names: of.names.clone(),
            attachments: of.cycles.len(),
            failed: of.failed().count(),
            attach: of.attach.as_ref().map(Into::into),
            up: of.up.as_ref().map(Into::into),
            detach: DetachWire {
                time_s: of.detach_time_s.map(Into::into),
                cpu_s: of.detach_cpu_s.map(Into::into),
            },
            bpf: of.bpf.as_ref().map(Into::into),
            probes: of.probes.as_ref().map(|of| ProbesWire::new(of, words)),
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

impl From<&BpfUse> for BpfWire {
    fn from(of: &BpfUse) -> Self {
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

impl From<&ProgramUse> for ProgramWire {
    fn from(of: &ProgramUse) -> Self {
        ProgramWire {
            name: of.name.clone(),
            kind: of.kind.clone(),
            count: of.count,
            runs_per_request: of.runs_per_request.and_then(finite),
            ns_per_run: of.ns_per_run.and_then(finite),
            ns_per_request: of.ns_per_request.and_then(finite),
        }
    }
}

impl ProbesWire {
    fn new(of: &ProbeAccount, words: &dyn Sentences) -> Self {
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
            missing: per_event.err().map(|why| missing(why, words)),
        }
    }
}

impl From<&CycleUse> for CycleWire {
    fn from(of: &CycleUse) -> Self {
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
            left_behind: of.left_behind.clone(),
            failed: of.failed.clone(),
        }
    }
}
