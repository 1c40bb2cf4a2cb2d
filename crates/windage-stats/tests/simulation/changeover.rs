//! Which special blocks of turns tell most about what arms carry over to each other: blocks in which
//! each arm always follows the same other arm, or blocks with turns of another length.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use windage_stats::{Confidence, Launches, TwoLevel, two_level};

use crate::noise::normal;

const RUNS: u64 = 1000;
/// The share of a changeover in turns of the usual length, as with the prototype.
const SHARE: f64 = 0.015;
/// The chance of a block to be special.
const SPECIAL: f64 = 1.0 / 8.0;

/// A run: its launches, the blocks of each, and the standard deviation between neighbouring blocks.
///
/// As recorded on 24 November 2026, a block differs from the mean of its neighbours by 2.6 % in the
/// demo and by 5.8 % with Go (the baseline's CPU per request), and by 2.3 and 5.4 % in the ratio of
/// an arm to the baseline: √1.5 times the scatter of one block.
type Recorded = (&'static str, u32, u32, f64);
const RECORDED: [Recorded; 4] = [
    ("demo, baseline", 14, 3, 0.021),
    ("demo, ratio", 14, 3, 0.019),
    ("go-http, baseline", 14, 5, 0.048),
    ("go-http, ratio", 14, 5, 0.044),
];

/// A kind of special block.
#[derive(Clone, Copy)]
struct Kind {
    name: &'static str,
    /// By how many times the share of a changeover a special block costs more than others.
    times: f64,
    /// The part of special blocks that tells about a given arm and predecessor.
    part: f64,
}

const KINDS: [Kind; 3] = [
    Kind {
        name: "fixed predecessors, five arms",
        times: 1.0,
        part: 0.25,
    },
    Kind {
        name: "turns twice as long",
        times: -0.5,
        part: 1.0,
    },
    Kind {
        name: "turns of a quarter",
        times: 3.0,
        part: 1.0,
    },
];

/// The estimate of the change in special blocks, as `windage-analysis` makes it.
fn estimate((_, launches, blocks, deviation): Recorded, kind: Kind, seed: u64) -> Option<TwoLevel> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut by_launch = Launches::default();
    for _ in 0..launches {
        let is_special: Vec<bool> = (0..blocks)
            .map(|_| random.random::<f64>() < SPECIAL * kind.part)
            .collect();
        let logs: Vec<f64> = is_special
            .iter()
            .map(|is_special| {
                let extra = if *is_special { kind.times * SHARE } else { 0.0 };
                extra.ln_1p() + deviation * normal(&mut random)
            })
            .collect();
        let ordinary = |at: usize| logs.get(at).filter(|_| !is_special[at]);
        let change = |at: usize| {
            let neighbours = [at.checked_sub(1).and_then(ordinary), ordinary(at + 1)];
            let found: Vec<f64> = neighbours.into_iter().flatten().copied().collect();
            let mean = found.iter().sum::<f64>() / found.len() as f64;
            (is_special[at] && !found.is_empty()).then(|| logs[at] - mean)
        };
        let changes: Vec<f64> = (0..logs.len()).filter_map(change).collect();
        if !changes.is_empty() {
            let mean = changes.iter().sum::<f64>() / changes.len() as f64;
            by_launch.push(vec![mean], 0.0);
        }
    }
    two_level(&by_launch).ok()
}

/// The median half-width of the share of a changeover (infinite where most runs have none), the part of
/// runs that have an interval, and how many of these cover the truth.
fn outcome(recorded: Recorded, kind: Kind) -> [f64; 3] {
    let (mut half_widths, mut covering) = (Vec::new(), 0);
    for seed in 0..RUNS {
        let Some(found) = estimate(recorded, kind, seed) else {
            half_widths.push(f64::INFINITY);
            continue;
        };
        let (low, high) = found.ends(Confidence::P95);
        let truth = (kind.times * SHARE).ln_1p();
        covering += u32::from(low <= truth && truth <= high);
        half_widths.push((high - low) / 2.0 / kind.times.abs());
    }
    half_widths.sort_by(f64::total_cmp);
    let known = half_widths.iter().filter(|of| of.is_finite()).count() as f64;
    [
        half_widths[half_widths.len() / 2],
        known / RUNS as f64,
        f64::from(covering) / known,
    ]
}

#[test]
fn turns_of_a_quarter_tell_most() {
    println!("half-width of a changeover's share, in one run (runs with an interval, coverage)");
    for recorded in RECORDED {
        println!("{}", recorded.0);
        let [fixed, double, quarter] = KINDS.map(|kind| {
            let [half_width, known, coverage] = outcome(recorded, kind);
            println!(
                "  {:32} ±{:5.2} % ({:3.0} %, {:.3})",
                kind.name,
                half_width * 100.0,
                known * 100.0,
                coverage
            );
            assert!(coverage > 0.93, "{coverage}");
            half_width
        });
        assert!(quarter < fixed / 3.0 && quarter < double / 3.0);
    }
}
