//! The processes of an arm and their threads, each with its open files.

use std::path::{Path, PathBuf};

use windage_model::Activity;

use crate::error::{ProbeError, has_left};
use crate::open_files::{BUFFER_BYTES, KeptFile, read_file, unknown_form};
use crate::parse::process::{self, ProcessStat};
use crate::system::{Clock, System};

/// One process. Its files stay bound to it, so they never show another process with the same id.
#[derive(Debug)]
pub(crate) struct Process {
    pub(crate) id: u32,
    stat: KeptFile,
    statm: KeptFile,
    threads: Vec<Thread>,
    /// Context switches of threads that have ended.
    ended_threads_switches: u64,
    /// Whether a reading found that it had ended; its last figures still count.
    gone: bool,
    cpu_ns: u64,
    page_faults: u64,
    /// Its CPU when its activity was last read; `None` when activity must be read in any case.
    activity_read_at_cpu_ns: Option<u64>,
}

type ParseCount = fn(&[u8]) -> Option<u64>;

#[derive(Debug)]
struct Thread {
    id: u32,
    file: KeptFile,
    parse: ParseCount,
    switches: u64,
}

impl Process {
    /// Opens a process's files; `None` when it has ended.
    pub(crate) fn open(
        system: &dyn System,
        id: u32,
        buffer: &mut [u8],
    ) -> Result<Option<Process>, ProbeError> {
        let dir = dir(id);
        let Some(stat) = KeptFile::open_if_there(system, dir.join("stat"))? else {
            return Ok(None);
        };
        let Some(statm) = KeptFile::open_if_there(system, dir.join("statm"))? else {
            return Ok(None);
        };
        let mut process = Process {
            id,
            stat,
            statm,
            threads: Vec::new(),
            ended_threads_switches: 0,
            gone: false,
            cpu_ns: 0,
            page_faults: 0,
            activity_read_at_cpu_ns: None,
        };
        process.refresh_threads(system, buffer)?;
        // The file opened first still answers, so the id belonged to one process all along.
        Ok(process.read_stat(buffer)?.is_some().then_some(process))
    }

    /// Whether it still runs: neither ended nor waiting to be reaped.
    pub(crate) fn runs(&mut self, buffer: &mut [u8]) -> Result<bool, ProbeError> {
        Ok(self
            .read_stat(buffer)?
            .is_some_and(|stat| !stat.has_ended()))
    }

