use super::*;
use crate::FakeSystem;

const SWITCH: &str = "events/sched/sched_switch/id";

/// A system whose files show every facility.
fn files() -> FakeSystem {
    let system = FakeSystem::new();
    system.set("/sys/kernel/btf/vmlinux", "");
    system.set("/sys/bus/event_source/devices/kprobe/type", "6\n");
    system.set("/sys/bus/event_source/devices/uprobe/type", "7\n");
    system.set(format!("{}/{SWITCH}", TRACEFS[0]), "316\n");
    system
}

/// The missing facilities, as words.
fn words(system: &FakeSystem, trials: &FakeTrials) -> Vec<&'static str> {
    let lacks = lacking(Facility::ALL, system, trials);
    lacks.iter().map(|lack| lack.facility.as_str()).collect()
}

#[test]
fn nothing_is_missing_from_a_kernel_with_everything() {
    assert!(words(&files(), &FakeTrials::new()).is_empty());
    // Older distributions mount tracefs below debugfs.
    let system = files();
    system.remove(TRACEFS[0]);
    system.set(format!("{}/{SWITCH}", TRACEFS[1]), "316\n");
    assert!(words(&system, &FakeTrials::new()).is_empty());
}

#[test]
fn a_missing_file_affects_the_facilities_that_need_it() {
    let table: [(&str, &[&str]); 5] = [
        ("/sys/kernel/btf/vmlinux", &["btf", "fentry"]),
        ("/sys/bus/event_source/devices/kprobe/type", &["kprobe"]),
        ("/sys/bus/event_source/devices/uprobe/type", &["uprobe"]),
        (TRACEFS[0], &["tracefs", "tracepoint"]),
        ("/sys/kernel/tracing/events/sched", &["tracepoint"]),
    ];
    for (path, missed) in table {
        let system = files();
        system.remove(path);
        assert_eq!(words(&system, &FakeTrials::new()), missed, "{path}");
    }
}

#[test]
fn a_failed_trial_affects_the_facilities_that_need_it() {
    use ProgramType::{Kprobe, RawTracepoint, Tracepoint, Tracing};
    let every_program: &[&str] = &[
        "bpf",
        "tracepoint",
        "raw_tracepoint",
        "kprobe",
        "fentry",
        "uprobe",
        "bpf_probe_write_user",
    ];
    let kernel = FakeTrials::new;
    let table: [(FakeTrials, &[&str], &str); 12] = [
        (
            kernel().failing(Tracepoint, libc::EPERM),
            every_program,
            "bpf() is blocked",
        ),
        (
            kernel().failing(Tracepoint, libc::ENOSYS),
            every_program,
            "no bpf()",
        ),
        (kernel().without(Tracepoint), &["tracepoint"], "only these"),
        (
            kernel().without(RawTracepoint),
            &["raw_tracepoint"],
            "Linux before 4.17",
        ),
        (
            kernel().without(Kprobe),
            &["kprobe", "uprobe", "bpf_probe_write_user"],
            "no perf events",
        ),
        (
            kernel().closed(Event::Uprobe(7), libc::EPERM),
            &["uprobe"],
            "a sandbox that allows loading but not attaching",
        ),
        (
            kernel().protecting_processes(),
            &["bpf_probe_write_user"],
            "lockdown",
        ),
        (
            kernel().guarding_processes(libc::EPERM),
            &["bpf_probe_write_user"],
            "a sandbox that inspects programs",
        ),
        (
            kernel().failing(Tracing, libc::EPERM),
            &["fentry"],
            "a sandbox",
        ),
        (
            kernel().closed(Event::Tracepoint(316), libc::EACCES),
            &["tracepoint"],
            "no permission",
        ),
        (
            kernel().closed(Event::CpuClock, libc::EACCES),
            &["perf_event"],
            "paranoid",
        ),
        (
            kernel().closed(Event::Cycles, libc::ENOENT),
            &["hardware_counters"],
            "a virtual machine",
        ),
    ];
    for (trials, missed, why) in table {
        assert_eq!(words(&files(), &trials), missed, "{why}");
    }
}

