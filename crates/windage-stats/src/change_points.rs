//! Where a series of results, one per commit, changes its level.
//!
//! The statistic is that of E-divisive (Matteson & James 2014), which MongoDB (Daly et al. 2020) and
//! Apache Otava use on benchmarks, with the exponent 2: energy distance is then twice the squared
//! difference of means, so that only a change of the level counts, and a split costs one step. Its
//! p value is the share of series without a change that reach it: permutations of the values, for
//! which it is exact if they are independent. Results of neighbouring commits are correlated, because
//! machines have good and bad days; so what is permuted are the innovations of an autoregression of
//! order 1 (a sieve bootstrap: Bühlmann 1997).
//!
//! A series is walked through as it grew: each value is a look at those since the last change. So a
//! change point that was once reported is reported ever after. `tests/change_points.rs` shows how
//! many are false, and how soon a change is found.

use rand::SeedableRng as _;
use rand::seq::SliceRandom as _;
use rand_chacha::ChaCha8Rng;

use crate::outliers::{deviations, pulled_in};

/// Permuted series for each look. None may reach the statistic of a change, so its p value is below 1
/// in 1,000. There are many looks, but they share most of their values.
const SERIES: usize = 1000;
/// The fewest values on either side of a change.
const FEWEST_OF_A_LEVEL: usize = 3;
/// The fewest values of a look. With fewer, their scatter is not known well enough.
const FEWEST: usize = 12;
/// The most values of a look, the newest ones.
const MOST: usize = 120;
/// The strongest correlation of neighbours that is believed. If there is more, there is no level.
const MOST_CORRELATED: f64 = 0.8;
/// Added to the correlation that is found, divided by the root of the number of values: about half of
/// its standard error.
const CAUTION: f64 = 0.75;
/// How much of a statistic can be rounding. An order of the same values that splits them alike reaches
/// it, whatever unit they are in.
const ROUNDING: f64 = 1e-9;

/// A change of the level of a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChangePoint {
    /// The index of the first value of the new level.
    pub at: usize,
    /// The index of the value with which it was found.
    pub found_at: usize,
    /// The mean since the change before, or since the beginning.
    pub before: f64,
    /// The mean until the next change, or to the end.
    pub after: f64,
}

/// The change points of a series, in order. All values must be finite: with any that is not there
/// are none.
#[must_use]
pub fn change_points(values: &[f64]) -> Vec<ChangePoint> {
    if !values.iter().all(|value| value.is_finite()) {
        return Vec::new();
    }
    let mut starts = Vec::new();
    let mut start = 0;
    for end in FEWEST..=values.len() {
        let from = start.max(end.saturating_sub(MOST));
        if end - from < FEWEST {
            continue;
        }
        let known: Vec<usize> = starts.iter().map(|(at, _)| *at).collect();
        if let Some(at) = change(&values[..end], from, &known) {
            start = at;
            starts.push((start, end - 1));
        }
    }
    let ends = starts.iter().skip(1).map(|(at, _)| *at);
    let ends: Vec<usize> = ends.chain([values.len()]).collect();
    let mut since = 0;
    let mut found = Vec::new();
    for ((at, found_at), end) in starts.into_iter().zip(ends) {
        found.push(ChangePoint {
            at,
            found_at,
            before: mean(&values[since..at]),
            after: mean(&values[at..end]),
        });
        since = at;
    }
    found
}

/// The index at which the level of these values changes after the index `from`, if it does. The
/// changes before are known.
fn change(values: &[f64], from: usize, known: &[usize]) -> Option<usize> {
    // A result that is far off must not look like a level. Equal values become exact zeros.
    let near = pulled_in(&deviations(&values[from..]));
    let (split, statistic) = best_split(&near, FEWEST_OF_A_LEVEL)?;
    let changes: Vec<usize> = known.iter().copied().chain([from + split]).collect();
    let mut innovations = Innovations::of(&near, correlation(values, &changes));
    // The same values always give the same answer.
    let mut random = ChaCha8Rng::seed_from_u64(near.len() as u64);
    let reaching = statistic * (1.0 - ROUNDING);
    let is_reached = (0..SERIES).any(|_| {
        innovations.values.shuffle(&mut random);
        let of_null = best_split(&innovations.series(), FEWEST_OF_A_LEVEL);
        of_null.is_some_and(|(_, of_null)| of_null >= reaching)
    });
    // A change that was found early has few values after it: fewer than the split was allowed.
    let place = || best_split(&near, 1).map(|(split, _)| from + split);
    if is_reached { None } else { place() }
}

