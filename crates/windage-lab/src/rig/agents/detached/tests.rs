use std::cell::Cell;

use windage_model::{AgentCycle, BpfProgram};
use windage_probe::bpf::{FakeBpf, Link, Program};

use super::*;

/// Programs of these ids, and links with the id and the program of each.
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
fn what_came_with_agents_is_what_nobody_else_holds() {
    let before = objects(&[3], &[(1, 3)]);
    // what the kernel lists, the programs that others hold, what is the agents', why
    let table: [(Objects, &[u32], Objects, &str); 4] = [
        (before.clone(), &[], objects(&[], &[]), "nothing came"),
        (
            objects(&[3, 7, 8], &[(1, 3), (2, 7)]),
            &[],
            objects(&[7, 8], &[(2, 7)]),
            "all that came",
        ),
        (
            objects(&[3, 7, 8], &[(1, 3), (2, 7), (4, 8)]),
            &[8],
            objects(&[7], &[(2, 7)]),
            "a container's program came meanwhile, with its link",
        ),
        (objects(&[8], &[]), &[8], objects(&[], &[]), "only that"),
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
fn others_are_only_asked_when_something_came() {
    let bpf = FakeBpf::new();
    let nobody = || panic!("nothing came");
    assert!(come_since(&bpf, &Objects::default(), nobody).is_some());
    bpf.fail(libc::EPERM);
    assert_eq!(come_since(&bpf, &Objects::default(), nobody), None);
}

#[test]
fn it_is_waited_until_all_is_gone_or_no_longer() {
    const EVER: Duration = Duration::from_secs(60);
    let (both, one, none) = (
        objects(&[7, 8], &[(2, 7)]),
        objects(&[8], &[]),
        Objects::default(),
    );
    // the listings, how long it is waited, what is left, why
    let table: [(&[&Objects], Duration, &[&str], &str); 4] = [
        (&[&none], EVER, &[], "gone at once"),
        (&[&both, &one, &none], EVER, &[], "one after another"),
        (
            &[&both],
            Duration::ZERO,
            &[
                "program 7 (kprobe)",
                "program 8 (kprobe)",
                "link 2 (of program 7)",
            ],
            "it stays",
        ),
        (
            &[&one],
            LOOK_EVERY * 3,
            &["program 8 (kprobe)"],
            "looked at several times",
        ),
    ];
    for (listings, within, left, why) in table {
        let bpf = FakeBpf::new();
        bpf.script(listings.iter().copied().cloned());
        let found = await_gone(within, || bpf.objects().ok());
        assert_eq!(found.expect("it is listed"), left, "{why}");
    }
}

#[test]
fn a_listing_that_fails_half_way_leaves_it_unknown() {
    let bpf = FakeBpf::new();
    bpf.set(objects(&[7], &[]));
    let looks = Cell::new(0);
    // Long enough for several looks on a machine that is busy.
    let left = await_gone(LOOK_EVERY * 200, || {
        looks.set(looks.get() + 1);
        if looks.get() == 2 {
            bpf.fail(libc::EPERM);
        }
        bpf.objects().ok()
    });
    assert_eq!(left, None);
    assert!(looks.get() > 2, "it is looked again: {} times", looks.get());
    let mut cycle = AgentCycle {
        programs: Some(vec![BpfProgram::default()]),
        left_behind: vec!["process 4711".to_owned()],
        ..AgentCycle::default()
    };
    cycle.note_left(left);
    assert_eq!(cycle.programs, None, "then it is known of no program");
    assert_eq!(cycle.left_behind, ["process 4711"]);
    cycle.note_left(Some(vec!["link 2".to_owned()]));
    assert_eq!(cycle.left_behind, ["process 4711", "link 2"]);
}
