//! The test process, which has both ends of every connection.

use std::fs;

use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// Raises the limit on descriptors as far as allowed.
pub(crate) fn allow_many_connections() {
    let (_, most) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
    setrlimit(Resource::RLIMIT_NOFILE, most, most).unwrap();
}

/// The process's resident memory in bytes.
pub(crate) fn resident_bytes() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.unwrap().trim().strip_suffix(" kB").unwrap();
    kib.parse::<u64>().unwrap() * 1024
}

/// Returns memory that the allocator kept from earlier tests: otherwise it would be reused and hide
/// new allocations.
pub(crate) fn give_back() {
    #[cfg(target_env = "gnu")]
    // SAFETY: the call takes no pointer, and any thread may make it at any time.
    unsafe {
        nix::libc::malloc_trim(0);
    }
}
