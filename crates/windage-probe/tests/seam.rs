//! An arm read from a fake system: processes begin, end and change.

#![allow(
    clippy::unwrap_used,
    reason = "clippy.toml allows it in tests, but not in their helper functions"
)]

use windage_model::{Activity, CpuSource, Held};
use windage_probe::{Accounting, ArmProbe, Clock, FakeSystem, ProbeError};

const GROUP: &str = "/cg/arm";

/// A process at one moment.
#[derive(Clone, Copy)]
struct Process {
    id: u32,
    parent: u32,
    cpu_ns: u64,
    faults: u64,
    pages: u64,
    switches: u64,
}

impl Process {
    fn new(id: u32, parent: u32) -> Process {
        Process {
            id,
            parent,
            cpu_ns: 0,
            faults: 0,
            pages: 0,
            switches: 0,
        }
    }

    /// Writes its files, including those of one thread.
    fn shown(self, system: &FakeSystem) -> Process {
        let Process {
            id,
            parent,
            cpu_ns,
            faults,
            pages,
            switches,
        } = self;
        let dir = format!("/proc/{id}");
        let stat =
            format!("{id} (a) b) S {parent} 1 1 0 -1 0 {faults} 0 1 0 0 0 0 0 20 0 1 0 55 0 0\n");
        system.set(format!("{dir}/stat"), stat);
        system.set(format!("{dir}/statm"), format!("999 {pages} 1 1 0 1 0\n"));
        system.set(
            format!("{dir}/status"),
            format!("Name:\ta\nVmHWM:\t{} kB\nThreads:\t2\n", pages * 8),
        );
        system.set(
            format!("{dir}/smaps_rollup"),
            format!("0-1 [rollup]\nPss: {pages} kB\n"),
        );
        system.set(
            format!("{dir}/task/{id}/schedstat"),
            format!("1 1 {switches}\n"),
        );
        system.set_clock(Clock::Process(id), cpu_ns);
        self
    }

    fn leaves(self, system: &FakeSystem) {
        system.remove(format!("/proc/{}", self.id));
        system.remove_clock(Clock::Process(self.id));
    }
}

fn tree(system: &FakeSystem, roots: &[u32]) -> ArmProbe {
    ArmProbe::new(
        system,
        Accounting::Processes {
            roots: roots.to_owned(),
        },
    )
    .unwrap()
}

fn ids(probe: &ArmProbe) -> Vec<u32> {
    let mut ids: Vec<u32> = probe.process_ids().collect();
    ids.sort_unstable();
    ids
}

#[test]
fn a_tree_is_the_sum_of_its_processes() {
    let system = FakeSystem::new();
    Process {
        cpu_ns: 100,
        faults: 10,
        pages: 1,
        switches: 3,
        ..Process::new(10, 1)
    }
    .shown(&system);
    Process {
        cpu_ns: 20,
        faults: 5,
        pages: 2,
        switches: 4,
        ..Process::new(20, 10)
    }
    .shown(&system);
    Process {
        cpu_ns: 3,
        faults: 1,
        pages: 4,
        switches: 5,
        ..Process::new(30, 20)
    }
    .shown(&system);
    Process {
        cpu_ns: 9999,
        faults: 99,
        pages: 99,
        switches: 99,
        ..Process::new(40, 1)
    }
    .shown(&system);
    let mut probe = tree(&system, &[10]);
    assert_eq!(ids(&probe), [10, 20, 30]);
    assert_eq!(
        (probe.source(), probe.resolution_ns()),
        (CpuSource::ProcessClock, 1)
    );
    assert_eq!(probe.cpu_ns().unwrap(), 123);
    assert_eq!(probe.memory().unwrap().rss_bytes, 7 * 4096);
    // One major fault each.
    let expected = Activity {
        page_faults: 16 + 3,
        context_switches: 12,
    };
    assert_eq!(probe.activity().unwrap(), expected);
    assert_eq!(probe.rss_peak_bytes().unwrap(), 7 * 8 * 1024);
    assert_eq!(probe.pss_bytes().unwrap(), 7 * 1024);
    assert_eq!(probe.cgroup_memory_peak_bytes().unwrap(), None);
    let threads_alone = Held {
        threads: 6,
        descriptors: Some(0),
    };
    assert_eq!(probe.held().unwrap(), threads_alone);
    for path in ["/proc/10/fd/0", "/proc/10/fd/7", "/proc/30/fd/1"] {
        system.set(path, "");
    }
    assert_eq!(probe.held().unwrap().descriptors, Some(3));
}

