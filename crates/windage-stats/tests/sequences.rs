//! Confidence sequences in simulation: how often they ever miss the truth, how wide they are, and
//! how good a forecast of their end is.
//!
//! `cargo test --locked -p windage-stats --test sequences -- --nocapture` prints the tables.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "failures to compute fail the test, and tables are printed on request"
)]

use std::f64::consts::TAU;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use statrs::distribution::{ContinuousCDF, StudentsT};
use windage_stats::{
    Confidence, Launches, Outlook, UnitKind, location, outlook, radius, two_level,
};

/// Experiments per cell: a rate of 5 % has a standard error of 0.5 %.
const EXPERIMENTS: u64 = 2000;
/// The longest sequence.
const MOST_UNITS: usize = 500;
/// Blocks in a batch, as [`two_level`] makes units of a single launch.
const BATCH: usize = UnitKind::BATCH;
/// The error probability of a sequence at 95 %, plus a tolerance for chance.
const MAY_MISS: f64 = 0.05 + 0.01;

/// The block values of one launch. Their true location is zero.
#[derive(Clone, Copy, Debug)]
enum Noise {
    Normal,
    /// Student's t with three degrees of freedom.
    HeavyTails,
    /// Autoregressive with 0.3 between blocks: more than blocking leaves of most drifts.
    Correlated,
    /// One block in a hundred scatters ten times as much.
    Outliers,
    /// The machine is slower by a factor of 0.7 for 10 to 30 consecutive blocks, with more scatter.
    /// A block that spans a change is off by up to half of the step.
    Regimes,
}

/// Blocks in the order of measurement.
struct Blocks {
    noise: Noise,
    random: ChaCha8Rng,
    last: f64,
    slow: bool,
    until_switch: u32,
}

impl Blocks {
    fn new(noise: Noise, seed: u64) -> Blocks {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let slow = random.random();
        let until_switch = random.random_range(1..=30);
        Blocks {
            noise,
            last: normal(&mut random),
            random,
            slow,
            until_switch,
        }
    }

    fn next(&mut self) -> f64 {
        match self.noise {
            Noise::Normal => normal(&mut self.random),
            Noise::HeavyTails => student_3(&mut self.random),
            Noise::Correlated => {
                let fresh = (1.0 - 0.3f64.powi(2)).sqrt();
                self.last = 0.3 * self.last + fresh * normal(&mut self.random);
                self.last
            }
            Noise::Outliers => {
                let wild = self.random.random::<f64>() < 0.01;
                normal(&mut self.random) * if wild { 10.0 } else { 1.0 }
            }
            Noise::Regimes => self.next_of_regimes(),
        }
    }

    fn next_of_regimes(&mut self) -> f64 {
        // In units of the fast regime's scatter, which is a fiftieth of the speed.
        let step = -0.7f64.ln() * 50.0;
        self.until_switch -= 1;
        let straddling = if self.until_switch == 0 {
            self.slow = !self.slow;
            self.until_switch = self.random.random_range(10..=30);
            step * (self.random.random::<f64>() - 0.5)
        } else {
            0.0
        };
        let scatter = if self.slow { 1.0 / 0.7 } else { 1.0 };
        scatter * normal(&mut self.random) + straddling
    }

    fn batch(&mut self) -> [f64; BATCH] {
        std::array::from_fn(|_| self.next())
    }
}

/// Box and Muller (1958).
fn normal(random: &mut ChaCha8Rng) -> f64 {
    let radius = (-2.0 * (1.0 - random.random::<f64>()).ln()).sqrt();
    radius * (TAU * random.random::<f64>()).cos()
}

/// Student's t with three degrees of freedom, by Bailey's polar method (1994).
fn student_3(random: &mut ChaCha8Rng) -> f64 {
    let radius = (3.0 * ((1.0 - random.random::<f64>()).powf(-2.0 / 3.0) - 1.0)).sqrt();
    radius * (TAU * random.random::<f64>()).cos()
}

/// Mean and scatter of the units so far (Welford 1962).
#[derive(Default)]
struct Sofar {
    units: usize,
    mean: f64,
    squares: f64,
}

impl Sofar {
    fn push(&mut self, unit: f64) {
        self.units += 1;
        let off = unit - self.mean;
        self.mean += off / self.units as f64;
        self.squares += off * (unit - self.mean);
    }

    fn standard_deviation(&self) -> f64 {
        (self.squares / (self.units as f64 - 1.0)).sqrt()
    }
}

