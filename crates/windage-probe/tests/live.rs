//! The samplers on the real system. Deadlines are far beyond the expected times, so that a busy
//! machine makes the tests slow but not wrong.

#![allow(
    clippy::unwrap_used,
    reason = "clippy.toml allows it in tests, but not in their helper functions"
)]

#[path = "../../windage/tests/quick/skip.rs"]
mod skip;

use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use windage_model::CpuSource;
use windage_probe::cgroup::{ArmCgroup, CgroupTree};
use windage_probe::{ArmProbe, Linux, MachineProbe, Programs, ProgramsProbe, SelfProbe};

use crate::skip::skip;

const DEADLINE: Duration = Duration::from_secs(30);

/// A shell that ends with its test in any case; `timeout` is the second safeguard.
struct Shell(Child);

impl Shell {
    fn start(script: &str, prepare: impl FnOnce(&mut Command)) -> Shell {
        let mut command = Command::new("timeout");
        // In the foreground it creates no process group of its own, and ends with its child.
        command.args(["--foreground", "--signal=KILL", "60", "sh", "-c", script]);
        command.stdin(Stdio::null()).stdout(Stdio::null());
        prepare(&mut command);
        Shell(command.spawn().unwrap())
    }

    fn id(&self) -> u32 {
        self.0.id()
    }