#[test]
fn cpu_of_an_ended_process_counts_and_its_memory_does_not() {
    let system = FakeSystem::new();
    Process {
        cpu_ns: 100,
        faults: 9,
        pages: 1,
        switches: 1,
        ..Process::new(10, 1)
    }
    .shown(&system);
    let child = Process {
        cpu_ns: 20,
        faults: 9,
        pages: 2,
        switches: 2,
        ..Process::new(20, 10)
    }
    .shown(&system);
    let mut probe = tree(&system, &[10]);
    assert_eq!(probe.cpu_ns().unwrap(), 120);
    let before = probe.activity().unwrap();
    child.leaves(&system);
    for refreshed in [false, true] {
        if refreshed {
            assert_eq!(probe.refresh_tasks().unwrap(), 1);
        }
        assert_eq!(probe.cpu_ns().unwrap(), 120, "refreshed: {refreshed}");
        assert_eq!(probe.activity().unwrap(), before, "refreshed: {refreshed}");
        assert_eq!(
            probe.memory().unwrap().rss_bytes,
            4096,
            "refreshed: {refreshed}"
        );
        assert_eq!(
            probe.rss_peak_bytes().unwrap(),
            8 * 1024,
            "refreshed: {refreshed}"
        );
    }
}

#[test]
fn a_reused_id_is_another_process() {
    let system = FakeSystem::new();
    let root = Process {
        cpu_ns: 100,
        faults: 9,
        pages: 3,
        switches: 5,
        ..Process::new(10, 1)
    };
    let root = root.shown(&system);
    let mut probe = tree(&system, &[10]);
    assert_eq!(probe.cpu_ns().unwrap(), 100);
    let before = probe.activity().unwrap();
    root.leaves(&system);
    Process {
        cpu_ns: 7,
        faults: 700,
        pages: 700,
        switches: 700,
        ..Process::new(10, 1)
    }
    .shown(&system);
    assert_eq!(probe.cpu_ns().unwrap(), 100, "a clock that went back");
    system.set_clock(Clock::Process(10), 5000);
    assert_eq!(
        probe.cpu_ns().unwrap(),
        100,
        "a clock of another process is never read again"
    );
    assert_eq!(probe.activity().unwrap(), before);
    assert_eq!(probe.memory().unwrap().rss_bytes, 0);
    assert_eq!(probe.rss_peak_bytes().unwrap(), 0);
    assert_eq!(probe.refresh_tasks().unwrap(), 0);
    assert_eq!(probe.cpu_ns().unwrap(), 100);
}

#[test]
fn files_reveal_a_reused_id_whose_clock_is_ahead() {
    let system = FakeSystem::new();
    let root = Process {
        cpu_ns: 100,
        ..Process::new(10, 1)
    }
    .shown(&system);
    let mut probe = tree(&system, &[10]);
    assert_eq!(probe.cpu_ns().unwrap(), 100);
    root.leaves(&system);
    Process {
        cpu_ns: 5000,
        ..Process::new(10, 1)
    }
    .shown(&system);
    probe.memory().unwrap();
    assert_eq!(probe.cpu_ns().unwrap(), 100);
}

