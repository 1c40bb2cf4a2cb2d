use super::*;
use crate::components::{Advice, Costs, advice};
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

fn pairs(of: &[(f64, f64)]) -> Vec<PairedTotals> {
    let pair = |&(baseline, arm): &(f64, f64)| PairedTotals { baseline, arm };
    of.iter().map(pair).collect()
}

/// Launches with a baseline of 100 and these differences.
fn apart(differences: &[f64]) -> Vec<PairedTotals> {
    let of: Vec<_> = differences.iter().map(|d| (100.0, 100.0 + d)).collect();
    pairs(&of)
}

fn close(found: f64, expected: f64) -> bool {
    (found - expected).abs() < 1e-9
}

#[test]
fn three_launches_by_hand() {
    let launches = pairs(&[(100.0, 110.0), (200.0, 220.0), (300.0, 360.0)]);
    let found = difference(&launches).unwrap();
    // 10, 20 and 60: the variance is 700.
    assert!(close(found.estimate, 30.0) && close(found.standard_error, (700.0f64 / 3.0).sqrt()));
    let found = relative(&launches).unwrap();
    // 690 to 600 is 1.15; residuals -5, -10, 15 over a mean of 200.
    assert!(close(found.estimate, 0.15));
    assert!(close(found.standard_error, (175.0f64 / 3.0).sqrt() / 200.0));
    for (found, expected) in found.by_launch.iter().zip([0.125, 0.10, 0.225]) {
        assert!(close(*found, expected), "{found}");
    }
}

#[test]
fn the_fewest_launches_show_the_variance_within_a_factor_of_two() {
    // The 80 % interval of the true variance, in units of that of the launches.
    let is_within_two = |launches: usize| {
        let freedom = launches as f64 - 1.0;
        let chi_squared = statrs::distribution::ChiSquared::new(freedom).unwrap();
        let at = |share| freedom / chi_squared.inverse_cdf(share);
        at(0.1) < 2.0 && at(0.9) > 0.5
    };
    assert!(is_within_two(FEWEST_LAUNCHES));
    assert!(!is_within_two(FEWEST_LAUNCHES - 2));
}

#[test]
fn what_has_no_interval_is_an_error() {
    type Row<'a> = (&'a str, &'a [(f64, f64)], TotalsError);
    let table: [Row<'_>; 5] = [
        ("none", &[], TotalsError::NoLaunches),
        ("one", &[(100.0, 110.0)], TotalsError::OneLaunch),
        (
            "not a number",
            &[(1.0, 1.0), (f64::NAN, 1.0)],
            TotalsError::NotFinite { launch: 1 },
        ),
        (
            "infinite",
            &[(1.0, f64::INFINITY)],
            TotalsError::NotFinite { launch: 0 },
        ),
        ("idle", &[(0.0, 1.0), (0.0, 2.0)], TotalsError::BaselineZero),
    ];
    for (name, launches, error) in table {
        assert_eq!(relative(&pairs(launches)), Err(error), "{name}");
    }
}

#[test]
fn arms_without_cost_are_compared() {
    let launches = pairs(&[(0.0, 1.0), (0.0, 2.0)]);
    assert!(close(difference(&launches).unwrap().estimate, 1.5));
    let launches = pairs(&[(1.0, 0.0), (0.0, 0.0), (2.0, 0.0)]);
    let found = relative(&launches).unwrap();
    assert!(close(found.estimate, -1.0) && found.standard_error == 0.0);
    assert_eq!(found.ends(Confidence::P95), (-1.0, -1.0));
}

#[test]
fn symmetric_launches_have_students_interval() {
    let found = difference(&apart(&[-3.0, -1.0, 0.0, 1.0, 3.0])).unwrap();
    let (low, high) = found.ends(Confidence::P95);
    let half = student_quantile(4.0, Confidence::P95) * found.standard_error;
    assert!(close(low, -half) && close(high, half), "{low} {high}");
}

