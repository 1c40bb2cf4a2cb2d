//! A cgroup for each arm: the one source of CPU time that misses nothing.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::arm::{Accounting, ArmProbe};
use crate::error::{ProbeError, has_left, remedy};
use crate::linux;
use crate::open_files::read_file;
use crate::parse::cgroup::{Hierarchy, Membership, Mount, memberships, mounts};
use crate::parse::machine::process_ids;
use crate::system::System;
use crate::task;

mod scope;

/// The cgroup versions of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CgroupVersion {
    /// Hierarchies of version 1 only.
    V1,
    /// The unified hierarchy of version 2 only.
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

/// A cgroup could not be created, entered or removed.
#[derive(Debug, thiserror::Error)]
pub enum CgroupError {
    /// The system refused.
    #[error("cannot {call} {}: {source}{}", path.display(), group_remedy(source))]
    Refused {
        /// The operation that failed.
        call: &'static str,
        /// The group's directory or file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// An invalid name of a cgroup.
    #[error("{name:?} can't name a control group; use letters, digits, '.', '_' and '-'")]
    Name {
        /// The name.
        name: String,
    },
}

/// Where Windage creates its cgroups: below its own cgroup in each hierarchy.
///
/// Prefers version 1 where `cpuacct` is mounted, because it counts in nanoseconds (version 2:
/// microseconds). Version 2 counts CPU wherever it is mounted, without any controller.
#[derive(Clone, Debug)]
pub struct CgroupTree {
    system: Arc<dyn System>,
    place: Place,
}

/// Where cgroups are, after a search that may have moved this process.
#[derive(Clone, Debug)]
pub struct FoundTree {
    /// The best place; `None` when no mounted hierarchy counts CPU.
    pub tree: Option<CgroupTree>,
    /// The scope that this process was moved to.
    pub scope: Option<String>,
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
    /// Finds the best place in which cgroups can be created, by creating one and removing it. Where
    /// they can be created nowhere, it is the place that would be best, and `create` says why not.
    /// `None` when no mounted hierarchy counts CPU.
    #[must_use]
    pub fn detect(system: &dyn System) -> Option<CgroupTree> {
        let mut trees = CgroupTree::all(system);
        let usable = trees.iter().position(CgroupTree::is_usable);
        (!trees.is_empty()).then(|| trees.swap_remove(usable.unwrap_or(0)))
    }

    /// The same. Where no cgroup can be created, asks the user's systemd for a scope that is
    /// delegated to the user, and moves `processes` there: this one, and the one that starts
    /// services. Only a process in the scope may put others into its cgroups.
    #[must_use]
    pub fn detect_or_enter_scope(system: &dyn System, processes: &[u32]) -> FoundTree {
        let here = CgroupTree::detect(system);
        if here.as_ref().is_some_and(CgroupTree::is_usable) {
            let (tree, scope) = (here, None);
            return FoundTree { tree, scope };
        }
        let scope = scope::enter(system, processes);
        let tree = match scope {
            Some(_) => CgroupTree::detect(system),
            None => here,
        };
        FoundTree { tree, scope }
    }

    /// Every place that counts CPU, the best first, whether or not cgroups can be created there.
    #[must_use]
    pub fn all(system: &dyn System) -> Vec<CgroupTree> {
        let read = |path| read_file(system, Path::new(path)).unwrap_or_default();
        let mounts = mounts(&read(MOUNTINFO_PATH));
        let own = memberships(&read("/proc/self/cgroup"));
        let memory = own_dirs(&mounts, &own, |h| h.carries("memory")).next();
        let v1 = own_dirs(&mounts, &own, |h| h.carries("cpuacct")).map(|cpuacct| Place::V1 {
            // If one hierarchy has both controllers, it gets one directory.
            memory: memory.clone().filter(|dir| *dir != cpuacct),
            cpuacct,
        });
        let v2 = own_dirs(&mounts, &own, |h| *h == Hierarchy::V2).map(|dir| Place::V2 { dir });
        v1.chain(v2)
            .map(|place| CgroupTree {
                system: system.share(),
                place,
            })
            .collect()
    }

