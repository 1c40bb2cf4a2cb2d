use super::*;
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

fn launches(of: &[&[f64]]) -> Launches {
    let mut launches = Launches::default();
    for blocks in of {
        launches.push(blocks.to_vec(), 0.0);
    }
    launches
}

#[test]
fn student_quantiles_match_published_tables() {
    for (degrees, quantile) in [(1.0, 12.706), (2.0, 4.303), (5.0, 2.571), (30.0, 2.042)] {
        assert!(
            (student_quantile(degrees, Confidence::P95) - quantile).abs() < 1e-3,
            "{degrees}"
        );
    }
}

#[test]
fn several_launches_use_the_scatter_between_them() {
    // Means 1, 2, 3: s = 1, standard error 1/sqrt(3), t(2) = 4.303.
    let result = two_level(&launches(&[&[1.0, 1.0], &[2.0, 2.0], &[3.0, 3.0]])).unwrap();
    let (low, high) = result.ends(Confidence::P95);
    assert!((result.estimate - 2.0).abs() < 1e-12);
    assert!(
        (high - low - 2.0 * 4.302_65 / 3f64.sqrt()).abs() < 1e-3,
        "{low} {high}"
    );
}

#[test]
fn one_launch_uses_the_scatter_within() {
    let blocks: Vec<f64> = (0..40).map(|i| f64::from(i % 2)).collect();
    let result = two_level(&launches(&[&blocks])).unwrap();
    assert_eq!(
        Some(result.standard_error),
        result.within_launch_standard_error
    );
}

#[test]
fn too_few_values_are_an_error() {
    assert_eq!(two_level(&launches(&[])), Err(TwoLevelError::NoValues));
    assert_eq!(
        two_level(&launches(&[&[f64::NAN], &[]])),
        Err(TwoLevelError::NoValues)
    );
    assert_eq!(
        two_level(&launches(&[&[1.0]])),
        Err(TwoLevelError::OneValue)
    );
    assert!(two_level(&launches(&[&[1.0], &[2.0]])).is_ok());
}

#[test]
fn unpaired_series_give_welchs_interval() {
    // With equal scatter on both sides the difference has √2 times the error of each, and twice its
    // degrees of freedom.
    let mut random = ChaCha8Rng::seed_from_u64(3);
    let spread: Vec<f64> = (0..40).map(|_| normal(&mut random)).collect();
    let moved: Vec<f64> = spread.iter().map(|v| v + 10.0).collect();
    let each = location(&spread).unwrap().error().unwrap();
    let result = unpaired(&moved, &spread).unwrap();
    assert!((result.estimate - 10.0).abs() < 1e-12);
    assert!((result.standard_error - 2f64.sqrt() * each.standard_error).abs() < 1e-12);
    assert!((result.degrees_of_freedom - 2.0 * each.degrees_of_freedom).abs() < 1e-9);
    assert_eq!(result.units, Units::default());
    // A side without scatter leaves the other's degrees of freedom.
    let against_none = unpaired(&spread, &[0.0; 40]).unwrap();
    assert!((against_none.degrees_of_freedom - each.degrees_of_freedom).abs() < 1e-9);
    assert_eq!(unpaired(&[], &[1.0]), Err(TwoLevelError::NoValues));
    assert_eq!(unpaired(&[1.0], &[1.0, 2.0]), Err(TwoLevelError::OneValue));
}

#[test]
fn units_are_launches_or_batches_of_the_only_one() {
    let several = two_level(&launches(&[&[1.0, 1.0], &[3.0, 3.0]])).unwrap();
    assert_eq!(several.units.kind, UnitKind::Launches);
    assert_eq!(several.units.values, [1.0, 3.0]);
    assert_eq!(several.units.mean(), Some(2.0));

    let mut alone = Launches::default();
    let mut blocks = vec![1.0, 2.0, 3.0, 4.0, 1e9, 5.0, 6.0, 7.0];
    blocks.extend([f64::NAN, 7.0, 7.0, 7.0, 7.0, 7.0, 7.0, 7.0, 7.0, 7.0]);
    alone.push(blocks.clone(), 0.5);
    let units = two_level(&alone).unwrap().units;
    assert_eq!(units.kind, UnitKind::Batches);
    // The middle six of the first eight; the last value is in an incomplete batch.
    assert_eq!(units.values, [5.0, 7.5]);

    // Later values do not change the units.
    blocks.extend([9.0; 6]);
    let mut longer = Launches::default();
    longer.push(blocks, 0.5);
    assert_eq!(two_level(&longer).unwrap().units.values[..2], [5.0, 7.5]);
}

#[test]
fn sequences_are_wider_than_intervals_and_need_some_units() {
    let mut random = ChaCha8Rng::seed_from_u64(4);
    let blocks: Vec<f64> = (0..150).map(|_| normal(&mut random)).collect();
    let few = two_level(&launches(&[&blocks[..9]])).unwrap();
    assert_eq!(few.sequence_ends(Confidence::P95), None);
    let many = two_level(&launches(&[&blocks])).unwrap();
    let (low, high) = many.sequence_ends(Confidence::P95).unwrap();
    let (low_fixed, high_fixed) = many.ends(Confidence::P95);
    let relative = (high - low) / (high_fixed - low_fixed);
    assert!((1.0..=1.8).contains(&relative), "{relative}");
    assert!((f64::midpoint(low, high) - many.units.mean().unwrap()).abs() < 1e-12);
}

#[test]
fn offsets_move_their_launch() {
    let mut shifted = Launches::default();
    shifted.push(vec![1.0, 1.0], 0.5);
    shifted.push(vec![1.0, 1.0], 1.5);
    assert!((two_level(&shifted).unwrap().estimate - 2.0).abs() < 1e-12);
}

/// Normal noise as the sum of twelve uniforms: tails to six standard deviations, which is enough
/// here.
fn normal(random: &mut ChaCha8Rng) -> f64 {
    (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0
}

#[test]
fn intervals_have_nominal_coverage() {
    let mut random = ChaCha8Rng::seed_from_u64(7);
    let experiments = 2000;
    for (rounds, launch_deviation) in [(1, 0.0), (3, 0.01), (6, 0.0), (8, 0.01)] {
        let covered = (0..experiments)
            .filter(|_| {
                let mut sample = Launches::default();
                for _ in 0..rounds {
                    let launch = launch_deviation * normal(&mut random);
                    let blocks = (0..30)
                        .map(|_| launch + 0.02 * normal(&mut random))
                        .collect();
                    sample.push(blocks, 0.0);
                }
                let (low, high) = two_level(&sample).unwrap().ends(Confidence::P95);
                low <= 0.0 && 0.0 <= high
            })
            .count();
        let coverage = covered as f64 / f64::from(experiments);
        assert!(
            (0.93..=0.975).contains(&coverage),
            "{rounds} rounds: {coverage}"
        );
    }
}

proptest! {
    #[test]
    fn wider_confidence_gives_wider_intervals(blocks in prop::collection::vec(-1.0..1.0f64, 4..40)) {
        let result = two_level(&launches(&[&blocks])).unwrap();
        let width = |c| { let (low, high) = result.ends(c); high - low };
        prop_assert!(width(Confidence::P90) <= width(Confidence::P95));
        prop_assert!(width(Confidence::P95) <= width(Confidence::P99));
    }
}