#[test]
fn a_long_tail_extends_its_side_alone_and_within_bounds() {
    let mut one_far_off = vec![0.0; 12];
    one_far_off.push(50.0);
    let little = [0.0, 0.1, 0.2, 0.3, 0.4, 0.6, 0.9, 1.4];
    for differences in [&one_far_off[..], &little] {
        let found = difference(&apart(differences)).unwrap();
        let (low, high) = found.ends(Confidence::P95);
        let half =
            student_quantile(found.degrees_of_freedom, Confidence::P95) * found.standard_error;
        assert!(close(low, found.estimate - half));
        assert!(high > found.estimate + half && high <= found.estimate + 1.5 * half + 1e-9);
        let mirrored: Vec<f64> = differences.iter().map(|d| -d).collect();
        let (low_mirrored, high_mirrored) =
            difference(&apart(&mirrored)).unwrap().ends(Confidence::P95);
        assert!(close(low_mirrored, -high) && close(high_mirrored, -low));
    }
}

#[test]
fn too_few_launches_are_not_enough() {
    let noise = [0.3, -0.2, 0.1, 0.4, -0.5, 0.0, 0.2];
    let of = |count: usize, apart_by: f64| {
        let value = |i: usize| noise[i % 7] + if i.is_multiple_of(4) { apart_by } else { 0.0 };
        difference(&apart(&(0..count).map(value).collect::<Vec<_>>())).unwrap()
    };
    // launches, distance of the modes, launches needed, enough
    for (count, apart_by, needed, enough) in [
        (2, 0.0, 13, false),
        (12, 0.0, 13, false),
        (13, 0.0, 13, true),
        (13, 20.0, 20, false),
        (20, 20.0, 20, true),
    ] {
        let found = of(count, apart_by);
        let seen = (found.launches_needed(), found.has_enough_launches());
        assert_eq!(seen, (needed, enough), "{count} {apart_by}");
    }
    assert_eq!(of(15, 0.0).sequence_ends(Confidence::P95), None);
    let found = of(16, 0.0);
    let (low, high) = found.sequence_ends(Confidence::P95).unwrap();
    let (low_fixed, high_fixed) = found.ends(Confidence::P95);
    assert!(low < low_fixed && high > high_fixed);
}

