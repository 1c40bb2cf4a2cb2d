//! Access: privileges, containment, limits, addresses and programs.

use windage_keeper::Containment;
use windage_plan::FREE_DISK_BYTES_MIN;
use windage_probe::cgroup::CgroupVersion;

use crate::verbs::doctor::facts::{Program, Seen};
use crate::verbs::doctor::finding::{Finding, NeededFor, Standing};

/// Descriptors that a run needs in addition to its connections: counters, logs, its own sockets.
const FILES_BESIDES_CONNECTIONS: u64 = 200;
/// Enough for the default of 8 connections in several arms, but not for hundreds.
const FILES_AMPLE: u64 = 4096;
/// Enough for long runs and builds of subjects.
const DISK_AMPLE_BYTES: u64 = 1 << 30;

pub(super) fn privileges(seen: &Seen) -> Finding {
    let privileges = seen.privileges;
    let text = if privileges.root { "root" } else { "not root" };
    let finding = if privileges.may_administer() {
        let means = "services of any user can be measured, contained and put into control groups";
        Finding::new(
            "privileges",
            NeededFor::Precision,
            Standing::Ok,
            text,
            means,
        )
    } else {
        let text = format!("{text}, without CAP_SYS_ADMIN");
        let means = "the lines below say what that rules out; attached services of other users \
                     can't be read";
        Finding::new(
            "privileges",
            NeededFor::Precision,
            Standing::Limited,
            text,
            means,
        )
        .remedy("run as root (in a container: with --privileged)")
    };
    finding.with(
        "effective_user",
        if privileges.root { "root" } else { "other" },
    )
}

pub(super) fn containment(seen: &Seen) -> Finding {
    let new = |standing, text: String, means| {
        Finding::new("containment", NeededFor::Measuring, standing, text, means)
    };
    match &seen.containment {
        Err(error) => new(
            Standing::Missing,
            format!("the keeper did not start: {error}"),
            "no service can be started",
        )
        .remedy("fix what the message names; see `ulimit -u` and `ulimit -n`"),
        Ok(kind) => {
            let text = format!("services are contained by {}", words(*kind));
            let finding = match kind {
                Containment::PidNamespace => new(
                    Standing::Ok,
                    text,
                    "no process of a run can outlive Windage",
                ),
                Containment::Cgroup | Containment::Subreaper => new(
                    Standing::Limited,
                    text,
                    "all processes end with Windage, unless keeper and guardian are killed in the \
                     same instant",
                )
                .remedy("run as root for a pid namespace"),
            };
            finding.with("containment", kind.as_str())
        }
    }
}

fn words(kind: Containment) -> &'static str {
    match kind {
        Containment::PidNamespace => "a pid namespace",
        Containment::Cgroup => "a control group",
        Containment::Subreaper => "a subreaper",
    }
}

pub(super) fn cgroup(seen: &Seen) -> Finding {
    let version = seen.host.cgroup_version.unwrap_or(CgroupVersion::None);
    let finding = match &seen.arm_group {
        Ok(dir) => {
            let text = format!(
                "{}: arms get control groups in {}",
                version_words(version),
                dir.parent().unwrap_or(dir).display()
            );
            let means = "an arm's CPU is read from its control group, which counts exited children";
            Finding::new("cgroup", NeededFor::Precision, Standing::Ok, text, means)
        }
        Err(error) => {
            let text = format!(
                "{}: no control group for an arm: {error}",
                version_words(version)
            );
            let means = "CPU is read per process instead: exact for running processes, but the CPU \
                         of exited children is lost";
            Finding::new(
                "cgroup",
                NeededFor::Precision,
                Standing::Limited,
                text,
                means,
            )
            .remedy("run as root, or under `systemd-run --user --scope -p Delegate=yes`")
        }
    };
    finding.with("version", version.as_str())
}

fn version_words(version: CgroupVersion) -> &'static str {
    match version {
        CgroupVersion::V1 => "version 1",
        CgroupVersion::V2 => "version 2",
        CgroupVersion::Hybrid => "versions 1 and 2",
        CgroupVersion::None => "none mounted",
    }
}

