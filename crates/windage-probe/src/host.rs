//! Facts about the machine of a run, for reports.

use std::io::Read;
use std::path::Path;

use flate2::read::GzDecoder;

use crate::cgroup::{self, CgroupVersion};
use crate::machine;
use crate::open_files::read_file;
use crate::parse::{host, machine as parse_machine};
use crate::system::System;

/// Facts that make figures of two machines comparable or not. Nothing here names the machine or its
/// owner.
///
/// Any fact may be missing: containers hide some, architectures lack others.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostFacts {
    /// The kernel's release.
    pub kernel: Option<String>,
    /// The distribution, in its own words.
    pub os_release: Option<String>,
    /// The model of the first core.
    pub cpu_model: Option<String>,
    /// Cores online.
    pub cpus_online: Option<u64>,
    /// The first core's clock when read, in MHz.
    pub cpu_mhz: Option<f64>,
    /// The frequency governor of each core, in the order of cores; empty where the kernel does not
    /// choose frequencies.
    pub cpu_governors: Vec<String>,
    /// Whether cores may run above their nominal clock.
    pub boost: Option<bool>,
    /// Whether two threads share a core.
    pub smt: Option<bool>,
    /// Whether a hypervisor runs this machine.
    pub virtualised: Option<bool>,
    /// Which hypervisor, where it gives its name.
    pub hypervisor: Option<String>,
    /// Total memory, in bytes.
    pub memory_total_bytes: Option<u64>,
    /// The mounted cgroup versions.
    pub cgroup_version: Option<CgroupVersion>,
    /// The controllers that can be used, of both versions.
    pub cgroup_controllers: Vec<String>,
    /// The scheduler's ticks per second: how often a busy task's counters are updated.
    pub tick_hz: Option<u64>,
    /// Whether interrupt time is accounted apart, so that it is no part of what tasks use.
    pub irq_time_accounting: Option<bool>,
    /// The source of the kernel's clocks.
    pub clocksource: Option<String>,
    /// Whether the kernel accounts pressure.
    pub psi: bool,
    /// `kernel.perf_event_paranoid`.
    pub perf_event_paranoid: Option<i64>,
    /// `kernel.unprivileged_bpf_disabled`.
    pub unprivileged_bpf_disabled: Option<i64>,
    /// `kernel.bpf_stats_enabled`: 1 where the kernel times every run of a BPF program.
    pub bpf_stats_enabled: Option<i64>,
    /// `kernel.randomize_va_space`.
    pub randomize_va_space: Option<i64>,
    /// How many files windage may have open; `u64::MAX` without a limit.
    pub open_files_limit: Option<u64>,
    /// The load average when read.
    pub load_average: Option<LoadAverage>,
}

/// Tasks that ran, or waited for a core or a disk, on average.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LoadAverage {
    /// Over the last minute.
    pub tasks_1min: f64,
    /// Over the last 5 minutes.
    pub tasks_5min: f64,
    /// Over the last 15 minutes.
    pub tasks_15min: f64,
}

