//! Stored forms of what is known of agents beside the subject.

use serde::{Deserialize, Serialize};
use windage_model::{AgentCycle, ArmIndex, Beside, BpfProgram, BpfStatistics};

/// What version 3 of a window has behind the fields of version 2.
#[derive(Serialize, Deserialize)]
pub(super) struct StoredBeside {
    agent_ns: Option<u64>,
    agent_rss_bytes: Option<u64>,
    kernel_threads_ns: Option<u64>,
}

impl From<Beside> for StoredBeside {
    fn from(beside: Beside) -> Self {
        let Beside {
            agent_ns,
            agent_rss_bytes,
            kernel_threads_ns,
            // Since version 4, behind it.
            between_readings_ns: _,
        } = beside;
        StoredBeside {
            agent_ns,
            agent_rss_bytes,
            kernel_threads_ns,
        }
    }
}

impl From<StoredBeside> for Beside {
    fn from(stored: StoredBeside) -> Self {
        let StoredBeside {
            agent_ns,
            agent_rss_bytes,
            kernel_threads_ns,
        } = stored;
        Beside {
            agent_ns,
            agent_rss_bytes,
            kernel_threads_ns,
            between_readings_ns: None,
        }
    }
}

#[derive(Serialize, Deserialize)]
pub(super) struct StoredCycle {
    launch: u32,
    block: u32,
    arm: u16,
    attach_ns: u64,
    attach_cpu_ns: Option<u64>,
    attach_rss_peak_bytes: Option<u64>,
    up_ns: u64,
    up_cpu_ns: Option<u64>,
    requests: u64,
    rss_steady_bytes: Option<u64>,
    rss_peak_bytes: Option<u64>,
    detach_ns: u64,
    detach_cpu_ns: Option<u64>,
    programs: Option<Vec<StoredProgram>>,
    links: u32,
    bpf_memory_bytes: u64,
    statistics: Option<StoredStatistics>,
    left_behind: Vec<String>,
    failed: Option<String>,
}

impl From<&AgentCycle> for StoredCycle {
    fn from(cycle: &AgentCycle) -> Self {
        let AgentCycle {
            launch,
            block,
            arm,
            attach_ns,
            attach_cpu_ns,
            attach_rss_peak_bytes,
            up_ns,
            up_cpu_ns,
            requests,
            rss_steady_bytes,
            rss_peak_bytes,
            detach_ns,
            detach_cpu_ns,
            ref programs,
            links,
            bpf_memory_bytes,
            ref statistics,
            ref left_behind,
            ref failed,
        } = *cycle;
        StoredCycle {
            launch,
            block,
            arm: arm.0,
            attach_ns,
            attach_cpu_ns,
            attach_rss_peak_bytes,
            up_ns,
            up_cpu_ns,
            requests,
            rss_steady_bytes,
            rss_peak_bytes,
            detach_ns,
            detach_cpu_ns,
            programs: programs
                .as_ref()
                .map(|list| list.iter().map(Into::into).collect()),
            links,
            bpf_memory_bytes,
            statistics: statistics.map(Into::into),
            left_behind: left_behind.clone(),
            failed: failed.clone(),
        }
    }
}

impl From<StoredCycle> for AgentCycle {
    fn from(stored: StoredCycle) -> Self {
        let StoredCycle {
            launch,
            block,
            arm,
            attach_ns,
            attach_cpu_ns,
            attach_rss_peak_bytes,
            up_ns,
            up_cpu_ns,
            requests,
            rss_steady_bytes,
            rss_peak_bytes,
            detach_ns,
            detach_cpu_ns,
            programs,
            links,
            bpf_memory_bytes,
            statistics,
            left_behind,
            failed,
        } = stored;
        AgentCycle {
            launch,
            block,
            arm: ArmIndex(arm),
            attach_ns,
            attach_cpu_ns,
            attach_rss_peak_bytes,
            up_ns,
            up_cpu_ns,
            requests,
            rss_steady_bytes,
            rss_peak_bytes,
            detach_ns,
            detach_cpu_ns,
            programs: programs.map(|list| list.into_iter().map(Into::into).collect()),
            links,
            bpf_memory_bytes,
            statistics: statistics.map(Into::into),
            left_behind,
            failed,
        }
    }
}

#[derive(Serialize, Deserialize)]
struct StoredProgram {
    id: u32,
    name: String,
    kind: String,
    runs: u64,
    run_ns: u64,
}

impl From<&BpfProgram> for StoredProgram {
    fn from(program: &BpfProgram) -> Self {
        let BpfProgram {
            id,
            ref name,
            ref kind,
            runs,
            run_ns,
        } = *program;
        StoredProgram {
            id,
            name: name.clone(),
            kind: kind.clone(),
            runs,
            run_ns,
        }
    }
}

impl From<StoredProgram> for BpfProgram {
    fn from(stored: StoredProgram) -> Self {
        let StoredProgram {
            id,
            name,
            kind,
            runs,
            run_ns,
        } = stored;
        BpfProgram {
            id,
            name,
            kind,
            runs,
            run_ns,
        }
    }
}

#[derive(Serialize, Deserialize)]
struct StoredStatistics {
    duration_ns: u64,
    requests: u64,
    cpu_ns: Option<u64>,
    cpu_without_ns: Option<u64>,
    requests_without: u64,
}

impl From<BpfStatistics> for StoredStatistics {
    fn from(statistics: BpfStatistics) -> Self {
        let BpfStatistics {
            duration_ns,
            requests,
            cpu_ns,
            cpu_without_ns,
            requests_without,
        } = statistics;
        StoredStatistics {
            duration_ns,
            requests,
            cpu_ns,
            cpu_without_ns,
            requests_without,
        }
    }
}

impl From<StoredStatistics> for BpfStatistics {
    fn from(stored: StoredStatistics) -> Self {
        let StoredStatistics {
            duration_ns,
            requests,
            cpu_ns,
            cpu_without_ns,
            requests_without,
        } = stored;
        BpfStatistics {
            duration_ns,
            requests,
            cpu_ns,
            cpu_without_ns,
            requests_without,
        }
    }
}
