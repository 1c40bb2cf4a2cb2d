//! The length of a block's turns: from what the plan asks for, and from how fast the arms are.

use std::time::Duration;

use windage_model::TurnOrder;
use windage_plan::{Interleaving, Turn};

use crate::clock::whole_ns;

/// The most turns in a block.
const TURNS_MAX: f64 = 100_000.0;
/// The first requests of a turn find cold caches: a turn that is given as a time has so many requests
/// at least …
const WARM_AFTER: f64 = 20.0;
/// … if these take no longer than this. Longer turns would not cancel the machine's noise.
const WARM_WITHIN_S: f64 = 0.1;
/// How many times shorter short turns are: long enough for caches to warm up within them, so that a
/// changeover costs what it costs in others.
const SHORTER: u32 = 4;
/// The bounds of a block's expected length.
const LASTS_S: [f64; 2] = [0.001, 3600.0];

/// The length of a block's turns.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TurnLength {
    /// Requests or iterations of a turn, by position among the arms; at least one.
    pub(crate) requests: Vec<u64>,
    /// Groups of turns, each with every arm once; at least one.
    pub(crate) groups: u32,
    /// The expected length of the block's load.
    pub(crate) lasts: Duration,
    /// As it is recorded: a number of requests, or the time of a batch program's turn in
    /// nanoseconds.
    pub(crate) size: u64,
}

impl TurnLength {
    /// For arms that get so many requests or iterations per second alone; the first is the baseline.
    /// Rates are above zero. A turn has at least `fewest` requests.
    pub(crate) fn of(
        rates_per_s: &[f64],
        is_batch: bool,
        fewest: u64,
        interleaving: Interleaving,
    ) -> TurnLength {
        let baseline_per_s = rates_per_s.first().copied().unwrap_or(1.0);
        let slowest_per_s = rates_per_s.iter().copied().fold(f64::INFINITY, f64::min);
        let warm = WARM_AFTER.min(WARM_WITHIN_S * slowest_per_s);
        let requests_of = |rate_per_s: &f64| match interleaving.turn {
            Turn::Requests(requests) => u64::from(requests),
            // Requests of all arms are equally many. Iterations may differ in length by a factor of
            // ten and more, so that batch programs get the same time.
            Turn::Time(time) if is_batch => whole(time.as_secs_f64() * rate_per_s),
            Turn::Time(time) => whole(warm.max(time.as_secs_f64() * baseline_per_s)),
        };
        let requests = rates_per_s.iter().map(requests_of);
        let requests: Vec<u64> = requests.map(|of| of.max(fewest)).collect();
        let times = rates_per_s.iter().zip(&requests);
        let group_s: f64 = times.map(|(rate_per_s, n)| *n as f64 / rate_per_s).sum();
        let block_s = interleaving.block.as_secs_f64();
        let most = (TURNS_MAX / rates_per_s.len().max(1) as f64).max(1.0);
        // A group that is longer than the block is measured whole all the same.
        let groups = (block_s / group_s).round().clamp(1.0, most);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "between 1 and the most turns"
        )]
        let groups = groups as u32;
        let [shortest_s, longest_s] = LASTS_S;
        let lasts_s = (group_s * f64::from(groups)).clamp(shortest_s, longest_s);
        TurnLength {
            size: match interleaving.turn {
                Turn::Time(time) if is_batch => whole_ns(time),
                _ => requests.first().copied().unwrap_or(0),
            },
            requests,
            groups,
            lasts: Duration::from_secs_f64(lasts_s),
        }
    }
}

/// The length of the turns of a block that is drawn so, from the length for an interleaving. Where
/// turns can't be shorter, it is a block like any other.
pub(crate) fn drawn(
    order: TurnOrder,
    interleaving: Interleaving,
    length: impl Fn(Interleaving) -> TurnLength,
) -> (TurnOrder, TurnLength) {
    let usual = length(interleaving);
    if order != TurnOrder::ShortTurns {
        return (order, usual);
    }
    let turn = match usual.requests[..] {
        [one, ref others @ ..] if others.iter().all(|of| *of == one) => {
            let requests = one / u64::from(SHORTER);
            Turn::Requests(u32::try_from(requests).unwrap_or(u32::MAX).max(1))
        }
        // Iterations of arms differ in length.
        _ => match interleaving.turn {
            Turn::Time(time) => Turn::Time(time / SHORTER),
            requests @ Turn::Requests(_) => requests,
        },
    };
    let short = length(Interleaving {
        turn,
        ..interleaving
    });
    match short.requests == usual.requests {
        true => (TurnOrder::Random, usual),
        false => (order, short),
    }
}

