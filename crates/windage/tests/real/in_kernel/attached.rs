//! Tracing programs of a run in the kernel, and their links.

use std::collections::BTreeSet;
use std::fs;

use windage_keeper::RUN_VARIABLE;
use windage_probe::ProbeError;
use windage_probe::bpf::{Bpf, Held, KernelBpf};

/// Tracing programs. Those of other kinds depend on what else the machine does.
const WATCHING: [&str; 4] = ["kprobe", "tracepoint", "raw_tracepoint", "perf_event"];

/// Tracing programs and their links, in words: those that only processes of the run hold, or no
/// process at all.
///
/// # Errors
/// When this user may not list BPF objects.
pub(crate) fn attached(run: &str) -> Result<Vec<String>, ProbeError> {
    let there = KernelBpf.objects()?;
    let others = Held::by_others_than(|pid| is_of_run(pid, run));
    let mut own = there.not_held(&others);
    own.programs
        .retain(|program| WATCHING.contains(&program.kind.as_str()));
    let programs: BTreeSet<u32> = own.programs.iter().map(|program| program.id).collect();
    own.links.retain(|link| programs.contains(&link.program));
    Ok(own.describe())
}

fn is_of_run(pid: u32, run: &str) -> bool {
    let marker = format!("{RUN_VARIABLE}={run}");
    let environ = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    environ
        .split(|byte| *byte == 0)
        .any(|variable| variable == marker.as_bytes())
}
