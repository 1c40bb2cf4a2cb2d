use super::*;
use crate::fake::FakeSystem;

const BORN: [(&str, &str); 2] = [("cgroup.procs", ""), ("cpuacct.usage", "0\n")];

fn hybrid() -> FakeSystem {
    let fake = FakeSystem::new();
    fake.set(
        MOUNTINFO_PATH,
        include_bytes!("../../tests/samples/mountinfo-hybrid.txt"),
    );
    fake.set(
        "/proc/self/cgroup",
        include_bytes!("../../tests/samples/cgroup-hybrid.txt"),
    );
    fake.set("/sys/fs/cgroup/unified/cgroup.controllers", "hugetlb\n");
    fake.born_with("/sys/fs/cgroup/cpuacct", &BORN);
    fake.born_with("/sys/fs/cgroup/memory/services/bench", &BORN[..1]);
    fake
}

fn v2_only() -> FakeSystem {
    let fake = FakeSystem::new();
    fake.set(
        MOUNTINFO_PATH,
        "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
    );
    fake.set("/proc/self/cgroup", "0::/user.slice/w.scope\n");
    fake.set("/sys/fs/cgroup/cgroup.controllers", "memory cpu\n");
    let born = [("cgroup.procs", ""), ("cpu.stat", "usage_usec 5\n")];
    fake.born_with("/sys/fs/cgroup/user.slice/w.scope", &born);
    fake
}

#[test]
fn an_arm_gets_a_directory_in_each_hierarchy_that_counts() {
    let fake = hybrid();
    let tree = CgroupTree::detect(&fake).unwrap();
    let mut group = tree.create("otel-1.0").unwrap();
    let cpuacct = Path::new("/sys/fs/cgroup/cpuacct/windage-4711-otel-1.0");
    let memory = Path::new("/sys/fs/cgroup/memory/services/bench/windage-4711-otel-1.0");
    assert_eq!(group.dirs, [cpuacct, memory]);
    assert_eq!(
        (group.cpuacct_dir.as_path(), group.memory_dir.as_deref()),
        (cpuacct, Some(memory))
    );
    fake.set(cpuacct.join("cgroup.procs"), "77\n");
    assert_eq!(group.processes().unwrap(), [77]);
    let busy = group.remove().unwrap_err().to_string();
    assert!(busy.contains("end the processes in it first"), "{busy}");
    fake.set(cpuacct.join("cgroup.procs"), "");
    group.remove().unwrap();
    group.remove().unwrap();
    assert!(!fake.has_dir(cpuacct) && !fake.has_dir(memory));
}

#[test]
fn version_2_needs_no_controller() {
    let fake = v2_only();
    let group = CgroupTree::detect(&fake).unwrap().create("off").unwrap();
    let dir = Path::new("/sys/fs/cgroup/user.slice/w.scope/windage-4711-off");
    assert_eq!(group.dirs, [dir]);
    assert_eq!(group.probe().unwrap().cpu_ns().unwrap(), 5000);
    drop(group);
    assert!(!fake.has_dir(dir), "dropping removes it");
}

/// A user in a session that root owns: version 1 and version 2 are mounted, and nothing is writable.
fn of_a_user() -> FakeSystem {
    let fake = FakeSystem::new();
    fake.set(
        MOUNTINFO_PATH,
        "40 31 0:37 / /cg/cpuacct rw - cgroup cgroup rw,cpuacct\n\
         41 31 0:38 / /cg/unified rw - cgroup2 cgroup2 rw\n",
    );
    fake.set("/proc/self/cgroup", "4:cpuacct:/\n0::/session.scope\n");
    fake.born_with("/cg/cpuacct", &BORN);
    let born = [("cgroup.procs", ""), ("cpu.stat", "usage_usec 5\n")];
    fake.born_with("/cg/unified/session.scope", &born);
    fake.born_with("/cg/unified/app/windage-4711.scope", &born);
    for dir in ["/cg/cpuacct", "/cg/unified/session.scope"] {
        fake.fail(dir, libc::EACCES);
    }
    fake
}

#[test]
fn the_first_place_that_is_writable_is_used() {
    let table: [(&[&str], &str); 4] = [
        (&["/cg/cpuacct", "/cg/unified/session.scope"], "/cg/cpuacct"),
        (&["/cg/cpuacct"], "/cg/cpuacct"),
        (&["/cg/unified/session.scope"], "/cg/unified/session.scope"),
        // The error is that of the best place.
        (&[], "/cg/cpuacct"),
    ];
    for (writable, expected) in table {
        let fake = of_a_user();
        for dir in ["/cg/cpuacct", "/cg/unified/session.scope"] {
            if writable.contains(&dir) {
                fake.set(Path::new(dir).join("cgroup.procs"), "4711\n");
                fake.mend(dir);
            }
        }
        let created = CgroupTree::detect(&fake).unwrap().create("off");
        let name = Path::new(expected).join("windage-4711-off");
        match created {
            Ok(group) => assert_eq!(group.cpuacct_dir, name, "{writable:?}"),
            Err(error) => {
                let text = error.to_string();
                assert!(writable.is_empty() && text.contains(expected), "{text}");
            }
        }
        let left = fake.list(Path::new(expected)).unwrap_or_default();
        let left = left.iter().filter(|entry| entry.is_dir).count();
        assert_eq!(left, 0, "the trial is removed");
    }
}