    /// Kills the shell, which `timeout` follows, and reaps.
    fn end(&mut self, probe: &ArmProbe) {
        for process in probe
            .process_ids()
            .filter(|&process| process != self.0.id())
        {
            let pid = nix::unistd::Pid::from_raw(i32::try_from(process).unwrap());
            let _ = nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGKILL);
        }
        self.0.wait().unwrap();
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Repeats until `done` returns true.
fn eventually(what: &str, mut done: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !done() {
        assert!(
            begun.elapsed() < DEADLINE,
            "{what}: not within {DEADLINE:?}"
        );
        thread::sleep(Duration::from_millis(5));
    }
}

/// A busy shell uses CPU while it lives, and none after its end.
fn watch_a_busy_shell(probe: &mut ArmProbe, mut shell: Shell) {
    eventually("timeout and sh are both found", || {
        probe.refresh_tasks().unwrap() == 2
    });
    let start_ns = probe.cpu_ns().unwrap();
    eventually("50 ms of CPU are used", || {
        probe.cpu_ns().unwrap() >= start_ns + 50_000_000
    });
    assert!(probe.memory().unwrap().rss_bytes > 0);
    let activity = probe.activity().unwrap();
    assert!(
        activity.page_faults > 0 && activity.context_switches > 0,
        "{activity:?}"
    );
    assert!(probe.rss_peak_bytes().unwrap() > 0);
    let held = probe.held().unwrap();
    assert!(held.threads == 2 && held.descriptors >= Some(2), "{held:?}");
    shell.end(probe);
    let ended_ns = probe.cpu_ns().unwrap();
    assert!(ended_ns >= start_ns + 50_000_000);
    assert_eq!(probe.refresh_tasks().unwrap(), 0);
    thread::sleep(Duration::from_millis(20));
    assert_eq!(probe.cpu_ns().unwrap(), ended_ns);
    assert_eq!(probe.memory().unwrap().rss_bytes, 0);
    assert!(probe.activity().unwrap().page_faults >= activity.page_faults);
}

const BUSY: &str = "while :; do :; done";

#[test]
fn a_busy_process_is_seen_by_its_clock() {
    let shell = Shell::start(BUSY, |_| {});
    let mut probe = ArmProbe::processes(&[shell.id()]).unwrap();
    assert_eq!(probe.source(), CpuSource::ProcessClock);
    watch_a_busy_shell(&mut probe, shell);
}

/// In every hierarchy that counts CPU: version 2 also without any controller, beside version 1.
#[test]
fn a_busy_process_is_seen_by_its_group() {
    let name = "a_busy_process_is_seen_by_its_group";
    let trees = CgroupTree::all(&Linux);
    if trees.is_empty() {
        return skip(name, "no control groups are mounted");
    }
    let mut sources = Vec::new();
    for tree in &trees {
        match tree.create("live-test") {
            Ok(group) => sources.push(watch_a_group(group)),
            // A container may mount one version read-only.
            Err(error) => skip(name, &error.to_string()),
        }
    }
    let is_root = nix::unistd::Uid::effective().is_root();
    assert!(
        !sources.is_empty() || !is_root,
        "as root: no cgroup can be created"
    );
    // The best place comes first.
    let by_version = [CpuSource::CgroupV1, CpuSource::CgroupV2];
    let places = sources
        .iter()
        .map(|source| by_version.iter().position(|of| of == source));
    assert!(places.is_sorted(), "{sources:?}");
    let best = CgroupTree::detect(&Linux).unwrap().create("live-test");
    let best = best.ok().map(|group| group.probe().unwrap().source());
    assert_eq!(best, sources.first().copied());
}

/// A busy shell enters the group, is counted there, and leaves nothing; returns the source.
fn watch_a_group(mut group: ArmCgroup) -> CpuSource {
    let dirs = group.dirs.clone();
    let shell = Shell::start(BUSY, |command| group.enter_on_exec(command).unwrap());
    let mut probe = group.probe().unwrap();
    assert!(
        group.processes().unwrap().contains(&shell.id()),
        "it entered before it ran"
    );
    watch_a_busy_shell(&mut probe, shell);
    let peak = probe.cgroup_memory_peak_bytes().unwrap();
    assert!(
        group.memory_dir.is_none() || peak.is_some_and(|bytes| bytes > 0),
        "{peak:?}"
    );
    eventually("the emptied cgroup is removed", || group.remove().is_ok());
    assert!(dirs.iter().all(|dir| !dir.exists()));
    probe.source()
}

#[test]
fn a_busy_program_is_found_among_all() {
    let mut probe = ProgramsProbe::new(&Linux);
    let before = probe.look().unwrap();
    let mut shell = Shell::start(BUSY, |_| {});
    let mut of_shell = ArmProbe::processes(&[shell.id()]).unwrap();
    let of_shells = |found: &Programs, roots: &[u32]| -> u64 {
        let used = found.used_since(&before, roots);
        let shells = used
            .iter()
            .filter(|of| of.name == "sh" && !of.is_kernel_thread);
        shells.map(|of| of.cpu_ns).sum()
    };
    eventually("both of its processes are listed", || {
        of_shell.refresh_tasks().unwrap() == 2
    });
    let own_ns = |probe: &mut ArmProbe| probe.cpu_ns().unwrap();
    eventually("it has used 100 ms", || {
        own_ns(&mut of_shell) >= 100_000_000
    });
    // Other shells may run meanwhile.
    let found = probe.look().unwrap();
    let (with_ns, without_ns) = (of_shells(&found, &[]), of_shells(&found, &[shell.id()]));
    assert!(
        with_ns >= without_ns + 80_000_000,
        "{without_ns} of {with_ns}"
    );
    shell.end(&of_shell);
}

#[test]
fn own_memory_is_charged_where_it_is_shared() {
    let mut probe = ArmProbe::processes(&[std::process::id()]).unwrap();
    let rss = probe.memory().unwrap().rss_bytes;
    let peak = probe.rss_peak_bytes().unwrap();
    assert!(rss > 0 && peak > 0);
    match probe.pss_bytes() {
        // Shared libraries count in part only; other tests' threads may add pages meanwhile.
        Ok(pss) => assert!(pss > 0 && pss < peak + (64 << 20), "{pss} of {peak}"),
        Err(error) => skip(
            "own_memory_is_charged_where_it_is_shared",
            &error.to_string(),
        ),
    }
}

#[test]
fn the_machine_is_at_least_as_busy_as_this_test() {
    let mut machine = MachineProbe::new(&Linux).unwrap();
    let own = SelfProbe::new(&Linux).unwrap();
    let before = machine.snapshot().unwrap();
    let start_ns = own.cpu_ns().unwrap();
    eventually("the machine's busy time moves", || {
        while own.cpu_ns().unwrap() < start_ns + 100_000_000 {
            std::hint::spin_loop();
        }
        machine
            .snapshot()
            .unwrap()
            .delta(&before)
            .busy_ns
            .is_some_and(|busy_ns| busy_ns >= 50_000_000)
    });
}
