//! A control group for each arm: the source of CPU time that misses nothing.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use crate::arm::{Accounting, ArmProbe};
use crate::error::{ProbeError, has_left, remedy};
use crate::linux;
use crate::machine::BusySource;
use crate::open_files::read_file;
use crate::parse::cgroup::{Hierarchy, Membership, Mount, memberships, mounts};
use crate::parse::machine::process_ids;
use crate::system::System;
use crate::task;

/// What control groups a machine has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CgroupVersion {
    /// Hierarchies of version 1 only.
    V1,
    /// The one hierarchy of version 2 only.
    V2,
    /// Both, side by side.
    Hybrid,
    /// Neither is mounted.
    None,
}

impl CgroupVersion {
    /// The word used in files and reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            CgroupVersion::V1 => "v1",
            CgroupVersion::V2 => "v2",
            CgroupVersion::Hybrid => "hybrid",
            CgroupVersion::None => "none",
        }
    }
}

/// A group that could not be made, entered or removed.
#[derive(Debug, thiserror::Error)]
pub enum CgroupError {
    /// The system refused.
    #[error("cannot {call} {}: {source}{}", path.display(), group_remedy(source))]
    Refused {
        /// What was tried.
        call: &'static str,
        /// The group's directory or file.
        path: PathBuf,
        /// What the system answered.
        source: io::Error,
    },
    /// A group's name that is not one.
    #[error("{name:?} can't name a control group; use letters, digits, '.', '_' and '-'")]
    Name {
        /// The name.
        name: String,
    },
}

/// The place below which windage makes its groups: its own group in each hierarchy.
///
/// Groups of version 1 are preferred where `cpuacct` is mounted, for they count in nanoseconds
/// (version 2: microseconds).
#[derive(Clone, Debug)]
pub struct CgroupTree {
    system: Arc<dyn System>,
    place: Place,
}

#[derive(Clone, Debug)]
enum Place {
    V1 {
        cpuacct: PathBuf,
        memory: Option<PathBuf>,
    },
    V2 {
        dir: PathBuf,
    },
}

impl CgroupTree {
    /// Finds windage's own groups; `None` when no hierarchy is mounted that accounts CPU. Whether
    /// groups can be made there shows when one is.
    #[must_use]
    pub fn detect(system: &dyn System) -> Option<CgroupTree> {
        let mounts = mounts(&read_file(system, Path::new(MOUNTINFO_PATH)).ok()?);
        let own = memberships(&read_file(system, Path::new("/proc/self/cgroup")).ok()?);
        let place = match own_dir(&mounts, &own, |h| h.carries("cpuacct")) {
            Some(cpuacct) => {
                let memory = own_dir(&mounts, &own, |h| h.carries("memory"));
                // Where one hierarchy carries both, it gets one directory.
                Place::V1 {
                    memory: memory.filter(|dir| *dir != cpuacct),
                    cpuacct,
                }
            }
            None => Place::V2 {
                dir: own_dir(&mounts, &own, |h| *h == Hierarchy::V2)?,
            },
        };
        Some(CgroupTree {
            system: system.share(),
            place,
        })
    }

    /// Makes an empty group called `windage-PID-NAME` in each hierarchy used. A memory hierarchy
    /// that refuses is done without.
    ///
    /// # Errors
    /// [`CgroupError::Name`] when the name would not make a directory; [`CgroupError::Refused`]
    /// when windage may not make groups, or one of this name is there.
    pub fn create(&self, name: &str) -> Result<ArmCgroup, CgroupError> {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        if name.is_empty() || !name.chars().all(plain) {
            return Err(CgroupError::Name {
                name: name.to_owned(),
            });
        }
        let name = format!("{PREFIX}{}-{name}", self.system.process_id());
        let (main, memory) = match &self.place {
            Place::V1 { cpuacct, memory } => (cpuacct, memory.as_ref()),
            Place::V2 { dir } => (dir, None),
        };
        let cpuacct_dir = main.join(&name);
        self.make(&cpuacct_dir)?;
        let memory_dir = memory
            .map(|dir| dir.join(&name))
            .filter(|dir| self.make(dir).is_ok());
        let accounting = match &self.place {
            Place::V1 { .. } => Accounting::CgroupV1 {
                cpuacct_dir: cpuacct_dir.clone(),
                memory_dir: memory_dir.clone(),
            },
            Place::V2 { .. } => Accounting::CgroupV2 {
                dir: cpuacct_dir.clone(),
            },
        };
        let dirs = [Some(cpuacct_dir.clone()), memory_dir.clone()]
            .into_iter()
            .flatten()
            .collect();
        let system = Arc::clone(&self.system);
        Ok(ArmCgroup {
            dirs,
            cpuacct_dir,
            memory_dir,
            system,
            accounting,
        })
    }

