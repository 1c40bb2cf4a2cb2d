//! Confidence sequences: intervals with repeated looks.

use rand_chacha::ChaCha8Rng;
use windage_stats::{Confidence, Launches, TwoLevel, radius, two_level};

use crate::cells::{Cell, carry_out, cells, median, share};
use crate::experiment::{Design, mirrored};

/// Single launches of 8, 16, 33 and 133 batches of four blocks, two values each; 8 and 40 launches.
const DESIGNS: [Design; 6] = [
    Design::new(1, 32),
    Design::new(1, 64),
    Design::new(1, 134),
    Design::new(1, 535),
    Design::new(8, 17),
    Design::new(40, 17),
];

/// 5 % is the nominal error, 1 % the tolerance for simulation.
const MOST_EVER_MISSED: f64 = 0.06;

/// The largest allowed ratio of widths to the interval for the same length fixed in advance.
const WIDEST: f64 = 1.8;

/// From so many batches on, that limit also applies relative to the interval that a report would
/// show. That interval is computed from single values, which carry more information than batches:
/// with eight batches a sequence is up to 1.98 times as wide, with ten 1.84 times (heavy tails).
const ENOUGH_BATCHES: usize = 16;

/// The outcome of one experiment with a look after each unit.
struct Looks {
    units: usize,
    ever_missed: bool,
    /// The ratio of the last look's width to that of Student's interval from the same units.
    over_student: f64,
    /// The ratio to the interval that a report would show.
    over_shown: f64,
}

impl Looks {
    fn new(found: &TwoLevel, truth: f64) -> Looks {
        let units = &found.units.values;
        let width = |(low, high): (f64, f64)| high - low;
        let last = found.sequence_ends(Confidence::P95).map(width).unwrap();
        Looks {
            units: units.len(),
            ever_missed: ever_misses(units, truth),
            over_student: last / width(students(units).ends(Confidence::P95)),
            over_shown: last / width(found.ends(Confidence::P95)),
        }
    }
}

/// Whether the truth is outside after any of the units.
fn ever_misses(units: &[f64], truth: f64) -> bool {
    let (mut mean, mut squares) = (0.0, 0.0);
    units.iter().enumerate().any(|(index, value)| {
        let count = index + 1;
        let off = value - mean;
        mean += off / count as f64;
        squares += off * (value - mean);
        let deviation = (squares / index.max(1) as f64).sqrt();
        radius(count, deviation, Confidence::P95).is_some_and(|r| (mean - truth).abs() > r)
    })
}

/// Launches of one block each give Student's interval.
fn students(units: &[f64]) -> TwoLevel {
    let mut launches = Launches::default();
    for unit in units {
        launches.push(vec![*unit], 0.0);
    }
    two_level(&launches).unwrap()
}

#[test]
fn sequences_cover_the_truth_at_all_looks_together() {
    let experiment = |cell: Cell, truth, random: &mut ChaCha8Rng| {
        let launches = mirrored(cell.design, cell.kind, truth, random);
        Looks::new(&two_level(&launches).unwrap(), truth)
    };
    let results = carry_out(&cells(&DESIGNS), experiment);
    println!("\nsequences of 95 %, looked at after each unit: width over …");
    println!("noise          design     units  ever missed  … Student's  … the one shown");
    let mut failed = Vec::new();
    for (cell, looks) in results {
        let units = looks[0].units;
        let missed = share(&looks, |l| l.ever_missed);
        let over_student = median(&looks, |l| l.over_student);
        let over_shown = median(&looks, |l| l.over_shown);
        let row = format!(
            "{}  {units:5}  {:9.2} %  {over_student:11.3}  {over_shown:14.3}",
            cell.name(),
            missed * 100.0,
        );
        println!("{row}");
        let enough = cell.design.launches > 1 || units >= ENOUGH_BATCHES;
        let too_wide = over_student > WIDEST || (enough && over_shown > WIDEST);
        if missed > MOST_EVER_MISSED || too_wide {
            failed.push(row);
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
}