#[test]
fn newcomers_count_from_the_refresh_that_finds_them() {
    let system = FakeSystem::new();
    let root = Process {
        cpu_ns: 100,
        switches: 1,
        ..Process::new(10, 1)
    }
    .shown(&system);
    let mut probe = tree(&system, &[10]);
    let child = Process {
        cpu_ns: 20,
        switches: 5,
        ..Process::new(20, 10)
    }
    .shown(&system);
    system.set("/proc/10/task/11/schedstat", "1 1 70\n");
    assert_eq!(probe.cpu_ns().unwrap(), 100);
    assert_eq!(probe.activity().unwrap().context_switches, 1);
    let at_first = probe.process_changes();
    assert_eq!(probe.refresh_tasks().unwrap(), 2);
    let changes = |probe: &ArmProbe| {
        let of = probe.process_changes().since(at_first);
        (of.appeared, of.ended)
    };
    assert_eq!(changes(&probe), (1, 0));
    assert_eq!(probe.cpu_ns().unwrap(), 120);
    assert_eq!(probe.activity().unwrap().context_switches, 76);
    // A thread ends, then the root: the orphan still belongs to the arm.
    system.remove("/proc/10/task/11");
    assert_eq!(probe.refresh_tasks().unwrap(), 2);
    assert_eq!(probe.activity().unwrap().context_switches, 76);
    root.leaves(&system);
    Process { parent: 1, ..child }.shown(&system);
    assert_eq!(probe.refresh_tasks().unwrap(), 1);
    assert_eq!((ids(&probe), probe.cpu_ns().unwrap()), (vec![20], 120));
    assert_eq!(changes(&probe), (1, 1));
}

#[test]
fn a_clock_that_goes_back_is_not_an_end() {
    let system = FakeSystem::new();
    Process {
        cpu_ns: 100,
        pages: 1,
        ..Process::new(10, 1)
    }
    .shown(&system);
    let mut probe = tree(&system, &[10]);
    for (clock_ns, cpu_ns) in [(100, 100), (99, 100), (150, 150)] {
        system.set_clock(Clock::Process(10), clock_ns);
        assert_eq!(probe.cpu_ns().unwrap(), cpu_ns);
        assert_eq!(probe.memory().unwrap().rss_bytes, 4096);
    }
}

#[test]
fn activity_is_read_after_cpu_use_and_after_a_refresh() {
    let system = FakeSystem::new();
    let process = Process {
        cpu_ns: 100,
        faults: 4,
        switches: 7,
        ..Process::new(10, 1)
    };
    process.shown(&system);
    let mut probe = tree(&system, &[10]);
    assert_eq!(
        probe.activity().unwrap(),
        Activity {
            page_faults: 5,
            context_switches: 7
        }
    );
    Process {
        cpu_ns: 101,
        faults: 5,
        switches: 8,
        ..process
    }
    .shown(&system);
    assert_eq!(
        probe.activity().unwrap(),
        Activity {
            page_faults: 6,
            context_switches: 8
        }
    );
    // Nothing can have happened without CPU, so nothing is read …
    Process {
        cpu_ns: 101,
        faults: 9,
        switches: 9,
        ..process
    }
    .shown(&system);
    assert_eq!(
        probe.activity().unwrap(),
        Activity {
            page_faults: 6,
            context_switches: 8
        }
    );
    // … but after a refresh everything is read.
    probe.refresh_tasks().unwrap();
    assert_eq!(
        probe.activity().unwrap(),
        Activity {
            page_faults: 10,
            context_switches: 9
        }
    );
}

#[test]
fn a_process_waiting_to_be_reaped_does_not_run() {
    let system = FakeSystem::new();
    Process::new(10, 1).shown(&system);
    let mut probe = tree(&system, &[10]);
    let ended = "10 (a) Z 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 55 0 0\n";
    system.set("/proc/10/stat", ended);
    system.set_clock(Clock::Process(10), 40);
    assert_eq!(probe.refresh_tasks().unwrap(), 0);
    assert_eq!(
        probe.cpu_ns().unwrap(),
        40,
        "its clock exists until it is reaped"
    );
}

