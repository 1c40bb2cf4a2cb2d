//! What one arm uses: CPU, memory, page faults, context switches.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use windage_model::{Activity, CpuSource, Held};

use crate::error::{ProbeError, has_left};
use crate::limits::CpuLimits;
use crate::linux::Linux;
use crate::open_files::{KeptFile, read_file, unknown_form};
use crate::parse::{machine, process};
use crate::system::System;
use crate::task::{self, Process};

/// How an arm's processes are found and its CPU is counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Accounting {
    /// A control group of version 1.
    CgroupV1 {
        /// Its directory in the hierarchy that has `cpuacct`.
        cpuacct_dir: PathBuf,
        /// Its directory in the hierarchy that has `memory`, if any.
        memory_dir: Option<PathBuf>,
    },
    /// A control group of version 2; `cpu.stat` needs no controller.
    CgroupV2 {
        /// Its directory.
        dir: PathBuf,
    },
    /// These processes and all their descendants.
    Processes {
        /// The first processes.
        roots: Vec<u32>,
    },
    /// Nothing: the subject is out of reach.
    None,
}

/// Resident memory of an arm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// The sum over its processes, in bytes; a page that two processes share counts twice. Since
    /// kernel 6.2 a process's own figure may lag by some pages per core.
    pub rss_bytes: u64,
}

/// How many processes of an arm were found to be new or to have ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessChanges {
    /// Processes that were found.
    pub appeared: u64,
    /// Processes that had ended.
    pub ended: u64,
}

impl ProcessChanges {
    /// The changes since an earlier state.
    #[must_use]
    pub fn since(self, earlier: ProcessChanges) -> ProcessChanges {
        ProcessChanges {
            appeared: self.appeared.saturating_sub(earlier.appeared),
            ended: self.ended.saturating_sub(earlier.ended),
        }
    }
}

/// CPU, memory and activity of one arm.
///
/// Only [`cpu_ns`](Self::cpu_ns), [`memory`](Self::memory) and [`activity`](Self::activity) are for
/// the measured path: they read files that are kept open and do not allocate. Call the others
/// between windows.
///
/// The list of processes and threads is as old as the last [`refresh_tasks`](Self::refresh_tasks).
/// Newly found tasks bring all that they have used so far, so refresh *before* the reading that
/// opens a window. A cgroup's CPU does not depend on the list.
#[derive(Debug)]
pub struct ArmProbe {
    system: Arc<dyn System>,
    meter: Meter,
    processes: Vec<Process>,
    /// What closed processes had used.
    departed: Departed,
    changes: ProcessChanges,
    limits: CpuLimits,
    buffer: Box<[u8]>,
}

#[derive(Debug, Default)]
struct Departed {
    cpu_ns: u64,
    activity: Activity,
}

#[derive(Debug)]
enum Meter {
    Group {
        dir: PathBuf,
        usage: KeptFile,
        unit: GroupUnit,
        peak_path: Option<PathBuf>,
    },
    ProcessClocks,
    None,
}

/// The unit of a cgroup's counter, by version.
#[derive(Clone, Copy, Debug)]
enum GroupUnit {
    Nanoseconds,
    Microseconds,
}

impl ArmProbe {
    /// Reads a cgroup of version 1, and the peak of its memory if `memory_dir` is given.
    ///
    /// # Errors
    /// When the cgroup's files or its processes can't be read.
    pub fn cgroup_v1(
        cpuacct_dir: &Path,
        memory_dir: Option<&Path>,
    ) -> Result<ArmProbe, ProbeError> {
        let memory_dir = memory_dir.map(Path::to_owned);
        ArmProbe::new(
            &Linux,
            Accounting::CgroupV1 {
                cpuacct_dir: cpuacct_dir.to_owned(),
                memory_dir,
            },
        )
    }

    /// Reads a cgroup of version 2.
    ///
    /// # Errors
    /// When the cgroup's files or its processes can't be read.
    pub fn cgroup_v2(dir: &Path) -> Result<ArmProbe, ProbeError> {
        ArmProbe::new(
            &Linux,
            Accounting::CgroupV2 {
                dir: dir.to_owned(),
            },
        )
    }

