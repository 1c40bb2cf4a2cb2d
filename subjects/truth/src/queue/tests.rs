//! The computation against cases computed by hand, and against a slower way to compute it.

use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::answering::Stalls;

const MS: u64 = 1_000_000;

fn constant(service: Duration) -> Answering {
    Answering::constant(service).unwrap()
}

/// Stalls of 200 ms every 2 s, the first at 1 s.
fn stalling(service: Duration, first_ns: u64) -> Answering {
    let (every, lasts) = (Duration::from_secs(2), Duration::from_millis(200));
    constant(service).with_stalls(Stalls::new(first_ns, every, lasts).unwrap())
}

fn connections(count: usize) -> NonZeroUsize {
    NonZeroUsize::new(count).unwrap()
}

/// 1,000 starts per second.
fn every_ms(count: u64) -> impl Iterator<Item = u64> {
    (0..count).map(|i| i * MS)
}

#[test]
fn cases_computed_by_hand() {
    type Case<'a> = (&'a [u64], usize, u64, &'a [u64], &'a str);
    let table: [Case; 6] = [
        (&[], 1, 10, &[], "nothing"),
        (&[0, 10, 20], 1, 10, &[10, 10, 10], "free just in time"),
        (&[0, 0, 0], 1, 10, &[10, 20, 30], "one behind the other"),
        (&[0, 0, 0, 0], 2, 10, &[10, 10, 20, 20], "two by two"),
        (
            &[0, 5, 6, 7, 40],
            2,
            10,
            &[10, 10, 14, 18, 10],
            "whichever is free first",
        ),
        (&[0, 1, 2], 8, 0, &[0, 0, 0], "no service time, no wait"),
    ];
    for (starts_ns, count, service_ns, expected, why) in table {
        let answering = constant(Duration::from_nanos(service_ns));
        let times_ns = response_times_ns(starts_ns.iter().copied(), connections(count), &answering);
        assert_eq!(times_ns, expected, "{why}");
    }
}

#[test]
fn a_stall_by_hand() {
    // A stall from 10 to 20, 3 to answer, two connections, a start every 4.
    let (every, lasts) = (Duration::from_nanos(100), Duration::from_nanos(10));
    let answering =
        constant(Duration::from_nanos(3)).with_stalls(Stalls::new(10, every, lasts).unwrap());
    let starts_ns = [0, 4, 8, 12, 16, 20, 24, 28];
    let expected = [
        3,  // sent 0, answered 3
        3,  // sent 4, answered 7
        12, // sent 8, due 11 in the stall, answered 20
        11, // sent 12, taken up at 20, answered 23
        7,  // waits until 20 for the third's connection, answered 23
        6,  // waits until 23 for the fourth's, answered 26
        3,  // sent 24 on the fifth's, free since 23, answered 27
        3,  // all is well again
    ];
    assert_eq!(
        response_times_ns(starts_ns, connections(2), &answering),
        expected
    );
}

#[test]
fn a_stall_without_service_time_is_seen_by_all_who_start_in_it() {
    // 200 of 2,000 starts lie in the stall, and wait 200, 199, …, 1 ms; all go out at its end.
    let answering = stalling(Duration::ZERO, 1_000 * MS);
    let times_ns = response_times_ns(every_ms(2_000), connections(8), &answering);
    let mut waits_ms: Vec<u64> = times_ns.iter().map(|ns| ns / MS).collect();
    waits_ms.sort_unstable();
    assert_eq!(waits_ms[..1_800], [0; 1_800]);
    assert!(waits_ms[1_800..].iter().copied().eq(1..=200));
    assert_eq!(
        percentile_ns(&times_ns, 0.99),
        Some(180 * MS),
        "rank 1,980 of 2,000"
    );
    assert_eq!(percentile_ns(&times_ns, 0.90), Some(0), "rank 1,800");
}

#[test]
fn percentiles_are_of_the_nearest_rank() {
    let times_ns: Vec<u64> = (1..=200).rev().collect();
    let table = [(0.0, 1), (0.5, 100), (0.99, 198), (0.999, 200), (1.0, 200)];
    for (share, expected) in table {
        assert_eq!(percentile_ns(&times_ns, share), Some(expected), "{share}");
    }
    assert_eq!(percentile_ns(&[], 0.5), None);
    assert_eq!(percentile_ns(&[7], 0.99), Some(7));
}

/// The same by looking at every connection every time.
fn by_trying_all(starts_ns: &[u64], count: usize, answering: &Answering) -> Vec<u64> {
    let mut free_ns = vec![0; count];
    let mut times_ns = Vec::new();
    for &start_ns in starts_ns {
        let earliest = free_ns.iter_mut().min().unwrap();
        *earliest = answering.answered_ns(start_ns.max(*earliest));
        times_ns.push(*earliest - start_ns);
    }
    times_ns
}

proptest! {
    #[test]
    fn connections_come_free_in_the_order_of_their_use(
        mut starts_ns in proptest::collection::vec(0u64..2_000, 0..200),
        count in 1usize..10,
        service_ns in 0u64..100,
        lasts_ns in 1u64..99,
    ) {
        starts_ns.sort_unstable();
        let stalls = Stalls::new(300, Duration::from_nanos(100), Duration::from_nanos(lasts_ns));
        let answering = constant(Duration::from_nanos(service_ns)).with_stalls(stalls.unwrap());
        let times_ns = response_times_ns(starts_ns.iter().copied(), connections(count), &answering);
        prop_assert_eq!(times_ns, by_trying_all(&starts_ns, count, &answering));
    }
}

/// The 99th percentile at 1,000/s on eight connections, over ten periods with their stalls
/// beginning so long after a start.
fn stalled_p99_us(service_us: u64, phase_us: u64) -> u64 {
    let service = Duration::from_micros(service_us);
    let answering = stalling(service, 1_000 * MS + phase_us * 1_000);
    let times_ns = response_times_ns(every_ms(20_000), connections(8), &answering);
    percentile_ns(&times_ns, 0.99).unwrap() / 1_000
}

#[test]
fn the_stall_that_generators_are_judged_by() {
    // 20 of 2,000 starts may exceed the percentile. At 1 ms, half a millisecond off the stall's
    // start, that is the one caught by the stall with its answer due half a millisecond later
    // (200.5 ms from its start), and the 19 that were intended first in the stall. The 20th of
    // these, 19.5 ms into it, waits 180.5 ms for its end, then for two answers of those ahead of
    // it on its connection, then for its own: 183.5 ms.
    let table = [
        (1_000, 500, 183_500, "the default"),
        (1_000, 999, 183_999, "the most that the phase makes of it"),
        (1_000, 1, 183_001, "the least"),
        (
            1_000,
            0,
            184_000,
            "due at the very start of the stall: one more is caught by it",
        ),
        (1_270, 0, 184_810, "with a little more to do"),
        (
            0,
            500,
            179_500,
            "with nothing to do: 20 of the stall are longer",
        ),
    ];
    for (service_us, phase_us, expected, why) in table {
        assert_eq!(stalled_p99_us(service_us, phase_us), expected, "{why}");
    }
}