#[test]
fn threads_are_counted_by_status_where_schedstat_is_missing() {
    let system = FakeSystem::new();
    Process::new(10, 1).shown(&system);
    system.remove("/proc/10/task/10/schedstat");
    let status = "Name:\ta\nvoluntary_ctxt_switches:\t30\nnonvoluntary_ctxt_switches:\t4\n";
    system.set("/proc/10/task/10/status", status);
    assert_eq!(
        tree(&system, &[10]).activity().unwrap().context_switches,
        34
    );
}

#[test]
fn groups_count_in_nanoseconds() {
    let v1 = Accounting::CgroupV1 {
        cpuacct_dir: GROUP.into(),
        memory_dir: Some("/cg/memory".into()),
    };
    let v2 = Accounting::CgroupV2 { dir: GROUP.into() };
    let peaks = [
        ("/cg/memory/memory.max_usage_in_bytes", "9000\n"),
        ("/cg/arm/memory.peak", "9000\n"),
    ];
    let table = [
        (
            v1,
            "cpuacct.usage",
            "123456789\n",
            CpuSource::CgroupV1,
            1,
            123_456_789,
        ),
        (
            v2,
            "cpu.stat",
            "usage_usec 123\nuser_usec 1\n",
            CpuSource::CgroupV2,
            1000,
            123_000,
        ),
    ];
    for ((accounting, file, text, source, resolution_ns, cpu_ns), (peak, bytes)) in
        table.into_iter().zip(peaks)
    {
        let system = FakeSystem::new();
        system.set(format!("{GROUP}/{file}"), text);
        system.set(format!("{GROUP}/cgroup.procs"), "10\n");
        system.set(format!("{GROUP}/below/cgroup.procs"), "0\n30\n");
        Process {
            pages: 1,
            ..Process::new(10, 1)
        }
        .shown(&system);
        Process {
            pages: 2,
            ..Process::new(30, 1)
        }
        .shown(&system);
        let mut probe = ArmProbe::new(&system, accounting).unwrap();
        assert_eq!(
            (probe.source(), probe.resolution_ns()),
            (source, resolution_ns)
        );
        assert_eq!(probe.cpu_ns().unwrap(), cpu_ns);
        assert_eq!(
            (ids(&probe), probe.memory().unwrap().rss_bytes),
            (vec![10, 30], 3 * 4096)
        );
        assert_eq!(
            probe.cgroup_memory_peak_bytes().unwrap(),
            None,
            "no memory controller"
        );
        system.set(peak, bytes);
        assert_eq!(probe.cgroup_memory_peak_bytes().unwrap(), Some(9000));
        // Another program moved it to another cgroup: it no longer belongs to the arm.
        system.set(format!("{GROUP}/cgroup.procs"), "");
        assert_eq!(probe.refresh_tasks().unwrap(), 1);
        assert_eq!(ids(&probe), [30]);
    }
}

#[test]
fn a_subject_out_of_reach_says_so() {
    let mut probe = ArmProbe::none();
    assert_eq!(
        (probe.source(), probe.resolution_ns()),
        (CpuSource::None, 0)
    );
    assert_eq!(probe.refresh_tasks().unwrap(), 0);
    assert!(matches!(probe.cpu_ns(), Err(ProbeError::OutOfReach)));
    assert!(matches!(probe.memory(), Err(ProbeError::OutOfReach)));
    assert!(matches!(probe.activity(), Err(ProbeError::OutOfReach)));
    assert!(matches!(
        probe.rss_peak_bytes(),
        Err(ProbeError::OutOfReach)
    ));
    assert!(matches!(probe.pss_bytes(), Err(ProbeError::OutOfReach)));
    assert_eq!(probe.cgroup_memory_peak_bytes().unwrap(), None);
}