    /// Reads these processes and all their descendants.
    ///
    /// # Errors
    /// [`ProbeError::NoSuchProcess`] when one of them does not exist; others when its files can't
    /// be read.
    pub fn processes(roots: &[u32]) -> Result<ArmProbe, ProbeError> {
        ArmProbe::new(
            &Linux,
            Accounting::Processes {
                roots: roots.to_owned(),
            },
        )
    }

    /// Reads nothing, for a subject that is out of reach. Every reading returns
    /// [`ProbeError::OutOfReach`].
    #[must_use]
    pub fn none() -> ArmProbe {
        ArmProbe::with_meter(&Linux, Meter::None)
    }

    /// Like the constructors above, on any system.
    ///
    /// # Errors
    /// Those of the constructors above.
    pub fn new(system: &dyn System, accounting: Accounting) -> Result<ArmProbe, ProbeError> {
        let (meter, roots) = match accounting {
            Accounting::CgroupV1 {
                cpuacct_dir,
                memory_dir,
            } => {
                let peak_path = memory_dir.map(|dir| dir.join("memory.max_usage_in_bytes"));
                let usage = KeptFile::open(system, cpuacct_dir.join("cpuacct.usage"))?;
                let unit = GroupUnit::Nanoseconds;
                (
                    Meter::Group {
                        dir: cpuacct_dir,
                        usage,
                        unit,
                        peak_path,
                    },
                    Vec::new(),
                )
            }
            Accounting::CgroupV2 { dir } => {
                let peak_path = Some(dir.join("memory.peak"));
                let usage = KeptFile::open(system, dir.join("cpu.stat"))?;
                (
                    Meter::Group {
                        dir,
                        usage,
                        unit: GroupUnit::Microseconds,
                        peak_path,
                    },
                    Vec::new(),
                )
            }
            Accounting::Processes { roots } => (Meter::ProcessClocks, roots),
            Accounting::None => (Meter::None, Vec::new()),
        };
        let mut probe = ArmProbe::with_meter(system, meter);
        for process in roots {
            if !probe.enrol(process)? {
                return Err(ProbeError::NoSuchProcess { process });
            }
        }
        probe.refresh_tasks()?;
        Ok(probe)
    }

    fn with_meter(system: &dyn System, meter: Meter) -> ArmProbe {
        ArmProbe {
            system: system.share(),
            meter,
            processes: Vec::new(),
            departed: Departed::default(),
            changes: ProcessChanges::default(),
            limits: CpuLimits::default(),
            buffer: task::buffer(),
        }
    }

    /// The source of CPU figures. [`CpuSource::ProcessClock`] stands for the clocks of the
    /// processes, which use the same counters but include threads that have ended.
    #[must_use]
    pub fn source(&self) -> CpuSource {
        match self.meter {
            Meter::Group {
                unit: GroupUnit::Nanoseconds,
                ..
            } => CpuSource::CgroupV1,
            Meter::Group {
                unit: GroupUnit::Microseconds,
                ..
            } => CpuSource::CgroupV2,
            Meter::ProcessClocks => CpuSource::ProcessClock,
            Meter::None => CpuSource::None,
        }
    }

    /// The step of the source's counter, in nanoseconds; 0 without a source. While tasks run, a
    /// reading is also up to a tick old.
    #[must_use]
    pub fn resolution_ns(&self) -> u64 {
        match self.meter {
            Meter::Group {
                unit: GroupUnit::Nanoseconds,
                ..
            }
            | Meter::ProcessClocks => 1,
            Meter::Group {
                unit: GroupUnit::Microseconds,
                ..
            } => 1000,
            Meter::None => 0,
        }
    }

    /// CPU used so far on all cores, in nanoseconds; never less than before.
    ///
    /// One `pread` for a cgroup, which counts everything that ever ran in it. For processes, one
    /// clock reading each; this misses what a process uses between the last reading and its end,
    /// and a process that begins and ends between two refreshes.
    ///
    /// # Errors
    /// [`ProbeError::OutOfReach`] without a source; others when the counter can't be read.
    pub fn cpu_ns(&mut self) -> Result<u64, ProbeError> {
        match &self.meter {
            Meter::Group { usage, unit, .. } => {
                let text = usage.read(&mut self.buffer)?;
                let used = match unit {
                    GroupUnit::Nanoseconds => machine::single(text),
                    GroupUnit::Microseconds => {
                        machine::cpu_stat_usage_us(text).and_then(|us| us.checked_mul(1000))
                    }
                };
                used.ok_or_else(|| usage.unknown_form("CPU time", text))
            }
            Meter::ProcessClocks => {
                let mut sum = self.departed.cpu_ns;
                for process in &mut self.processes {
                    sum += process.cpu_ns(&*self.system, &mut self.buffer)?;
                }
                Ok(sum)
            }
            Meter::None => Err(ProbeError::OutOfReach),
        }
    }