    /// Removes the groups that windage processes left behind when they were killed: those of
    /// processes that are no more, as far as they are empty. Returns how many directories went.
    pub fn sweep_stale(&self) -> usize {
        let parents = match &self.place {
            Place::V1 { cpuacct, memory } => vec![Some(cpuacct), memory.as_ref()],
            Place::V2 { dir } => vec![Some(dir)],
        };
        let mut removed = 0;
        for parent in parents.into_iter().flatten() {
            for entry in self.system.list(parent).unwrap_or_default() {
                let owner = entry.name.to_str().filter(|_| entry.is_dir).and_then(owner);
                if owner.is_some_and(|owner| self.has_ended(owner)) {
                    // The kernel refuses while there are processes in it: they keep their group.
                    removed +=
                        usize::from(self.system.remove_dir(&parent.join(&entry.name)).is_ok());
                }
            }
        }
        removed
    }

    fn has_ended(&self, process: u32) -> bool {
        let stat = self.system.open(&task::dir(process).join("stat"));
        stat.is_err_and(|error| has_left(&error))
    }

    /// A directory counts as made when processes can be put into it, too.
    fn make(&self, dir: &Path) -> Result<(), CgroupError> {
        refusal("create", dir, self.system.create_dir(dir))?;
        let procs = dir.join("cgroup.procs");
        if let Err(source) = self.system.open(&procs) {
            // No file of the kernel's: this was no hierarchy of control groups.
            let _ = self.system.remove_dir(dir);
            return Err(CgroupError::Refused {
                call: "open",
                path: procs,
                source,
            });
        }
        Ok(())
    }
}

/// The groups of one arm, one directory a hierarchy. Dropping it removes them as far as they are
/// empty; [`remove`](Self::remove) does the same and says what is in the way.
#[derive(Debug)]
pub struct ArmCgroup {
    /// Every directory.
    pub dirs: Vec<PathBuf>,
    /// The directory that accounts CPU, in the hierarchy of `cpuacct` or of version 2.
    pub cpuacct_dir: PathBuf,
    /// The directory that accounts memory; `None` for version 2, where it is the same.
    pub memory_dir: Option<PathBuf>,
    system: Arc<dyn System>,
    accounting: Accounting,
}

impl ArmCgroup {
    /// A probe of this group.
    ///
    /// # Errors
    /// When the group's files can't be read.
    pub fn probe(&self) -> Result<ArmProbe, ProbeError> {
        ArmProbe::new(&*self.system, self.accounting.clone())
    }

    /// Makes a command enter the group between fork and exec, so that nothing of the program is
    /// accounted elsewhere.
    ///
    /// # Errors
    /// [`CgroupError::Refused`] when windage may not put processes into the group.
    pub fn enter_on_exec(&self, command: &mut Command) -> Result<(), CgroupError> {
        let entered = linux::enter_on_exec(command, &self.procs_files());
        refusal("open cgroup.procs in", &self.cpuacct_dir, entered)
    }

    /// Moves a running process, all its threads included, into the group. What it used before
    /// stays with the group it leaves.
    ///
    /// # Errors
    /// [`CgroupError::Refused`] when the process is gone or may not be moved.
    pub fn adopt(&self, process: u32) -> Result<(), CgroupError> {
        let id = process.to_string();
        for file in self.procs_files() {
            refusal(
                "write a process id to",
                &file,
                self.system.write(&file, id.as_bytes()),
            )?;
        }
        Ok(())
    }

    /// The processes in the group, without those of groups that a service made below it.
    ///
    /// # Errors
    /// [`CgroupError::Refused`] when they can't be read.
    pub fn processes(&self) -> Result<Vec<u32>, CgroupError> {
        let path = self.cpuacct_dir.join("cgroup.procs");
        let text = refusal("read", &path, read_file(&*self.system, &path))?;
        Ok(process_ids(&text).collect())
    }

