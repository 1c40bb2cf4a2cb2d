//! CPU of trees of processes, by their clocks alone.

use std::sync::Arc;

use crate::error::ProbeError;
use crate::system::System;
use crate::task::{clock_ns, every_process, reachable};

/// CPU of several trees of processes, each a process with all its descendants.
///
/// An [`ArmProbe`](crate::ArmProbe) of each would keep files of every thread open. This reads one
/// clock of each process and keeps nothing open. It misses what a process uses between the last
/// reading and its end, and a process that begins and ends between two refreshes.
#[derive(Debug)]
pub struct ProcessTrees {
    system: Arc<dyn System>,
    trees: Vec<Tree>,
}

#[derive(Debug)]
struct Tree {
    processes: Vec<Clocked>,
    /// CPU of processes that have ended.
    ended_ns: u64,
}

#[derive(Debug)]
struct Clocked {
    id: u32,
    cpu_ns: u64,
}

impl ProcessTrees {
    /// One tree for each of these processes; no descendant is known before the first
    /// [`refresh`](ProcessTrees::refresh).
    #[must_use]
    pub fn new(system: &dyn System, roots: &[u32]) -> ProcessTrees {
        let tree = |&id| Tree {
            processes: vec![Clocked { id, cpu_ns: 0 }],
            ended_ns: 0,
        };
        ProcessTrees {
            system: system.share(),
            trees: roots.iter().map(tree).collect(),
        }
    }

    /// Finds descendants that are new, with one look at all processes of the machine: between
    /// windows only. A process whose parent has ended stays in its tree.
    ///
    /// Returns what the new ones of each tree had used before, in nanoseconds. The next reading has
    /// it, so a reading before needs it too where both are compared.
    ///
    /// # Errors
    /// [`ProbeError::File`] when processes can't be listed, [`ProbeError::Clock`] when a clock can't be
    /// read.
    pub fn refresh(&mut self) -> Result<Vec<u64>, ProbeError> {
        let all = every_process(&*self.system)?;
        let parents: Vec<(u32, u32)> = all.iter().map(|(id, of)| (*id, of.parent)).collect();
        let mut had_used_ns = vec![0; self.trees.len()];
        for (tree, had_used_ns) in self.trees.iter_mut().zip(&mut had_used_ns) {
            let known: Vec<u32> = tree.processes.iter().map(|process| process.id).collect();
            for id in reachable(&known, &parents) {
                let mut new = Clocked { id, cpu_ns: 0 };
                if new.read(&*self.system)? {
                    *had_used_ns += new.cpu_ns;
                    tree.processes.push(new);
                }
            }
        }
        Ok(had_used_ns)
    }

    /// CPU of each tree so far, in the order of the roots and in nanoseconds; never less than
    /// before.
    ///
    /// # Errors
    /// [`ProbeError::Clock`] when a clock can't be read.
    pub fn cpu_ns(&mut self) -> Result<Vec<u64>, ProbeError> {
        let system = &*self.system;
        self.trees
            .iter_mut()
            .map(|tree| tree.cpu_ns(system))
            .collect()
    }
}

impl Tree {
    fn cpu_ns(&mut self, system: &dyn System) -> Result<u64, ProbeError> {
        let mut index = 0;
        while let Some(process) = self.processes.get_mut(index) {
            if process.read(system)? {
                index += 1;
            } else {
                self.ended_ns += self.processes.swap_remove(index).cpu_ns;
            }
        }
        let running = self.processes.iter().map(|process| process.cpu_ns);
        Ok(self.ended_ns + running.sum::<u64>())
    }
}

impl Clocked {
    /// Reads its clock; returns whether it still exists. A clock that went back is that of another
    /// process with the same id.
    fn read(&mut self, system: &dyn System) -> Result<bool, ProbeError> {
        let now = clock_ns(system, self.id)?.filter(|now| *now >= self.cpu_ns);
        self.cpu_ns = now.unwrap_or(self.cpu_ns);
        Ok(now.is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Clock, FakeSystem};

    fn shown(system: &FakeSystem, id: u32, parent: u32, cpu_ns: u64) {
        let stat = format!("{id} (a) S {parent} 1 1 0 -1 0 0 0 1 0 0 0 0 0 0 20 0 1 0 55 0 0\n");
        system.set(format!("/proc/{id}/stat"), stat);
        system.set_clock(Clock::Process(id), cpu_ns);
    }

    fn ends(system: &FakeSystem, id: u32) {
        system.remove(format!("/proc/{id}"));
        system.remove_clock(Clock::Process(id));
    }

    #[test]
    fn each_tree_has_the_cpu_of_its_own_processes() {
        let system = FakeSystem::new();
        shown(&system, 10, 1, 100);
        shown(&system, 20, 1, 7);
        shown(&system, 21, 20, 30);
        shown(&system, 99, 1, 5_000);
        let mut trees = ProcessTrees::new(&system, &[10, 20]);
        assert_eq!(trees.cpu_ns().unwrap(), [100, 7]);
        assert_eq!(trees.refresh().unwrap(), [0, 30]);
        assert_eq!(trees.cpu_ns().unwrap(), [100, 37]);
        shown(&system, 22, 21, 4);
        assert_eq!(trees.refresh().unwrap(), [0, 4]);
        assert_eq!(trees.refresh().unwrap(), [0, 0]);
        assert_eq!(trees.cpu_ns().unwrap(), [100, 41], "each once");
    }

    #[test]
    fn what_ended_processes_used_stays() {
        let system = FakeSystem::new();
        shown(&system, 20, 1, 7);
        shown(&system, 21, 20, 30);
        shown(&system, 22, 21, 4);
        let mut trees = ProcessTrees::new(&system, &[20]);
        trees.refresh().unwrap();
        assert_eq!(trees.cpu_ns().unwrap(), [41]);
        ends(&system, 21);
        // Its child is given to another parent, and works on.
        shown(&system, 22, 1, 10);
        trees.refresh().unwrap();
        assert_eq!(trees.cpu_ns().unwrap(), [47]);
        // Another process gets the id of an ended one.
        shown(&system, 22, 1, 3);
        assert_eq!(trees.cpu_ns().unwrap(), [47]);
        ends(&system, 20);
        assert_eq!(trees.cpu_ns().unwrap(), [47]);
    }

    #[test]
    fn processes_that_can_not_be_listed_are_an_error() {
        let system = FakeSystem::new();
        shown(&system, 20, 1, 7);
        let mut trees = ProcessTrees::new(&system, &[20]);
        system.set("/proc/21/stat", "nonsense");
        assert!(trees.refresh().is_err());
    }
}