    /// Lists the arm's processes and threads again and returns the number of running processes.
    /// Opens files and reads directories: between windows only.
    ///
    /// # Errors
    /// [`ProbeError::File`] when they can't be listed or opened, for example because descriptors
    /// ran out.
    pub fn refresh_tasks(&mut self) -> Result<usize, ProbeError> {
        let ids = match &self.meter {
            Meter::Group { dir, .. } => {
                let members = task::members(&*self.system, dir)?;
                self.close(|process| !members.contains(&process.id))?;
                members
            }
            Meter::ProcessClocks => {
                self.close(|_| false)?;
                let known: Vec<u32> = self.processes.iter().map(|process| process.id).collect();
                task::descendants(&*self.system, &known)?
            }
            Meter::None => return Ok(0),
        };
        for process in &mut self.processes {
            process.refresh_threads(&*self.system, &mut self.buffer)?;
        }
        for id in ids {
            if self.processes.iter().all(|process| process.id != id) {
                self.enrol(id)?;
            }
        }
        let mut running = 0;
        for process in &mut self.processes {
            running += usize::from(process.runs(&mut self.buffer)?);
        }
        let ids = self.process_ids().collect();
        self.limits.refresh(&*self.system, ids);
        Ok(running)
    }

    /// For how long the kernel held the arm's tasks back because a CPU limit was reached, in nanoseconds, summed
    /// over cores and over the cgroups with a limit; 0 without one. Between windows only.
    #[must_use]
    pub fn throttled_ns(&self) -> u64 {
        self.limits.throttled_ns(&*self.system)
    }

    /// How many processes [`refresh_tasks`](Self::refresh_tasks) has found so far, and how many of
    /// them had ended. Process clocks miss a part of what either kind used; a cgroup misses nothing.
    #[must_use]
    pub fn process_changes(&self) -> ProcessChanges {
        self.changes
    }