/// The split with the largest statistic, with at least so many values on either side. `None` if all
/// values are equal.
fn best_split(values: &[f64], fewest: usize) -> Option<(usize, f64)> {
    let count = values.len();
    let total: f64 = values.iter().sum();
    let (mut left, mut best) = (0.0, (0, 0.0));
    for (at, value) in (1..).zip(values) {
        left += value;
        if at < fewest || count - at < fewest {
            continue;
        }
        let (of_left, of_right) = (at as f64, (count - at) as f64);
        let apart = left / of_left - (total - left) / of_right;
        let statistic = of_left * of_right / count as f64 * apart * apart;
        if statistic > best.1 {
            best = (at, statistic);
        }
    }
    (best.1 > 0.0).then_some(best)
}

/// What is new in each value of a series: what remains of it without the mean and without the
/// correlation of neighbours.
struct Innovations {
    values: Vec<f64>,
    correlation: f64,
}

impl Innovations {
    fn of(values: &[f64], correlation: f64) -> Innovations {
        let mean = mean(values);
        let first = values
            .first()
            .map(|value| (value - mean) * (1.0 - correlation.powi(2)).sqrt());
        let others = values
            .windows(2)
            .map(|pair| pair[1] - mean - correlation * (pair[0] - mean));
        Innovations {
            values: first.into_iter().chain(others).collect(),
            correlation,
        }
    }

    /// A series without a change.
    fn series(&self) -> Vec<f64> {
        let mut last = None;
        let next = |innovation: &f64| {
            let value = match last {
                Some(last) => self.correlation * last + innovation,
                None => innovation / (1.0 - self.correlation.powi(2)).sqrt(),
            };
            last = Some(value);
            value
        };
        self.values.iter().map(next).collect()
    }
}

