//! The kernel's own threads: their CPU belongs to no process, but agents cause some of it.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use crate::error::ProbeError;
use crate::open_files::KeptFile;
use crate::parse::process;
use crate::system::System;
use crate::task::{self, dir, ids_in};

/// Reads the CPU of all of the kernel's threads: `kworker`, `ksoftirqd`, `rcu_*`, `migration`.
///
/// The idle task is not a thread in `/proc` and does not count. Interrupts without a thread count
/// for the task that they interrupt.
///
/// # Cost
///
/// A reading reads one open file per thread: half a microsecond each, 28 µs for the 59 threads of a
/// virtual machine with two cores, three times that where its cores are busy. Listing again
/// ([`refresh`](KernelThreadsProbe::refresh)) also opens a file for each other process of the
/// machine: 130 µs with 20 of them. Each thread needs a descriptor; a machine has some tens of
/// threads per core.
#[derive(Debug)]
pub struct KernelThreadsProbe {
    system: Arc<dyn System>,
    threads: BTreeMap<u32, KernelThread>,
    /// CPU of the threads that have ended and were dropped.
    ended_ns: u64,
    buffer: Box<[u8]>,
}

#[derive(Debug)]
struct KernelThread {
    schedstat: KeptFile,
    cpu_ns: u64,
    /// Whether a reading found that it had ended; its last figure still counts.
    gone: bool,
}

impl KernelThreadsProbe {
    /// Finds the threads and opens a file of each.
    ///
    /// # Errors
    ///
    /// [`ProbeError::NoKernelThreads`] where none is visible, as in a container; others when a file
    /// can't be opened or read.
    pub fn new(system: &dyn System) -> Result<KernelThreadsProbe, ProbeError> {
        let mut probe = KernelThreadsProbe {
            system: system.share(),
            threads: BTreeMap::new(),
            ended_ns: 0,
            buffer: task::buffer(),
        };
        if probe.refresh()? == 0 {
            return Err(ProbeError::NoKernelThreads);
        }
        Ok(probe)
    }

    /// Lists the threads again and returns their number.
    ///
    /// Once listed, a thread counts from its birth. Refresh before both readings of a stretch, and
    /// all CPU of a new thread counts for the stretch in which it was born. A thread that begins
    /// and ends between two refreshes is missed (workers idle for five minutes before they end).
    ///
    /// # Errors
    ///
    /// When a file can't be opened or read.
    pub fn refresh(&mut self) -> Result<usize, ProbeError> {
        self.read_all()?;
        let ended = self.threads.values().filter(|thread| thread.gone);
        self.ended_ns += ended.map(|thread| thread.cpu_ns).sum::<u64>();
        self.threads.retain(|_, thread| !thread.gone);
        for id in ids_in(&*self.system, Path::new("/proc"))? {
            if !self.threads.contains_key(&id) {
                let found = KernelThread::open(&*self.system, id, &mut self.buffer)?;
                self.threads.extend(found.map(|thread| (id, thread)));
            }
        }
        Ok(self.threads.len())
    }

    /// CPU of all threads listed so far, including ended ones, in nanoseconds. Never goes down.
    ///
    /// # Errors
    ///
    /// When a file can't be read.
    pub fn cpu_ns(&mut self) -> Result<u64, ProbeError> {
        self.read_all()?;
        let listed = self.threads.values().map(|thread| thread.cpu_ns);
        Ok(self.ended_ns + listed.sum::<u64>())
    }

    fn read_all(&mut self) -> Result<(), ProbeError> {
        let KernelThreadsProbe {
            threads, buffer, ..
        } = self;
        threads
            .values_mut()
            .try_for_each(|thread| thread.read(buffer))
    }
}

impl KernelThread {
    /// `None` when it is an ordinary process, or has ended.
    fn open(
        system: &dyn System,
        id: u32,
        buffer: &mut [u8],
    ) -> Result<Option<KernelThread>, ProbeError> {
        let dir = dir(id);
        let Some(stat) = KeptFile::open_if_there(system, dir.join("stat"))? else {
            return Ok(None);
        };
        if !is_kernel_thread(&stat, buffer)? {
            return Ok(None);
        }
        let Some(schedstat) = KeptFile::open_if_there(system, dir.join("schedstat"))? else {
            return Ok(None);
        };
        // The file opened first still answers, so the id belonged to one thread all along.
        if !is_kernel_thread(&stat, buffer)? {
            return Ok(None);
        }
        let mut thread = KernelThread {
            schedstat,
            cpu_ns: 0,
            gone: false,
        };
        thread.read(buffer)?;
        Ok((!thread.gone).then_some(thread))
    }

