//! The BPF objects of a run in the kernel, seen from outside of Windage.

use std::collections::BTreeSet;
use std::fs;
use std::time::{Duration, Instant};

use windage_keeper::RUN_VARIABLE;
use windage_probe::bpf::{Bpf, Held, KernelBpf};

use crate::skip::skip;

/// How soon the kernel must have removed what a killed process had attached.
const GONE_WITHIN: Duration = Duration::from_secs(10);
/// Tracing programs. Those of other kinds depend on what else the machine does.
const WATCHING: [&str; 4] = ["kprobe", "tracepoint", "raw_tracepoint", "perf_event"];

/// Whether a test can run here; otherwise it is reported as skipped.
pub(crate) fn can_attach(test: &str) -> bool {
    let possible = KernelBpf.objects().is_ok();
    if !possible {
        skip(test, "this user may not use bpf()");
    }
    possible
}

/// Tracing programs and their links, in words: those that only processes of the run hold, or no
/// process at all.
pub(crate) fn attached(run: &str) -> Vec<String> {
    let there = KernelBpf.objects().unwrap();
    let others = Held::by_others_than(|pid| is_of_run(pid, run));
    let mut own = there.not_held(&others);
    own.programs
        .retain(|program| WATCHING.contains(&program.kind.as_str()));
    let programs: BTreeSet<u32> = own.programs.iter().map(|program| program.id).collect();
    own.links.retain(|link| programs.contains(&link.program));
    own.describe()
}

fn is_of_run(pid: u32, run: &str) -> bool {
    let marker = format!("{RUN_VARIABLE}={run}");
    let environ = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    environ
        .split(|byte| *byte == 0)
        .any(|variable| variable == marker.as_bytes())
}

/// Waits until the kernel has no more objects than before the run.
pub(crate) fn assert_gone(run: &str, before: &[String]) {
    let deadline = Instant::now() + GONE_WITHIN;
    loop {
        let left: Vec<String> = attached(run)
            .into_iter()
            .filter(|object| !before.contains(object))
            .collect();
        if left.is_empty() {
            return;
        }
        assert!(Instant::now() < deadline, "left in the kernel: {left:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
}
