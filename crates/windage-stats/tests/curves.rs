//! Do curves have their nominal coverage? Sweeps over seven levels are drawn, measured over a few
//! launches with a common baseline, and fitted.
//!
//! `cargo test --locked -p windage-stats --test curves -- --nocapture` prints its table.

#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "shared test code")]

use std::ops::RangeInclusive;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use windage_stats::fit::{Common, Errors, Estimated, Point, Shape, Side};
use windage_stats::location::sample_variance;
use windage_stats::{Confidence, Fit, fit, side_by_side};

const LEVELS: [f64; 7] = [0.0, 2.5, 10.0, 25.0, 50.0, 75.0, 100.0];
const EXPERIMENTS: u32 = 1500;
/// The x at which the curve's height is checked.
const BETWEEN: f64 = 40.0;
/// The allowed coverage of 95 % intervals.
const AS_SAID: RangeInclusive<f64> = 0.93..=0.97;
/// Where points scatter no more than their errors, half of all curves are still widened, by chance:
/// slope and prediction then cover more than nominal. This is the price of correct coverage where
/// points scatter more.
const WIDENED: RangeInclusive<f64> = 0.94..=0.985;

#[derive(Clone, Copy)]
struct Cell {
    name: &'static str,
    launches: usize,
    truth: fn(f64) -> f64,
    /// The slope of a line; `None` for a curve.
    slope: Option<f64>,
    /// Standard deviations between launches: of each arm alone, by its level; of the baseline.
    own: fn(f64) -> f64,
    baseline: f64,
    /// The luck of each arm, the same in all launches, so that no interval includes it.
    of_arm: f64,
}

const LINE: Cell = Cell {
    name: "a line",
    launches: 3,
    truth: |x| 2.0 + 0.3 * x,
    slope: Some(0.3),
    own: |_| 1.0,
    baseline: 1.0,
    of_arm: 0.0,
};

/// The outcome of one experiment.
struct Outcome {
    fixed: bool,
    slope: bool,
    height: bool,
    predicted: bool,
    p: f64,
    is_bent: bool,
}

