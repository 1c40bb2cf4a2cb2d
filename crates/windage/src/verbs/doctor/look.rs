//! Examines the machine; draws no conclusions.

use std::ffi::OsStr;
use std::io;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nix::unistd::{AccessFlags, access};
use windage_keeper::{Containment, Keeper, KeeperOptions};
use windage_model::Facility;
use windage_probe::cgroup::CgroupTree;
use windage_probe::facility::{Trials, lacking};
use windage_probe::host::HostFacts;
use windage_probe::{MachineProbe, System};

use super::facts::{BpfFacilities, Disk, Lateness, Privileges, Program, ProgramKind, Sample, Seen};

/// How long the machine is watched.
const SAMPLE: Duration = Duration::from_secs(1);
/// Number of sleeps whose lateness is measured.
const SLEEPS: usize = 50;
const SLEEP: Duration = Duration::from_millis(1);
/// A connection to the same machine takes microseconds.
const CONNECT_WITHIN: Duration = Duration::from_secs(1);

/// Examines everything, which takes about two seconds.
pub(super) fn look(system: &dyn System, trials: &dyn Trials) -> Seen {
    let cores_allowed = std::thread::available_parallelism().map_or(1, |n| n.get() as u64);
    // Tried before the machine is watched, so that their own work does not disturb.
    let containment = try_keeper();
    let arm_group = try_arm_group(system);
    let host = HostFacts::read(system);
    let cores = host.cpus_online.unwrap_or(cores_allowed);
    let (sample, steal_since_boot) = watch(system, cores);
    Seen {
        os: std::env::consts::OS,
        cores_allowed,
        privileges: Privileges::of_status(&text(system, "/proc/self/status").unwrap_or_default()),
        containment,
        arm_group,
        steal_since_boot,
        sample,
        timer: sleep_and_time(),
        bpf: bpf_facilities(system, trials),
        programs: programs(std::env::var_os("PATH").as_deref(), &is_program),
        disk: disk(Path::new(".")),
        loopback: try_loopback().map_err(|error| error.to_string()),
        host,
    }
}

/// Starts and ends a keeper exactly as a run does.
fn try_keeper() -> Result<Containment, String> {
    let keeper = Keeper::start(KeeperOptions {
        executable: PathBuf::from("/proc/self/exe"),
        containment: None,
        run_id: format!("doctor-{}", std::process::id()),
    })
    .map_err(|error| error.to_string())?;
    let containment = keeper.containment();
    keeper.shut_down().map_err(|error| error.to_string())?;
    Ok(containment)
}

fn try_arm_group(system: &dyn System) -> Result<PathBuf, String> {
    let tree = CgroupTree::detect(system)
        .ok_or("no control group hierarchy that accounts CPU is mounted")?;
    let mut group = tree.create("doctor").map_err(|error| error.to_string())?;
    let dir = group.cpuacct_dir.clone();
    group.remove().map_err(|error| error.to_string())?;
    Ok(dir)
}

/// The machine's activity while this process sleeps, and the steal up to then.
fn watch(system: &dyn System, cores: u64) -> (Result<Sample, String>, Option<f64>) {
    let mut probe = match MachineProbe::new(system) {
        Ok(probe) => probe,
        Err(error) => return (Err(error.to_string()), None),
    };
    let began = Instant::now();
    let before = match probe.snapshot() {
        Ok(snapshot) => snapshot,
        Err(error) => return (Err(error.to_string()), None),
    };
    let uptime_s = text(system, "/proc/uptime").and_then(|text| uptime_s(&text));
    // Core counts and times are far below 2^53, so the conversions lose nothing.
    let steal_since_boot = uptime_s.map(|s| before.steal_ns as f64 / 1e9 / (s * cores as f64));
    std::thread::sleep(SAMPLE);
    let after = match probe.snapshot() {
        Ok(snapshot) => snapshot,
        Err(error) => return (Err(error.to_string()), steal_since_boot),
    };
    let lasted = began.elapsed();
    let delta = after.delta(&before);
    let sample = Sample {
        lasted,
        busy_cores: delta
            .busy_ns
            .map(|ns| ns as f64 / 1e9 / lasted.as_secs_f64()),
        steal: delta.steal_ns as f64 / 1e9 / (lasted.as_secs_f64() * cores as f64),
    };
    (Ok(sample), steal_since_boot)
}

fn uptime_s(text: &str) -> Option<f64> {
    let seconds: f64 = text.split_whitespace().next()?.parse().ok()?;
    (seconds > 0.0).then_some(seconds)
}

fn sleep_and_time() -> Lateness {
    let late = (0..SLEEPS).map(|_| {
        let began = Instant::now();
        std::thread::sleep(SLEEP);
        began.elapsed().saturating_sub(SLEEP)
    });
    Lateness::of(late.collect())
}