/// Noise with a standard deviation of one and without much of a tail.
fn normal(random: &mut ChaCha8Rng) -> f64 {
    (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0
}

#[test]
fn the_detectable_effect_is_detected_with_its_power() {
    let random = &mut ChaCha8Rng::seed_from_u64(8);
    let mut of = |effect: f64| {
        let differences: Vec<f64> = (0..13).map(|_| effect + normal(random)).collect();
        difference(&apart(&differences)).unwrap()
    };
    let stated: f64 = (0..400).map(|_| of(0.0).minimum_detectable_effect()).sum();
    let effect = stated / 400.0;
    let detected = (0..4000)
        .filter(|_| of(effect).ends(Confidence::P95).0 > 0.0)
        .count();
    let power = detected as f64 / 4000.0;
    assert!((0.78..0.85).contains(&power), "{effect}: {power}");
}

#[test]
fn forecasts_count_launches() {
    let noise: Vec<f64> = (0..14).map(|i| f64::from(i % 5) - 2.0).collect();
    let found = relative(&apart(&noise)).unwrap();
    let (low, high) = found.ends(Confidence::P95);
    let half = (high - found.estimate).max(found.estimate - low);
    let needed = |half| found.launches_for_half_width(half, Confidence::P95);
    assert_eq!(needed(half * 1.000_001), Some(14));
    assert_eq!(needed(100.0 * half), Some(FEWEST_LAUNCHES));
    assert!((44..54).contains(&needed(half / 2.0).unwrap()));
    for none in [0.0, -1.0, f64::NAN, half / 1000.0] {
        assert_eq!(needed(none), None);
    }
    let settled = |margin| found.launches_for_verdict(VerdictRule::of_shares(margin));
    assert_eq!(settled(0.5), Some(FEWEST_LAUNCHES), "negligible already");
    let later = settled(0.006).unwrap();
    assert!(later > 14, "{later}");
    assert_eq!(settled(found.estimate.abs()), None, "at the margin");
}

#[test]
fn scatter_is_split_between_launches_and_blocks() {
    let random = &mut ChaCha8Rng::seed_from_u64(5);
    let mut launch = || {
        let luck = 0.01 * normal(random);
        let block = |_| {
            let machine = 200.0 * (1.0 + 0.1 * normal(random));
            PairedTotals {
                baseline: machine,
                arm: machine * (1.08 + luck + 0.03 * normal(random)),
            }
        };
        (0..6).map(block).collect::<Vec<PairedTotals>>()
    };
    let launches: Vec<Vec<PairedTotals>> = (0..400).map(|_| launch()).collect();
    let found = variance_components(&launches).unwrap();
    assert!(
        (found.launch_sd.unwrap() / 0.01 - 1.0).abs() < 0.25,
        "{found:?}"
    );
    assert!((found.within_sd / 0.03 - 1.0).abs() < 0.1, "{found:?}");
    let costs = Costs {
        launch_s: 4.0,
        block_s: 1.0,
    };
    assert_eq!(advice(&found, costs, 400, 6), Advice::Balanced);
    assert!(matches!(
        advice(&found, costs, 400, 60),
        Advice::MoreRounds { .. }
    ));
    let same = pairs(&[(100.0, 101.0), (100.0, 103.0)]);
    assert_eq!(variance_components(&[]), None);
    assert_eq!(variance_components(&[pairs(&[(1.0, 1.0)])]), None);
    assert_eq!(variance_components(&[same.clone(), vec![]]), None);
    let alone = variance_components(&[same]).unwrap();
    assert_eq!(alone.launch_sd, None);
}

proptest! {
    #[test]
    fn units_and_order_do_not_matter(
        values in prop::collection::vec((0.0..1e3f64, 0.0..1e3f64), 2..30),
        unit in 0.01..100.0f64,
    ) {
        let launches = pairs(&values);
        let scaled: Vec<PairedTotals> = launches
            .iter()
            .rev()
            .map(|p| PairedTotals { baseline: p.baseline * unit, arm: p.arm * unit })
            .collect();
        let (one, other) = (difference(&launches).unwrap(), difference(&scaled).unwrap());
        let (low, high) = one.ends(Confidence::P95);
        let (low_scaled, high_scaled) = other.ends(Confidence::P95);
        let near = |a: f64, b: f64| (a - b).abs() < 1e-6 * (1.0 + b.abs());
        prop_assert!(near(low * unit, low_scaled) && near(high * unit, high_scaled));
        prop_assert!(low <= one.estimate && one.estimate <= high);
        if let (Ok(one), Ok(other)) = (relative(&launches), relative(&scaled)) {
            prop_assert!(near(one.estimate, other.estimate));
            let (low, high) = one.ends(Confidence::P99);
            prop_assert!(low.is_finite() && high.is_finite() && low <= high);
            prop_assert!(one.minimum_detectable_effect() >= 0.0);
        }
    }
}

#[test]
fn one_effect_less_another_is_paired() {
    // What both share in a launch cancels; what is left is 10, 12 and 14 less 5, 5 and 8.
    let (head, base) = (
        pairs(&[(100.0, 110.0), (200.0, 212.0), (300.0, 314.0)]),
        pairs(&[(100.0, 105.0), (200.0, 205.0), (300.0, 308.0)]),
    );
    let (head, base) = (difference(&head).unwrap(), difference(&base).unwrap());
    let change = head.less(&base).unwrap();
    assert_eq!(change.by_launch, [5.0, 7.0, 6.0]);
    assert_eq!(change.estimate, 6.0);
    assert!((change.standard_error - 1.0 / 3f64.sqrt()).abs() < 1e-12);
    let fewer = difference(&pairs(&[(1.0, 2.0), (1.0, 3.0)])).unwrap();
    assert_eq!(head.less(&fewer), None);
}
