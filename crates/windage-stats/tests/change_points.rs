//! Change points in simulation: how many of a history are false, and how soon a real one is found.
//!
//! `cargo test --locked -p windage-stats --test change_points -- --nocapture` prints the tables.

use std::f64::consts::TAU;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use windage_stats::change_points;

/// Commits of a history.
const COMMITS: usize = 1000;
/// Histories without a change per cell.
const HISTORIES: u64 = 20;
/// Histories with a change per cell: a share of 80 % has a standard error of 2.8 %.
const STEPS: u64 = 200;

/// Results of commits, with a standard deviation of one.
#[derive(Clone, Copy, Debug)]
enum Noise {
    Normal,
    /// Student's t with three degrees of freedom.
    HeavyTails,
    /// Autoregressive with this coefficient.
    Correlated(f64),
    /// One result in twenty is off by five standard deviations.
    Outliers,
    /// The machine differs by one and a half standard deviations for 5 to 15 commits at a time.
    Days,
}

fn results(noise: Noise, count: usize, seed: u64) -> Vec<f64> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let (mut last, mut day, mut until) = (normal(&mut random), 0.0, 0);
    let mut next = || match noise {
        Noise::Normal => normal(&mut random),
        Noise::HeavyTails => {
            let squares = (0..3).map(|_| normal(&mut random).powi(2)).sum::<f64>();
            normal(&mut random) / (squares / 3.0).sqrt() / 3f64.sqrt()
        }
        Noise::Correlated(by) => {
            last = by * last + (1.0 - by * by).sqrt() * normal(&mut random);
            last
        }
        Noise::Outliers => {
            let off = if random.random::<f64>() < 0.05 {
                5.0
            } else {
                0.0
            };
            normal(&mut random) + off
        }
        Noise::Days => {
            if until == 0 {
                until = random.random_range(5..=15);
                day = 1.5 * normal(&mut random);
            }
            until -= 1;
            day + normal(&mut random)
        }
    };
    (0..count).map(|_| next()).collect()
}

fn normal(random: &mut ChaCha8Rng) -> f64 {
    let (radius, turn): (f64, f64) = (random.random(), random.random());
    (-2.0 * (1.0 - radius).ln()).sqrt() * (TAU * turn).cos()
}

#[test]
fn histories_without_a_change_have_hardly_any() {
    println!("false change points in {COMMITS} commits");
    let mut wrong = Vec::new();
    let cells = [
        Noise::Normal,
        Noise::HeavyTails,
        Noise::Correlated(0.3),
        Noise::Correlated(0.6),
        Noise::Outliers,
    ];
    for noise in cells {
        let rate = false_changes(noise);
        println!("{noise:>18?}  {rate:.2}");
        wrong.extend((rate > 1.0).then_some((noise, rate)));
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}

/// Change points of a history without a change, in the mean.
fn false_changes(noise: Noise) -> f64 {
    let found = |seed| change_points(&results(noise, COMMITS, seed)).len();
    (0..HISTORIES).map(found).sum::<usize>() as f64 / HISTORIES as f64
}

/// A level that differs for some days, and comes back, is a change as far as values go: the guide
/// says so.
#[test]
fn a_slower_machine_looks_like_a_change() {
    let rate = false_changes(Noise::Days);
    println!("a machine that is faster or slower for 5 to 15 commits at a time: {rate:.0}");
    assert!((10.0..100.0).contains(&rate), "{rate}");
}

#[test]
fn a_change_is_found_within_five_commits() {
    println!("share of steps found within 5 commits, by their size in standard deviations");
    let cells = [
        (Noise::Normal, 4.0, 0.8),
        (Noise::HeavyTails, 4.0, 0.5),
        (Noise::Correlated(0.3), 4.0, 0.2),
        (Noise::Outliers, 4.0, 0.4),
        (Noise::Normal, 3.0, 0.6),
        (Noise::Normal, 2.0, 0.1),
    ];
    for (noise, step, at_least) in cells {
        let is_found = |seed: u64| {
            let before = 20 + (seed % 100) as usize;
            let mut values = results(noise, before + 5, 1_000 + seed);
            values[before..].iter_mut().for_each(|value| *value += step);
            let near = |at: usize| at.abs_diff(before) <= 2;
            change_points(&values).iter().any(|of| near(of.at))
        };
        let found = (0..STEPS).filter(|seed| is_found(*seed)).count();
        let share = found as f64 / STEPS as f64;
        println!("{noise:>18?}  {step}  {share:.2}");
        assert!(share >= at_least, "{noise:?} {step}: {share}");
    }
}

#[test]
fn one_change_is_found_once() {
    println!(
        "change points of histories with one step of 4 standard deviations and 60 commits after it"
    );
    for noise in [Noise::Normal, Noise::HeavyTails, Noise::Correlated(0.3)] {
        let found = |seed: u64| {
            let mut values = results(noise, 100, 2_000 + seed);
            values[40..].iter_mut().for_each(|value| *value += 4.0);
            let found = change_points(&values);
            let is_it = found.iter().any(|of| of.at.abs_diff(40) <= 2);
            (usize::from(is_it), found.len() - usize::from(is_it))
        };
        let (hits, others): (Vec<_>, Vec<_>) = (0..STEPS).map(found).unzip();
        let share = |of: Vec<usize>| of.iter().sum::<usize>() as f64 / STEPS as f64;
        let (hits, others) = (share(hits), share(others));
        println!("{noise:>18?}  found {hits:.2}, others {others:.3}");
        assert!(hits >= 0.9 && others <= 0.1, "{noise:?}: {hits} {others}");
    }
}