/// Half-widths for a standard deviation of one, by number of units; infinite while unbounded.
fn half_widths(of: impl Fn(usize) -> Option<f64>) -> Vec<f64> {
    (0..=MOST_UNITS)
        .map(|units| of(units).unwrap_or(f64::INFINITY))
        .collect()
}

fn of_sequence(units: usize) -> Option<f64> {
    radius(units, 1.0, Confidence::P95)
}

fn of_student(units: usize) -> Option<f64> {
    let student = StudentsT::new(0.0, 1.0, units as f64 - 1.0).ok()?;
    Some(student.inverse_cdf(0.975) / (units as f64).sqrt())
}

/// The share of experiments in which the interval about the mean excludes the truth after any
/// number of units.
fn ever_missed(half_widths: &[f64], units: impl Fn(u64) -> Box<dyn FnMut() -> f64>) -> f64 {
    let misses = |seed: &u64| {
        let mut unit = units(*seed);
        let mut sofar = Sofar::default();
        half_widths.iter().any(|half_width| {
            let missed = half_width.is_finite()
                && sofar.mean.abs() > half_width * sofar.standard_deviation();
            sofar.push(unit());
            missed
        })
    };
    (0..EXPERIMENTS).filter(misses).count() as f64 / EXPERIMENTS as f64
}

/// Units that are single blocks.
fn single(noise: Noise) -> impl Fn(u64) -> Box<dyn FnMut() -> f64> {
    move |seed| {
        let mut blocks = Blocks::new(noise, seed);
        Box::new(move || blocks.next())
    }
}

/// Units that are locations of batches of blocks.
fn batched(noise: Noise) -> impl Fn(u64) -> Box<dyn FnMut() -> f64> {
    move |seed| {
        let mut blocks = Blocks::new(noise, seed);
        Box::new(move || location(&blocks.batch()).unwrap().estimate)
    }
}

fn assert_hardly_ever_misses(noise: Noise, units: impl Fn(u64) -> Box<dyn FnMut() -> f64>) {
    let missed = ever_missed(&half_widths(of_sequence), units);
    println!("{noise:?}: ever missed {:.2} %", missed * 100.0);
    assert!(missed <= MAY_MISS, "{noise:?}: {missed}");
}

#[test]
fn normal_units_are_rarely_missed() {
    assert_hardly_ever_misses(Noise::Normal, single(Noise::Normal));
}

#[test]
fn batches_with_heavy_tails_are_rarely_missed() {
    assert_hardly_ever_misses(Noise::HeavyTails, batched(Noise::HeavyTails));
}

#[test]
fn correlated_batches_are_rarely_missed() {
    assert_hardly_ever_misses(Noise::Correlated, batched(Noise::Correlated));
}

#[test]
fn batches_with_outliers_are_rarely_missed() {
    assert_hardly_ever_misses(Noise::Outliers, batched(Noise::Outliers));
}

#[test]
fn batches_in_regimes_are_rarely_missed() {
    assert_hardly_ever_misses(Noise::Regimes, batched(Noise::Regimes));
}

#[test]
fn students_interval_misses_often_with_repeated_looks() {
    let mut student = half_widths(of_student);
    // From where a confidence sequence is finite as well.
    student[..5].fill(f64::INFINITY);
    let missed = ever_missed(&student, single(Noise::Normal));
    println!("Student's interval: ever missed {:.1} %", missed * 100.0);
    assert!(missed > 0.3, "{missed}");
}

#[test]
fn batches_are_those_of_a_single_launch() {
    let mut blocks = Blocks::new(Noise::HeavyTails, 1);
    let batches: Vec<[f64; BATCH]> = (0..20).map(|_| blocks.batch()).collect();
    let locations: Vec<f64> = batches
        .iter()
        .map(|batch| location(batch).unwrap().estimate)
        .collect();
    let mut launches = Launches::default();
    launches.push(batches.concat(), 0.0);
    assert_eq!(two_level(&launches).unwrap().units.values, locations);
}

#[test]
fn a_sequence_is_at_most_1_8_times_as_wide_as_students_interval() {
    let ratio = |units| of_sequence(units).unwrap() / of_student(units).unwrap();
    for units in [8, 12, 20, 50, 100, 300, 500] {
        println!("{units} units: {:.3} times as wide", ratio(units));
    }
    for units in 8..=MOST_UNITS {
        assert!((1.0..=1.8).contains(&ratio(units)), "{units} units");
    }
}

/// Quarters of the way at which forecasts are made, if there are enough units.
const QUARTERS: [usize; 3] = [1, 2, 3];
const FEWEST_UNITS: usize = 8;
/// Experiments with forecasts.
const FORESEEN: u64 = 500;