#[test]
fn a_user_s_systemd_gives_a_scope() {
    let moved = "4:cpuacct:/\n0::/app/windage-4711.scope\n";
    let of_scope = "/cg/unified/app/windage-4711.scope/windage-4711-off";
    let fake = of_a_user();
    fake.program("busctl", &[("/proc/self/cgroup", moved)]);
    let found = CgroupTree::detect_or_enter_scope(&fake, &[4711, 4712]);
    assert_eq!(found.scope.as_deref(), Some("windage-4711.scope"));
    let group = found.tree.unwrap().create("off").unwrap();
    assert_eq!(group.cpuacct_dir, Path::new(of_scope));
    assert_eq!(
        group.probe().unwrap().source(),
        windage_model::CpuSource::CgroupV2
    );
    let call = &fake.ran()[0];
    let words = "windage-4711.scope fail 2 Delegate b true PIDs au 2 4711 4712 0";
    assert!(
        call.starts_with("busctl --user ") && call.ends_with(words),
        "{call}"
    );

    let without = of_a_user();
    let unmoved = of_a_user();
    unmoved.program("busctl", &[]);
    let root = hybrid();
    root.program("busctl", &[("/proc/self/cgroup", moved)]);
    let table = [
        (without, 0, "there is no systemd"),
        (unmoved, 1, "it does not move the process"),
        (root, 0, "it is not asked where cgroups can be created"),
    ];
    for (system, asked, why) in table {
        let found = CgroupTree::detect_or_enter_scope(&system, &[4711]);
        assert_eq!((found.scope, system.ran().len()), (None, asked), "{why}");
        assert!(found.tree.is_some(), "{why}");
    }
}

#[test]
fn memory_is_left_out_if_it_refuses() {
    let fake = hybrid();
    fake.fail("/sys/fs/cgroup/memory/services/bench", libc::EROFS);
    let group = CgroupTree::detect(&fake).unwrap().create("off").unwrap();
    assert_eq!((group.dirs.len(), &group.memory_dir), (1, &None));
}

#[test]
fn errors_name_the_remedy() {
    let fake = v2_only();
    let tree = CgroupTree::detect(&fake).unwrap();
    for name in ["", "a/b", "..\n", "a b"] {
        assert!(
            matches!(tree.create(name), Err(CgroupError::Name { .. })),
            "{name:?}"
        );
    }
    let kept = tree.create("twice").unwrap();
    let twice = tree.create("twice").unwrap_err().to_string();
    assert!(twice.contains("remove it with rmdir"), "{twice}");
    drop(kept);
    let parent = "/sys/fs/cgroup/user.slice/w.scope";
    fake.fail(parent, libc::EACCES);
    let denied = tree.create("off").unwrap_err().to_string();
    assert!(denied.contains("Delegate=yes"), "{denied}");
    let bare = FakeSystem::new();
    bare.set(
        MOUNTINFO_PATH,
        "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
    );
    bare.set("/proc/self/cgroup", "0::/\n");
    bare.set("/sys/fs/cgroup/cgroup.procs", "");
    assert!(
        CgroupTree::detect(&bare).unwrap().create("off").is_err(),
        "no files of a group"
    );
    assert!(
        !bare.has_dir("/sys/fs/cgroup/windage-4711-off"),
        "and nothing left behind"
    );
}

#[test]
fn without_groups_there_is_no_tree() {
    let none = FakeSystem::new();
    none.set(MOUNTINFO_PATH, "27 1 254:0 / / rw - ext4 /dev/vda rw\n");
    none.set("/proc/self/cgroup", "");
    assert!(CgroupTree::detect(&none).is_none());
    assert!(CgroupTree::detect(&FakeSystem::new()).is_none());
}

#[test]
fn only_empty_groups_of_dead_windages_are_swept() {
    let fake = hybrid();
    let base = Path::new("/sys/fs/cgroup/cpuacct");
    fake.set("/proc/10/stat", "10 (windage) S 1");
    let table = [
        ("windage-10-off", "", true, "its windage is running"),
        ("windage-11-off", "", false, "its windage has ended"),
        ("windage-12-off", "99\n", true, "a process is left in it"),
        ("windage-x-off", "", true, "not created by windage"),
        ("other-11-off", "", true, "another program's"),
        ("windage-11", "", true, "not a name of windage's"),
    ];
    for (name, procs, _, _) in table {
        fake.set(base.join(name).join("cgroup.procs"), procs);
    }
    assert_eq!(CgroupTree::detect(&fake).unwrap().sweep_stale(), 1);
    for (name, _, stays, why) in table {
        assert_eq!(fake.has_dir(base.join(name)), stays, "{name}: {why}");
    }
}

#[test]
fn versions_and_controllers_are_found() {
    let none = FakeSystem::new();
    none.set(MOUNTINFO_PATH, "27 1 254:0 / / rw - ext4 /dev/vda rw\n");
    let systemd = FakeSystem::new();
    systemd.set(
        MOUNTINFO_PATH,
        "40 31 0:37 / /cg/systemd rw - cgroup cgroup rw,name=systemd\n\
         41 31 0:38 / /cg rw - cgroup2 cgroup2 rw\n",
    );
    let table: [(FakeSystem, CgroupVersion, &[&str]); 4] = [
        (
            hybrid(),
            CgroupVersion::Hybrid,
            &["cpu", "cpuacct", "cpuset", "hugetlb", "memory", "pids"],
        ),
        (v2_only(), CgroupVersion::V2, &["cpu", "memory"]),
        (systemd, CgroupVersion::V2, &[]),
        (none, CgroupVersion::None, &[]),
    ];
    for (system, version, controllers) in table {
        let (found, names) = available(&system).unwrap();
        assert_eq!(found, version);
        assert_eq!(names, controllers);
    }
    assert_eq!(available(&FakeSystem::new()), None);
}
