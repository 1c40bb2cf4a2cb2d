//! The BPF objects of a run in the kernel, seen from outside of Windage.

mod attached;

use std::time::{Duration, Instant};

use windage_probe::bpf::{Bpf, KernelBpf};

use crate::skip::skip;

/// How soon the kernel must have removed what a killed process had attached.
const GONE_WITHIN: Duration = Duration::from_secs(10);

/// Whether a test can run here; otherwise it is reported as skipped.
pub(crate) fn can_attach(test: &str) -> bool {
    let possible = KernelBpf.objects().is_ok();
    if !possible {
        skip(test, "this user may not use bpf()");
    }
    possible
}

/// The objects in the kernel that only processes of the run hold, or no process at all.
pub(crate) fn attached(run: &str) -> Vec<String> {
    attached::attached(run).unwrap()
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
