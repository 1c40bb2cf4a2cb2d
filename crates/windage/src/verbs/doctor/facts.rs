//! Facts about a machine: plain values, from which the rules draw conclusions.

use std::path::PathBuf;
use std::time::Duration;

use windage_keeper::Containment;
use windage_model::Facility;
use windage_probe::facility::Lack;
use windage_probe::host::HostFacts;

/// `CAP_SYS_ADMIN` of `capability(7)`.
const CAP_SYS_ADMIN: u32 = 21;
/// `CAP_PERFMON`, Linux 5.8.
const CAP_PERFMON: u32 = 38;

/// Everything that was seen.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    /// The operating system, as Rust names it.
    pub(super) os: &'static str,
    pub(super) host: HostFacts,
    /// Cores that this process may use.
    pub(super) cores_allowed: u64,
    pub(super) privileges: Privileges,
    /// The containment that a trial keeper got, or why it did not start.
    pub(super) containment: Result<Containment, String>,
    /// The directory of a control group that was created and removed as a trial, or why that
    /// failed.
    pub(super) arm_group: Result<PathBuf, String>,
    /// Stolen time since boot, as a share of the time of all cores.
    pub(super) steal_since_boot: Option<f64>,
    pub(super) sample: Result<Sample, String>,
    pub(super) timer: Lateness,
    pub(super) bpf: BpfFacilities,
    pub(super) programs: Vec<Program>,
    pub(super) disk: Result<Disk, String>,
    /// Why nothing could be sent over loopback.
    pub(super) loopback: Result<(), String>,
}

/// Privileges of this process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Privileges {
    /// The effective user is 0.
    pub(super) root: bool,
    /// The effective capabilities, one bit each.
    pub(super) capabilities: u64,
}

impl Privileges {
    /// Parses `/proc/PID/status`.
    pub(super) fn of_status(status: &str) -> Privileges {
        let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name));
        // The line has the real, effective, saved and file system user.
        let user = field("Uid:").and_then(|ids| ids.split_whitespace().nth(1));
        let capabilities =
            field("CapEff:").and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
        Privileges {
            root: user == Some("0"),
            capabilities: capabilities.unwrap_or(0),
        }
    }

    pub(super) fn may_count_events(self) -> bool {
        self.has(CAP_PERFMON) || self.has(CAP_SYS_ADMIN)
    }

    pub(super) fn may_administer(self) -> bool {
        self.has(CAP_SYS_ADMIN)
    }

    fn has(self, capability: u32) -> bool {
        self.capabilities >> capability & 1 == 1
    }
}

/// What the machine did while Windage slept.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Sample {
    pub(super) lasted: Duration,
    /// Average number of busy cores; `None` if unreadable.
    pub(super) busy_cores: Option<f64>,
    /// Stolen time, as a share of the time of all cores.
    pub(super) steal: f64,
}

/// How late a sleeper wakes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lateness {
    pub(super) p50: Duration,
    pub(super) p99: Duration,
}

impl Lateness {
    /// From at least one wake-up. With fewer than 100, the 99th percentile may be the maximum.
    pub(super) fn of(mut late: Vec<Duration>) -> Lateness {
        late.sort_unstable();
        let rank = |percent: usize| {
            let index = (late.len() * percent).div_ceil(100).saturating_sub(1);
            late.get(index).copied().unwrap_or_default()
        };
        Lateness {
            p50: rank(50),
            p99: rank(99),
        }
    }
}

/// What the kernel offers to eBPF agents.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct BpfFacilities {
    /// The facilities that are missing.
    pub(super) lacks: Vec<Lack>,
    /// `kernel.bpf_stats_enabled`; `None` if the kernel (before 5.1) has no such setting.
    pub(super) run_time_statistics: Option<bool>,
}

impl BpfFacilities {
    /// Why a facility is missing; `None` if it is there.
    pub(super) fn lack(&self, facility: Facility) -> Option<&Lack> {
        self.lacks.iter().find(|lack| lack.facility == facility)
    }
}

/// A program that experiments and tests use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Program {
    pub(super) kind: ProgramKind,
    pub(super) path: Option<PathBuf>,
}

macro_rules! programs {
    ($($variant:ident = $name:literal, $id:literal, $remedy:literal;)+) => {
        /// The programs that experiments and tests use.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum ProgramKind { $($variant,)+ }

        impl ProgramKind {
            pub(super) const ALL: &'static [ProgramKind] = &[$(ProgramKind::$variant,)+];

            /// The name in `PATH`.
            pub(super) fn name(self) -> &'static str {
                match self { $(ProgramKind::$variant => $name,)+ }
            }

            /// The check's id.
            pub(super) fn id(self) -> &'static str {
                match self { $(ProgramKind::$variant => $id,)+ }
            }

            /// How to get it on Debian.
            pub(super) fn remedy(self) -> &'static str {
                match self { $(ProgramKind::$variant => $remedy,)+ }
            }
        }
    };
}

programs! {
    Nginx = "nginx", "program_nginx", "apt-get install nginx-light";
    Go = "go", "program_go", "install Go 1.26 or later (Debian's own is older)";
    Python = "python3", "program_python3", "apt-get install python3";
}

/// The file system of the current directory, where runs go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Disk {
    pub(super) free_bytes: u64,
    pub(super) writable: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn privileges_are_those_of_the_effective_user() {
        let status = |uid: &str, mask: &str| format!("Name:\tx\nUid:\t{uid}\nCapEff:\t{mask}\n");
        let table = [
            (status("0\t0\t0\t0", "000001ffffffffff"), true, true, "root"),
            (
                status("1000\t0\t0\t0", "000001ffffffffff"),
                true,
                true,
                "set-uid",
            ),
            (
                status("0\t0\t0\t0", "00000000a80425fb"),
                true,
                false,
                "root of a container",
            ),
            (
                status("1000\t1000\t1000\t1000", "0000008000000000"),
                false,
                false,
                "CAP_BPF",
            ),
            (
                status("1000\t1000\t1000\t1000", "0000004000000000"),
                false,
                true,
                "CAP_PERFMON",
            ),
            (
                status("1000\t1000\t1000\t1000", "0"),
                false,
                false,
                "no privileges",
            ),
            (String::new(), false, false, "unreadable"),
        ];
        for (status, root, perf, who) in table {
            let privileges = Privileges::of_status(&status);
            let seen = (privileges.root, privileges.may_count_events());
            assert_eq!(seen, (root, perf), "{who}");
        }
    }

    #[test]
    fn lateness_is_a_percentile_of_wake_ups() {
        let us = Duration::from_micros;
        let table = [
            (vec![], us(0), us(0)),
            (vec![7], us(7), us(7)),
            ((1..=50).rev().collect(), us(25), us(50)),
            ((1..=100).collect(), us(50), us(99)),
        ];
        for (late, p50, p99) in table {
            let lateness = Lateness::of(late.iter().copied().map(us).collect());
            assert_eq!(lateness, Lateness { p50, p99 }, "{late:?}");
        }
    }
}
