//! Estimators compared with scipy and statsmodels: `golden/values.json`, made by `golden/make.py`.

#![expect(clippy::unwrap_used, reason = "shared test code")]

mod curves;
mod totals;

use serde_json::Value;
use windage_stats::location::sample_variance;
use windage_stats::{
    Confidence, Estimator, Launches, Over, TwoLevel, bimodal, components, difference, locate,
    location, mean_error, onset, proportion, radius, robust_sd, trend_over, two_level, unpaired,
};

/// Relative to the expected value, or to the scale of the values where zero is expected.
const TOLERANCE: f64 = 1e-9;

fn values() -> Value {
    serde_json::from_str(include_str!("../../golden/values.json")).unwrap()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(number).collect()
}

/// The confidence with this probability; 99.29 % is that of each of seven at 95 %.
fn confidence(probability: &Value) -> Confidence {
    let known = [
        Confidence::P90,
        Confidence::P95,
        Confidence::P99,
        Confidence::P95.simultaneous(7),
    ];
    let is_it = |known: &Confidence| (known.get() - number(probability)).abs() < 1e-12;
    known.into_iter().find(is_it).unwrap()
}

/// Rows of a list, or the named entries of an object.
fn entries(value: &Value) -> Vec<(String, &Value)> {
    match value {
        Value::Object(entries) => entries.iter().map(|(k, v)| (k.clone(), v)).collect(),
        Value::Array(rows) => rows.iter().map(|row| (row.to_string(), row)).collect(),
        _ => panic!("{value} has no entries"),
    }
}

#[track_caller]
fn assert_close(found: f64, expected: f64, scale: f64, of: &str) {
    let allowed = TOLERANCE * expected.abs().max(scale);
    assert!(
        (found - expected).abs() <= allowed,
        "{of}: {found}, not {expected}"
    );
}

/// The size of the values, for expectations near zero.
fn scale(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |most, v| v.abs().max(most))
}

/// Launches of one block each.
fn launches_of_one_block(values: &[f64]) -> Launches {
    let mut launches = Launches::default();
    for value in values {
        launches.push(vec![*value], 0.0);
    }
    launches
}

#[test]
fn locations() {
    let estimators = [
        (Estimator::Mean, "mean"),
        (Estimator::Median, "median"),
        (Estimator::TrimmedMean, "trimmed_mean"),
        (Estimator::HodgesLehmann, "hodges_lehmann"),
        (Estimator::Huber, "huber"),
    ];
    for (name, of) in entries(&values()["series"]) {
        let x = numbers(&of["values"]);
        for (estimator, key) in estimators {
            // statsmodels has no result where more than half of the values are equal.
            if let Some(expected) = of[key].as_f64() {
                let found = locate(&x, estimator).unwrap();
                assert_close(found, expected, scale(&x), &format!("{key} of {name}"));
            }
        }
        let chosen = location(&x).unwrap().estimate;
        assert_close(chosen, number(&of["trimmed_mean"]), scale(&x), &name);
    }
}

#[test]
fn scatter() {
    for (name, of) in entries(&values()["series"]) {
        let x = numbers(&of["values"]);
        let variance = number(&of["sample_variance"]);
        assert_close(sample_variance(&x), variance, scale(&x).powi(2), &name);
        let robust = number(&of["normal_median_absolute_deviation"]);
        assert_close(robust_sd(&x).unwrap(), robust, scale(&x), &name);
    }
}

#[test]
fn influences_are_winsorised_values_and_give_the_trimmed_means_error() {
    for (name, of) in entries(&values()["series"]) {
        let x = numbers(&of["values"]);
        let found = location(&x).unwrap();
        let winsorised = numbers(&of["winsorised"]);
        let count = x.len() as f64;
        let kept_share = 1.0 - 2.0 * (0.2 * count).floor() / count;
        let centre = winsorised.iter().sum::<f64>() / count;
        for (influence, value) in found.influences.iter().zip(&winsorised) {
            let expected = (value - centre) / kept_share;
            assert_close(*influence, expected, scale(&x), &name);
        }
        // scipy divides by the nominal share kept, 0.6, not by the actual one.
        let error = number(&of["trimmed_mean_standard_error"]) * 0.6 / kept_share;
        let found = (sample_variance(&found.influences) / count).sqrt();
        assert_close(found, error, scale(&x), &name);
    }
}