    fn read(&mut self, buffer: &mut [u8]) -> Result<(), ProbeError> {
        if self.gone {
            return Ok(());
        }
        let Some(text) = self.schedstat.read_if_there(buffer)? else {
            self.gone = true;
            return Ok(());
        };
        let cpu_ns = process::run_ns(text)
            .ok_or_else(|| self.schedstat.unknown_form("scheduler statistics", text))?;
        self.cpu_ns = self.cpu_ns.max(cpu_ns);
        Ok(())
    }
}

/// False for a thread that has ended.
fn is_kernel_thread(stat: &KeptFile, buffer: &mut [u8]) -> Result<bool, ProbeError> {
    let Some(text) = stat.read_if_there(buffer)? else {
        return Ok(false);
    };
    let parsed = process::stat(text).ok_or_else(|| stat.unknown_form("proc_pid_stat(5)", text))?;
    Ok(parsed.kernel_thread)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FakeSystem;

    const ORDINARY: u32 = 0x0040_0100;
    const KERNEL: u32 = 0x0020_8040;

    fn born(system: &FakeSystem, id: u32, flags: u32, cpu_ns: u64) {
        let stat = format!("{id} (x) S 2 0 0 0 -1 {flags} 0 0 0 0 0 0 0 0 20 0 1 0 22 0 0\n");
        system.set(format!("/proc/{id}/stat"), stat);
        used(system, id, cpu_ns);
    }

    fn used(system: &FakeSystem, id: u32, cpu_ns: u64) {
        system.set(format!("/proc/{id}/schedstat"), format!("{cpu_ns} 9 1\n"));
    }

    #[test]
    fn only_the_kernels_own_threads_count() {
        let system = FakeSystem::new();
        born(&system, 1, ORDINARY, 1000);
        born(&system, 2, KERNEL, 10);
        born(&system, 15, KERNEL, 200);
        system.set("/proc/uptime", "1.0 1.0\n");
        let mut probe = KernelThreadsProbe::new(&system).unwrap();
        assert_eq!(probe.cpu_ns().unwrap(), 210);
        used(&system, 15, 250);
        used(&system, 1, 2000);
        assert_eq!(probe.cpu_ns().unwrap(), 260);
    }

    #[test]
    fn new_threads_count_once_they_are_listed() {
        let system = FakeSystem::new();
        born(&system, 2, KERNEL, 10);
        let mut probe = KernelThreadsProbe::new(&system).unwrap();
        born(&system, 77, KERNEL, 5);
        assert_eq!(probe.cpu_ns().unwrap(), 10);
        assert_eq!(probe.refresh().unwrap(), 2);
        assert_eq!(probe.cpu_ns().unwrap(), 15);
    }

    #[test]
    fn an_ended_thread_keeps_its_last_figure() {
        let system = FakeSystem::new();
        born(&system, 2, KERNEL, 10);
        born(&system, 77, KERNEL, 5);
        let mut probe = KernelThreadsProbe::new(&system).unwrap();
        used(&system, 77, 8);
        assert_eq!(probe.cpu_ns().unwrap(), 18);
        system.remove("/proc/77");
        assert_eq!(probe.cpu_ns().unwrap(), 18, "not listed again yet");
        assert_eq!(probe.refresh().unwrap(), 1);
        assert_eq!(probe.cpu_ns().unwrap(), 18, "dropped, but counted");
        born(&system, 77, KERNEL, 3);
        probe.refresh().unwrap();
        assert_eq!(probe.cpu_ns().unwrap(), 21, "another under the same id");
    }

    #[test]
    fn a_figure_that_goes_back_is_ignored() {
        let system = FakeSystem::new();
        born(&system, 2, KERNEL, 10);
        let mut probe = KernelThreadsProbe::new(&system).unwrap();
        used(&system, 2, 7);
        assert_eq!(probe.cpu_ns().unwrap(), 10);
    }

    #[test]
    fn errors_name_the_file() {
        let system = FakeSystem::new();
        born(&system, 1, ORDINARY, 0);
        let none = KernelThreadsProbe::new(&system).unwrap_err();
        assert!(matches!(none, ProbeError::NoKernelThreads), "{none}");
        born(&system, 2, KERNEL, 10);
        let mut probe = KernelThreadsProbe::new(&system).unwrap();
        system.set("/proc/2/schedstat", "soon\n");
        let error = probe.cpu_ns().unwrap_err().to_string();
        assert!(error.starts_with("/proc/2/schedstat holds"), "{error}");
        system.fail("/proc/2/schedstat", libc::EACCES);
        let error = probe.cpu_ns().unwrap_err().to_string();
        assert!(error.contains("/proc/2/schedstat"), "{error}");
    }
}