impl HostFacts {
    /// Reads what exists; what is missing is `None`.
    #[must_use]
    pub fn read(system: &dyn System) -> HostFacts {
        let file = |path: &str| read_file(system, Path::new(path)).ok();
        let text = |path: &str| host::text(&file(path)?);
        let setting = |name: &str| host::setting(&file(&format!("/proc/sys/kernel/{name}"))?);
        let kernel = text("/proc/sys/kernel/osrelease");
        let cpu = host::cpu_info(&file("/proc/cpuinfo").unwrap_or_default());
        let hypervisor = text("/sys/hypervisor/type");
        let (cgroup_version, cgroup_controllers) = cgroup::available(system).unzip();
        let load = file("/proc/loadavg").and_then(|load| host::load_averages(&load));
        HostFacts {
            os_release: file("/etc/os-release")
                .or_else(|| file("/usr/lib/os-release"))
                .and_then(|release| host::pretty_name(&release)),
            cpu_model: cpu.model,
            cpus_online: file("/sys/devices/system/cpu/online")
                .and_then(|list| host::cpu_list_length(&list)),
            cpu_mhz: cpu.mhz,
            cpu_governors: cpu_governors(system),
            boost: boost(system),
            smt: file("/sys/devices/system/cpu/smt/active").and_then(|s| host::switch(&s)),
            virtualised: hypervisor.as_ref().map(|_| true).or(cpu.virtualised),
            hypervisor,
            memory_total_bytes: file("/proc/meminfo").and_then(|m| host::memory_total_bytes(&m)),
            cgroup_version,
            cgroup_controllers: cgroup_controllers.unwrap_or_default(),
            tick_hz: from_config(system, kernel.as_deref(), host::tick_hz),
            irq_time_accounting: irq_time_accounting(system, kernel.as_deref()),
            kernel,
            clocksource: text("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
            psi: machine::accounts_pressure(system),
            perf_event_paranoid: setting("perf_event_paranoid"),
            unprivileged_bpf_disabled: setting("unprivileged_bpf_disabled"),
            bpf_stats_enabled: setting("bpf_stats_enabled"),
            randomize_va_space: setting("randomize_va_space"),
            open_files_limit: file("/proc/self/limits").and_then(|l| host::open_files_limit(&l)),
            load_average: load.map(|[tasks_1min, tasks_5min, tasks_15min]| LoadAverage {
                tasks_1min,
                tasks_5min,
                tasks_15min,
            }),
        }
    }
}

const CPU_DIR: &str = "/sys/devices/system/cpu";

/// The largest accepted kernel configuration, unpacked; usual ones have about 300 KB.
const CONFIG_BYTES_MAX: u64 = 8 << 20;

fn cpu_governors(system: &dyn System) -> Vec<String> {
    let entries = system.list(Path::new(CPU_DIR)).unwrap_or_default();
    let name = |entry: &crate::Entry| entry.name.to_str()?.strip_prefix("cpu")?.parse().ok();
    let mut cores: Vec<u32> = entries.iter().filter_map(name).collect();
    cores.sort_unstable();
    let governor = |core: &u32| {
        let path = format!("{CPU_DIR}/cpu{core}/cpufreq/scaling_governor");
        host::text(&read_file(system, Path::new(&path)).ok()?)
    };
    cores.iter().filter_map(governor).collect()
}

/// Two drivers have two files: one says that boost is on, the other that it is off.
fn boost(system: &dyn System) -> Option<bool> {
    let switch =
        |file: &str| host::switch(&read_file(system, &Path::new(CPU_DIR).join(file)).ok()?);
    switch("intel_pstate/no_turbo")
        .map(|off| !off)
        .or_else(|| switch("cpufreq/boost"))
}

/// A fact from the kernel's configuration, wherever the distribution keeps it.
fn from_config<T>(
    system: &dyn System,
    kernel: Option<&str>,
    parse: fn(&[u8]) -> Option<T>,
) -> Option<T> {
    let packed = read_file(system, Path::new("/proc/config.gz")).ok();
    packed
        .and_then(|packed| parse(&unpacked(&packed)?))
        .or_else(|| {
            let kernel = kernel?;
            let places = [
                format!("/boot/config-{kernel}"),
                format!("/lib/modules/{kernel}/config"),
            ];
            places
                .iter()
                .find_map(|path| parse(&read_file(system, Path::new(path)).ok()?))
        })
}

/// The kernel's configuration decides. Without it, counted time in interrupts does: a tick that only
/// samples hardly ever falls into a hard interrupt, since it is one itself.
fn irq_time_accounting(system: &dyn System, kernel: Option<&str>) -> Option<bool> {
    /// Fewer ticks say nothing: a kernel that accounts interrupts counts as many within minutes.
    const TICKS_MIN: u64 = 100;
    const BUSY_TICKS_MIN: u64 = 100_000;
    let configured = from_config(system, kernel, host::irq_time_accounting);
    configured.or_else(|| {
        let text = read_file(system, Path::new("/proc/stat")).ok()?;
        let stat = parse_machine::stat(&text)?;
        match stat.hard_interrupt_ticks {
            0 if stat.busy_ticks >= BUSY_TICKS_MIN => Some(false),
            TICKS_MIN.. => Some(true),
            _ => None,
        }
    })
}

fn unpacked(packed: &[u8]) -> Option<Vec<u8>> {
    let mut plain = Vec::new();
    GzDecoder::new(packed)
        .take(CONFIG_BYTES_MAX)
        .read_to_end(&mut plain)
        .ok()?;
    Some(plain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use crate::fake::FakeSystem;
    use crate::linux::Linux;

    #[test]
    fn missing_facts_are_no_error() {
        assert_eq!(HostFacts::read(&FakeSystem::new()), HostFacts::default());
    }

    #[test]
    fn the_tick_is_found_in_each_distributions_file() {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder
            .write_all(b"CONFIG_HZ_250=y\nCONFIG_HZ=250\n")
            .unwrap();
        let packed = encoder.finish().unwrap();
        let places: [(&str, &[u8], Option<u64>); 5] = [
            ("/proc/config.gz", &packed, Some(250)),
            ("/proc/config.gz", b"not packed", None),
            ("/boot/config-6.18.1", b"CONFIG_HZ=1000\n", Some(1000)),
            ("/lib/modules/6.18.1/config", b"CONFIG_HZ=100\n", Some(100)),
            ("/boot/config-6.17.0", b"CONFIG_HZ=1000\n", None),
        ];
        for (path, content, expected) in places {
            let fake = FakeSystem::new();
            fake.set("/proc/sys/kernel/osrelease", "6.18.1\n");
            fake.set(path, content);
            assert_eq!(HostFacts::read(&fake).tick_hz, expected, "{path}");
        }
    }

    #[test]
    fn the_accounting_of_interrupts_is_configured_or_counted() {
        let yes = "CONFIG_HZ=250\nCONFIG_IRQ_TIME_ACCOUNTING=y\n";
        let no = "# CONFIG_IRQ_TIME_ACCOUNTING is not set\n";
        // user nice system idle iowait irq softirq steal
        let table: [(Option<&str>, &str, Option<bool>, &str); 6] = [
            (Some(yes), "cpu 0 0 0 0 0 0 0 0", Some(true), "configured"),
            (
                Some(no),
                "cpu 0 0 0 0 0 900 0 0",
                Some(false),
                "configured not to",
            ),
            (
                Some("CONFIG_HZ=250\n"),
                "cpu 0 0 0 0 0 900 9 0",
                Some(true),
                "no such option",
            ),
            (
                None,
                "cpu 90000 0 20000 5 0 0 900 0",
                Some(false),
                "softirqs are sampled in any case",
            ),
            (None, "cpu 900 0 200 5 0 0 0 0", None, "just booted"),
            (None, "cpu 90000 0 20000 5 0 3 0 0", None, "hardly ever"),
        ];
        for (config, stat, expected, why) in table {
            let fake = FakeSystem::new();
            fake.set("/proc/sys/kernel/osrelease", "6.18.1\n");
            if let Some(config) = config {
                fake.set("/boot/config-6.18.1", config);
            }
            fake.set("/proc/stat", format!("{stat}\n"));
            assert_eq!(
                HostFacts::read(&fake).irq_time_accounting,
                expected,
                "{why}"
            );
        }
    }

    #[test]
    fn governors_come_in_the_cores_order() {
        let fake = FakeSystem::new();
        for (core, governor) in [(10, "c"), (2, "b"), (0, "a")] {
            fake.set(
                format!("{CPU_DIR}/cpu{core}/cpufreq/scaling_governor"),
                format!("{governor}\n"),
            );
        }
        fake.set(format!("{CPU_DIR}/cpu1/online"), "1\n");
        fake.set(format!("{CPU_DIR}/cpufreq/boost"), "1\n");
        let facts = HostFacts::read(&fake);
        assert_eq!(facts.cpu_governors, ["a", "b", "c"]);
        assert_eq!(facts.boost, Some(true));
        fake.set(format!("{CPU_DIR}/intel_pstate/no_turbo"), "1\n");
        assert_eq!(
            HostFacts::read(&fake).boost,
            Some(false),
            "the driver in use decides"
        );
    }

    #[test]
    fn a_named_hypervisor_is_detected() {
        let fake = FakeSystem::new();
        fake.set("/sys/hypervisor/type", "xen\n");
        fake.set("/proc/cpuinfo", "flags\t\t: fpu sse\n");
        let facts = HostFacts::read(&fake);
        assert_eq!(
            (facts.virtualised, facts.hypervisor.as_deref()),
            (Some(true), Some("xen"))
        );
    }

    #[test]
    fn this_machine_has_the_facts_of_every_linux() {
        let facts = HostFacts::read(&Linux);
        assert!(
            facts.kernel.is_some() && facts.memory_total_bytes.is_some(),
            "{facts:?}"
        );
        assert!(facts.cpus_online.is_some_and(|cpus| cpus >= 1), "{facts:?}");
        assert!(
            facts.open_files_limit.is_some_and(|files| files >= 3),
            "{facts:?}"
        );
        assert!(
            facts.load_average.is_some() && facts.cgroup_version.is_some(),
            "{facts:?}"
        );
    }
}
