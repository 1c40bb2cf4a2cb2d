//! Counters of the entire machine.

use std::path::{Path, PathBuf};

use windage_model::MachineDelta;

use crate::cgroup::MOUNTINFO_PATH;
use crate::error::ProbeError;
use crate::open_files::{BUFFER_BYTES, KeptFile, read_file};
use crate::parse::cgroup::{Hierarchy, Mount, mounts};
use crate::parse::machine;
use crate::system::System;

/// A root cgroup, which accounts the machine's busy time better than `/proc/stat`: that is sampled
/// at the tick, and in steps of 10 ms.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RootGroup {
    /// `cpuacct.usage` of the root cgroup of version 1: all tasks including kernel threads, in
    /// nanoseconds.
    V1,
    /// `cpu.stat` of the root cgroup of version 2. The kernel samples it at its tick, so it is
    /// accurate only over seconds.
    V2,
}

/// The machine's counters at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MachineSnapshot {
    /// Busy CPU of all cores since boot, in nanoseconds; `None` when unreadable.
    pub busy_ns: Option<u64>,
    /// Of it, time in interrupts, in nanoseconds. Zero where the counter of busy time has none of its
    /// own: there an interrupt counts for the task that it interrupts.
    pub interrupts_ns: u64,
    /// Time that the hypervisor took away since boot, in nanoseconds, in steps of 10 ms.
    pub steal_ns: u64,
    /// Time that some task waited for a core since boot, in nanoseconds; `None` where the kernel
    /// does not account pressure.
    pub cpu_pressure_ns: Option<u64>,
}

impl MachineSnapshot {
    /// The difference from an earlier snapshot. If a counter went backwards, as steal has done on
    /// some hypervisors, steal is zero, and busy time and pressure are unknown.
    #[must_use]
    pub fn delta(&self, earlier: &Self) -> MachineDelta {
        let known = |now: Option<u64>, then: Option<u64>| now?.checked_sub(then?);
        MachineDelta {
            busy_ns: known(self.busy_ns, earlier.busy_ns),
            steal_ns: self.steal_ns.saturating_sub(earlier.steal_ns),
            cpu_pressure_ns: known(self.cpu_pressure_ns, earlier.cpu_pressure_ns),
        }
    }
}

/// Reads the machine's counters, from files kept open.
#[derive(Debug)]
pub struct MachineProbe {
    stat: KeptFile,
    root_group: Option<(RootGroup, KeptFile)>,
    pressure: Option<KeptFile>,
    user_tick_ns: u64,
    buffer: Vec<u8>,
}

impl MachineProbe {
    /// Opens the files that exist.
    ///
    /// # Errors
    /// When `/proc/stat` can't be opened; any other file may be missing.
    pub fn new(system: &dyn System) -> Result<MachineProbe, ProbeError> {
        let root_group = root_usage(system)
            .and_then(|(source, path)| Some((source, KeptFile::open(system, path).ok()?)));
        Ok(MachineProbe {
            stat: KeptFile::open(system, PathBuf::from("/proc/stat"))?,
            root_group,
            pressure: KeptFile::open(system, PathBuf::from(PRESSURE_PATH)).ok(),
            user_tick_ns: 1_000_000_000 / system.user_ticks_per_s().max(1),
            buffer: vec![0; BUFFER_BYTES],
        })
    }

    /// How far a difference of two readings of busy time may be off, in nanoseconds: nothing where
    /// the kernel counts by task, and some ticks where it samples at its tick.
    #[must_use]
    pub fn busy_error_ns(&self) -> u64 {
        const TICKS: u64 = 3;
        match self.counts_by_task() {
            true => 0,
            false => TICKS * self.user_tick_ns,
        }
    }

    fn counts_by_task(&self) -> bool {
        matches!(self.root_group, Some((RootGroup::V1, _)))
    }

