//! CPU limits of cgroups, and for how long they held processes back.
//!
//! A cgroup with a limit may use so much CPU in each period, usually 100 ms; when it has, all its tasks wait for
//! the next one (`Documentation/scheduler/sched-bwc.rst` of the kernel). A limit holds for all cgroups below
//! its own, so a process may have several. The kernel counts a wait when it ends.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::cgroup::MOUNTINFO_PATH;
use crate::open_files::read_file;
use crate::parse::cgroup::{Hierarchy, Mount, memberships, mounts};
use crate::parse::machine;
use crate::system::System;
use crate::task;

/// The limited cgroups of some processes.
#[derive(Debug, Default)]
pub(crate) struct CpuLimits {
    processes: BTreeSet<u32>,
    /// Their `cpu.stat`, and what it said when it was found; kept when its processes have ended.
    files: BTreeMap<PathBuf, u64>,
}

impl CpuLimits {
    /// Looks again if these are other processes than before: a limit that is set later goes unnoticed. Reads a
    /// file of each, and one of each cgroup.
    pub(crate) fn refresh(&mut self, system: &dyn System, processes: BTreeSet<u32>) {
        if processes == self.processes {
            return;
        }
        let mounts = mounts(&read_file(system, Path::new(MOUNTINFO_PATH)).unwrap_or_default());
        let groups: BTreeSet<PathBuf> = processes
            .iter()
            .flat_map(|id| groups(system, &mounts, *id))
            .collect();
        for dir in groups.into_iter().filter(|dir| is_limited(system, dir)) {
            let path = dir.join("cpu.stat");
            let now_ns = throttled_ns(system, &path);
            self.files.entry(path).or_insert(now_ns);
        }
        self.processes = processes;
    }

    /// For how long tasks waited because a limit was reached, in nanoseconds, summed over cores and cgroups: of
    /// each since it was found.
    pub(crate) fn throttled_ns(&self, system: &dyn System) -> u64 {
        let since = |(path, found_ns): (&PathBuf, &u64)| {
            throttled_ns(system, path).saturating_sub(*found_ns)
        };
        self.files.iter().map(since).fold(0, u64::saturating_add)
    }
}

fn throttled_ns(system: &dyn System, cpu_stat: &Path) -> u64 {
    let text = read_file(system, cpu_stat).unwrap_or_default();
    machine::throttled_ns(&text).unwrap_or(0)
}

/// The cgroups that may limit a process's CPU: its own and all above.
fn groups(system: &dyn System, mounts: &[Mount], process: u32) -> Vec<PathBuf> {
    let text = read_file(system, &task::dir(process).join("cgroup")).unwrap_or_default();
    let mut found = Vec::new();
    for of in memberships(&text) {
        if !can_limit(&of.hierarchy) {
            continue;
        }
        let mount = mounts.iter().find(|mount| match &of.hierarchy {
            Hierarchy::V1(_) => can_limit(&mount.hierarchy) && mount.hierarchy != Hierarchy::V2,
            Hierarchy::V2 => mount.hierarchy == Hierarchy::V2,
        });
        let dirs = mount.map(|mount| of.path.ancestors().map(|path| mount.dir_of(path)));
        found.extend(dirs.into_iter().flatten());
    }
    found
}

fn can_limit(hierarchy: &Hierarchy) -> bool {
    *hierarchy == Hierarchy::V2 || hierarchy.carries("cpu")
}

fn is_limited(system: &dyn System, dir: &Path) -> bool {
    let text = |name| read_file(system, &dir.join(name)).unwrap_or_default();
    // Without a limit these say -1 and max.
    machine::single(&text("cpu.cfs_quota_us")).is_some()
        || text("cpu.max").first().is_some_and(u8::is_ascii_digit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FakeSystem;

    const V1: &str = "30 1 0:1 / /cg/cpu rw - cgroup cgroup rw,cpu\n31 1 0:2 / /cg/cpuacct rw - cgroup cgroup rw,cpuacct\n";
    const V2: &str = "30 1 0:1 / /cg rw - cgroup2 cgroup2 rw\n";

    fn found(system: &FakeSystem) -> CpuLimits {
        let mut limits = CpuLimits::default();
        limits.refresh(system, BTreeSet::from([7]));
        limits
    }

    #[test]
    fn limits_of_a_pod_and_of_its_container_are_found_in_both_versions() {
        let system = FakeSystem::new();
        system.set(MOUNTINFO_PATH, V1);
        system.set(
            "/proc/7/cgroup",
            "2:cpuacct:/other\n1:cpu:/kubepods/pod1/main\n",
        );
        for (group, quota, stat) in [
            ("", "-1", "throttled_time 1"),
            ("kubepods/", "-1", "throttled_time 1"),
            (
                "kubepods/pod1/",
                "50000",
                "nr_periods 9\nnr_throttled 3\nthrottled_time 2000",
            ),
            (
                "kubepods/pod1/main/",
                "50000",
                "nr_throttled 1\nthrottled_time 300",
            ),
        ] {
            system.set(
                format!("/cg/cpu/{group}cpu.cfs_quota_us"),
                format!("{quota}\n"),
            );
            system.set(format!("/cg/cpu/{group}cpu.stat"), format!("{stat}\n"));
        }
        let mut limits = found(&system);
        assert_eq!(limits.throttled_ns(&system), 0);
        system.set("/cg/cpu/kubepods/pod1/cpu.stat", "throttled_time 4000\n");
        system.set(
            "/cg/cpu/kubepods/pod1/main/cpu.stat",
            "throttled_time 600\n",
        );
        system.set("/cg/cpu/cpu.stat", "throttled_time 9\n");
        assert_eq!(limits.throttled_ns(&system), 2_300);
        // Its process has ended.
        limits.refresh(&system, BTreeSet::new());
        assert_eq!(limits.throttled_ns(&system), 2_300);

        let system = FakeSystem::new();
        system.set(MOUNTINFO_PATH, V2);
        system.set("/proc/7/cgroup", "0::/a.slice/b.service\n");
        system.set("/cg/a.slice/cpu.max", "max 100000\n");
        system.set("/cg/a.slice/cpu.stat", "usage_usec 9\nthrottled_usec 5\n");
        system.set("/cg/a.slice/b.service/cpu.max", "20000 100000\n");
        system.set(
            "/cg/a.slice/b.service/cpu.stat",
            "usage_usec 9\nthrottled_usec 4\n",
        );
        let limits = found(&system);
        system.set(
            "/cg/a.slice/b.service/cpu.stat",
            "usage_usec 9\nthrottled_usec 8\n",
        );
        system.set("/cg/a.slice/cpu.stat", "usage_usec 9\nthrottled_usec 9\n");
        assert_eq!(limits.throttled_ns(&system), 4_000);
    }

    #[test]
    fn without_limits_nothing_is_read() {
        let system = FakeSystem::new();
        assert_eq!(found(&system).throttled_ns(&system), 0);
        system.set(MOUNTINFO_PATH, V2);
        system.set("/proc/7/cgroup", "0::/\n");
        let limits = found(&system);
        system.set("/cg/cpu.stat", "usage_usec 9\nthrottled_usec 4\n");
        assert_eq!(limits.throttled_ns(&system), 0);
    }
}