/// The correlation of neighbours in a whole series, from how much farther apart values are that have
/// one between them. Unlike products, differences do not depend on the levels, which would follow
/// correlated values and hide them; pairs on both sides of a change are left out.
fn correlation(values: &[f64], changes: &[usize]) -> f64 {
    let apart = |lag: usize| {
        let crosses = |to: usize| changes.iter().any(|at| (to + 1 - lag..=to).contains(at));
        let squares: Vec<f64> = (lag..values.len())
            .filter(|to| !crosses(*to))
            .map(|to| (values[to] - values[to - lag]).powi(2))
            .collect();
        squares.iter().sum::<f64>() / squares.len().max(1) as f64
    };
    let found = match apart(1) {
        nearest if nearest > 0.0 => apart(2) / nearest - 1.0,
        _ => 0.0,
    };
    (found + CAUTION / (values.len() as f64).sqrt()).clamp(0.0, MOST_CORRELATED)
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Values that alternate around a level for each piece.
    fn levels(pieces: &[(usize, f64)]) -> Vec<f64> {
        let piece = |&(count, level): &(usize, f64)| {
            (0..count).map(move |i| level + [0.1, -0.2, 0.2, -0.1][i % 4])
        };
        pieces.iter().flat_map(piece).collect()
    }

    #[test]
    fn levels_are_found_in_both_directions() {
        let found = change_points(&levels(&[(20, 5.0), (15, 7.0), (16, 6.0)]));
        let places: Vec<_> = found.iter().map(|of| of.at).collect();
        assert_eq!(places, [20, 35], "{found:?}");
        assert!(found.iter().all(|of| of.found_at <= of.at + 6), "{found:?}");
        let means = found.iter().map(|of| (of.before.round(), of.after.round()));
        assert_eq!(means.collect::<Vec<_>>(), [(5.0, 7.0), (7.0, 6.0)]);
    }

    #[test]
    fn a_change_far_beyond_the_scatter_is_found() {
        let of_scatter = levels(&[(19, 50.0), (9, 90.0)]);
        let of_three = (0..28).map(|i| f64::from(i % 3) + if i < 19 { 50.0 } else { 90.0 });
        for values in [of_scatter, of_three.collect()] {
            assert_eq!(change_points(&values).first().map(|of| of.at), Some(19));
        }
    }

    #[test]
    fn an_outlier_does_not_take_the_place_of_a_change() {
        let mut values = levels(&[(30, 5.0), (12, 6.5)]);
        values[1] = 40.0;
        let places: Vec<_> = change_points(&values).iter().map(|of| of.at).collect();
        assert_eq!(places, [30]);
    }

    #[test]
    fn what_is_no_change_of_level() {
        let mut outlier = levels(&[(40, 5.0)]);
        outlier[20] = 9.0;
        let table = [
            ("one level", levels(&[(60, 5.0)])),
            ("an outlier", outlier),
            ("equal values", vec![0.1; 40]),
            ("too few", levels(&[(4, 5.0), (4, 9.0)])),
            ("nothing", Vec::new()),
            (
                "not a number",
                [levels(&[(20, 5.0), (20, 9.0)]), vec![f64::NAN]].concat(),
            ),
        ];
        for (what, values) in table {
            assert_eq!(change_points(&values), [], "{what}");
        }
    }

    #[test]
    fn the_statistic_is_that_of_energy_distance_with_exponent_2() {
        let values = [1.0, 2.5, 0.5, 4.0, 5.0, 3.5, 6.0];
        let (at, statistic) = best_split(&values, 3).unwrap();
        let (x, y) = values.split_at(at);
        let mean_of = |a: &[f64], b: &[f64], pairs: f64| {
            let squares = a
                .iter()
                .flat_map(|x| b.iter().map(move |y| (x - y).powi(2)));
            squares.sum::<f64>() / pairs
        };
        let (m, n) = (x.len() as f64, y.len() as f64);
        let energy = 2.0 * mean_of(x, y, m * n) - mean_of(x, x, m * m) - mean_of(y, y, n * n);
        assert!((2.0 * statistic - m * n / (m + n) * energy).abs() < 1e-9);
    }

    #[test]
    fn an_order_that_splits_the_values_alike_reaches_their_statistic() {
        // Without allowance for rounding, the unit decided when the change was found.
        let mut values = [
            0.9226099488399484,
            0.616278979022566,
            0.935331993316549,
            0.6028367285492053,
            0.552475617411678,
            0.39562705783244484,
            0.4994484617574094,
            0.11728492368493441,
            0.48304288578637294,
            0.09747734004261474,
            0.36114109200287053,
            0.3268126360815097,
        ]
        .to_vec();
        values.resize(24, 0.0);
        let scaled: Vec<f64> = values.iter().map(|value| value * 1024.0 - 256.0).collect();
        let places = |values: &[f64]| {
            change_points(values)
                .iter()
                .map(|of| (of.at, of.found_at))
                .collect::<Vec<_>>()
        };
        assert_eq!(places(&values), places(&scaled));
    }

    proptest! {
        #[test]
        fn reported_changes_stay(values in prop::collection::vec(0.0..1.0f64, 0..60), step in 0.0..9.0f64) {
            let mut values = values;
            let half = values.len() / 2;
            values[half..].iter_mut().for_each(|value| *value += step);
            let all = change_points(&values);
            for end in 0..values.len() {
                let so_far: Vec<_> = change_points(&values[..end]).iter().map(|of| of.at).collect();
                let known = all.iter().filter(|of| of.found_at < end).map(|of| of.at);
                prop_assert_eq!(so_far, known.collect::<Vec<_>>());
            }
        }

        #[test]
        fn unit_and_offset_change_nothing(values in prop::collection::vec(0.0..1.0f64, 0..40), step in 0.0..4.0f64) {
            let half = values.len() / 2;
            let step = |(i, value): (usize, &f64)| value + if i < half { 0.0 } else { step };
            let values: Vec<f64> = values.iter().enumerate().map(step).collect();
            let scaled: Vec<f64> = values.iter().map(|value| value * 1024.0 - 256.0).collect();
            let places = |values: &[f64]| change_points(values).iter().map(|of| of.at).collect::<Vec<_>>();
            prop_assert_eq!(places(&values), places(&scaled));
        }
    }
}