fn normal(random: &mut ChaCha8Rng) -> f64 {
    (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0
}

/// For each level, its value in each launch.
fn measured(cell: Cell, random: &mut ChaCha8Rng) -> Vec<Vec<f64>> {
    let baseline: Vec<f64> = (0..cell.launches)
        .map(|_| cell.baseline * normal(random))
        .collect();
    LEVELS
        .iter()
        .map(|&x| {
            let of_arm = cell.of_arm * normal(random);
            let launch = |b: &f64| (cell.truth)(x) + of_arm + (cell.own)(x) * normal(random) - b;
            baseline.iter().map(launch).collect()
        })
        .collect()
}

fn fitted(measured: &[Vec<f64>]) -> (Vec<Point>, Errors) {
    let sides = measured.iter().map(|units| Side {
        standard_error: (sample_variance(units) / units.len() as f64).sqrt(),
        degrees_of_freedom: (units.len() - 1) as f64,
        units,
    });
    let found = side_by_side(&sides.collect::<Vec<_>>()).unwrap();
    let point = |(x, units): (&f64, &Vec<f64>)| Point {
        x: *x,
        y: units.iter().sum::<f64>() / units.len() as f64,
        standard_error: found.own.standard_error,
    };
    let errors = Errors {
        degrees_of_freedom: found.own.degrees_of_freedom,
        common: Common {
            shift: found.common.standard_error,
            scale: 0.0,
            degrees_of_freedom: found.common.degrees_of_freedom,
        },
    };
    (LEVELS.iter().zip(measured).map(point).collect(), errors)
}

fn experiment(cell: Cell, random: &mut ChaCha8Rng) -> Outcome {
    let (points, errors) = fitted(&measured(cell, random));
    let curve = fit(&points, errors).unwrap();
    let holds = |of: Estimated, truth: f64| (of.low..=of.high).contains(&truth);
    let terms = curve.terms(Confidence::P95);
    Outcome {
        fixed: holds(terms[0].1, (cell.truth)(0.0)),
        slope: cell.slope.is_some_and(|slope| holds(terms[1].1, slope)),
        height: holds(curve.at(BETWEEN, Confidence::P95), (cell.truth)(BETWEEN)),
        predicted: predicted(&points, errors, random.random_range(1..LEVELS.len() - 1)),
        p: curve.lack_of_fit().unwrap().p,
        is_bent: curve.shape() != Shape::Line,
    }
}

/// Whether a point lies within the prediction of the curve through all others.
fn predicted(points: &[Point], errors: Errors, held_out: usize) -> bool {
    let mut others = points.to_vec();
    let out = others.remove(held_out);
    let curve: Fit = fit(&others, errors).unwrap();
    let where_to = curve.predicted(out.x, out.standard_error, Confidence::P95);
    (where_to.low..=where_to.high).contains(&out.y)
}

fn outcomes(cell: Cell) -> Vec<Outcome> {
    let mut random = ChaCha8Rng::seed_from_u64(11);
    (0..EXPERIMENTS)
        .map(|_| experiment(cell, &mut random))
        .collect()
}

/// The share of experiments for which something holds.
fn share(of: &[Outcome], holds: impl Fn(&Outcome) -> bool) -> f64 {
    of.iter().filter(|o| holds(o)).count() as f64 / of.len() as f64
}

fn show(cell: Cell, outcomes: &[Outcome]) -> [f64; 4] {
    let shares = [
        share(outcomes, |o| o.fixed),
        share(outcomes, |o| o.slope),
        share(outcomes, |o| o.height),
        share(outcomes, |o| o.predicted),
    ];
    let slope = cell
        .slope
        .map_or("none".to_owned(), |_| format!("{:.3}", shares[1]));
    println!(
        "{:<22} {} launches: fixed {:.3}, slope {slope}, height {:.3}, held out {:.3}, bent {:.3}",
        cell.name,
        cell.launches,
        shares[0],
        shares[2],
        shares[3],
        share(outcomes, |o| o.is_bent),
    );
    shares
}

#[track_caller]
fn assert_within(range: &RangeInclusive<f64>, shares: &[f64]) {
    for share in shares {
        assert!(range.contains(share), "{share} is not within {range:?}");
    }
}

#[test]
fn lines_are_covered_and_their_lack_of_fit_is_chance() {
    for launches in [3, 5, 8] {
        for baseline in [1.0, 3.0] {
            let cell = Cell {
                launches,
                baseline,
                ..LINE
            };
            let outcomes = outcomes(cell);
            let [fixed, slope, height, held_out] = show(cell, &outcomes);
            assert_within(&AS_SAID, &[fixed, height]);
            assert_within(&WIDENED, &[slope, held_out]);
            // A uniform p: the share of p below each value equals that value.
            for p in [0.05, 0.25, 0.5, 0.75] {
                let below = share(&outcomes, |o| o.p < p);
                assert!((below - p).abs() < 0.04, "{below} of p below {p}");
            }
        }
    }
}

#[test]
fn lines_through_arms_with_own_luck_are_covered() {
    for launches in [3, 8] {
        for of_arm in [0.5, 1.0, 3.0] {
            let cell = Cell {
                name: "a line, arms with luck",
                launches,
                of_arm,
                ..LINE
            };
            let outcomes = outcomes(cell);
            assert_within(&AS_SAID, &show(cell, &outcomes));
            assert!(share(&outcomes, |o| o.is_bent) < 0.03);
        }
    }
}

#[test]
fn bends_are_found_and_covered() {
    type Height = fn(f64) -> f64;
    let bends: [(&str, Height); 2] = [
        ("a root", |x| 2.0 + 3.0 * x.sqrt()),
        ("an end", |x| 2.0 + 40.0 * x / (x + 20.0)),
    ];
    for launches in [3, 8] {
        for (name, truth) in bends {
            let cell = Cell {
                name,
                launches,
                truth,
                slope: None,
                ..LINE
            };
            let outcomes = outcomes(cell);
            let [fixed, _, height, held_out] = show(cell, &outcomes);
            assert_within(&AS_SAID, &[fixed, height]);
            assert_within(&WIDENED, &[held_out]);
            assert!(share(&outcomes, |o| o.is_bent) > 0.99);
        }
    }
}

/// A bend too slight to be found is not in the curve, and the fixed term is biased by it: no rule
/// that selects terms from the points avoids that. Points between others are still predicted.
#[test]
fn bends_too_slight_to_be_found_bias_the_fixed_term() {
    for launches in [3, 8] {
        let cell = Cell {
            name: "a slight bend",
            launches,
            truth: |x| 2.0 + 0.2 * x + 0.6 * x.sqrt(),
            slope: None,
            ..LINE
        };
        let outcomes = outcomes(cell);
        let [fixed, _, height, held_out] = show(cell, &outcomes);
        assert!((0.75..0.93).contains(&fixed), "{fixed}");
        assert!((0.85..0.95).contains(&height), "{height}");
        assert_within(&WIDENED, &[held_out]);
    }
}

/// Errors are pooled as if arms were equally precise. This is the price where they are not.
#[test]
fn arms_of_unequal_precision_are_nearly_covered() {
    for launches in [3, 8] {
        let cell = Cell {
            name: "the last 4 times as noisy",
            launches,
            own: |x| 0.5 + 0.015 * x,
            ..LINE
        };
        let outcomes = outcomes(cell);
        let shares = show(cell, &outcomes);
        assert_within(&(0.92..=0.985), &shares);
    }
}
