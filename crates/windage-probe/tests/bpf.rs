//! BPF programs on the real kernel: they appear, run and vanish. Deadlines are far beyond the
//! expected times.

#![allow(
    clippy::unwrap_used,
    reason = "clippy.toml allows it in tests, but not in their helper functions"
)]

#[path = "../../windage/tests/quick/skip.rs"]
mod skip;

use std::fs;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use windage_probe::bpf::{Bpf, KernelBpf, Objects, Program};
use windage_probe::{KernelThreadsProbe, Linux, ProbeError};

use crate::skip::skip;

const DEADLINE: Duration = Duration::from_secs(30);

/// bpftrace names a program by its rate per second; no other program has this one.
const RATE: &str = "487";

/// A program on the clock of each core; it needs neither tracefs nor load.
fn bpftrace() -> Option<Child> {
    Command::new("timeout")
        .args(["--foreground", "--signal=INT", "60", "bpftrace", "-e"])
        .arg(format!("profile:hz:{RATE} {{ @ = count(); }}"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .ok()
}

/// Ends with its test: `timeout` passes the signal on and waits.
struct Agent(Child);

impl Agent {
    fn end(&mut self) {
        let pid = nix::unistd::Pid::from_raw(i32::try_from(self.0.id()).unwrap());
        let _ = nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM);
        self.0.wait().unwrap();
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        if matches!(self.0.try_wait(), Ok(None)) {
            self.end();
        }
    }
}

/// The program of this test's own agent; others may come and go meanwhile.
fn own(objects: &Objects) -> Option<&Program> {
    objects
        .programs
        .iter()
        .find(|program| program.name == RATE && program.kind == "perf_event")
}

fn eventually<T>(what: &str, mut done: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(value) = done() {
            return value;
        }
        assert!(
            begun.elapsed() < DEADLINE,
            "{what}: not within {DEADLINE:?}"
        );
        thread::sleep(Duration::from_millis(5));
    }
}

fn setting() -> String {
    fs::read_to_string("/proc/sys/kernel/bpf_stats_enabled").unwrap()
}

#[test]
fn an_agents_program_appears_runs_and_vanishes() {
    let before = match KernelBpf.objects() {
        Ok(objects) => objects,
        Err(error @ (ProbeError::BpfNotPermitted { .. } | ProbeError::NoBpf)) => {
            return skip(
                "an_agents_program_appears_runs_and_vanishes",
                &error.to_string(),
            );
        }
        Err(error) => panic!("{error}"),
    };
    let Some(child) = bpftrace() else {
        return skip(
            "an_agents_program_appears_runs_and_vanishes",
            "bpftrace is not installed",
        );
    };
    let mut agent = Agent(child);
    let new = || KernelBpf.objects().unwrap().since(&before);
    let program = eventually("the program appears", || {
        let ended = agent.0.try_wait().unwrap();
        assert!(ended.is_none(), "bpftrace ended: {ended:?}");
        own(&new()).cloned()
    });
    assert!(program.memory_bytes > 0, "{program:?}");
    let expected = format!("program {} ({RATE}, perf_event)", program.id);
    assert_eq!(program.describe(), expected);
    // bpftrace counts in a map of its own.
    eventually("its map is listed", || {
        let maps = new().maps;
        maps.iter()
            .any(|map| map.name.starts_with("AT_") && map.memory_bytes > 0)
            .then_some(())
    });

    let set = setting();
    let statistics = KernelBpf.enable_statistics().unwrap();
    eventually("its runs are counted and timed", || {
        own(&new()).filter(|now| now.runs > program.runs && now.run_ns > program.run_ns)?;
        Some(())
    });
    assert_eq!(setting(), set, "while statistics are on");
    drop(statistics);
    assert_eq!(setting(), set, "after it");

    agent.end();
    eventually("the program vanishes", || {
        own(&new()).is_none().then_some(())
    });
}

#[test]
fn the_kernels_threads_use_cpu_and_it_is_never_less() {
    let mut probe = match KernelThreadsProbe::new(&Linux) {
        Ok(probe) => probe,
        Err(error @ ProbeError::NoKernelThreads) => {
            return skip(
                "the_kernels_threads_use_cpu_and_it_is_never_less",
                &error.to_string(),
            );
        }
        Err(error) => panic!("{error}"),
    };
    let start_ns = probe.cpu_ns().unwrap();
    assert!(start_ns > 0);
    let mut last_ns = start_ns;
    eventually("a kernel thread runs", || {
        probe.refresh().unwrap();
        let now_ns = probe.cpu_ns().unwrap();
        assert!(now_ns >= last_ns, "{now_ns} after {last_ns}");
        last_ns = now_ns;
        (now_ns > start_ns).then_some(())
    });
}