    /// Removes the group; once it is gone, does nothing. May be tried again.
    ///
    /// # Errors
    /// [`CgroupError::Refused`] when there are processes left in it, or groups that a service
    /// made.
    pub fn remove(&mut self) -> Result<(), CgroupError> {
        while let Some(dir) = self.dirs.last() {
            match self.system.remove_dir(dir) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return refusal("remove", dir, Err(error));
                }
                _ => self.dirs.pop(),
            };
        }
        Ok(())
    }

    fn procs_files(&self) -> Vec<PathBuf> {
        self.dirs
            .iter()
            .map(|dir| dir.join("cgroup.procs"))
            .collect()
    }
}

impl Drop for ArmCgroup {
    fn drop(&mut self) {
        // What stays is found by the next run's `sweep_stale`.
        let _ = self.remove();
    }
}

/// What control groups are mounted and which controllers can be used.
pub(crate) fn available(system: &dyn System) -> Option<(CgroupVersion, Vec<String>)> {
    let mounts = mounts(&read_file(system, Path::new(MOUNTINFO_PATH)).ok()?);
    let mut controllers = Vec::new();
    let (mut v1, mut v2) = (false, false);
    for mount in &mounts {
        match &mount.hierarchy {
            Hierarchy::V1(carried) => {
                // A hierarchy that has but a name (systemd's) accounts nothing.
                let before = controllers.len();
                controllers.extend(carried.iter().filter(|name| !name.contains('=')).cloned());
                v1 |= controllers.len() > before;
            }
            Hierarchy::V2 => {
                v2 = true;
                let list = read_file(system, &mount.point.join("cgroup.controllers"));
                let list = String::from_utf8(list.unwrap_or_default()).unwrap_or_default();
                controllers.extend(list.split_whitespace().map(str::to_owned));
            }
        }
    }
    controllers.sort();
    controllers.dedup();
    let version = match (v1, v2) {
        (true, true) => CgroupVersion::Hybrid,
        (true, false) => CgroupVersion::V1,
        (false, true) => CgroupVersion::V2,
        (false, false) => CgroupVersion::None,
    };
    Some((version, controllers))
}

/// The file with the CPU time of the whole machine, if the root of a hierarchy can be seen. In a
/// container the mount point may be a group of its own that merely looks like the root; files
/// tell them apart.
pub(crate) fn root_usage(system: &dyn System) -> Option<(BusySource, PathBuf)> {
    let mounts = mounts(&read_file(system, Path::new(MOUNTINFO_PATH)).ok()?);
    let whole = |mount: &&Mount| mount.root == Path::new("/");
    let has = |mount: &Mount, file: &str| system.open(&mount.point.join(file)).is_ok();
    let v1 = mounts
        .iter()
        .filter(whole)
        .find(|mount| mount.hierarchy.carries("cpuacct"));
    if let Some(mount) = v1.filter(|mount| has(mount, "cgroup.sane_behavior")) {
        return Some((BusySource::CpuacctRoot, mount.point.join("cpuacct.usage")));
    }
    let v2 = mounts
        .iter()
        .filter(whole)
        .find(|mount| mount.hierarchy == Hierarchy::V2);
    let v2 = v2.filter(|mount| has(mount, "cpu.stat") && !has(mount, "cgroup.type"))?;
    Some((BusySource::CgroupV2Root, v2.point.join("cpu.stat")))
}

const MOUNTINFO_PATH: &str = "/proc/self/mountinfo";

const PREFIX: &str = "windage-";

/// The process that made a group of this name, if windage did.
fn owner(name: &str) -> Option<u32> {
    name.strip_prefix(PREFIX)?.split_once('-')?.0.parse().ok()
}

fn own_dir(
    mounts: &[Mount],
    own: &[Membership],
    which: impl Fn(&Hierarchy) -> bool,
) -> Option<PathBuf> {
    let mount = mounts.iter().find(|mount| which(&mount.hierarchy))?;
    let path = own
        .iter()
        .find(|membership| which(&membership.hierarchy))
        .map(|m| &m.path)?;
    Some(mount.dir_of(path))
}

fn refusal<T>(call: &'static str, path: &Path, result: io::Result<T>) -> Result<T, CgroupError> {
    result.map_err(|source| CgroupError::Refused {
        call,
        path: path.to_owned(),
        source,
    })
}

fn group_remedy(error: &io::Error) -> &'static str {
    match error.raw_os_error() {
        Some(libc::EACCES | libc::EPERM) => {
            "; run as root, or in a group of your own: systemd-run --user --scope -p Delegate=yes"
        }
        Some(libc::EEXIST) => "; it was left behind: remove it with rmdir",
        _ => remedy(error),
    }
}

#[cfg(test)]
mod tests;