#[test]
fn long_run_variance_by_cosines() {
    for (name, of) in entries(&values()["series"]) {
        let x = numbers(&of["values"]);
        let by_cosines = numbers(&of["long_run_variance_by_cosines"]);
        let found = mean_error(&x).unwrap();
        let expected = by_cosines
            .iter()
            .zip(1_u32..)
            .find(|(_, cosines)| f64::from(*cosines) >= found.degrees_of_freedom)
            .map(|(variance, _)| *variance)
            .unwrap();
        let variance = found.standard_error.powi(2) * x.len() as f64;
        assert_close(variance, expected, scale(&x).powi(2), &name);
    }
}

#[test]
fn students_interval_over_launches() {
    let golden = values();
    for (name, of) in entries(&golden["series"]) {
        let x = numbers(&of["values"]);
        let found = two_level(&launches_of_one_block(&x)).unwrap();
        assert_ends(&found, &of["student_interval_95"], scale(&x), &name);
    }
    for (name, of) in entries(&golden["launches"]) {
        let means = numbers(&of["means"]);
        let found = two_level(&launches_of_one_block(&means)).unwrap();
        assert_ends(&found, &of["interval_of_means_95"], scale(&means), &name);
    }
}

#[track_caller]
fn assert_ends(found: &TwoLevel, expected: &Value, scale: f64, of: &str) {
    let (low, high) = found.ends(Confidence::P95);
    let expected = numbers(expected);
    assert_close(low, expected[0], scale, of);
    assert_close(high, expected[1], scale, of);
}

#[test]
fn students_quantiles() {
    // An interval about zero with a standard error of one ends at the quantile.
    let mut interval = two_level(&launches_of_one_block(&[-1.0, 1.0])).unwrap();
    for (row, of) in entries(&values()["student_quantiles"]) {
        interval.degrees_of_freedom = number(&of["degrees"]);
        let confidence = confidence(&of["confidence"]);
        assert_close(
            interval.ends(confidence).1 - interval.estimate,
            number(&of["quantile"]) * interval.standard_error,
            0.0,
            &row,
        );
    }
}

/// Blocks in pairs are neither trimmed nor correlated, so the components are those of a one-way
/// analysis of variance.
#[test]
fn components_of_pairs_are_those_of_an_analysis_of_variance() {
    for (name, of) in entries(&values()["launches"]) {
        let blocks: Vec<Vec<f64>> = of["values"]
            .as_array()
            .unwrap()
            .iter()
            .map(numbers)
            .collect();
        let per_launch = blocks[0].len();
        let means = numbers(&of["means"]);
        let between = sample_variance(&means) * per_launch as f64;
        assert_close(between, number(&of["mean_square_between"]), 0.0, &name);
        if per_launch > 2 {
            continue;
        }
        let mut launches = Launches::default();
        for launch in blocks {
            launches.push(launch, 0.0);
        }
        let found = components(&launches, None).unwrap();
        let within = number(&of["mean_square_within"]);
        assert_close(found.within_sd.powi(2), within, 0.0, &name);
        // A negative variance component is set to zero.
        let luck = number(&of["launch_variance"]).max(0.0);
        assert_close(found.launch_sd.unwrap().powi(2), luck, within, &name);
    }
}

#[test]
fn series_one_after_the_other() {
    let golden = values();
    let series = |name: &Value| numbers(&golden["series"][name.as_str().unwrap()]["values"]);
    for (row, of) in entries(&golden["pairs"]) {
        let (one, other) = (series(&of["one"]), series(&of["other"]));
        let found = unpaired(&one, &other).unwrap();
        let scale = scale(&one).max(scale(&other));
        assert_close(found.estimate, number(&of["yuen_difference"]), scale, &row);
        // With two values per side there is nothing to trim and one cosine: Welch's interval.
        if one.len() == 2 && other.len() == 2 {
            assert_close(
                found.degrees_of_freedom,
                number(&of["welch_degrees"]),
                0.0,
                &row,
            );
            assert_ends(&found, &of["welch_interval_95"], scale, &row);
        }
    }
}

#[test]
fn simultaneous_confidence() {
    for (row, of) in entries(&values()["simultaneous"]) {
        let alone = confidence(&of["confidence"]);
        let comparisons = usize::try_from(of["comparisons"].as_u64().unwrap()).unwrap();
        let each = alone.simultaneous(comparisons).get();
        assert_close(each, number(&of["each"]), 0.0, &row);
    }
}

