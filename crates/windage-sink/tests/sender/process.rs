//! The process that has both ends of every connection.

use std::fs;

use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// As many descriptors as may be had.
pub(crate) fn allow_many_connections() {
    let (_, most) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
    setrlimit(Resource::RLIMIT_NOFILE, most, most).unwrap();
}

/// What the process has in memory, in bytes.
pub(crate) fn resident_bytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.unwrap().trim().strip_suffix(" kB").unwrap();
    kib.parse::<u64>().unwrap() * 1024
}

/// Gives the kernel back what the allocator keeps of earlier tests: it would be used first, and
/// hide what is taken.
pub(crate) fn give_back() {
    #[cfg(target_env = "gnu")]
    // SAFETY: it takes no pointer, and any thread may call it at any time.
    unsafe {
        nix::libc::malloc_trim(0);
    }
}
