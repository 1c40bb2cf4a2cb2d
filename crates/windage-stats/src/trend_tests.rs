use super::*;
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Normal noise (Box & Muller 1958).
fn normal(random: &mut ChaCha8Rng) -> f64 {
    let (radius, turn): (f64, f64) = (random.random(), random.random());
    (-2.0 * (1.0 - radius).ln()).sqrt() * (std::f64::consts::TAU * turn).cos()
}

/// Blocks with a standard deviation of 2 %, correlated with their neighbours.
fn noise(random: &mut ChaCha8Rng, count: usize, autocorrelation: f64) -> Vec<f64> {
    let fresh = (1.0 - autocorrelation * autocorrelation).sqrt();
    let mut last = normal(random);
    (0..count)
        .map(|_| {
            last = autocorrelation * last + fresh * normal(random);
            0.02 * last
        })
        .collect()
}

fn with_drift(mut values: Vec<f64>, change: f64) -> Vec<f64> {
    let count = values.len() as f64;
    for (i, value) in values.iter_mut().enumerate() {
        *value += change * i as f64 / (count - 1.0);
    }
    values
}

/// A trend in a single launch.
fn trend(series: &[f64]) -> Option<Trend> {
    trend_over(&[series.to_vec()])
}

/// How often a trend is found.
fn found(
    experiments: u32,
    seed: u64,
    mut run: impl FnMut(&mut ChaCha8Rng) -> Option<Trend>,
) -> f64 {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let found = (0..experiments)
        .filter(|_| run(&mut random).is_some_and(|t| t.significant))
        .count();
    found as f64 / f64::from(experiments)
}

fn launches(random: &mut ChaCha8Rng, luck: f64, change: f64) -> Vec<Vec<f64>> {
    (0..8)
        .map(|_| {
            let offset = luck * normal(random);
            let blocks = with_drift(noise(random, 16, 0.3), change);
            blocks.iter().map(|v| v + offset).collect()
        })
        .collect()
}

#[test]
fn a_drift_of_three_per_cent_is_found_in_130_blocks() {
    let series = with_drift(noise(&mut ChaCha8Rng::seed_from_u64(1), 130, 0.0), 0.03);
    let drift = trend(&series).unwrap();
    assert!(drift.significant && drift.over == Over::Launch, "{drift:?}");
    assert!((drift.change_over_series - 0.03).abs() < 0.015, "{drift:?}");
    // In theory: Student's quantile 2.8 with 25 degrees of freedom, and a line of 4.9 (3.6)
    // standard errors.
    for (autocorrelation, least) in [(0.0, 0.95), (0.3, 0.75)] {
        let rate = found(500, 2, |r| {
            trend(&with_drift(noise(r, 130, autocorrelation), 0.03))
        });
        assert!(rate > least, "{autocorrelation}: {rate}");
    }
}

#[test]
fn correlated_blocks_are_not_taken_for_a_trend() {
    for (count, autocorrelation) in [(130, 0.0), (130, 0.3), (40, 0.3)] {
        let rate = found(1000, 3, |r| trend(&noise(r, count, autocorrelation)));
        assert!(rate <= 0.02, "{count} {autocorrelation}: {rate}");
    }
}

#[test]
fn outliers_are_not_taken_for_a_trend_and_do_not_hide_one() {
    let spoil = |random: &mut ChaCha8Rng, mut values: Vec<f64>| {
        values
            .iter_mut()
            .filter(|_| random.random::<f64>() < 0.02)
            .for_each(|v| *v += 5.0);
        values
    };
    let rate = found(1000, 4, |r| {
        let values = noise(r, 130, 0.3);
        trend(&spoil(r, values))
    });
    assert!(rate <= 0.02, "{rate}");
    let rate = found(300, 5, |r| {
        let values = with_drift(noise(r, 130, 0.0), 0.04);
        trend(&spoil(r, values))
    });
    assert!(rate > 0.95, "{rate}");
}

#[test]
fn launch_luck_is_no_trend() {
    for luck in [0.0, 0.01, 0.1] {
        let rate = found(1000, 6, |r| trend_over(&launches(r, luck, 0.0)));
        assert!(rate <= 0.02, "{luck}: {rate}");
    }
}

#[test]
fn a_trend_within_launches_is_found_despite_launch_luck() {
    let rate = found(300, 7, |r| {
        let trend = trend_over(&launches(r, 0.1, 0.04));
        trend.filter(|t| t.over == Over::Launch && t.change_over_series > 0.0)
    });
    assert!(rate > 0.9, "{rate}");
}

#[test]
fn a_trend_between_launches_is_found() {
    let stairs: Vec<Vec<f64>> = {
        let mut random = ChaCha8Rng::seed_from_u64(8);
        let mut launches = launches(&mut random, 0.001, 0.0);
        for (i, launch) in launches.iter_mut().enumerate() {
            launch.iter_mut().for_each(|v| *v -= 0.01 * i as f64);
        }
        launches
    };
    let trend = trend_over(&stairs).unwrap();
    assert!(trend.significant && trend.over == Over::Run, "{trend:?}");
    assert!((trend.change_over_series + 0.07).abs() < 0.02, "{trend:?}");
}

#[test]
fn too_few_blocks_have_no_result() {
    let ramp = |count: i32| (0..count).map(f64::from).collect::<Vec<_>>();
    for series in [vec![], ramp(1), ramp(24), vec![f64::NAN; 200]] {
        assert_eq!(trend(&series), None, "{}", series.len());
    }
    assert_eq!(trend_over(&[]), None);
    assert_eq!(trend_over(&vec![vec![]; 50]), None);
    assert_eq!(trend_over(&vec![ramp(7); 5]), None);
    assert!(trend(&ramp(25)).is_some() && trend_over(&vec![ramp(7); 6]).is_some());
}

#[test]
fn equal_values_have_no_trend_and_an_exact_line_has_one() {
    let still = trend(&[0.1; 60]).unwrap();
    assert!(
        !still.significant && still.change_over_series.abs() < 1e-12,
        "{still:?}"
    );
    let still = trend_over(&vec![vec![0.1; 5]; 10]).unwrap();
    assert!(
        !still.significant && still.change_over_series.abs() < 1e-12,
        "{still:?}"
    );
    let line: Vec<f64> = (0..200).map(|i| f64::from(i) * 0.01).collect();
    let line = trend(&line).unwrap();
    assert!(
        line.significant && (line.change_over_series - 2.0).abs() < 0.01,
        "{line:?}"
    );
}

proptest! {
    #[test]
    fn only_the_size_of_a_change_depends_on_the_unit(seed in 0..1000u64, unit in 0.01..100.0f64, constant in -10.0..10.0f64) {
        let values = noise(&mut ChaCha8Rng::seed_from_u64(seed), 60, 0.3);
        let other: Vec<f64> = values.iter().map(|v| v * unit + constant).collect();
        let (one, two) = (trend(&values).unwrap(), trend(&other).unwrap());
        prop_assert_eq!(one.significant, two.significant);
        prop_assert!((one.change_over_series * unit - two.change_over_series).abs() < 1e-7);
    }

    #[test]
    fn a_series_read_backwards_has_the_opposite_trend(seed in 0..1000u64) {
        let values = noise(&mut ChaCha8Rng::seed_from_u64(seed), 60, 0.3);
        let backwards: Vec<f64> = values.iter().rev().copied().collect();
        let (one, two) = (trend(&values).unwrap(), trend(&backwards).unwrap());
        prop_assert!((one.change_over_series + two.change_over_series).abs() < 1e-9);
    }
}
