//! Stored forms of agents.

use windage_model::{AgentCycle, ArmIndex, BpfProgram, BpfStatistics};

use super::stored::stored;

stored!(AgentCycle as StoredCycle {
    launch: u32,
    block: u32,
    arm: ArmIndex,
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
    programs: Option<Vec<BpfProgram>>,
    links: u32,
    bpf_memory_bytes: u64,
    statistics: Option<BpfStatistics>,
    left_behind: Vec<String>,
    failed: Option<String>,
});

stored!(BpfProgram as StoredProgram {
    id: u32,
    name: String,
    kind: String,
    runs: u64,
    run_ns: u64,
});

stored!(BpfStatistics as StoredStatistics {
    duration_ns: u64,
    requests: u64,
    cpu_ns: Option<u64>,
    cpu_without_ns: Option<u64>,
    requests_without: u64,
});
