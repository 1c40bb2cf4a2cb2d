//! Gates: how often a run that stops when its budget is decided is wrong, or never decides.

use rand_chacha::ChaCha8Rng;
use windage_stats::Confidence;
use windage_stats::totals::{FEWEST_LAUNCHES_TO_STOP, relative};

use crate::cells::{carry_out, share};
use crate::totals::{BOTH_ARMS, Cell, TAILS};

/// Launches of `windage check` in its default time.
const LAUNCHES: usize = 30;

/// The cost less the limit, in percentage points of the baseline.
const BEYOND: [f64; 5] = [-0.02, -0.01, 0.0, 0.01, 0.015];

/// A budget of 95 % is judged by the ends of the 90 % sequence.
const BOTH_SIDES: Confidence = Confidence::P90;

/// How often *exceeded* may be wrong when the cost is at the limit: 1 % and chance. Where the baseline
/// alone has slow launches, a run without one looks too dear.
const WRONGLY_EXCEEDED: f64 = 0.01 + 0.005;
const WRONGLY_EXCEEDED_WITH_A_TAIL: f64 = 0.035;
/// How often *within* may be wrong when the cost is as good as above the limit.
const WRONGLY_WITHIN: f64 = 0.05;
/// How often a cost that is a point away must be decided, where launches scatter by no more than 1.3 %.
const DECIDED: f64 = 0.85;
const STEADY: [&str; 5] = [
    "no effect",
    "+8 %",
    "collections",
    "drift, +8 %",
    "regimes, +8 %",
];

#[derive(Clone, Copy, Debug, PartialEq)]
enum Decided {
    Within,
    Exceeded,
    Never,
}

fn check(cell: Cell, beyond: f64, random: &mut ChaCha8Rng) -> Decided {
    let limit = cell.of.relative() - beyond;
    let run = cell.of.run(LAUNCHES, random);
    let mut looks = (FEWEST_LAUNCHES_TO_STOP..=LAUNCHES).filter_map(|launches| {
        let effect = relative(&run.launches[..launches]).unwrap();
        let (low, high) = effect.sequence_ends(BOTH_SIDES)?;
        match (high <= limit, low > limit) {
            (true, _) => Some(Decided::Within),
            (_, true) => Some(Decided::Exceeded),
            _ => None,
        }
    });
    looks.next().unwrap_or(Decided::Never)
}

#[test]
fn gates_are_rarely_wrong_and_decide_what_is_a_point_away() {
    let cells: Vec<Cell> = BOTH_ARMS.into_iter().chain(TAILS).collect();
    let experiment =
        |cell: Cell, _, random: &mut ChaCha8Rng| BEYOND.map(|beyond| check(cell, beyond, random));
    println!("\ngates of 95 %, at most {LAUNCHES} launches: within and exceeded, in % of checks");
    let points = BEYOND.map(|beyond| format!("{:+13.1}", beyond * 100.0));
    println!("cost less limit, points {}", points.concat());
    let mut failed = Vec::new();
    for (at, (cell, found)) in carry_out(&cells, experiment).into_iter().enumerate() {
        let rates = [0, 1, 2, 3, 4].map(|at| {
            [Decided::Within, Decided::Exceeded].map(|as_| share(&found, |of| of[at] == as_))
        });
        let shown = rates
            .map(|[within, exceeded]| format!("  {:5.1} {:5.1}", within * 100.0, exceeded * 100.0));
        let row = format!("{:<24}{}", cell.name, shown.concat());
        println!("{row}");
        let [
            _,
            [right_within, _],
            [wrong_within, wrong_exceeded],
            [_, right_exceeded],
            _,
        ] = rates;
        let may_be_wrong = match at < BOTH_ARMS.len() {
            true => WRONGLY_EXCEEDED,
            false => WRONGLY_EXCEEDED_WITH_A_TAIL,
        };
        let is_weak = STEADY.contains(&cell.name) && right_within.min(right_exceeded) < DECIDED;
        if wrong_within > WRONGLY_WITHIN || wrong_exceeded > may_be_wrong || is_weak {
            failed.push(row);
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
}
