use std::path::PathBuf;
use std::time::Duration;

use windage_keeper::Containment;
use windage_model::Facility;
use windage_probe::FakeSystem;
use windage_probe::cgroup::CgroupVersion;
use windage_probe::facility::{Event, FakeTrials, Lack, ProgramType, lacking};
use windage_probe::host::{HostFacts, LoadAverage};

use super::*;
use crate::verbs::doctor::facts::{
    BpfFacilities, Disk, Lateness, Privileges, Program, ProgramKind, Sample,
};
use crate::verbs::doctor::finding::{Diagnosis, Standing};
use crate::verbs::doctor::render;

// Error numbers of errno(3).
const EPERM: i32 = 1;
const ENOENT: i32 = 2;
const EACCES: i32 = 13;

const ALL_CAPABILITIES: u64 = 0x1ff_ffff_ffff;

/// A machine without any problem.
fn good() -> Seen {
    Seen {
        os: "linux",
        host: HostFacts {
            kernel: Some("6.12.1".into()),
            os_release: Some("Debian GNU/Linux 13".into()),
            cpu_model: Some("Example CPU @ 3.00GHz".into()),
            cpus_online: Some(8),
            cpu_governors: vec!["performance".into(); 8],
            boost: Some(false),
            cgroup_version: Some(CgroupVersion::V2),
            tick_hz: Some(250),
            clocksource: Some("tsc".into()),
            psi: true,
            perf_event_paranoid: Some(2),
            unprivileged_bpf_disabled: Some(2),
            randomize_va_space: Some(2),
            open_files_limit: Some(65_536),
            load_average: Some(LoadAverage {
                tasks_1min: 0.25,
                tasks_5min: 0.2,
                tasks_15min: 0.1,
            }),
            ..HostFacts::default()
        },
        cores_allowed: 8,
        privileges: Privileges {
            root: true,
            capabilities: ALL_CAPABILITIES,
        },
        containment: Ok(Containment::PidNamespace),
        arm_group: Ok(PathBuf::from("/sys/fs/cgroup/windage-1-doctor")),
        steal_since_boot: Some(0.0001),
        sample: Ok(Sample {
            lasted: Duration::from_secs(1),
            busy_cores: Some(0.1),
            steal: 0.0,
        }),
        timer: Lateness {
            p50: Duration::from_micros(58),
            p99: Duration::from_micros(130),
        },
        bpf: BpfFacilities {
            lacks: Vec::new(),
            run_time_statistics: Some(false),
        },
        programs: ProgramKind::ALL
            .iter()
            .map(|&kind| Program {
                kind,
                path: Some(PathBuf::from("/usr/bin").join(kind.name())),
            })
            .collect(),
        disk: Ok(Disk {
            free_bytes: 50_000_000_000,
            writable: true,
        }),
        loopback: Ok(()),
    }
}

/// A container on a busy virtual machine, run by a user without privileges.
fn poor() -> Seen {
    let mut seen = good();
    let host = &mut seen.host;
    host.cpus_online = Some(2);
    host.cpu_governors = Vec::new();
    host.boost = None;
    host.tick_hz = None;
    host.clocksource = Some("xen".into());
    host.psi = false;
    host.open_files_limit = Some(1024);
    host.randomize_va_space = Some(0);
    seen.cores_allowed = 1;
    seen.privileges = Privileges::default();
    seen.containment = Ok(Containment::Subreaper);
    seen.arm_group = Err("cannot create /sys/fs/cgroup/windage-1-doctor: Permission denied".into());
    seen.steal_since_boot = Some(0.034);
    seen.sample = Ok(Sample {
        lasted: Duration::from_millis(1004),
        busy_cores: Some(1.5),
        steal: 0.02,
    });
    seen.timer.p99 = Duration::from_millis(4);
    let trials = FakeTrials::new()
        .failing(ProgramType::Tracepoint, EPERM)
        .closed(Event::CpuClock, EACCES)
        .closed(Event::Cycles, ENOENT);
    seen.bpf.lacks = lacking(Facility::ALL, &FakeSystem::new(), &trials);
    seen.programs
        .iter_mut()
        .for_each(|program| program.path = None);
    seen.disk = Ok(Disk {
        free_bytes: 600_000_000,
        writable: true,
    });
    seen
}