pub(super) fn pressure(seen: &Seen) -> Finding {
    let needed_for = NeededFor::Ability("CPU pressure figures");
    if seen.host.psi {
        let means = "windows in which tasks waited for a core are recognized";
        return Finding::new("pressure", needed_for, Standing::Ok, "accounted", means);
    }
    let means = "windows in which tasks waited for a core are not recognized";
    Finding::new(
        "pressure",
        needed_for,
        Standing::Missing,
        "not accounted",
        means,
    )
    .remedy("boot with psi=1, on a kernel with CONFIG_PSI")
}

pub(super) fn open_files(seen: &Seen) -> Finding {
    let new = |standing, text: String, means| {
        Finding::new("open_files", NeededFor::Measuring, standing, text, means)
    };
    let Some(limit) = seen.host.open_files_limit else {
        return new(
            Standing::Limited,
            "limit unknown".to_owned(),
            "whether there are enough descriptors shows only when connections are opened",
        );
    };
    if limit == u64::MAX {
        return new(
            Standing::Ok,
            "no limit".to_owned(),
            "room for any number of connections",
        );
    }
    let room = limit.saturating_sub(FILES_BESIDES_CONNECTIONS);
    let text = format!("{limit}: enough for about {room} connections in all arms together");
    let remedy = "raise the limit: ulimit -n 65536";
    let finding = if room == 0 {
        new(Standing::Missing, text, "counters and logs alone need more").remedy(remedy)
    } else if limit < FILES_AMPLE {
        let means = "enough for the default of 8 per arm, but not for hundreds";
        new(Standing::Limited, text, means).remedy(remedy)
    } else {
        new(Standing::Ok, text, "ample")
    };
    // File limits are far below 2^53.
    finding.with("open_files_limit", limit as f64)
}

pub(super) fn loopback(seen: &Seen) -> Finding {
    match &seen.loopback {
        Ok(()) => Finding::new(
            "loopback",
            NeededFor::Measuring,
            Standing::Ok,
            "127.0.0.1 answers",
            "load reaches services on this machine",
        ),
        Err(error) => Finding::new(
            "loopback",
            NeededFor::Measuring,
            Standing::Missing,
            format!("127.0.0.1 doesn't answer: {error}"),
            "load can't reach services on this machine",
        )
        .remedy("ip link set lo up"),
    }
}

pub(super) fn disk(seen: &Seen) -> Finding {
    let new = |standing, text: String, means| {
        Finding::new("disk", NeededFor::Measuring, standing, text, means)
    };
    let disk = match seen.disk {
        Ok(disk) => disk,
        Err(ref error) => {
            let text = format!("the current directory can't be examined: {error}");
            return new(
                Standing::Limited,
                text,
                "whether there is room for runs shows only when they are written",
            );
        }
    };
    // Megabytes for people; rounding is fine.
    let free_mb = disk.free_bytes / 1_000_000;
    let text = match (disk.writable, free_mb) {
        (false, _) => "the current directory can't be written to".to_owned(),
        (true, 10_000..) => format!("{} GB free in the current directory", free_mb / 1000),
        (true, _) => format!("{free_mb} MB free in the current directory"),
    };
    let finding = if !disk.writable {
        new(
            Standing::Missing,
            text,
            "a run's directory can't be made here",
        )
        .remedy("change to a folder of your own, or name another one with --out")
    } else if disk.free_bytes < FREE_DISK_BYTES_MIN {
        new(
            Standing::Missing,
            text,
            "there is no room for the raw data of a run",
        )
        .remedy("free some space, or name another place with --out")
    } else if disk.free_bytes < DISK_AMPLE_BYTES {
        new(Standing::Limited, text, "enough for a few runs of minutes")
            .remedy("free some space, or name another place with --out")
    } else {
        new(Standing::Ok, text, "ample")
    };
    // Disks are smaller than 2^53 bytes, which is 9 PB.
    finding.with("free_bytes", disk.free_bytes as f64)
}

pub(super) fn program(program: &Program) -> Finding {
    let kind = program.kind;
    match &program.path {
        Some(path) => Finding::new(
            kind.id(),
            NeededFor::Experiments,
            Standing::Ok,
            path.display().to_string(),
            "experiments and tests that use it can run",
        ),
        None => Finding::new(
            kind.id(),
            NeededFor::Experiments,
            Standing::Missing,
            "not in PATH",
            "experiments and tests that use it can't run; your own plans don't need it",
        )
        .remedy(kind.remedy()),
    }
}
