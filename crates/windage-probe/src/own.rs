//! Windage's own CPU and memory, for its reports.

use std::path::PathBuf;
use std::sync::Arc;

use crate::error::ProbeError;
use crate::open_files::KeptFile;
use crate::parse::process;
use crate::system::{Clock, System};
use crate::task;

/// Reads this process's own CPU and memory.
///
/// The process clock includes running threads only up to the last tick, except for the calling
/// thread, which is exact.
#[derive(Debug)]
pub struct SelfProbe {
    system: Arc<dyn System>,
    statm: KeptFile,
    buffer: Box<[u8]>,
}

impl SelfProbe {
    /// Opens this process's own files.
    ///
    /// # Errors
    /// When `/proc/self/statm` can't be opened.
    pub fn new(system: &dyn System) -> Result<SelfProbe, ProbeError> {
        Ok(SelfProbe {
            system: system.share(),
            statm: KeptFile::open(system, PathBuf::from("/proc/self/statm"))?,
            buffer: task::buffer(),
        })
    }

    /// CPU used by all threads of this process, including ended ones, in nanoseconds.
    ///
    /// # Errors
    /// [`ProbeError::Clock`] when the system refuses it.
    pub fn cpu_ns(&self) -> Result<u64, ProbeError> {
        let read = self.system.clock_ns(Clock::ThisProcess);
        read.map_err(|source| ProbeError::Clock {
            whose: "this process".to_owned(),
            source,
        })
    }

    /// Resident memory, in bytes.
    ///
    /// # Errors
    /// When the file can't be read.
    pub fn rss_bytes(&mut self) -> Result<u64, ProbeError> {
        let text = self.statm.read(&mut self.buffer)?;
        let pages = process::resident_pages(text)
            .ok_or_else(|| self.statm.unknown_form("numbers of pages", text))?;
        Ok(pages.saturating_mul(self.system.page_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::FakeSystem;

    #[test]
    fn cpu_and_memory_are_those_of_this_process() {
        let system = FakeSystem::new();
        system.set("/proc/self/statm", "765 410 382 5 0 123 0\n");
        system.set_clock(Clock::ThisProcess, 500);
        let mut probe = SelfProbe::new(&system).unwrap();
        assert_eq!(probe.cpu_ns().unwrap(), 500);
        assert_eq!(probe.rss_bytes().unwrap(), 410 * 4096);
    }
}