#[test]
fn a_good_machine_lacks_nothing() {
    for finding in findings(&good()) {
        assert_eq!(finding.standing, Standing::Ok, "{finding:?}");
    }
    insta::assert_snapshot!(render::text(&Diagnosis::of(findings(&good())), false));
}

#[test]
fn a_poor_machine_is_told_what_to_do() {
    insta::assert_snapshot!(render::text(&Diagnosis::of(findings(&poor())), false));
}

#[test]
fn lines_fit_and_colours_change_nothing_but_colours() {
    for seen in [good(), poor()] {
        let diagnosis = Diagnosis::of(findings(&seen));
        let plain = render::text(&diagnosis, false);
        for line in plain.lines() {
            assert!(line.chars().count() <= 80, "{line}");
        }
        let coloured = render::text(&diagnosis, true);
        assert_ne!(coloured, plain);
        assert_eq!(anstream::adapter::strip_str(&coloured).to_string(), plain);
    }
}

#[test]
fn every_finding_is_complete() {
    for (seen, machine) in [(good(), "good"), (poor(), "poor")] {
        let findings = findings(&seen);
        let mut ids: Vec<&str> = findings.iter().map(|finding| finding.id).collect();
        for finding in &findings {
            assert!(
                !finding.seen.is_empty() && !finding.means.is_empty(),
                "{finding:?}"
            );
            let well = finding.standing == Standing::Ok;
            assert_eq!(finding.remedy.is_none(), well, "{machine}: {finding:?}");
        }
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), findings.len(), "an id is used twice");
    }
}