    /// Whether none of its threads, listed again, runs or waits for a core or a disk. An ended
    /// process sleeps.
    pub(crate) fn sleeps(
        &self,
        system: &dyn System,
        buffer: &mut [u8],
    ) -> Result<bool, ProbeError> {
        if self.gone {
            return Ok(true);
        }
        let threads = dir(self.id).join("task");
        for id in ids_in(system, &threads)? {
            let path = threads.join(id.to_string()).join("stat");
            let Some(file) = KeptFile::open_if_there(system, path)? else {
                continue;
            };
            let Some(text) = file.read_if_there(buffer)? else {
                continue;
            };
            let stat =
                process::stat(text).ok_or_else(|| file.unknown_form("proc_pid_stat(5)", text))?;
            if stat.is_awake() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether a reading found that it had ended.
    pub(crate) fn is_gone(&self) -> bool {
        self.gone
    }

    /// CPU used by all its threads, including ended ones; the last figure after its end.
    pub(crate) fn cpu_ns(
        &mut self,
        system: &dyn System,
        buffer: &mut [u8],
    ) -> Result<u64, ProbeError> {
        if self.gone {
            return Ok(self.cpu_ns);
        }
        match clock_ns(system, self.id)? {
            Some(now) if now >= self.cpu_ns => self.cpu_ns = now,
            // A clock is addressed by the id alone: one that went back belongs to another process,
            // unless the file kept open still answers.
            Some(_) => {
                self.read_stat(buffer)?;
            }
            None => self.gone = true,
        }
        Ok(self.cpu_ns)
    }

    /// Resident pages; zero after its end.
    pub(crate) fn resident_pages(&mut self, buffer: &mut [u8]) -> Result<u64, ProbeError> {
        if self.gone {
            return Ok(0);
        }
        let Some(text) = self.statm.read_if_there(buffer)? else {
            self.gone = true;
            return Ok(0);
        };
        process::resident_pages(text)
            .ok_or_else(|| self.statm.unknown_form("numbers of pages", text))
    }

    /// Page faults and context switches of all known threads; the last figures of ended ones.
    ///
    /// A process that used no CPU had no core and touched no page. Reading a clock is several times
    /// cheaper than reading cold files, and most arms sleep most of the time. The CPU is read
    /// first, so that the next reading finds what happens meanwhile.
    pub(crate) fn activity(
        &mut self,
        system: &dyn System,
        buffer: &mut [u8],
    ) -> Result<Activity, ProbeError> {
        let cpu_ns = self.cpu_ns(system, buffer)?;
        if !self.gone && self.activity_read_at_cpu_ns != Some(cpu_ns) {
            self.read_stat(buffer)?;
            for thread in &mut self.threads {
                thread.read(buffer)?;
            }
            self.activity_read_at_cpu_ns = Some(cpu_ns);
        }
        let threads = self.threads.iter().map(|thread| thread.switches);
        Ok(Activity {
            page_faults: self.page_faults,
            context_switches: self.ended_threads_switches + threads.sum::<u64>(),
        })
    }

    /// Lists the threads again: opens new ones, closes ended ones.
    pub(crate) fn refresh_threads(
        &mut self,
        system: &dyn System,
        buffer: &mut [u8],
    ) -> Result<(), ProbeError> {
        self.activity_read_at_cpu_ns = None;
        let mut index = 0;
        while let Some(thread) = self.threads.get_mut(index) {
            if thread.read(buffer)? {
                index += 1;
            } else {
                self.ended_threads_switches += self.threads.swap_remove(index).switches;
            }
        }
        let dir = dir(self.id).join("task");
        for id in ids_in(system, &dir)? {
            if self.threads.iter().all(|thread| thread.id != id) {
                self.threads.extend(Thread::open(system, &dir, id)?);
            }
        }
        Ok(())
    }

    /// `None` when it has ended, which is recorded.
    fn read_stat(&mut self, buffer: &mut [u8]) -> Result<Option<ProcessStat>, ProbeError> {
        let Some(text) = self.stat.read_if_there(buffer)? else {
            self.gone = true;
            return Ok(None);
        };
        let stat =
            process::stat(text).ok_or_else(|| self.stat.unknown_form("proc_pid_stat(5)", text))?;
        self.page_faults = self
            .page_faults
            .max(stat.minor_faults.saturating_add(stat.major_faults));
        Ok(Some(stat))
    }
}

impl Thread {
    /// `None` when it has ended. Kernels without scheduler statistics have no `schedstat`; the
    /// slower `status` has the same figures.
    fn open(system: &dyn System, dir: &Path, id: u32) -> Result<Option<Thread>, ProbeError> {
        let dir = dir.join(id.to_string());
        let (file, parse): (_, ParseCount) =
            match KeptFile::open_if_there(system, dir.join("schedstat"))? {
                Some(file) => (Some(file), process::timeslices),
                None => (
                    KeptFile::open_if_there(system, dir.join("status"))?,
                    process::context_switches,
                ),
            };
        Ok(file.map(|file| Thread {
            id,
            file,
            parse,
            switches: 0,
        }))
    }

    /// Reads its count; returns whether it still exists.
    fn read(&mut self, buffer: &mut [u8]) -> Result<bool, ProbeError> {
        let Some(text) = self.file.read_if_there(buffer)? else {
            return Ok(false);
        };
        let switches = (self.parse)(text)
            .ok_or_else(|| self.file.unknown_form("counts of context switches", text))?;
        self.switches = self.switches.max(switches);
        Ok(true)
    }
}

/// A process's CPU clock; `None` where there is no such process.
pub(crate) fn clock_ns(system: &dyn System, id: u32) -> Result<Option<u64>, ProbeError> {
    match system.clock_ns(Clock::Process(id)) {
        Ok(now) => Ok(Some(now)),
        // The kernel has no such clock.
        Err(error) if has_left(&error) || error.raw_os_error() == Some(libc::EINVAL) => Ok(None),
        Err(source) => {
            let whose = format!("process {id}");
            Err(ProbeError::Clock { whose, source })
        }
    }
}

/// A process's directory.
pub(crate) fn dir(process: u32) -> PathBuf {
    Path::new("/proc").join(process.to_string())
}

/// The ids that name directories in `dir`; none if it does not exist.
pub(crate) fn ids_in(system: &dyn System, dir: &Path) -> Result<Vec<u32>, ProbeError> {
    match system.list(dir) {
        Ok(entries) => Ok(entries.iter().filter_map(|entry| entry.id()).collect()),
        Err(error) if has_left(&error) => Ok(Vec::new()),
        Err(source) => Err(ProbeError::File {
            call: "list",
            path: dir.to_owned(),
            source,
        }),
    }
}

/// All descendants of `roots`, in any order and without the roots. A process whose ancestors ended
/// before they were listed is not found.
pub(crate) fn descendants(system: &dyn System, roots: &[u32]) -> Result<Vec<u32>, ProbeError> {
    let all = every_process(system)?;
    let parents: Vec<(u32, u32)> = all.iter().map(|(id, stat)| (*id, stat.parent)).collect();
    Ok(reachable(roots, &parents))
}

/// The processes of a process group that have not ended.
///
/// # Errors
/// When processes can't be listed.
pub fn process_group(system: &dyn System, group: u32) -> Result<Vec<u32>, ProbeError> {
    let mut all = every_process(system)?;
    all.retain(|(_, stat)| stat.group == group && !stat.has_ended());
    Ok(all.into_iter().map(|(id, _)| id).collect())
}

/// Every process of the machine, by id.
pub(crate) fn every_process(system: &dyn System) -> Result<Vec<(u32, ProcessStat)>, ProbeError> {
    let mut all = Vec::new();
    for id in ids_in(system, Path::new("/proc"))? {
        let path = dir(id).join("stat");
        match read_file(system, &path) {
            Ok(text) => {
                let stat = process::stat(&text)
                    .ok_or_else(|| unknown_form(&path, "proc_pid_stat(5)", &text))?;
                all.push((id, stat));
            }
            Err(error) if has_left(&error) => {}
            Err(source) => {
                return Err(ProbeError::File {
                    call: "read",
                    path,
                    source,
                });
            }
        }
    }
    Ok(all)
}

/// The processes that descend from `roots`, given each process with its parent.
pub(crate) fn reachable(roots: &[u32], parents: &[(u32, u32)]) -> Vec<u32> {
    let mut found = Vec::new();
    let mut next = roots.to_vec();
    while let Some(parent) = next.pop() {
        for &(id, _) in parents.iter().filter(|&&(_, of)| of == parent) {
            if !roots.contains(&id) && !found.contains(&id) {
                found.push(id);
                next.push(id);
            }
        }
    }
    found
}

/// The processes in a cgroup and in the cgroups below it.
pub(crate) fn members(system: &dyn System, group: &Path) -> Result<Vec<u32>, ProbeError> {
    /// The most cgroups below a cgroup: far beyond any service, in case the tree grows while it is
    /// read.
    const GROUPS_MAX: usize = 10_000;
    let mut members = Vec::new();
    let mut groups = vec![group.to_owned()];
    let mut seen = 0;
    while let Some(group) = groups.pop().filter(|_| seen < GROUPS_MAX) {
        seen += 1;
        let path = group.join("cgroup.procs");
        match read_file(system, &path) {
            Ok(text) => members.extend(crate::parse::machine::process_ids(&text)),
            Err(error) if gone_or_threaded(&error) => {}
            Err(source) => {
                return Err(ProbeError::File {
                    call: "read",
                    path,
                    source,
                });
            }
        }
        match system.list(&group) {
            Ok(entries) => {
                let below = entries.into_iter().filter(|entry| entry.is_dir);
                groups.extend(below.map(|entry| group.join(entry.name)));
            }
            Err(error) if has_left(&error) => {}
            Err(source) => {
                return Err(ProbeError::File {
                    call: "list",
                    path: group,
                    source,
                });
            }
        }
    }
    Ok(members)
}

/// A cgroup below may be removed meanwhile (ENODEV if its file was open); a threaded one gives
/// EOPNOTSUPP, and the cgroup above lists its processes.
fn gone_or_threaded(error: &std::io::Error) -> bool {
    has_left(error) || matches!(error.raw_os_error(), Some(libc::ENODEV | libc::EOPNOTSUPP))
}

/// The buffer for readings, allocated once.
pub(crate) fn buffer() -> Box<[u8]> {
    vec![0; BUFFER_BYTES].into_boxed_slice()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descendants_are_found_in_any_order() {
        // Grandchild before child; 9 is its own parent, as in a damaged table.
        let parents = [
            (1, 0),
            (30, 20),
            (20, 10),
            (10, 1),
            (40, 1),
            (31, 20),
            (9, 9),
        ];
        let table: [(&[u32], &[u32]); 6] = [
            (&[10], &[20, 30, 31]),
            (&[20], &[30, 31]),
            (&[10, 20], &[30, 31]),
            (&[40], &[]),
            (&[9], &[]),
            (&[], &[]),
        ];
        for (roots, expected) in table {
            let mut found = reachable(roots, &parents);
            found.sort_unstable();
            assert_eq!(found, expected, "of {roots:?}");
        }
    }
}