    /// Reads all counters.
    ///
    /// # Errors
    /// When `/proc/stat` can't be read; any other unreadable counter is `None`.
    pub fn snapshot(&mut self) -> Result<MachineSnapshot, ProbeError> {
        // The machine's line is the first; the lines of interrupts may not fit.
        let text = self.stat.read(&mut self.buffer)?;
        let stat =
            machine::stat(text).ok_or_else(|| self.stat.unknown_form("the line cpu", text))?;
        let busy_ns = match &self.root_group {
            Some((source, file)) => {
                let text = file.read(&mut self.buffer).ok();
                text.and_then(|text| group_usage_ns(*source, text))
            }
            None => stat.busy_ticks.checked_mul(self.user_tick_ns),
        };
        let interrupt_ticks = match self.counts_by_task() {
            true => 0,
            false => stat.interrupt_ticks,
        };
        // Kernels booted with psi=0 have the file and answer EOPNOTSUPP.
        let pressure = self
            .pressure
            .as_ref()
            .and_then(|file| file.read(&mut self.buffer).ok());
        Ok(MachineSnapshot {
            busy_ns,
            interrupts_ns: interrupt_ticks.saturating_mul(self.user_tick_ns),
            steal_ns: stat.steal_ticks.saturating_mul(self.user_tick_ns),
            cpu_pressure_ns: pressure
                .and_then(machine::pressure_total_us)
                .and_then(|us| us.checked_mul(1000)),
        })
    }
}

/// The file with the time that tasks waited for a core.
pub(crate) const PRESSURE_PATH: &str = "/proc/pressure/cpu";

/// Whether the kernel accounts pressure.
pub(crate) fn accounts_pressure(system: &dyn System) -> bool {
    let text = crate::open_files::read_file(system, Path::new(PRESSURE_PATH));
    text.is_ok_and(|text| machine::pressure_total_us(&text).is_some())
}

/// The file with the CPU time of the entire machine, if the root of a hierarchy is visible. In a
/// container the mount point may be a cgroup that only looks like the root; its files show the
/// difference.
fn root_usage(system: &dyn System) -> Option<(RootGroup, PathBuf)> {
    let mounts = mounts(&read_file(system, Path::new(MOUNTINFO_PATH)).ok()?);
    let whole = |mount: &&Mount| mount.root == Path::new("/");
    let has = |mount: &Mount, file: &str| system.open(&mount.point.join(file)).is_ok();
    let v1 = mounts
        .iter()
        .filter(whole)
        .find(|mount| mount.hierarchy.carries("cpuacct"));
    if let Some(mount) = v1.filter(|mount| has(mount, "cgroup.sane_behavior")) {
        return Some((RootGroup::V1, mount.point.join("cpuacct.usage")));
    }
    let v2 = mounts
        .iter()
        .filter(whole)
        .find(|mount| mount.hierarchy == Hierarchy::V2);
    let v2 = v2.filter(|mount| has(mount, "cpu.stat") && !has(mount, "cgroup.type"))?;
    Some((RootGroup::V2, v2.point.join("cpu.stat")))
}

