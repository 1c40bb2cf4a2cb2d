//! Variance between runs, and pooled bias.

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use windage_stats::between_runs::FEWEST_RUNS;
use windage_stats::{
    Confidence, PairedTotals, RunEstimate, between_runs, difference, pooled_bias, totals,
};

use crate::cells::{carry_out, median, share};
use crate::noise::normal;

/// Scatter of a launch's effect within a run, and launches of a run: a standard error of 0.25 %.
const LAUNCH_SD: f64 = 0.01;
const LAUNCHES: usize = 16;
const ERROR: f64 = 0.0025;

/// Earlier runs, and the standard deviation between runs in standard errors of a run.
const CELLS: [(usize, f64); 12] = [
    (FEWEST_RUNS, 0.0),
    (FEWEST_RUNS, 0.5),
    (FEWEST_RUNS, 1.0),
    (FEWEST_RUNS, 2.0),
    (FEWEST_RUNS, 4.0),
    (8, 0.0),
    (8, 1.0),
    (8, 4.0),
    (20, 0.0),
    (20, 0.5),
    (20, 1.0),
    (20, 4.0),
];

/// A run's effect. Its true effect is zero, but runs scatter.
fn run(between: f64, random: &mut ChaCha8Rng) -> totals::Effect {
    // Some runs are noisier than others.
    let noise = LAUNCH_SD * random.random_range(0.7..1.4);
    let own = between * ERROR * normal(random);
    let launch = |_| PairedTotals {
        baseline: 1.0,
        arm: 1.0 + own + noise * normal(random),
    };
    let launches: Vec<PairedTotals> = (0..LAUNCHES).map(launch).collect();
    totals::relative(&launches).unwrap()
}

fn estimates(runs: usize, between: f64, random: &mut ChaCha8Rng) -> Vec<RunEstimate> {
    let of = |_| {
        let effect = run(between, random);
        RunEstimate {
            estimate: effect.estimate,
            standard_error: effect.standard_error,
        }
    };
    (0..runs).map(of).collect()
}

/// The deviation's own interval is a little too short at its lower end, because runs know their
/// standard errors from 16 launches only.
#[test]
fn differences_of_two_further_runs_are_covered() {
    let experiment = |(runs, between), _, random: &mut ChaCha8Rng| {
        let known = between_runs(&estimates(runs, between, random)).unwrap();
        let [one, two] = [(); 2].map(|()| {
            let effect = run(between, random);
            let (low, high) = effect.ends(Confidence::P95);
            (effect.estimate, low, high)
        });
        let alone = difference(two, one).unwrap();
        let change = (two.0 - one.0, alone.0, alone.1);
        let widened = known.widen(change, Confidence::P95).unwrap();
        let holds = |(low, high): (f64, f64)| low <= 0.0 && 0.0 <= high;
        let between = between * ERROR;
        let known_to_cover = known.low <= between && between <= known.high;
        (
            holds(alone),
            holds(widened),
            known_to_cover,
            (widened.1 - widened.0) / 2.0,
        )
    };
    println!("\nthe difference of two runs, intervals of 95 %");
    println!("runs  between     alone   widened  half-width  interval of the deviation");
    let mut failed = Vec::new();
    for ((runs, between), of) in carry_out(&CELLS, experiment) {
        let (alone, widened) = (share(&of, |o| o.0), share(&of, |o| o.1));
        let deviation = share(&of, |o| o.2);
        let row = format!(
            "{runs:>4}  {between:7.1}  {:6.1} %  {:6.1} %  {:8.3} %  {:6.1} %",
            alone * 100.0,
            widened * 100.0,
            median(&of, |o| o.3) * 100.0,
            deviation * 100.0
        );
        println!("{row}");
        if widened < 0.925 || deviation < 0.90 {
            failed.push(row);
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
}

#[test]
fn a_bias_is_not_found_where_there_is_none() {
    let experiment = |(runs, between), _, random: &mut ChaCha8Rng| {
        let estimates = estimates(runs, between, random);
        let none = pooled_bias(&estimates).unwrap().p_value < 0.05;
        let shifted = |run: &RunEstimate| RunEstimate {
            estimate: run.estimate - ERROR,
            ..*run
        };
        let shifted: Vec<RunEstimate> = estimates.iter().map(shifted).collect();
        (none, pooled_bias(&shifted).unwrap().p_value < 0.05)
    };
    println!("\npooled bias at 5 %: found without one, found with one of a standard error");
    let mut failed = Vec::new();
    for ((runs, between), of) in carry_out(&CELLS, experiment) {
        let (none, one) = (share(&of, |o| o.0), share(&of, |o| o.1));
        let row = format!(
            "{runs:>4}  {between:7.1}  {:6.1} %  {:6.1} %",
            none * 100.0,
            one * 100.0
        );
        println!("{row}");
        let too_weak = runs == 20 && between < 1.0 && one < 0.9;
        if none > 0.07 || too_weak {
            failed.push(row);
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
}
