use std::path::Path;

use windage_probe::{FakeSystem, MachineSnapshot};

use super::*;

const MS: u64 = 1_000_000;

fn reading(at_ms: u64, busy_ms: u64, instances_ms: &[u64]) -> Reading {
    Reading {
        at_ns: at_ms * MS,
        instances_ns: instances_ms.iter().map(|ms| Some(ms * MS)).collect(),
        machine: Some(MachineSnapshot {
            busy_ns: Some(busy_ms * MS),
            ..MachineSnapshot::default()
        }),
        shared_ns: Some(0),
        ..Reading::default()
    }
}

#[test]
fn what_is_outside_is_the_machine_s_busy_time_less_the_run_s() {
    let start = reading(0, 0, &[0, 0]);
    let end = || Reading {
        windage_ns: 200 * MS,
        ..reading(1_000, 1_000, &[400, 100])
    };
    let machine = |busy_ms, interrupts_ms| {
        Some(MachineSnapshot {
            busy_ns: Some(busy_ms * MS),
            interrupts_ns: interrupts_ms * MS,
            // Steal is no use of CPU.
            steal_ns: 900 * MS,
            ..MachineSnapshot::default()
        })
    };
    let some = |start: Option<u64>| Reading {
        agents_ns: start,
        kernel_threads_ns: start,
        ..reading(0, 0, &[0, 0])
    };
    type Case = (Reading, Reading, Option<(u64, bool)>, &'static str);
    let table: [Case; 8] = [
        (start.clone(), end(), Some((300, true)), "arms and Windage"),
        (
            start.clone(),
            Reading {
                shared_ns: Some(250 * MS),
                ..end()
            },
            Some((50, true)),
            "shared services",
        ),
        (
            some(Some(0)),
            Reading {
                agents_ns: Some(100 * MS),
                kernel_threads_ns: Some(20 * MS),
                ..end()
            },
            Some((180, false)),
            "agents and kernel threads, where they are read",
        ),
        (
            start.clone(),
            Reading {
                machine: machine(1_000, 60),
                ..end()
            },
            Some((240, true)),
            "interrupts belong to no program",
        ),
        (
            start.clone(),
            Reading {
                machine: machine(600, 0),
                ..end()
            },
            Some((0, true)),
            "counters of different age",
        ),
        (
            start.clone(),
            Reading {
                shared_ns: None,
                ..end()
            },
            None,
            "a shared service that can't be read",
        ),
        (
            start.clone(),
            Reading {
                instances_ns: vec![Some(400 * MS), None],
                ..end()
            },
            None,
            "an arm that can't be read",
        ),
        (
            start,
            Reading {
                machine: None,
                ..end()
            },
            None,
            "a machine that can't be read",
        ),
    ];
    for (start, end, expected, why) in table {
        let found = OutsideUse::between(&start, &end);
        let found = found.map(|of| (of.outside_ns / MS, of.has_kernel_threads));
        assert_eq!(found, expected, "{why}");
    }
}

fn program(name: &str, cores_ms: &[(u32, u64)]) -> ProgramUse {
    ProgramUse {
        name: name.to_owned(),
        is_kernel_thread: name.starts_with("kworker"),
        cpu_ns: cores_ms.iter().map(|(_, ms)| ms * MS).sum(),
        by_core_ns: cores_ms.iter().map(|(core, ms)| (*core, ms * MS)).collect(),
    }
}

/// What a warning says: cores, the pinned core, and the programs.
fn found(warning: Option<Warning>) -> Option<(String, Option<u64>, Vec<String>)> {
    match warning? {
        Warning::OutsideLoad {
            cores,
            pinned_core,
            programs,
        } => Some((format!("{cores:.2}"), pinned_core, programs)),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_tenth_of_a_core_is_too_much_and_on_a_pinned_core_a_fiftieth() {
    let rustc = program("rustc", &[(0, 300), (1, 100)]);
    let small = program("cron", &[(0, 40), (1, 46)]);
    let kernel = program("kworker/1:0", &[(1, 150)]);
    let many = ["a", "b", "c", "d"].map(|name| program(name, &[(0, 50)]));
    let none: &[&str] = &[];
    type Expected<'e> = Option<(&'e str, Option<u64>, &'e [&'e str])>;
    type Case<'a> = (
        &'a str,
        u64,
        u64,
        u64,
        &'a [ProgramUse],
        &'a [u32],
        Expected<'a>,
    );
    let table: [Case<'_>; 11] = [
        ("quiet", 1_000, 90, 0, &[], &[], None),
        (
            "a block",
            1_000,
            400,
            0,
            std::slice::from_ref(&rustc),
            &[],
            Some(("0.40", None, &["rustc (0.40 cores)"])),
        ),
        (
            "a window",
            100,
            15,
            0,
            std::slice::from_ref(&rustc),
            &[],
            Some(("0.15", None, &["rustc (0.40 cores)"])),
        ),
        (
            "a window by ticks: no more than their error",
            100,
            35,
            30,
            &[],
            &[],
            None,
        ),
        (
            "more than that",
            100,
            50,
            30,
            &[],
            &[],
            Some(("0.50", None, none)),
        ),
        (
            "the kernel's own work",
            1_000,
            200,
            0,
            std::slice::from_ref(&kernel),
            &[],
            None,
        ),
        (
            "names of the most",
            1_000,
            200,
            0,
            &many,
            &[],
            Some((
                "0.20",
                None,
                &["a (0.05 cores)", "b (0.05 cores)", "c (0.05 cores)"],
            )),
        ),
        (
            "too little for a machine",
            1_000,
            85,
            0,
            std::slice::from_ref(&small),
            &[],
            None,
        ),
        (
            "too much for a pinned core",
            1_000,
            85,
            0,
            std::slice::from_ref(&small),
            &[1],
            Some(("0.05", Some(1), &["cron (0.05 cores)"])),
        ),
        (
            "not on that core",
            1_000,
            85,
            0,
            std::slice::from_ref(&small),
            &[2],
            None,
        ),
        (
            "kernel threads there",
            1_000,
            85,
            0,
            std::slice::from_ref(&kernel),
            &[1],
            None,
        ),
    ];
    for (why, lasted_ms, outside_ms, error_ms, programs, pinned, expected) in table {
        let of = OutsideUse {
            outside_ns: outside_ms * MS,
            lasted_ns: lasted_ms * MS,
            has_kernel_threads: true,
        };
        let warning = judge(of, error_ms * MS, programs, 1_000 * MS, pinned);
        let expected = expected.map(|(cores, core, names)| {
            (
                cores.to_owned(),
                core,
                names.iter().map(|name| (*name).to_owned()).collect(),
            )
        });
        assert_eq!(found(warning), expected, "{why}");
    }
}

