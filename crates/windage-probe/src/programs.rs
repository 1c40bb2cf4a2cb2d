//! Which programs of the machine use CPU: the ones to name when the machine is not quiet.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use crate::error::ProbeError;
use crate::open_files::KeptFile;
use crate::parse::process;
use crate::system::System;
use crate::task::{self, dir, ids_in, reachable};

/// The most processes that a look reads: a few milliseconds of reading. Beyond that, those with the
/// lowest ids are left out, which are usually the oldest.
const PROCESSES_MAX: usize = 1000;

/// Looks at every process of the machine.
///
/// # Cost
///
/// A look opens and reads a file for each process, some 5 µs each: between windows only.
#[derive(Debug)]
pub struct ProgramsProbe {
    system: Arc<dyn System>,
    user_tick_ns: u64,
    buffer: Box<[u8]>,
}

/// What every process had used at one moment.
#[derive(Clone, Debug, Default)]
pub struct Programs {
    /// By id, and by the time of the start: an id may be used again.
    processes: BTreeMap<(u32, u64), Seen>,
    /// Processes with lower ids were not looked at, because there were too many.
    unseen_below: u32,
}

#[derive(Clone, Debug)]
struct Seen {
    name: String,
    parent: u32,
    is_kernel_thread: bool,
    cpu_ns: u64,
    last_core: Option<u32>,
}

/// What the processes of one name have used between two looks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramUse {
    /// The program's name, without its arguments.
    pub name: String,
    /// Whether these are threads of the kernel.
    pub is_kernel_thread: bool,
    /// CPU of all its processes, in nanoseconds, in steps of 10 ms for each process.
    pub cpu_ns: u64,
    /// What each core ran of it, in nanoseconds. A process counts for the core that it last ran on.
    pub by_core_ns: BTreeMap<u32, u64>,
}

impl ProgramsProbe {
    /// A probe of all processes that are visible from here.
    #[must_use]
    pub fn new(system: &dyn System) -> ProgramsProbe {
        ProgramsProbe {
            system: system.share(),
            user_tick_ns: 1_000_000_000 / system.user_ticks_per_s().max(1),
            buffer: task::buffer(),
        }
    }

    /// What every process has used so far. A process that ends meanwhile is left out.
    ///
    /// # Errors
    /// [`ProbeError::File`] when the processes can't be listed. One that can't be read is left out.
    pub fn look(&mut self) -> Result<Programs, ProbeError> {
        let mut ids = ids_in(&*self.system, Path::new("/proc"))?;
        ids.sort_unstable();
        let skipped = ids.len().saturating_sub(PROCESSES_MAX);
        let mut processes = BTreeMap::new();
        ids.drain(..skipped);
        let first = ids.first().filter(|_| skipped > 0);
        let unseen_below = first.copied().unwrap_or_default();
        for id in ids {
            processes.extend(self.seen(id));
        }
        Ok(Programs {
            processes,
            unseen_below,
        })
    }

    fn seen(&mut self, id: u32) -> Option<((u32, u64), Seen)> {
        let file = KeptFile::open_if_there(&*self.system, dir(id).join("stat")).ok()??;
        let text = file.read_if_there(&mut self.buffer).ok()??;
        let stat = process::stat(text)?;
        let seen = Seen {
            name: process::name(text)?,
            parent: stat.parent,
            is_kernel_thread: stat.kernel_thread,
            cpu_ns: stat.cpu_ticks.saturating_mul(self.user_tick_ns),
            last_core: stat.last_core,
        };
        Some(((id, stat.start_ticks), seen))
    }
}