#[test]
fn only_needed_facilities_are_tried_in_order() {
    let system = FakeSystem::new();
    let needs = [Facility::Kprobe, Facility::Bpf, Facility::Btf];
    let lacks = lacking(&needs, &system, &FakeTrials::new());
    let facilities: Vec<Facility> = lacks.iter().map(|lack| lack.facility).collect();
    assert_eq!(facilities, [Facility::Kprobe, Facility::Btf]);
    assert!(lacking(&[], &system, &FakeTrials::new()).is_empty());
}

#[test]
fn missing_facilities_are_reported_with_a_remedy() {
    use ProgramType::{Kprobe, Tracepoint, Tracing};
    let kernel = FakeTrials::new;
    let no_files = FakeSystem::new();
    let locked_down = files();
    locked_down.set(
        "/sys/kernel/security/lockdown",
        "none [integrity] confidentiality\n",
    );
    let not_locked_down = files();
    not_locked_down.set(
        "/sys/kernel/security/lockdown",
        "[none] integrity confidentiality\n",
    );
    let closed = files();
    closed.fail(format!("{}/events", TRACEFS[0]), libc::EACCES);
    let table: [(Facility, &FakeSystem, FakeTrials, &[&str]); 13] = [
        (
            Facility::Bpf,
            &files(),
            kernel().failing(Tracepoint, libc::EPERM),
            &["bpf: ", "may not be loaded", "CAP_BPF and CAP_PERFMON"],
        ),
        (
            Facility::Bpf,
            &files(),
            kernel().failing(Tracepoint, libc::ENOSYS),
            &["no bpf(2)", "CONFIG_BPF_SYSCALL"],
        ),
        (
            Facility::Kprobe,
            &no_files,
            kernel(),
            &["kprobe: ", "no kprobes", "CONFIG_KPROBE_EVENTS"],
        ),
        (
            Facility::Uprobe,
            &files(),
            kernel().without(Kprobe),
            &["of type kprobe", "CONFIG_BPF_EVENTS"],
        ),
        (
            Facility::Fentry,
            &files(),
            kernel().failing(Tracing, libc::EPERM),
            &["refuses", "of type tracing", "a host that allows"],
        ),
        (
            Facility::Fentry,
            &no_files,
            kernel(),
            &["/sys/kernel/btf/vmlinux", "CONFIG_DEBUG_INFO_BTF"],
        ),
        (
            Facility::Uprobe,
            &files(),
            kernel().closed(Event::Uprobe(7), libc::EACCES),
            &["may not be opened", "CAP_PERFMON"],
        ),
        (
            Facility::ProbeWriteUser,
            &locked_down,
            kernel().protecting_processes(),
            &[
                "bpf_probe_write_user: ",
                "locked down (integrity)",
                "Secure Boot",
            ],
        ),
        (
            Facility::ProbeWriteUser,
            &not_locked_down,
            kernel().guarding_processes(libc::EPERM),
            &["may not write to processes (", "CAP_SYS_ADMIN"],
        ),
        (
            Facility::Tracefs,
            &no_files,
            kernel(),
            &[
                "not mounted",
                "mount -t tracefs tracefs /sys/kernel/tracing",
            ],
        ),
        (
            Facility::Tracefs,
            &closed,
            kernel(),
            &["/sys/kernel/tracing: ", "run as root"],
        ),
        (
            Facility::HardwareCounters,
            &no_files,
            kernel().closed(Event::Cycles, libc::ENOENT),
            &["counters are not available", "virtual PMU"],
        ),
        (
            Facility::PerfEvent,
            &no_files,
            kernel().closed(Event::CpuClock, libc::ENOSYS),
            &["no perf_event_open(2)", "CONFIG_PERF_EVENTS"],
        ),
    ];
    for (facility, system, trials, expected) in table {
        let lacks = lacking(&[facility], system, &trials);
        let [lack] = &lacks[..] else {
            panic!("{facility:?}: {lacks:?}");
        };
        let told = lack.to_string();
        for words in expected {
            assert!(told.contains(words), "{told:?} has no {words:?}");
        }
    }
}