fn bpf_facilities(system: &dyn System, trials: &dyn Trials) -> BpfFacilities {
    let statistics = text(system, "/proc/sys/kernel/bpf_stats_enabled");
    BpfFacilities {
        lacks: lacking(Facility::ALL, system, trials),
        run_time_statistics: statistics.map(|text| text.trim() != "0"),
    }
}

fn programs(path: Option<&OsStr>, is_program: &dyn Fn(&Path) -> bool) -> Vec<Program> {
    let dirs: Vec<PathBuf> = path
        .map(|path| std::env::split_paths(path).collect())
        .unwrap_or_default();
    let find = |name: &str| {
        dirs.iter()
            .map(|dir| dir.join(name))
            .find(|p| is_program(p))
    };
    ProgramKind::ALL
        .iter()
        .map(|&kind| Program {
            kind,
            path: find(kind.name()),
        })
        .collect()
}

fn is_program(path: &Path) -> bool {
    path.is_file() && access(path, AccessFlags::X_OK).is_ok()
}

fn disk(dir: &Path) -> Result<Disk, String> {
    Ok(Disk {
        free_bytes: windage_files::free_bytes(dir).map_err(|error| error.to_string())?,
        writable: access(dir, AccessFlags::W_OK).is_ok(),
    })
}

/// Connects this process to itself.
fn try_loopback() -> io::Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    TcpStream::connect_timeout(&listener.local_addr()?, CONNECT_WITHIN).map(drop)
}

/// The first bytes of a small file.
fn text(system: &dyn System, path: &str) -> Option<String> {
    const ROOM_BYTES: usize = 64 << 10;
    let file = system.open(Path::new(path)).ok()?;
    let mut buffer = vec![0; ROOM_BYTES];
    let mut length = 0;
    // Procfs returns its tables one page at a time.
    while length < ROOM_BYTES {
        match file.read_at(&mut buffer[length..], length as u64).ok()? {
            0 => break,
            more => length += more,
        }
    }
    buffer.truncate(length);
    Some(String::from_utf8_lossy(&buffer).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use windage_probe::FakeSystem;
    use windage_probe::facility::FakeTrials;

    #[test]
    fn facilities_are_read_through_the_system_trait() {
        let fake = FakeSystem::new();
        let look = || bpf_facilities(&fake, &FakeTrials::new());
        assert!(look().lack(Facility::Btf).is_some());
        assert!(look().lack(Facility::Bpf).is_none());
        assert_eq!(look().run_time_statistics, None);
        fake.set("/sys/kernel/btf/vmlinux", "");
        fake.set("/proc/sys/kernel/bpf_stats_enabled", "0\n");
        assert!(look().lack(Facility::Btf).is_none());
        assert_eq!(look().run_time_statistics, Some(false));
        fake.set("/proc/sys/kernel/bpf_stats_enabled", "1\n");
        assert_eq!(look().run_time_statistics, Some(true));
    }

    #[test]
    fn the_first_program_in_path_is_found() {
        let there = |path: &Path| path == Path::new("/b/go") || path == Path::new("/c/go");
        let found = programs(Some(OsStr::new("/a:/b:/c")), &there);
        let go = found.iter().find(|p| p.kind == ProgramKind::Go).unwrap();
        assert_eq!(go.path.as_deref(), Some(Path::new("/b/go")));
        assert_eq!(found.iter().filter(|p| p.path.is_some()).count(), 1);
        assert!(programs(None, &there).iter().all(|p| p.path.is_none()));
    }

    #[test]
    fn the_control_group_of_an_arm_is_made_and_removed() {
        let fake = FakeSystem::new();
        assert!(
            try_arm_group(&fake)
                .unwrap_err()
                .starts_with("no control group hierarchy")
        );
        fake.set(
            "/proc/self/mountinfo",
            "30 23 0:26 / /cg rw - cgroup2 cgroup2 rw\n",
        );
        fake.set("/proc/self/cgroup", "0::/w\n");
        fake.born_with("/cg/w", &[("cgroup.procs", "")]);
        let dir = try_arm_group(&fake).unwrap();
        assert!(
            dir.starts_with("/cg/w") && !fake.has_dir(&dir),
            "{}",
            dir.display()
        );
    }

    #[test]
    fn uptime_is_the_first_figure() {
        let table = [
            ("12.5 99.0\n", Some(12.5)),
            ("0.00 0\n", None),
            ("", None),
            ("x", None),
        ];
        for (text, seconds) in table {
            assert_eq!(uptime_s(text), seconds, "{text:?}");
        }
    }

    #[test]
    fn this_machine_can_be_examined() {
        assert!(disk(Path::new(".")).unwrap().free_bytes > 0);
        assert!(disk(Path::new("/no/such/folder")).is_err());
        assert!(try_loopback().is_ok());
    }
}