fn plan(services: &str, load: &str) -> Plan {
    let text = format!(
        "name = 'p'\n[[service]]\nname = 'app'\ncommand = ['app', '{{listen}}']\n{services}\n\
         [load]\nmodel = 'closed'\nrequest = 'GET http://{{app}}/'\n{load}\n\
         [[arm]]\nname = 'off'\nbaseline = true\n[[arm]]\nname = 'on'\n"
    );
    Plan::parse(&text, "plan.toml", Path::new("/")).unwrap()
}

#[test]
fn programs_are_looked_for_only_after_too_much_load() {
    let system = FakeSystem::new();
    let show = |ticks| {
        let text = format!("60 (cc) S 1 1 1 0 -1 0 0 0 0 0 {ticks} 0 0 0 20 0 1 0 7 0 0\n");
        system.set("/proc/60/stat", text);
    };
    let stretch = |outside_ms| {
        Some(OutsideUse {
            outside_ns: outside_ms * MS,
            lasted_ns: 1_000 * MS,
            has_kernel_threads: true,
        })
    };
    let short = |outside_ms| {
        let lasted_ns = 20 * MS;
        stretch(outside_ms).map(|of| OutsideUse { lasted_ns, ..of })
    };
    let shared = "[[service]]\nname = 'db'\nshared = true\nattach = { url = 'http://127.0.0.1:1' }\n\
                  [[service]]\nname = 'cache'\nshared = true\ncommand = ['cache']";
    let table: [(&str, Option<OutsideUse>, &[u32], bool); 7] = [
        ("", stretch(800), &[], true),
        ("", stretch(50), &[], false),
        ("", short(9), &[], false),
        ("", short(11), &[], true),
        ("", None, &[], false),
        // An attached process is the run's own: the load has another cause, which has no name.
        ("", stretch(800), &[60], true),
        // Any of it may be the shared services'.
        (shared, stretch(800), &[], false),
    ];
    for (services, of, attached, is_warned) in table {
        let mut watch = OutsideLoad::new(&system, &plan(services, ""), [100, 101]);
        show(10);
        watch.look();
        show(90);
        let warning = watch.warning(of, 0, || attached.to_vec());
        assert_eq!(warning.is_some(), is_warned, "{of:?}");
        let is_named = found(warning).is_some_and(|(.., names)| names[..].len() == 1);
        assert_eq!(is_named, is_warned && attached.is_empty(), "{of:?}");
    }
}

#[test]
fn cores_of_the_subject_and_the_generator_are_pinned() {
    let pinned = "[[service]]\nname = 'db'\nshared = true\ncommand = ['db']\ncpus = [5]";
    let watch = OutsideLoad::new(&FakeSystem::new(), &plan(pinned, "cpus = [1]"), [1, 2]);
    assert_eq!(watch.pinned, [1]);
}
