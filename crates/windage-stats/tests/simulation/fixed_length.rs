//! Intervals of runs of fixed length.

use std::ops::RangeInclusive;

use rand_chacha::ChaCha8Rng;
use windage_stats::{Confidence, Launches, TwoLevel, two_level};

use crate::cells::{Cell, carry_out, cells, median, root_mean_square, share};
use crate::experiment::{Design, mirrored};
use crate::noise::normal;

/// The allowed coverage of 95 % intervals.
const COVERAGE: RangeInclusive<f64> = 0.93..=0.97;

/// The outcome of one experiment.
pub(crate) struct Outcome {
    pub(crate) error: f64,
    half_width: f64,
}

impl Outcome {
    pub(crate) fn new(of: &TwoLevel, truth: f64) -> Outcome {
        let (low, high) = of.ends(Confidence::P95);
        Outcome {
            error: of.estimate - truth,
            half_width: (high - low) / 2.0,
        }
    }

    pub(crate) fn covers(&self) -> bool {
        self.error.abs() <= self.half_width
    }
}

/// Prints a row of the table; returns the coverage.
pub(crate) fn coverage(name: &str, outcomes: &[Outcome]) -> f64 {
    let covered = share(outcomes, Outcome::covers);
    println!(
        "{name}  {:5.2} %  {:8.3} %  {:8.3} %",
        covered * 100.0,
        median(outcomes, |o| o.half_width) * 100.0,
        root_mean_square(outcomes, |o| o.error) * 100.0,
    );
    covered
}

pub(crate) fn print_heading(of: &str) {
    println!("\n{of}");
    println!("noise          design     covered  half-width     error");
}

/// Names and coverages outside the allowed range.
fn failed(rows: impl Iterator<Item = (String, f64)>) -> Vec<String> {
    rows.filter(|(_, covered)| !COVERAGE.contains(covered))
        .map(|(name, covered)| format!("{name}: {:.2} %", covered * 100.0))
        .collect()
}

#[test]
fn intervals_have_nominal_coverage() {
    let outcomes = carry_out(&cells(&Design::ALL), |cell: Cell, truth, random| {
        let launches = mirrored(cell.design, cell.kind, truth, random);
        Outcome::new(&two_level(&launches).unwrap(), truth)
    });
    print_heading("mirrored order, intervals of 95 %");
    let rows = outcomes.iter().map(|(cell, outcomes)| {
        let name = cell.name();
        let covered = coverage(&name, outcomes);
        (name, covered)
    });
    let failed = failed(rows);
    assert!(failed.is_empty(), "{failed:#?}");
}

/// Block values of a single launch, each correlated with the previous one.
fn correlated(correlation: f64, blocks: usize, truth: f64, random: &mut ChaCha8Rng) -> Launches {
    let fresh = (1.0 - correlation * correlation).sqrt();
    let mut value = normal(random);
    let values = (0..blocks).map(|_| {
        value = correlation * value + fresh * normal(random);
        truth + value
    });
    let mut launches = Launches::default();
    launches.push(values.collect(), 0.0);
    launches
}

#[test]
fn correlation_between_blocks_does_not_spoil_a_single_launch() {
    let cells: Vec<(f64, usize)> = [0.1, 0.2, 0.3]
        .into_iter()
        .flat_map(|correlation| [25, 134, 535].map(|blocks| (correlation, blocks)))
        .collect();
    let outcomes = carry_out(&cells, |(correlation, blocks), truth, random| {
        let launches = correlated(correlation, blocks, truth, random);
        Outcome::new(&two_level(&launches).unwrap(), truth)
    });
    print_heading("a single launch, block values correlated with the previous one");
    let rows = outcomes.iter().map(|((correlation, blocks), outcomes)| {
        let name = format!("{correlation:<14} 1 x {blocks:<4}");
        let covered = coverage(&name, outcomes);
        (name, covered)
    });
    let failed = failed(rows);
    assert!(failed.is_empty(), "{failed:#?}");
}
