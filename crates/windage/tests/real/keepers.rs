//! The keeper of a run, for those who kill it.

use std::fs;

/// The children of a process that are its keeper, or the keeper's guardian.
pub(crate) fn keepers(parent: u32) -> Vec<u32> {
    // Read per thread, because any thread may have started the keeper.
    let threads = fs::read_dir(format!("/proc/{parent}/task"));
    let threads = threads.into_iter().flatten().flatten();
    let children: String = threads
        .map(|thread| fs::read_to_string(thread.path().join("children")).unwrap_or_default())
        .collect();
    let is_keeper = |pid: &u32| {
        fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| {
            line.split(|byte| *byte == 0)
                .any(|word| word == b"__keeper")
        })
    };
    children
        .split_whitespace()
        .filter_map(|pid| pid.parse().ok())
        .filter(is_keeper)
        .collect()
}
