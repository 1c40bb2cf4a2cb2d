use super::*;
use proptest::prelude::*;

fn turns(targets: &[usize], order: &[u16], requests: u32) -> Turns {
    Turns {
        targets: targets.iter().copied().map(TargetId).collect(),
        order: order.into(),
        requests,
    }
}

/// The targets of all starts that one thread takes.
fn starts_of(turns: &Turns, first: u64, step: u64) -> Vec<usize> {
    let mut course = Course::of(turns, first, step);
    let mut targets = Vec::new();
    while let Some(target) = course.target() {
        targets.push(target);
        course.advance();
    }
    targets
}

#[test]
fn starts_are_dealt_out_by_turns() {
    // Order, requests per turn, first start and step of the thread, targets, why.
    type Row = (
        &'static [u16],
        u32,
        (u64, u64),
        &'static [usize],
        &'static str,
    );
    let table: [Row; 6] = [
        (&[0, 1], 2, (0, 1), &[4, 4, 8, 8], "one after the other"),
        (&[1, 1, 0], 1, (0, 1), &[8, 8, 4], "two turns in a row"),
        (
            &[0, 1, 0],
            3,
            (0, 2),
            &[4, 4, 8, 4, 4],
            "first of two threads",
        ),
        (
            &[0, 1, 0],
            3,
            (1, 2),
            &[4, 8, 8, 4],
            "second of two threads",
        ),
        (&[0, 1, 0], 1, (5, 9), &[], "more threads than starts"),
        (&[], 7, (0, 1), &[], "no turns"),
    ];
    for (order, requests, (first, step), expected, why) in table {
        let turns = turns(&[4, 8], order, requests);
        assert_eq!(starts_of(&turns, first, step), expected, "{why}");
    }
}

#[test]
fn faults_are_named() {
    let table = [
        (turns(&[4, 8], &[0, 1], 1), Ok(())),
        (turns(&[], &[], 1), Ok(())),
        (turns(&[4], &[0], 0), Err(TurnsError::NoRequests)),
        (
            turns(&[4, 8], &[1, 2], 1),
            Err(TurnsError::UnknownMember {
                index: 2,
                members: 2,
            }),
        ),
        (turns(&[4, 8, 4], &[0], 1), Err(TurnsError::Repeated(4))),
    ];
    for (turns, expected) in table {
        assert_eq!(turns.check(), expected, "{turns:?}");
    }
}

proptest! {
    #[test]
    fn each_member_gets_its_planned_starts(
        order in prop::collection::vec(0u16..5, 0..60),
        requests in 1u32..30,
        threads in 1u64..5,
    ) {
        let turns = turns(&[10, 11, 12, 13, 14], &order, requests);
        let mut dealt = [0u64; 5];
        for first in 0..threads {
            for target in starts_of(&turns, first, threads) {
                dealt[target - 10] += 1;
            }
        }
        for (member, dealt) in (0..).zip(dealt) {
            let planned = order.iter().filter(|&&of| of == member).count() as u64;
            prop_assert_eq!(dealt, planned * u64::from(requests));
        }
    }

    #[test]
    fn a_skipped_turn_leaves_out_only_its_own_starts(
        order in prop::collection::vec(0u16..3, 1..20),
        requests in 1u32..9,
        (first, step) in (1u64..4).prop_flat_map(|step| (0..step, Just(step))),
        taken in 0usize..60,
    ) {
        let turns = turns(&[0, 1, 2], &order, requests);
        let all = starts_of(&turns, first, step);
        let mut course = Course::of(&turns, first, step);
        for _ in 0..taken.min(all.len()) {
            course.advance();
        }
        let mut seen = taken.min(all.len());
        while course.target().is_some() {
            prop_assert_eq!(course.target(), all.get(seen).copied());
            let left = course.skip_turn();
            prop_assert!((1..=u64::from(requests)).contains(&left));
            seen += usize::try_from(left).unwrap();
        }
        prop_assert_eq!(seen, all.len());
    }
}