#[test]
fn each_rule_concludes_from_its_own_facts() {
    use Standing::{Limited, Missing, Ok as Fine};
    type Change = fn(&mut Seen);
    let table: &[(&str, Standing, Change)] = &[
        ("linux", Missing, |s| s.os = "freebsd"),
        ("cores", Limited, |s| s.cores_allowed = 1),
        ("cores", Fine, |s| s.cores_allowed = 2),
        ("load", Limited, |s| s.sample = Err("no /proc".into())),
        ("load", Limited, |s| busy(s, Some(1.3))),
        ("load", Fine, |s| busy(s, Some(1.1))),
        ("load", Limited, |s| busy(s, None)),
        ("steal", Limited, |s| s.steal_since_boot = Some(0.02)),
        ("steal", Fine, |s| s.steal_since_boot = None),
        ("timer", Limited, |s| {
            s.timer.p99 = Duration::from_micros(1001)
        }),
        ("tick", Limited, |s| s.host.tick_hz = None),
        ("tick", Fine, |s| s.host.tick_hz = Some(1000)),
        ("clocksource", Limited, |s| {
            s.host.clocksource = Some("hpet".into())
        }),
        ("clocksource", Limited, |s| s.host.clocksource = None),
        ("frequency", Limited, |s| s.host.boost = Some(true)),
        ("frequency", Limited, |s| {
            s.host.cpu_governors[3] = "powersave".into()
        }),
        ("frequency", Fine, |s| s.host.cpu_governors.clear()),
        ("aslr", Limited, |s| s.host.randomize_va_space = Some(1)),
        ("aslr", Limited, |s| s.host.randomize_va_space = None),
        ("privileges", Limited, |s| s.privileges.capabilities = 0),
        ("containment", Limited, |s| {
            s.containment = Ok(Containment::Cgroup)
        }),
        ("containment", Missing, |s| {
            s.containment = Err("no fork".into())
        }),
        ("cgroup", Limited, |s| s.arm_group = Err("denied".into())),
        ("pressure", Missing, |s| s.host.psi = false),
        ("open_files", Missing, |s| {
            s.host.open_files_limit = Some(200)
        }),
        ("open_files", Limited, |s| {
            s.host.open_files_limit = Some(1024)
        }),
        ("open_files", Fine, |s| {
            s.host.open_files_limit = Some(u64::MAX)
        }),
        ("open_files", Limited, |s| s.host.open_files_limit = None),
        ("loopback", Missing, |s| {
            s.loopback = Err("unreachable".into())
        }),
        ("disk", Missing, |s| free(s, 10 << 20, true)),
        ("disk", Limited, |s| free(s, 300 << 20, true)),
        ("disk", Missing, |s| free(s, 100 << 30, false)),
        ("disk", Limited, |s| {
            s.disk = Err("no such directory".into())
        }),
        ("bpf", Missing, |s| without(s, Facility::Bpf)),
        ("bpf", Fine, |s| s.host.unprivileged_bpf_disabled = None),
        ("kprobes", Missing, |s| without(s, Facility::Kprobe)),
        ("fentry", Missing, |s| without(s, Facility::Fentry)),
        ("uprobes", Missing, |s| without(s, Facility::Uprobe)),
        ("bpf_write_user", Missing, |s| {
            without(s, Facility::ProbeWriteUser)
        }),
        ("tracefs", Limited, |s| without(s, Facility::Tracefs)),
        ("tracepoints", Missing, |s| without(s, Facility::Tracepoint)),
        ("raw_tracepoints", Missing, |s| {
            without(s, Facility::RawTracepoint)
        }),
        ("btf", Limited, |s| without(s, Facility::Btf)),
        ("bpf_run_time", Limited, |s| {
            s.bpf.run_time_statistics = Some(true)
        }),
        ("bpf_run_time", Missing, |s| {
            s.bpf.run_time_statistics = None
        }),
        ("bpf_run_time", Missing, |s| s.privileges.capabilities = 0),
        ("perf_events", Missing, |s| without(s, Facility::PerfEvent)),
        ("perf_events", Limited, |s| s.privileges.capabilities = 0),
        ("perf_events", Fine, |s| {
            s.privileges.capabilities = 0;
            s.host.perf_event_paranoid = Some(0);
        }),
        ("hardware_counters", Missing, |s| {
            without(s, Facility::HardwareCounters)
        }),
        ("program_python3", Missing, |s| s.programs[2].path = None),
    ];
    for (id, standing, change) in table {
        let mut seen = good();
        change(&mut seen);
        let findings = findings(&seen);
        let finding = findings.iter().find(|finding| finding.id == *id).unwrap();
        assert_eq!(finding.standing, *standing, "{finding:?}");
    }
}

fn without(seen: &mut Seen, facility: Facility) {
    seen.bpf.lacks.push(Lack {
        facility,
        why: "it is not here".into(),
        remedy: "get it".into(),
    });
}

fn busy(seen: &mut Seen, busy_cores: Option<f64>) {
    if let Ok(sample) = &mut seen.sample {
        sample.busy_cores = busy_cores;
    }
}

fn free(seen: &mut Seen, free_bytes: u64, writable: bool) {
    seen.disk = Ok(Disk {
        free_bytes,
        writable,
    });
}

#[test]
fn only_missing_requirements_prevent_measuring() {
    assert!(Diagnosis::of(findings(&poor())).can_measure());
    let mut seen = good();
    seen.loopback = Err("Network is unreachable".into());
    free(&mut seen, 0, true);
    let diagnosis = Diagnosis::of(findings(&seen));
    let obstacles: Vec<&str> = diagnosis.obstacles().map(|finding| finding.id).collect();
    assert_eq!(obstacles, ["loopback", "disk"]);
    assert!(diagnosis.can.is_empty());
}

#[test]
fn the_document_has_verdicts_evidence_and_remedies() {
    let document = render::json(&Diagnosis::of(findings(&poor())));
    assert_eq!(document["schema"], 1);
    assert_eq!(document["verdict"]["can_measure"], true);
    let checks = document["checks"].as_array().unwrap();
    let load = checks.iter().find(|check| check["id"] == "load").unwrap();
    assert_eq!(load["verdict"], "limited");
    assert_eq!(load["needed_for"], "precision");
    assert_eq!(load["evidence"]["busy_cores"], 1.5);
    assert!(load["remedy"].is_string());
}