#[test]
fn difference_of_two_shares() {
    for (row, of) in entries(&values()["differences"]) {
        let share = |side: &str| {
            let [hits, of] = [0, 1].map(|i| of[side][i].as_u64().unwrap());
            let (low, high) = proportion(hits, of, Confidence::P95).unwrap();
            (hits as f64 / of as f64, low, high)
        };
        let (low, high) = difference(share("one"), share("other")).unwrap();
        let expected = numbers(&of["interval_95"]);
        assert_close(low, expected[0], 1.0, &row);
        assert_close(high, expected[1], 1.0, &row);
    }
}

#[test]
fn radius_of_a_sequence() {
    for (row, of) in entries(&values()["sequence_radii"]) {
        let units = usize::try_from(of["units"].as_u64().unwrap()).unwrap();
        let confidence = confidence(&of["confidence"]);
        let found = radius(units, 1.0, confidence);
        match of["radius"].as_f64() {
            Some(expected) => assert_close(found.unwrap(), expected, 0.0, &row),
            None => assert_eq!(found, None, "{row}"),
        }
    }
}

/// The level at which a trend or an onset is significant.
const FALSE_ALARMS: f64 = 0.01;

#[test]
fn trend_within_a_launch() {
    let golden = values();
    let without_outliers = entries(&golden["series"])
        .into_iter()
        .filter(|(_, of)| !of["over_time"].is_null());
    let mut seen = 0;
    for (name, of) in without_outliers {
        let x = numbers(&of["values"]);
        let expected = &of["over_time"];
        let found = trend_over(std::slice::from_ref(&x)).unwrap();
        // The weight of a line's first cosine is its limit for long series, which differs by a
        // thousandth for 40 values.
        let change = number(&expected["change_by_first_cosine"]);
        let off = (found.change_over_series / change - 1.0).abs();
        assert!(off < 1e-3, "{name}: {found:?}, not {change}");
        let significant = number(&expected["change_p"]) < FALSE_ALARMS;
        assert_eq!(found.significant, significant, "{name}");
        seen += 1;
    }
    assert!(seen >= 3);
}

#[test]
fn trend_from_launch_to_launch() {
    for (name, of) in entries(&values()["series"]) {
        let x = numbers(&of["values"]);
        let launches: Vec<Vec<f64>> = x.iter().map(|v| vec![*v]).collect();
        let found = trend_over(&launches);
        if of["line"].is_null() {
            assert_eq!(found, None, "{name}");
            continue;
        }
        let found = found.unwrap();
        assert_eq!(found.over, Over::Run, "{name}");
        let change = number(&of["line"]["change"]);
        assert_close(found.change_over_series, change, scale(&x), &name);
        // Equal values have no scatter to test a trend against, and scipy has no p.
        let p = of["line"]["p"].as_f64().unwrap_or(1.0);
        assert_eq!(found.significant, p < FALSE_ALARMS, "{name}");
    }
}

#[test]
fn first_blocks_against_the_rest() {
    let golden = values();
    let mut significant = 0;
    for (name, of) in entries(&golden["series"]) {
        let expected = &of["over_time"];
        if expected.is_null() {
            continue;
        }
        let x = numbers(&of["values"]);
        let found = onset(std::slice::from_ref(&x)).unwrap();
        assert_close(
            found.excess,
            number(&expected["first_excess"]),
            scale(&x),
            &name,
        );
        let p = number(&expected["first_p"]);
        assert_eq!(found.significant, p < FALSE_ALARMS, "{name}");
        significant += usize::from(found.significant);
    }
    assert_eq!(significant, 1, "the cold start alone");
}

#[test]
fn two_kinds_of_launches() {
    let golden = values();
    let expected = &golden["two_kinds"];
    let x = numbers(&golden["series"][expected["of"].as_str().unwrap()]["values"]);
    let found = bimodal(&x, &[]).unwrap();
    let (means, sizes) = (numbers(&expected["means"]), numbers(&expected["sizes"]));
    assert_close(found.low, means[0], 0.0, "low");
    assert_close(found.high, means[1], 0.0, "high");
    assert_close(found.in_low as f64, sizes[0], 0.0, "in low");
    assert_close(found.in_high as f64, sizes[1], 0.0, "in high");
}
