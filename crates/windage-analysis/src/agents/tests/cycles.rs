//! Figures over attachments and launches.

use proptest::prelude::*;
use windage_model::Method;

use super::*;
use crate::agents::cycles::{ByLaunch, difference_of_ratios, mean, range, ratio};
use crate::sums::Quotient;

#[test]
fn a_range_is_the_median_and_the_highest() {
    type MedianAndMax = Option<(f64, f64)>;
    let table: [(&[f64], MedianAndMax); 4] = [
        (&[], None),
        (&[3.0], Some((3.0, 3.0))),
        (&[4.0, 1.0], Some((2.5, 4.0))),
        (&[9.0, 1.0, 2.0], Some((2.0, 9.0))),
    ];
    for (values, expected) in table {
        let found = range(values.iter().copied());
        assert_eq!(found.map(|of| (of.median, of.max)), expected, "{values:?}");
    }
}

/// Attachments of a launch alone.
fn alone(parts: &[Quotient]) -> ByLaunch {
    [(0, parts.to_vec())].into()
}

#[test]
fn a_ratio_without_a_denominator_is_none() {
    assert_eq!(ratio(&ByLaunch::new(), rules()), None);
    assert_eq!(ratio(&alone(&[(1.0, 0.0), (2.0, 0.0)]), rules()), None);
    let of_one = ratio(&alone(&[(6.0, 2.0)]), rules()).unwrap();
    assert_eq!((of_one.estimate, of_one.interval), (3.0, None));
    let (of, less) = (alone(&[(1.0, 1.0)]), alone(&[(1.0, 0.0)]));
    assert_eq!(difference_of_ratios(&of, &less, rules()), None);
}

/// Attachments of a launch are alike, and launches differ: twenty attachments are four values.
#[test]
fn attachments_of_a_launch_are_not_independent() {
    let of_launches = [4.0, 5.0, 5.0, 6.0].map(|us| vec![(us * 100.0, 100.0); 5]);
    let parts: ByLaunch = (0..).zip(of_launches).collect();
    let nothing: ByLaunch = parts.keys().map(|of| (*of, vec![(0.0, 1.0); 5])).collect();
    // The t quantile of three degrees of freedom times a standard error of 0.408.
    let half_width = 3.182 * (2.0_f64 / 3.0 / 4.0).sqrt();
    for (found, method) in [
        (ratio(&parts, rules()), Method::RatioByLaunch),
        (mean(&as_means(&parts), rules()), Method::MeanByLaunch),
        (
            difference_of_ratios(&parts, &nothing, rules()),
            Method::RatioByLaunch,
        ),
    ] {
        let found = found.unwrap();
        let interval = found.interval.unwrap();
        assert!((found.estimate - 5.0).abs() < 1e-12, "{method:?}");
        assert!(
            (interval.half_width() - half_width).abs() < 1e-3,
            "{interval:?}"
        );
        assert_eq!(interval.method, method);
    }
    // The same twenty in a single launch are twenty values.
    let all: Vec<Quotient> = parts.into_values().flatten().collect();
    let interval = ratio(&alone(&all), rules()).unwrap().interval.unwrap();
    assert!(interval.half_width() < half_width / 2.0, "{interval:?}");
    assert_eq!(interval.method, Method::RatioByAttachment);
}

fn as_means(parts: &ByLaunch) -> ByLaunch {
    let mean = |(over, under): &Quotient| (over / under, 1.0);
    let launches = parts.iter();
    launches
        .map(|(launch, of)| (*launch, of.iter().map(mean).collect()))
        .collect()
}

/// Six attachments of different lengths whose cost scatters by a tenth.
#[test]
fn intervals_of_a_ratio_cover_the_truth() {
    const RUNS: u64 = 3_000;
    let held = (0..RUNS).filter(|run| {
        let chance = |number: u64| {
            (0..4)
                .map(|i| noise((run * 64 + number) * 4 + i))
                .sum::<f64>()
        };
        let parts: Vec<(f64, f64)> = (0..6)
            .map(|i| {
                let requests = 1_000.0 * (1.0 + 0.3 * noise(run * 16 + i + 7_000_000));
                (requests * 5.0 * (1.0 + 0.1 * chance(i)), requests)
            })
            .collect();
        let found = ratio(&alone(&parts), rules()).unwrap().interval.unwrap();
        found.low <= 5.0 && 5.0 <= found.high
    });
    let share = held.count() as f64 / RUNS as f64;
    // Three standard errors of this share are 1.2 %; few attachments of different lengths lose some
    // coverage.
    assert!((0.93..=0.965).contains(&share), "{share}");
}

proptest! {
    #[test]
    fn the_ratio_of_sums_lies_in_its_interval(
        parts in prop::collection::vec((0.0..1e9_f64, 1.0..1e9_f64), 1..20),
    ) {
        let found = ratio(&alone(&parts), rules()).unwrap();
        let (over, under) = parts.iter().fold((0.0, 0.0), |(a, b), (x, y)| (a + x, b + y));
        prop_assert!((found.estimate - over / under).abs() <= 1e-9 * (over / under).max(1.0));
        prop_assert_eq!(found.interval.is_some(), parts.len() > 1);
        if let Some(interval) = found.interval {
            let slack = 1e-9 * found.estimate.abs();
            prop_assert!(interval.low <= found.estimate + slack);
            prop_assert!(interval.high >= found.estimate - slack);
        }
    }
}
