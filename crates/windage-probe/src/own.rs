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
        read_clock(&*self.system, Clock::ThisProcess, "this process")
    }

    /// CPU used by the calling thread, in nanoseconds, exact to the moment.
    ///
    /// # Errors
    /// [`ProbeError::Clock`] when the system refuses it.
    pub fn this_thread_cpu_ns(&self) -> Result<u64, ProbeError> {
        read_clock(&*self.system, Clock::ThisThread, "this thread")
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

/// The CPU clock of one thread of this process, which any other thread can read. The generator
/// passes its own to the thread that records.
#[derive(Clone, Debug)]
pub struct ThreadClock {
    system: Arc<dyn System>,
    thread: u32,
}

impl ThreadClock {
    /// The clock of the calling thread.
    #[must_use]
    pub fn of_this_thread(system: &dyn System) -> ThreadClock {
        ThreadClock {
            system: system.share(),
            thread: system.thread_id(),
        }
    }

    /// CPU that the thread has used, in nanoseconds; up to a tick old while it runs elsewhere.
    ///
    /// # Errors
    /// [`ProbeError::Clock`] when the thread has ended.
    pub fn cpu_ns(&self) -> Result<u64, ProbeError> {
        read_clock(
            &*self.system,
            Clock::Thread(self.thread),
            "a thread of windage",
        )
    }
}

fn read_clock(system: &dyn System, clock: Clock, whose: &str) -> Result<u64, ProbeError> {
    system.clock_ns(clock).map_err(|source| ProbeError::Clock {
        whose: whose.to_owned(),
        source,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::FakeSystem;

    #[test]
    fn each_figure_comes_from_its_own_clock() {
        let system = FakeSystem::new();
        system.set("/proc/self/statm", "765 410 382 5 0 123 0\n");
        system.set_clock(Clock::ThisProcess, 500);
        system.set_clock(Clock::ThisThread, 200);
        system.set_clock(Clock::Thread(system.thread_id()), 100);
        let mut probe = SelfProbe::new(&system).unwrap();
        assert_eq!(probe.cpu_ns().unwrap(), 500);
        assert_eq!(probe.this_thread_cpu_ns().unwrap(), 200);
        assert_eq!(probe.rss_bytes().unwrap(), 410 * 4096);
        let thread = ThreadClock::of_this_thread(&system);
        assert_eq!(thread.cpu_ns().unwrap(), 100);
        system.remove_clock(Clock::Thread(system.thread_id()));
        let ended = thread.cpu_ns().unwrap_err().to_string();
        assert!(
            ended.starts_with("cannot read the CPU clock of a thread of windage"),
            "{ended}"
        );
    }
}