/// The outcome of forecasts.
#[derive(Debug, Default)]
struct Forecasts {
    made: usize,
    within_half_again: usize,
    in_range: usize,
}

impl Forecasts {
    fn note(&mut self, outlook: &Outlook, total: usize) {
        let foreseen = |left: f64| (outlook.units as f64 + left) / total as f64;
        let near = (1.0 / 1.5..=1.5).contains(&foreseen(outlook.units_left));
        let in_range =
            foreseen(outlook.units_left_low) <= 1.0 && foreseen(outlook.units_left_high) >= 1.0;
        self.made += 1;
        self.within_half_again += usize::from(near);
        self.in_range += usize::from(in_range);
    }

    fn near(&self) -> f64 {
        self.within_half_again as f64 / self.made as f64
    }

    fn in_range(&self) -> f64 {
        self.in_range as f64 / self.made as f64
    }
}

/// The standard deviations after each unit, starting with the second, of a sequence that continues
/// until it is as narrow as given.
fn until(half_width: f64, mut unit: impl FnMut() -> f64) -> Vec<f64> {
    let mut sofar = Sofar::default();
    let mut deviations = Vec::new();
    sofar.push(unit());
    loop {
        sofar.push(unit());
        deviations.push(sofar.standard_deviation());
        let radius = radius(sofar.units, sofar.standard_deviation(), Confidence::P95);
        if radius.is_some_and(|radius| radius <= half_width) {
            return deviations;
        }
    }
}

/// Runs experiments until their sequence is as narrow as a typical one with so many units.
fn experiments(noise: Noise, typical_units: usize) -> (f64, Vec<Vec<f64>>) {
    let mut typical = Sofar::default();
    let mut unit = batched(noise)(FORESEEN);
    (0..20_000).for_each(|_| typical.push(unit()));
    let deviation = typical.standard_deviation();
    let half_width = radius(typical_units, deviation, Confidence::P95).unwrap();
    let runs = (0..FORESEEN).map(|seed| until(half_width, batched(noise)(seed)));
    (half_width, runs.collect())
}

/// The outcome of the forecasts at each quarter, and of the first one that claims to be within a
/// factor of 1.5.
fn forecasts(noise: Noise, typical_units: usize) -> ([Forecasts; 3], Forecasts) {
    let (half_width, runs) = experiments(noise, typical_units);
    let mut at_quarters: [Forecasts; 3] = Default::default();
    let mut first_sure = Forecasts::default();
    for deviations in runs {
        let total = deviations.len() + 1;
        let after = |units: usize| {
            outlook(units, deviations[units - 2], half_width, Confidence::P95).unwrap()
        };
        for (quarters, forecasts) in QUARTERS.into_iter().zip(&mut at_quarters) {
            let units = (total * quarters).div_ceil(4).max(FEWEST_UNITS);
            if units < total {
                forecasts.note(&after(units), total);
            }
        }
        let mut all = (FEWEST_UNITS..total).map(after);
        if let Some(sure) = all.find(|outlook| outlook.is_within(1.5)) {
            first_sure.note(&sure, total);
        }
    }
    (at_quarters, first_sure)
}

/// Nine in ten, less two standard errors over the experiments.
const NINE_IN_TEN: f64 = 0.9 - 0.027;

#[test]
fn forecasts_are_right_within_a_factor_of_1_5() {
    println!("right within 1.5 at 1/4, 1/2, 3/4 of the way (total within the range), when sure");
    for noise in [Noise::Normal, Noise::HeavyTails] {
        for typical_units in [16, 32, 64, 128] {
            let (at_quarters, first_sure) = forecasts(noise, typical_units);
            let [quarter, half, three_quarters] = &at_quarters;
            print!("{noise:?}, about {typical_units} units: ");
            for forecasts in &at_quarters {
                print!("{:.2} ({:.2})  ", forecasts.near(), forecasts.in_range());
            }
            println!("{:.2} of {}", first_sure.near(), first_sure.made);
            assert!(half.near() >= NINE_IN_TEN && three_quarters.near() >= NINE_IN_TEN);
            assert!(first_sure.near() >= NINE_IN_TEN);
            // 32 or more units estimate the scatter well enough; with fewer it may be off by half.
            assert!(quarter.near() >= 0.85 || typical_units < 128);
            // Units with heavy tails scatter more unevenly than the range assumes.
            assert!(
                at_quarters
                    .iter()
                    .all(|forecasts| forecasts.in_range() >= 0.8)
            );
        }
    }
}