impl Programs {
    /// What programs have used since an earlier look, the most first, without `roots` and all of
    /// their descendants. A process that is new counts with all that it used; what a process used
    /// that has ended is not known.
    #[must_use]
    pub fn used_since(&self, earlier: &Programs, roots: &[u32]) -> Vec<ProgramUse> {
        let parents: Vec<(u32, u32)> = self
            .processes
            .iter()
            .map(|((id, _), seen)| (*id, seen.parent))
            .collect();
        let below = reachable(roots, &parents);
        let mut by_name: BTreeMap<(&str, bool), ProgramUse> = BTreeMap::new();
        for (key, seen) in &self.processes {
            let before_ns = match earlier.processes.get(key) {
                Some(before) => before.cpu_ns,
                None if key.0 < earlier.unseen_below => continue,
                None => 0,
            };
            let cpu_ns = seen.cpu_ns.saturating_sub(before_ns);
            if cpu_ns == 0 || roots.contains(&key.0) || below.contains(&key.0) {
                continue;
            }
            let of = by_name
                .entry((&seen.name, seen.is_kernel_thread))
                .or_insert_with(|| ProgramUse {
                    name: seen.name.clone(),
                    is_kernel_thread: seen.is_kernel_thread,
                    cpu_ns: 0,
                    by_core_ns: BTreeMap::new(),
                });
            of.cpu_ns += cpu_ns;
            if let Some(core) = seen.last_core {
                *of.by_core_ns.entry(core).or_default() += cpu_ns;
            }
        }
        let mut found: Vec<ProgramUse> = by_name.into_values().collect();
        found.sort_by_key(|of| std::cmp::Reverse(of.cpu_ns));
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::FakeSystem;

    /// Writes a process's `stat`; its start is the id, so that an id that is used again differs.
    fn show(system: &FakeSystem, id: u32, name: &str, parent: u32, ticks: u64, core: u32) {
        show_started(system, (id, u64::from(id)), name, parent, ticks, core);
    }

    fn show_started(
        system: &FakeSystem,
        (id, start): (u32, u64),
        name: &str,
        parent: u32,
        ticks: u64,
        core: u32,
    ) {
        let flags = if name.starts_with('k') {
            0x0020_8040
        } else {
            0
        };
        let zeros = "0 ".repeat(16);
        let text = format!(
            "{id} ({name}) S {parent} 1 1 0 -1 {flags} 0 0 0 0 {ticks} 0 0 0 20 0 1 0 {start} \
             {zeros}{core} 0\n"
        );
        system.set(format!("/proc/{id}/stat"), text);
    }

    fn used(name: &str, ticks: u64, cores: &[(u32, u64)]) -> ProgramUse {
        let in_ns = |(core, ticks): &(u32, u64)| (*core, ticks * 10_000_000);
        ProgramUse {
            name: name.to_owned(),
            is_kernel_thread: name.starts_with('k'),
            cpu_ns: ticks * 10_000_000,
            by_core_ns: cores.iter().map(in_ns).collect(),
        }
    }

    #[test]
    fn programs_outside_are_named_and_those_of_the_run_are_not() {
        let system = FakeSystem::new();
        // Windage is 100; 101 keeps 110, a service, which has a worker.
        for (id, name, parent) in [
            (1, "init", 0),
            (2, "kworker/0:1", 0),
            (50, "idle", 1),
            (60, "rustc", 1),
            (61, "rustc", 1),
            (70, "reused", 1),
            (100, "windage", 1),
            (101, "keeper", 100),
            (110, "app", 101),
            (111, "app", 110),
        ] {
            show(&system, id, name, parent, 1000, 0);
        }
        let mut probe = ProgramsProbe::new(&system);
        let before = probe.look().unwrap();
        for (id, name, parent, ticks, core) in [
            (2, "kworker/0:1", 0, 1002, 0),
            (60, "rustc", 1, 1030, 1),
            (61, "rustc", 1, 1020, 0),
            (80, "cc", 1, 4, 1),
            (100, "windage", 1, 1090, 0),
            (101, "keeper", 100, 1001, 0),
            (110, "app", 101, 1080, 0),
            (112, "app", 111, 50, 0),
        ] {
            show(&system, id, name, parent, ticks, core);
        }
        show_started(&system, (70, 9000), "reused", 1, 3, 1);
        let found = probe.look().unwrap().used_since(&before, &[100]);
        let expected = [
            used("rustc", 50, &[(0, 20), (1, 30)]),
            used("cc", 4, &[(1, 4)]),
            used("reused", 3, &[(1, 3)]),
            used("kworker/0:1", 2, &[(0, 2)]),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_look_leaves_out_what_it_cannot_read() {
        let system = FakeSystem::new();
        show(&system, 5, "gone", 1, 10, 0);
        show(&system, 6, "there", 1, 10, 0);
        system.set("/proc/7/stat", "nonsense");
        system.fail("/proc/5/stat", libc::ESRCH);
        let found = ProgramsProbe::new(&system).look().unwrap();
        let since_boot = found.used_since(&Programs::default(), &[]);
        assert_eq!(since_boot, [used("there", 10, &[(0, 10)])]);
        assert!(
            ProgramsProbe::new(&FakeSystem::new())
                .look()
                .unwrap()
                .processes
                .is_empty()
        );
    }

    #[test]
    fn a_look_is_bounded() {
        let system = FakeSystem::new();
        for id in 1..=1_005 {
            show(&system, id, "many", 0, 1, 0);
        }
        let found = ProgramsProbe::new(&system).look().unwrap();
        assert_eq!(found.processes.len(), PROCESSES_MAX);
        let oldest = found.processes.keys().next().map(|key| key.0);
        assert_eq!(oldest, Some(6), "the oldest are left out");
    }

    #[test]
    fn an_old_process_that_comes_into_view_is_not_new() {
        let system = FakeSystem::new();
        for id in 1..=1_005 {
            show(&system, id, "many", 0, 1, 0);
        }
        let before = ProgramsProbe::new(&system).look().unwrap();
        // Two of the newest have ended: two older ones are looked at for the first time.
        for id in 1_004..=1_005 {
            system.remove(format!("/proc/{id}"));
        }
        show(&system, 1_006, "new", 0, 1, 0);
        let after = ProgramsProbe::new(&system).look().unwrap();
        let used = after.used_since(&before, &[]);
        let names: Vec<&str> = used.iter().map(|of| of.name.as_str()).collect();
        assert_eq!(names, ["new"]);
    }
}