fn group_usage_ns(source: RootGroup, text: &[u8]) -> Option<u64> {
    match source {
        RootGroup::V1 => machine::single(text),
        RootGroup::V2 => machine::cpu_stat_root_us(text)?.checked_mul(1000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::FakeSystem;

    const MOUNTS_V1: &str = "32 31 0:29 / /cg/cpuacct rw - cgroup cgroup rw,cpuacct\n";
    const MOUNTS_V2: &str = "32 31 0:29 / /cg rw - cgroup2 cgroup2 rw\n";

    fn fake() -> FakeSystem {
        let fake = FakeSystem::new();
        fake.set("/proc/stat", "cpu  100 10 20 500 5 3 2 7 0 0\n");
        fake
    }

    #[test]
    fn busy_time_comes_from_the_best_source() {
        let v1 = fake();
        v1.set("/proc/self/mountinfo", MOUNTS_V1);
        v1.set("/cg/cpuacct/cgroup.sane_behavior", "0\n");
        v1.set("/cg/cpuacct/cpuacct.usage", "123456789\n");
        let contained = fake();
        contained.set("/proc/self/mountinfo", MOUNTS_V1);
        contained.set("/cg/cpuacct/cpuacct.usage", "123456789\n");
        let v2 = fake();
        v2.set("/proc/self/mountinfo", MOUNTS_V2);
        v2.set("/cg/cgroup.controllers", "\n");
        v2.set("/cg/cpu.stat", "usage_usec 77\n");
        let with_steal = fake();
        with_steal.set("/proc/self/mountinfo", MOUNTS_V2);
        with_steal.set("/cg/cgroup.controllers", "\n");
        let parts = "usage_usec 99\nuser_usec 40\nsystem_usec 30\n";
        with_steal.set("/cg/cpu.stat", parts);
        let contained_v2 = fake();
        contained_v2.set("/proc/self/mountinfo", MOUNTS_V2);
        contained_v2.set("/cg/cgroup.controllers", "\n");
        contained_v2.set("/cg/cgroup.type", "domain\n");
        contained_v2.set("/cg/cpu.stat", "usage_usec 77\n");
        let ticks = 1_350_000_000;
        let table = [
            (v1, 123_456_789, "the root group"),
            (contained, ticks, "a container's group looks like a root"),
            (v2, 77_000, "microseconds"),
            (with_steal, 70_000, "steal is no use of CPU"),
            (
                contained_v2,
                ticks,
                "only a cgroup that is not the root has a type",
            ),
            (
                fake(),
                ticks,
                "no groups: user, nice, system and interrupts",
            ),
        ];
        for (system, busy_ns, why) in table {
            let mut probe = MachineProbe::new(&system).unwrap();
            assert_eq!(probe.snapshot().unwrap().busy_ns, Some(busy_ns), "{why}");
        }
    }

    #[test]
    fn pressure_may_be_missing_or_switched_off() {
        let system = fake();
        let without = MachineProbe::new(&system).unwrap().snapshot().unwrap();
        assert_eq!(without.cpu_pressure_ns, None);
        system.set(
            PRESSURE_PATH,
            "some avg10=0.00 avg60=0.00 avg300=0.00 total=12\n",
        );
        let mut probe = MachineProbe::new(&system).unwrap();
        assert_eq!(probe.snapshot().unwrap().cpu_pressure_ns, Some(12_000));
        assert!(accounts_pressure(&system));
        system.fail(PRESSURE_PATH, libc::EOPNOTSUPP);
        let off = probe.snapshot().unwrap();
        assert_eq!(
            off,
            MachineSnapshot {
                cpu_pressure_ns: None,
                ..off
            }
        );
        assert_eq!(off.steal_ns, 70_000_000);
        assert!(!accounts_pressure(&system));
    }

    #[test]
    fn a_stat_longer_than_the_buffer_is_read_in_part() {
        let system = FakeSystem::new();
        let interrupts = "0 ".repeat(40_000);
        system.set(
            "/proc/stat",
            format!("cpu  1 0 0 0 0 0 0 4 0 0\nintr {interrupts}\n"),
        );
        let mut probe = MachineProbe::new(&system).unwrap();
        for _ in 0..2 {
            assert_eq!(probe.snapshot().unwrap().steal_ns, 40_000_000);
        }
    }

    #[test]
    fn unreadable_files_are_named() {
        let missing = MachineProbe::new(&FakeSystem::new())
            .unwrap_err()
            .to_string();
        assert!(missing.starts_with("cannot open /proc/stat: "), "{missing}");
        let system = FakeSystem::new();
        system.set("/proc/stat", "nonsense\n");
        let form = MachineProbe::new(&system)
            .unwrap()
            .snapshot()
            .unwrap_err()
            .to_string();
        assert!(
            form.starts_with("/proc/stat holds \"nonsense\\n\" where"),
            "{form}"
        );
    }

    #[test]
    fn interrupts_are_told_apart_where_busy_time_has_them() {
        let v1 = fake();
        v1.set("/proc/self/mountinfo", MOUNTS_V1);
        v1.set("/cg/cpuacct/cgroup.sane_behavior", "0\n");
        v1.set("/cg/cpuacct/cpuacct.usage", "123456789\n");
        let table = [
            (v1, 0, 0, "tasks only, in nanoseconds"),
            (fake(), 50_000_000, 30_000_000, "sampled at the tick"),
        ];
        for (system, interrupts_ns, error_ns, why) in table {
            let mut probe = MachineProbe::new(&system).unwrap();
            let found = (
                probe.snapshot().unwrap().interrupts_ns,
                probe.busy_error_ns(),
            );
            assert_eq!(found, (interrupts_ns, error_ns), "{why}");
        }
    }

    #[test]
    fn a_delta_is_never_below_zero() {
        let then = MachineSnapshot {
            busy_ns: Some(10),
            interrupts_ns: 0,
            steal_ns: 50,
            cpu_pressure_ns: Some(5),
        };
        let now = MachineSnapshot {
            busy_ns: Some(30),
            interrupts_ns: 0,
            steal_ns: 40,
            cpu_pressure_ns: None,
        };
        let forward = MachineDelta {
            busy_ns: Some(20),
            steal_ns: 0,
            cpu_pressure_ns: None,
        };
        assert_eq!(now.delta(&then), forward);
        let backward = then.delta(&now);
        assert_eq!((backward.busy_ns, backward.steal_ns), (None, 10));
    }
}
