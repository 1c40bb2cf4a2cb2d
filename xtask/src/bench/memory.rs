//! Resident memory of a running process.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

/// Resident memory of a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Memory {
    /// `VmRSS`.
    pub(super) rss_bytes: u64,
    /// `VmHWM`, since its start.
    pub(super) rss_peak_bytes: u64,
}

impl Memory {
    /// Reads that of a process, given its pid or `self`.
    pub(super) fn of(process: &str) -> Result<Memory> {
        let file = Path::new("/proc").join(process).join("status");
        let status =
            fs::read_to_string(&file).with_context(|| format!("read {}", file.display()))?;
        memory_in(&status).with_context(|| format!("{} has no VmRSS or no VmHWM", file.display()))
    }
}

fn memory_in(status: &str) -> Option<Memory> {
    let bytes = |label: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(label))?;
        let kib: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
        Some(kib * 1024)
    };
    Some(Memory {
        rss_bytes: bytes("VmRSS:")?,
        rss_peak_bytes: bytes("VmHWM:")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_read_from_a_process_status() {
        let status = "Name:\ta\nVmHWM:\t    2048 kB\nVmRSS:\t    1024 kB\n";
        let memory = memory_in(status).unwrap();
        assert_eq!(
            (memory.rss_bytes, memory.rss_peak_bytes),
            (1 << 20, 2 << 20)
        );
        assert_eq!(memory_in("VmRSS:\t1 kB\n"), None, "no VmHWM: it has ended");
        assert!(Memory::of("self").unwrap().rss_bytes > 100_000);
        assert!(Memory::of("no-process").is_err());
    }
}
