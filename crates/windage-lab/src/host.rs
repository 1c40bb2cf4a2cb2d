//! Facts about the machine, as the run directory keeps them.

use serde_json::{Value, json};
use windage_probe::Linux;
use windage_probe::host::HostFacts;

/// Facts about this machine; nothing in it names the machine or its owner.
#[must_use]
pub fn host_json() -> Value {
    let facts = HostFacts::read(&Linux);
    json!({
        "kernel": facts.kernel,
        "os_release": facts.os_release,
        "cpu_model": facts.cpu_model,
        "cpus_online": facts.cpus_online,
        "cpu_mhz": facts.cpu_mhz,
        "cpu_governors": facts.cpu_governors,
        "boost": facts.boost,
        "smt": facts.smt,
        "virtualised": facts.virtualised,
        "hypervisor": facts.hypervisor,
        "memory_total_bytes": facts.memory_total_bytes,
        "cgroup_version": facts.cgroup_version.map(|v| v.as_str()),
        "cgroup_controllers": facts.cgroup_controllers,
        "tick_hz": facts.tick_hz,
        "irq_time_accounting": facts.irq_time_accounting,
        "clocksource": facts.clocksource,
        "psi": facts.psi,
        "perf_event_paranoid": facts.perf_event_paranoid,
        "unprivileged_bpf_disabled": facts.unprivileged_bpf_disabled,
        "bpf_stats_enabled": facts.bpf_stats_enabled,
        "randomize_va_space": facts.randomize_va_space,
        "open_files_limit": facts.open_files_limit,
        "load_average_1min": facts.load_average.map(|load| load.tasks_1min),
    })
}