#[test]
fn errors_name_the_file_and_the_remedy() {
    let system = FakeSystem::new();
    Process::new(10, 1).shown(&system);
    let roots = |roots: &[u32]| Accounting::Processes {
        roots: roots.to_owned(),
    };
    let message = |accounting| ArmProbe::new(&system, accounting).unwrap_err().to_string();
    assert!(message(roots(&[77])).starts_with("there is no process 77"));
    assert!(
        message(Accounting::CgroupV2 {
            dir: "/absent".into()
        })
        .contains("/absent/cpu.stat")
    );

    let mut probe = tree(&system, &[10]);
    let table = [
        ("/proc/10/statm", libc::EACCES, "root"),
        ("/proc/10/stat", libc::EMFILE, "ulimit -n"),
    ];
    for (path, errno, remedy) in table {
        system.fail(path, errno);
        let error = match path.ends_with('m') {
            true => probe.memory().unwrap_err().to_string(),
            false => probe.activity().unwrap_err().to_string(),
        };
        assert!(error.contains(path) && error.contains(remedy), "{error}");
    }
    system.fail("/proc/10/smaps_rollup", libc::EACCES);
    assert!(
        probe
            .pss_bytes()
            .unwrap_err()
            .to_string()
            .contains("/proc/10/smaps_rollup")
    );
    system.set("/proc/10/statm", "nonsense\n");
    let form = probe.memory().unwrap_err().to_string();
    assert!(
        form.starts_with("/proc/10/statm holds \"nonsense\\n\""),
        "{form}"
    );
}

#[test]
fn the_probe_stays_usable_when_a_refresh_runs_out_of_descriptors() {
    let system = FakeSystem::new();
    Process {
        cpu_ns: 100,
        ..Process::new(10, 1)
    }
    .shown(&system);
    let mut probe = tree(&system, &[10]);
    Process {
        cpu_ns: 20,
        ..Process::new(20, 10)
    }
    .shown(&system);
    system.fail("/proc/20/statm", libc::EMFILE);
    assert!(
        probe
            .refresh_tasks()
            .unwrap_err()
            .to_string()
            .contains("ulimit -n")
    );
    assert_eq!(probe.cpu_ns().unwrap(), 100);
    Process {
        cpu_ns: 20,
        ..Process::new(20, 10)
    }
    .shown(&system);
    assert_eq!(
        (probe.refresh_tasks().unwrap(), probe.cpu_ns().unwrap()),
        (2, 120)
    );
}

#[test]
fn a_set_sleeps_when_none_of_its_threads_is_awake() {
    let system = FakeSystem::new();
    Process::new(10, 1).shown(&system);
    Process::new(20, 10).shown(&system);
    let mut probe = tree(&system, &[10]);
    let shows = |process: u32, thread: u32, state: char| {
        let stat = format!("{thread} (a) {state} 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 55 0 0\n");
        system.set(format!("/proc/{process}/task/{thread}/stat"), stat);
    };
    shows(10, 10, 'S');
    shows(20, 20, 'S');
    assert!(probe.sleeps().unwrap());
    // A thread that no refresh has listed yet.
    let table = [
        ('R', false, "runs"),
        ('D', false, "waits for a disk"),
        ('S', true, "sleeps"),
        ('T', true, "is stopped"),
        ('Z', true, "has ended"),
    ];
    for (state, sleeps, why) in table {
        shows(20, 21, state);
        assert_eq!(probe.sleeps().unwrap(), sleeps, "{why}");
    }
    shows(20, 21, 'R');
    system.remove("/proc/20");
    assert!(probe.sleeps().unwrap(), "its process has left");
    system.set("/proc/10/task/10/stat", "nonsense");
    let form = probe.sleeps().unwrap_err().to_string();
    assert!(form.starts_with("/proc/10/task/10/stat holds"), "{form}");
    assert!(matches!(
        ArmProbe::none().sleeps(),
        Err(ProbeError::OutOfReach)
    ));
}