    /// Whether a cgroup can be created here. Tries it.
    fn is_usable(&self) -> bool {
        // Several threads may try at the same time.
        static TRIALS: AtomicU32 = AtomicU32::new(0);
        let trial = TRIALS.fetch_add(1, Ordering::Relaxed);
        // Dropping it removes it.
        self.create(&format!("trial-{trial}")).is_ok()
    }

    /// Creates an empty cgroup `windage-PID-NAME` in each hierarchy used. Goes on without the
    /// memory hierarchy if that refuses.
    ///
    /// # Errors
    /// [`CgroupError::Name`] when the name is not valid for a directory; [`CgroupError::Refused`]
    /// when Windage may not create cgroups, or one with this name exists.
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

    /// Removes the empty cgroups that Windage processes left behind when they were killed. Returns
    /// the number of removed directories.
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
                    // The kernel refuses while the cgroup has processes: those keep it.
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

    /// A directory counts as created only if processes can be put into it.
    fn make(&self, dir: &Path) -> Result<(), CgroupError> {
        refusal("create", dir, self.system.create_dir(dir))?;
        let procs = dir.join("cgroup.procs");
        if let Err(source) = self.system.open(&procs) {
            // The kernel added no files, so this was not a cgroup hierarchy.
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

/// The cgroups of one arm, one directory per hierarchy. Dropping it removes those that are empty;
/// [`remove`](Self::remove) does the same and reports errors.
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

    /// Makes a command enter the cgroup between fork and exec, so that all of the program's CPU is
    /// counted there.
    ///
    /// # Errors
    /// [`CgroupError::Refused`] when Windage may not put processes into the cgroup.
    pub fn enter_on_exec(&self, command: &mut Command) -> Result<(), CgroupError> {
        let entered = linux::enter_on_exec(command, &self.procs_files());
        refusal("open cgroup.procs in", &self.cpuacct_dir, entered)
    }

    /// The processes in the cgroup, without those of cgroups that a service created below it.
    ///
    /// # Errors
    /// [`CgroupError::Refused`] when they can't be read.
    pub fn processes(&self) -> Result<Vec<u32>, CgroupError> {
        let path = self.cpuacct_dir.join("cgroup.procs");
        let text = refusal("read", &path, read_file(&*self.system, &path))?;
        Ok(process_ids(&text).collect())
    }

    /// Removes the cgroup; does nothing if it was removed before. May be tried again.
    ///
    /// # Errors
    /// [`CgroupError::Refused`] when it still has processes, or cgroups that a service created.
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
        // The next run's `sweep_stale` finds what stays.
        let _ = self.remove();
    }
}

/// The mounted cgroup versions, and the controllers that can be used.
pub(crate) fn available(system: &dyn System) -> Option<(CgroupVersion, Vec<String>)> {
    let mounts = mounts(&read_file(system, Path::new(MOUNTINFO_PATH)).ok()?);
    let mut controllers = Vec::new();
    let (mut v1, mut v2) = (false, false);
    for mount in &mounts {
        match &mount.hierarchy {
            Hierarchy::V1(carried) => {
                // A hierarchy that has only a name (systemd's) counts nothing.
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

/// The mounts that this process sees.
pub(crate) const MOUNTINFO_PATH: &str = "/proc/self/mountinfo";

const PREFIX: &str = "windage-";

/// The process that created a cgroup of this name, if Windage did.
fn owner(name: &str) -> Option<u32> {
    name.strip_prefix(PREFIX)?.split_once('-')?.0.parse().ok()
}

/// This process's own cgroup in every mount of such a hierarchy.
fn own_dirs(
    mounts: &[Mount],
    own: &[Membership],
    which: impl Fn(&Hierarchy) -> bool,
) -> impl Iterator<Item = PathBuf> {
    let path = own
        .iter()
        .find(|membership| which(&membership.hierarchy))
        .map(|membership| &membership.path);
    let mounts = mounts.iter().filter(move |mount| which(&mount.hierarchy));
    mounts.filter_map(move |mount| Some(mount.dir_of(path?)))
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