    /// Whether no thread of the processes listed by the last refresh runs or waits for a core or a
    /// disk. Reads a file per thread: between windows only.
    ///
    /// # Errors
    /// [`ProbeError::OutOfReach`] without a source; others when a file can't be read.
    pub fn sleeps(&mut self) -> Result<bool, ProbeError> {
        self.within_reach()?;
        for process in &self.processes {
            if !process.sleeps(&*self.system, &mut self.buffer)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Resident memory now.
    ///
    /// # Errors
    /// [`ProbeError::OutOfReach`] without a source; others when a file can't be read.
    pub fn memory(&mut self) -> Result<Memory, ProbeError> {
        self.within_reach()?;
        let mut pages = 0u64;
        for process in &mut self.processes {
            pages += process.resident_pages(&mut self.buffer)?;
        }
        Ok(Memory {
            rss_bytes: pages.saturating_mul(self.system.page_bytes()),
        })
    }

    /// Page faults and context switches so far. As with CPU, what a running process did since the
    /// last tick may appear in the next reading.
    ///
    /// # Errors
    /// [`ProbeError::OutOfReach`] without a source; others when a file can't be read.
    pub fn activity(&mut self) -> Result<Activity, ProbeError> {
        self.within_reach()?;
        let mut sum = self.departed.activity;
        for process in &mut self.processes {
            sum += process.activity(&*self.system, &mut self.buffer)?;
        }
        Ok(sum)
    }

    /// Threads and open file descriptors now. Lists a directory of each process: between windows
    /// only.
    ///
    /// # Errors
    /// [`ProbeError::OutOfReach`] without a source; others when a file can't be read.
    pub fn held(&mut self) -> Result<Held, ProbeError> {
        let threads = self.sum_of_files("status", "a line Threads", process::threads)?;
        let open = |id| match self.system.list(&task::dir(id).join("fd")) {
            Ok(entries) => Some(entries.len() as u64),
            Err(error) => has_left(&error).then_some(0),
        };
        Ok(Held {
            threads,
            descriptors: self.process_ids().map(open).sum(),
        })
    }

    /// The sum of each running process's peak resident memory, in bytes. It is an upper bound,
    /// because the peaks need not coincide. Between windows only.
    ///
    /// # Errors
    /// [`ProbeError::OutOfReach`] without a source; others when a file can't be read.
    pub fn rss_peak_bytes(&mut self) -> Result<u64, ProbeError> {
        self.sum_of_files("status", "proc_pid_status(5)", process::resident_peak_bytes)
    }

    /// Resident memory in bytes, with shared pages divided among the processes that share them.
    /// Takes 100 µs or more per process, because the kernel walks its page tables: between windows
    /// only.
    ///
    /// # Errors
    /// [`ProbeError::OutOfReach`] without a source; [`ProbeError::File`] when this user may not
    /// read the processes.
    pub fn pss_bytes(&mut self) -> Result<u64, ProbeError> {
        self.sum_of_files("smaps_rollup", "a line Pss", process::proportional_bytes)
    }

    /// The most memory that the cgroup was ever charged, in bytes. It includes page cache and
    /// kernel memory, so it is not comparable with resident memory. `None` without a cgroup or its
    /// memory controller.
    ///
    /// # Errors
    /// When the file exists but can't be read.
    pub fn cgroup_memory_peak_bytes(&mut self) -> Result<Option<u64>, ProbeError> {
        let Meter::Group {
            peak_path: Some(path),
            ..
        } = &self.meter
        else {
            return Ok(None);
        };
        match read_file(&*self.system, path) {
            Ok(text) => match machine::single(&text) {
                Some(bytes) => Ok(Some(bytes)),
                None => Err(unknown_form(path, "a number of bytes", &text)),
            },
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(ProbeError::File {
                call: "read",
                path: path.clone(),
                source,
            }),
        }
    }

    /// The ids of the processes listed by the last refresh, without those that have ended since.
    pub fn process_ids(&self) -> impl Iterator<Item = u32> {
        self.processes
            .iter()
            .filter(|process| !process.is_gone())
            .map(|process| process.id)
    }

    fn within_reach(&self) -> Result<(), ProbeError> {
        match self.meter {
            Meter::None => Err(ProbeError::OutOfReach),
            Meter::Group { .. } | Meter::ProcessClocks => Ok(()),
        }
    }

    /// Adds a process; `false` when it has ended.
    fn enrol(&mut self, id: u32) -> Result<bool, ProbeError> {
        let process = Process::open(&*self.system, id, &mut self.buffer)?;
        let there = process.is_some();
        self.processes.extend(process);
        self.changes.appeared += u64::from(there);
        Ok(there)
    }

    /// Closes processes that have ended and those for which `leaves` holds, and keeps what they had
    /// used.
    fn close(&mut self, leaves: impl Fn(&Process) -> bool) -> Result<(), ProbeError> {
        let mut index = 0;
        while let Some(process) = self.processes.get_mut(index) {
            process.runs(&mut self.buffer)?;
            if !process.is_gone() && !leaves(process) {
                index += 1;
                continue;
            }
            let mut process = self.processes.swap_remove(index);
            self.changes.ended += 1;
            if matches!(self.meter, Meter::ProcessClocks) {
                self.departed.cpu_ns += process.cpu_ns(&*self.system, &mut self.buffer)?;
            }
            self.departed.activity += process.activity(&*self.system, &mut self.buffer)?;
        }
        Ok(())
    }

    /// Sums a figure from a file of each process; ended processes count zero.
    fn sum_of_files(
        &mut self,
        name: &str,
        expected: &'static str,
        parse: fn(&[u8]) -> Option<u64>,
    ) -> Result<u64, ProbeError> {
        self.within_reach()?;
        let mut sum = 0u64;
        for process in &mut self.processes {
            let path = task::dir(process.id).join(name);
            let text = match read_file(&*self.system, &path) {
                Ok(text) => text,
                Err(error) if has_left(&error) => continue,
                Err(source) => {
                    return Err(ProbeError::File {
                        call: "read",
                        path,
                        source,
                    });
                }
            };
            let bytes = parse(&text).ok_or_else(|| unknown_form(&path, expected, &text))?;
            // Just opened by its id: it counts if the process with that id is still the same.
            if process.runs(&mut self.buffer)? {
                sum = sum.saturating_add(bytes);
            }
        }
        Ok(sum)
    }
}
