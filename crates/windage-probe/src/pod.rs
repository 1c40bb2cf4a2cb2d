//! The cgroup of a pod of Kubernetes, found by the pod's UID.
//!
//! The kubelet makes one for each pod, with those of its containers in it. Where, depends on its driver and
//! on the pod's class: `…/kubepods/burstable/podUID` (cgroupfs), or `…/kubepods-burstable-podUID.slice`
//! with underscores for the dashes of the UID (systemd); and all of it may be below another cgroup
//! (`--cgroup-root`). So it is looked for by its own name (`pkg/kubelet/cm` of Kubernetes).

use std::path::{Path, PathBuf};

use crate::arm::Accounting;
use crate::cgroup::MOUNTINFO_PATH;
use crate::open_files::read_file;
use crate::parse::cgroup::{Hierarchy, Mount, mounts};
use crate::system::System;

/// Pods lie no deeper below a hierarchy's root.
const DEPTH_MAX: usize = 6;
/// The most cgroups that are looked at, in case the tree grows meanwhile.
const LOOKED_AT_MAX: usize = 100_000;

/// How the CPU of a pod is counted, with all its containers; `None` if no mounted hierarchy has its cgroup.
///
/// Lists directories, so between windows only.
#[must_use]
pub fn pod_accounting(system: &dyn System, uid: &str) -> Option<Accounting> {
    let mounts = mounts(&read_file(system, Path::new(MOUNTINFO_PATH)).unwrap_or_default());
    let found = |is: &dyn Fn(&Hierarchy) -> bool| {
        let of_kind = mounts.iter().filter(|mount| is(&mount.hierarchy));
        // Of several mounts, a container's own shows nothing of other pods.
        of_kind
            .filter_map(|Mount { point, .. }| find(system, point, uid))
            .next()
    };
    let v1 = found(&|of| of.carries("cpuacct")).map(|cpuacct_dir| Accounting::CgroupV1 {
        memory_dir: found(&|of| of.carries("memory")),
        cpuacct_dir,
    });
    v1.or_else(|| found(&|of| *of == Hierarchy::V2).map(|dir| Accounting::CgroupV2 { dir }))
}

/// Looks level by level: pods lie near the root.
fn find(system: &dyn System, root: &Path, uid: &str) -> Option<PathBuf> {
    let by_cgroupfs = format!("pod{uid}");
    let by_systemd = format!("-pod{}.slice", uid.replace('-', "_"));
    let mut level = vec![root.to_owned()];
    let mut looked_at = 0;
    for _ in 0..DEPTH_MAX {
        let mut below = Vec::new();
        for dir in level {
            for entry in system.list(&dir).unwrap_or_default() {
                let Some(name) = entry.name.to_str().filter(|_| entry.is_dir) else {
                    continue;
                };
                let path = dir.join(name);
                if name == by_cgroupfs || name.ends_with(&by_systemd) {
                    return Some(path);
                }
                below.push(path);
                looked_at += 1;
                if looked_at > LOOKED_AT_MAX {
                    return None;
                }
            }
        }
        level = below;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FakeSystem;

    const UID: &str = "0f3b8c1e-7a52-4a0e-9a4e-5f0d1c2b3a49";

    fn mounted(system: &FakeSystem, lines: &[&str]) {
        let line = |(id, line): (usize, &&str)| format!("{} 1 0:{id} {line}\n", 30 + id);
        let text: String = lines.iter().enumerate().map(line).collect();
        system.set(MOUNTINFO_PATH, text);
    }

    /// Layouts as found on nodes: of the lab (cgroupfs, version 1), and as the kubelet's source has them.
    #[test]
    fn a_pod_is_found_under_both_drivers_in_every_class() {
        let v1 = [
            "/ /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct",
            "/ /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory",
        ];
        let v2 = ["/ /sys/fs/cgroup rw - cgroup2 cgroup2 rw"];
        let plain = format!("pod{UID}");
        let slice = UID.replace('-', "_");
        let table = [
            format!("windage-node1/kubepods/{plain}"),
            format!("kubepods/burstable/{plain}"),
            format!("kubepods/besteffort/{plain}"),
            format!("kubepods.slice/kubepods-pod{slice}.slice"),
            format!("kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{slice}.slice"),
            format!(
                "kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-besteffort.slice/kubelet-kubepods-besteffort-pod{slice}.slice"
            ),
        ];
        for place in table {
            let system = FakeSystem::new();
            mounted(&system, &v1);
            for root in ["/sys/fs/cgroup/cpu,cpuacct", "/sys/fs/cgroup/memory"] {
                system.set(format!("{root}/{place}/cgroup.procs"), "");
                system.set(format!("{root}/kubepods/podother/cgroup.procs"), "");
            }
            let expected = Accounting::CgroupV1 {
                cpuacct_dir: format!("/sys/fs/cgroup/cpu,cpuacct/{place}").into(),
                memory_dir: Some(format!("/sys/fs/cgroup/memory/{place}").into()),
            };
            assert_eq!(pod_accounting(&system, UID), Some(expected), "{place}");

            let system = FakeSystem::new();
            mounted(&system, &v2);
            system.set(format!("/sys/fs/cgroup/{place}/cgroup.procs"), "");
            let dir = format!("/sys/fs/cgroup/{place}").into();
            assert_eq!(
                pod_accounting(&system, UID),
                Some(Accounting::CgroupV2 { dir }),
                "{place}"
            );
        }
    }

    #[test]
    fn a_container_sees_pods_only_through_a_mount_of_the_nodes() {
        let own = "/kubepods/podme /sys/fs/cgroup rw - cgroup2 cgroup2 rw";
        let system = FakeSystem::new();
        mounted(&system, &[own]);
        system.set("/sys/fs/cgroup/cgroup.procs", "");
        assert_eq!(pod_accounting(&system, UID), None);
        mounted(&system, &[own, "/ /node/cgroup rw - cgroup2 cgroup2 rw"]);
        let dir = PathBuf::from(format!("/node/cgroup/kubepods/pod{UID}"));
        system.set(dir.join("cgroup.procs"), "");
        assert_eq!(
            pod_accounting(&system, UID),
            Some(Accounting::CgroupV2 { dir })
        );
    }
}
