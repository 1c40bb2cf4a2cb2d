use std::cell::Cell;

use windage_model::{AgentCycle, BpfProgram};
use windage_probe::bpf::{FakeBpf, Link, Program};

use super::*;

/// Programs with these ids, and links with their ids and their programs' ids.
fn objects(programs: &[u32], links: &[(u32, u32)]) -> Objects {
    let program = |&id: &u32| Program {
        id,
        kind: "kprobe".to_owned(),
        ..Program::default()
    };
    let link = |&(id, program): &(u32, u32)| Link { id, program };
    Objects {
        programs: programs.iter().map(program).collect(),
        links: links.iter().map(link).collect(),
        maps: Vec::new(),
    }
}

#[test]
fn new_objects_that_no_other_process_holds_are_the_agents() {
    let before = objects(&[3], &[(1, 3)]);
    // the kernel's list, the programs that others hold, the agents' objects, why
    let table: [(Objects, &[u32], Objects, &str); 4] = [
        (before.clone(), &[], objects(&[], &[]), "nothing appeared"),
        (
            objects(&[3, 7, 8], &[(1, 3), (2, 7)]),
            &[],
            objects(&[7, 8], &[(2, 7)]),
            "all that appeared",
        ),
        (
            objects(&[3, 7, 8], &[(1, 3), (2, 7), (4, 8)]),
            &[8],
            objects(&[7], &[(2, 7)]),
            "a container's program appeared meanwhile, with its link",
        ),
        (
            objects(&[8], &[]),
            &[8],
            objects(&[], &[]),
            "only a program of another process",
        ),
    ];
    for (listed, held, expected, why) in table {
        let bpf = FakeBpf::new();
        bpf.set(listed);
        let held = || Held {
            programs: held.iter().copied().collect(),
            ..Held::default()
        };
        assert_eq!(come_since(&bpf, &before, held), Some(expected), "{why}");
    }
}

#[test]
fn other_processes_are_looked_at_only_when_something_appeared() {
    let bpf = FakeBpf::new();
    let never = || panic!("nothing appeared");
    assert!(come_since(&bpf, &Objects::default(), never).is_some());
    bpf.fail(libc::EPERM);
    assert_eq!(come_since(&bpf, &Objects::default(), never), None);
}

#[test]
fn waiting_ends_when_all_is_freed_or_time_is_up() {
    const EVER: Duration = Duration::from_secs(60);
    let (both, one, none) = (
        objects(&[7, 8], &[(2, 7)]),
        objects(&[8], &[]),
        Objects::default(),
    );
    // the listings, how long to wait, what is left, why
    let table: [(&[&Objects], Duration, &[&str], &str); 4] = [
        (&[&none], EVER, &[], "freed at once"),
        (&[&both, &one, &none], EVER, &[], "one after another"),
        (
            &[&both],
            Duration::ZERO,
            &[
                "program 7 (kprobe)",
                "program 8 (kprobe)",
                "link 2 (of program 7)",
            ],
            "never freed",
        ),
        (
            &[&one],
            LOOK_EVERY * 3,
            &["program 8 (kprobe)"],
            "several looks",
        ),
    ];
    for (listings, within, left, why) in table {
        let bpf = FakeBpf::new();
        bpf.script(listings.iter().copied().cloned());
        let found = await_gone(within, || bpf.objects().ok());
        assert_eq!(found.expect("can be listed"), left, "{why}");
    }
}

#[test]
fn a_failed_listing_leaves_the_programs_unknown() {
    let bpf = FakeBpf::new();
    bpf.set(objects(&[7], &[]));
    let looks = Cell::new(0);
    // Long enough for several looks on a busy machine.
    let left = await_gone(LOOK_EVERY * 200, || {
        looks.set(looks.get() + 1);
        if looks.get() == 2 {
            bpf.fail(libc::EPERM);
        }
        bpf.objects().ok()
    });
    assert_eq!(left, None);
    assert!(looks.get() > 2, "looked {} times", looks.get());
    let mut cycle = AgentCycle {
        programs: Some(vec![BpfProgram::default()]),
        left_behind: vec!["process 4711".to_owned()],
        ..AgentCycle::default()
    };
    note_left(&mut cycle, left);
    assert_eq!(cycle.programs, None, "no program is known");
    assert_eq!(cycle.left_behind, ["process 4711"]);
    note_left(&mut cycle, Some(vec!["link 2".to_owned()]));
    assert_eq!(cycle.left_behind, ["process 4711", "link 2"]);
}
