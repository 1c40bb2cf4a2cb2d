//! The difference of two runs: does its interval have nominal coverage?

use std::ops::RangeInclusive;

use rand_chacha::ChaCha8Rng;
use windage_stats::{Confidence, TwoLevel, difference, two_level};

use crate::cells::{carry_out, median, share};
use crate::experiment::{Design, mirrored};
use crate::noise::Kind;

/// The allowed coverage for runs of fixed length: with few launches the method is known to be
/// conservative.
const COVERAGE: RangeInclusive<f64> = 0.93..=0.995;

/// A run with its own noise and length; its overhead changes by the amount that the experiment
/// sets.
#[derive(Clone, Copy, Debug)]
struct Pair {
    earlier: (Kind, Design),
    later: (Kind, Design),
}

const LAUNCHES_2: Design = Design::new(2, 60);
const LAUNCHES_3: Design = Design::new(3, 45);
const LAUNCHES_8: Design = Design::new(8, 17);
const LAUNCHES_40: Design = Design::new(40, 17);

/// Equal runs, and runs as different in scatter and launches as two runs of one plan can be.
const PAIRS: [Pair; 10] = [
    pair(Kind::Quiet, LAUNCHES_2, Kind::Quiet, LAUNCHES_2),
    pair(Kind::Quiet, LAUNCHES_3, Kind::Quiet, LAUNCHES_3),
    pair(Kind::All, LAUNCHES_3, Kind::All, LAUNCHES_3),
    pair(Kind::Quiet, LAUNCHES_3, Kind::All, LAUNCHES_3),
    pair(Kind::All, LAUNCHES_3, Kind::Quiet, LAUNCHES_8),
    pair(Kind::LaunchOffsets, LAUNCHES_3, Kind::Quiet, LAUNCHES_40),
    pair(
        Kind::LaunchOffsets,
        LAUNCHES_8,
        Kind::LaunchOffsets,
        LAUNCHES_8,
    ),
    pair(Kind::HeavyTails, LAUNCHES_8, Kind::All, LAUNCHES_8),
    pair(
        Kind::Quiet,
        Design::new(1, 134),
        Kind::Drift,
        Design::new(1, 25),
    ),
    pair(Kind::All, LAUNCHES_40, Kind::All, LAUNCHES_8),
];

const fn pair(earlier: Kind, of_earlier: Design, later: Kind, of_later: Design) -> Pair {
    Pair {
        earlier: (earlier, of_earlier),
        later: (later, of_later),
    }
}

impl Pair {
    fn name(self) -> String {
        let of = |(kind, Design { launches, blocks }): (Kind, Design)| {
            format!("{:<14} {launches:>2} x {blocks:<3}", kind.as_str())
        };
        format!("{}  {}", of(self.earlier), of(self.later))
    }

    /// The two runs: the earlier has zero overhead, the later one the change.
    fn measured(self, change: f64, random: &mut ChaCha8Rng) -> [TwoLevel; 2] {
        let mut of = |(kind, design), truth| {
            let launches = mirrored(design, kind, truth, random);
            two_level(&launches).unwrap()
        };
        [of(self.earlier, 0.0), of(self.later, change)]
    }
}

/// The estimated change, and whether its interval covers the true one.
#[derive(Clone, Copy)]
struct Change {
    holds: bool,
    half_width: f64,
}

impl Change {
    fn new((low, high): (f64, f64), truth: f64) -> Change {
        Change {
            holds: low <= truth && truth <= high,
            half_width: (high - low) / 2.0,
        }
    }
}

/// As shares, asymmetric about their estimates, as the analysis provides them.
fn as_share(estimate: f64, (low, high): (f64, f64)) -> (f64, f64, f64) {
    (estimate.exp_m1(), low.exp_m1(), high.exp_m1())
}

fn row(pair: Pair, changes: &[Change]) -> (String, f64) {
    let covered = share(changes, |change| change.holds);
    let half_width = median(changes, |change| change.half_width);
    let row = format!(
        "{}  {:6.2} %  {:7.3} %",
        pair.name(),
        covered * 100.0,
        half_width * 100.0
    );
    println!("{row}");
    (row, covered)
}

#[test]
fn changes_between_two_runs_have_nominal_coverage() {
    let of_fixed_length = |pair: Pair, truth: f64, random: &mut ChaCha8Rng| {
        let [earlier, later] = pair.measured(truth, random);
        let of = |run: &TwoLevel| as_share(run.estimate, run.ends(Confidence::P95));
        Change::new(
            difference(of(&later), of(&earlier)).unwrap(),
            truth.exp_m1(),
        )
    };
    println!("\ntwo runs of fixed length, intervals of 95 %");
    println!("earlier                  later                     covered  half-width");
    let mut failed = Vec::new();
    for (pair, changes) in carry_out(&PAIRS, of_fixed_length) {
        let (row, covered) = row(pair, &changes);
        if !COVERAGE.contains(&covered) {
            failed.push(row);
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
}

/// Confidence sequences hold at every look; at the last look alone they are conservative, and so is
/// their difference.
#[test]
fn changes_between_runs_that_could_stop_are_conservative() {
    let enough = |(_, design): (Kind, Design)| design.launches >= 8;
    let pairs: Vec<Pair> = PAIRS
        .into_iter()
        .filter(|pair| enough(pair.earlier) && enough(pair.later))
        .collect();
    let of_sequences = |pair: Pair, truth: f64, random: &mut ChaCha8Rng| {
        let [earlier, later] = pair.measured(truth, random);
        let of = |run: &TwoLevel| {
            let ends = run.sequence_ends(Confidence::P95).unwrap();
            as_share(run.units.mean().unwrap(), ends)
        };
        Change::new(
            difference(of(&later), of(&earlier)).unwrap(),
            truth.exp_m1(),
        )
    };
    println!("\ntwo runs that could stop, sequences of 95 % at their last look");
    println!("earlier                  later                     covered  half-width");
    let mut failed = Vec::new();
    for (pair, changes) in carry_out(&pairs, of_sequences) {
        let (row, covered) = row(pair, &changes);
        if covered < 0.98 {
            failed.push(row);
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
}