/// At least one.
fn whole(requests: f64) -> u64 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "bounded on both sides"
    )]
    let whole = requests.round().clamp(1.0, 1e9) as u64;
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    fn length(turn: Turn, rates_per_s: &[f64], is_batch: bool) -> TurnLength {
        let interleaving = Interleaving {
            turn,
            block: Duration::from_secs(1),
            isolated: 0.5,
        };
        TurnLength::of(rates_per_s, is_batch, 1, interleaving)
    }

    const fn ms(ms: u64) -> Turn {
        Turn::Time(Duration::from_millis(ms))
    }

    #[test]
    fn all_arms_get_the_requests_of_the_baselines_turn() {
        // Turn, requests per second of each arm alone, then requests per turn, groups, and the
        // length in ms.
        type Row = (Turn, &'static [f64], u64, u32, u64, &'static str);
        let table: [Row; 10] = [
            (ms(10), &[2000.0; 5], 20, 20, 1000, "five arms at one rate"),
            (ms(10), &[2000.0], 20, 100, 1000, "one arm"),
            (Turn::Requests(7), &[700.0; 2], 7, 50, 1000, "a number"),
            (
                ms(10),
                &[10.0; 2],
                1,
                5,
                1000,
                "a turn shorter than a request",
            ),
            (
                ms(1),
                &[0.5; 2],
                1,
                1,
                4000,
                "a block shorter than a request",
            ),
            (
                ms(10),
                &[1000.0, 250.0],
                20,
                10,
                1000,
                "a slower arm takes longer",
            ),
            (
                ms(10),
                &[1000.0, 0.1],
                10,
                1,
                100_010,
                "a very slow arm: one group",
            ),
            (ms(10), &[1000.0, 4000.0], 20, 40, 1000, "a faster arm"),
            (
                ms(10),
                &[100.0; 2],
                10,
                5,
                1000,
                "as many as make caches warm would take too long",
            ),
            (Turn::Requests(1), &[1e9; 10], 1, 10_000, 1, "bounded turns"),
        ];
        for (turn, rates_per_s, requests, groups, lasts_ms, why) in table {
            let found = length(turn, rates_per_s, false);
            assert_eq!(found.requests, vec![requests; rates_per_s.len()], "{why}");
            let lasts_ms_found = found.lasts.as_secs_f64() * 1e3;
            assert_eq!(
                (found.groups, lasts_ms_found.round() as u64, found.size),
                (groups, lasts_ms, requests),
                "{why}"
            );
        }
    }

    #[test]
    fn a_turn_has_the_fewest_requests_at_least() {
        let interleaving = Interleaving {
            turn: Turn::Requests(2),
            block: Duration::from_secs(1),
            isolated: 0.5,
        };
        let found = TurnLength::of(&[10.0; 2], false, 4, interleaving);
        // A group takes 0.8 s.
        assert_eq!(
            (found.requests, found.groups, found.size),
            (vec![4, 4], 1, 4)
        );
    }

    #[test]
    fn batch_programs_get_the_same_time() {
        let found = length(ms(10), &[5000.0, 500.0, 20.0], true);
        assert_eq!(found.requests, [50, 5, 1]);
        // 10 + 10 + 50 ms.
        assert_eq!((found.groups, found.size), (14, 10_000_000));
        let counted = length(Turn::Requests(3), &[300.0, 30.0], true);
        assert_eq!(counted.requests, [3, 3]);
        // 10 + 100 ms.
        assert_eq!((counted.groups, counted.size), (9, 3));
    }

    #[test]
    fn short_turns_are_a_quarter_where_that_is_possible() {
        use TurnOrder::{Random, ShortTurns, WithoutHeaviest};
        // Drawn, turn, requests per second and fewest; then the order, requests and groups.
        type Row = (TurnOrder, Turn, f64, u64, (TurnOrder, u64, u32));
        let table: [Row; 9] = [
            (Random, ms(10), 2000.0, 1, (Random, 20, 25)),
            (
                WithoutHeaviest,
                ms(10),
                2000.0,
                1,
                (WithoutHeaviest, 20, 25),
            ),
            (ShortTurns, ms(10), 2000.0, 1, (ShortTurns, 5, 100)),
            (
                ShortTurns,
                Turn::Requests(9),
                2000.0,
                1,
                (ShortTurns, 2, 250),
            ),
            (ShortTurns, Turn::Requests(1), 2000.0, 1, (Random, 1, 500)),
            (ShortTurns, ms(10), 100.0, 1, (ShortTurns, 2, 13)),
            (ShortTurns, ms(10), 20.0, 1, (ShortTurns, 1, 5)),
            (ShortTurns, ms(10), 10.0, 1, (Random, 1, 3)),
            (ShortTurns, ms(10), 2000.0, 20, (Random, 20, 25)),
        ];
        for (order, turn, rate_per_s, fewest, expected) in table {
            let interleaving = Interleaving {
                turn,
                block: Duration::from_secs(1),
                isolated: 0.5,
            };
            let length = |of| TurnLength::of(&[rate_per_s; 4], false, fewest, of);
            let (order, found) = drawn(order, interleaving, length);
            assert_eq!(
                (order, found.requests[0], found.groups),
                expected,
                "{turn:?} at {rate_per_s}/s"
            );
        }
    }

    #[test]
    fn without_arms_there_are_no_turns() {
        assert_eq!(length(ms(10), &[], false).requests, Vec::<u64>::new());
    }
}
