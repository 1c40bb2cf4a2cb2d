//! Curves and the errors of their points compared with scipy and statsmodels.

use windage_stats::fit::{Common, Errors, Estimated, Point, Shape, Side};
use windage_stats::{Confidence, fit, side_by_side, two_level};

use crate::{assert_close, entries, launches_of_one_block, number, numbers, values};

/// Relative to the expected value: `half_at` is found by search, and the misfit is quadratic around
/// its minimum.
const SEARCHED: f64 = 1e-6;

#[test]
fn curves_with_their_intervals() {
    for (row, of) in entries(&values()["curves"]) {
        let column = |key: &str| numbers(&of[key]);
        let points: Vec<Point> = column("x")
            .into_iter()
            .zip(column("y").into_iter().zip(column("errors")))
            .map(|(x, (y, standard_error))| Point {
                x,
                y,
                standard_error,
            })
            .collect();
        let errors = Errors {
            degrees_of_freedom: number(&of["error_freedom"]),
            common: Common::default(),
        };
        let found = fit(&points, errors).unwrap();
        let mut coefficients = column("coefficients");
        let shape = match found.shape() {
            Shape::Line => "line",
            Shape::Concave => "concave",
            Shape::Saturating { half_at } => {
                assert_near(half_at, coefficients.pop().unwrap(), &row);
                "saturating"
            }
        };
        assert_eq!(of["shape"], shape, "{row}");
        let lack = found.lack_of_fit().unwrap();
        assert_near(lack.f, number(&of["f"]), &row);
        assert_near(lack.p, number(&of["p"]), &row);
        // Points that scatter by more than their errors widen all intervals.
        let reach = number(&of["quantile"]) * lack.f.max(1.0).sqrt();
        let assert_interval = |found: Estimated, expected: f64, error: f64| {
            assert_near(found.estimate, expected, &row);
            assert_near(found.high - found.estimate, reach * error, &row);
            assert_near(found.estimate - found.low, reach * error, &row);
        };
        let terms = found.terms(Confidence::P95);
        assert_eq!(terms.len(), coefficients.len(), "{row}");
        let expected = coefficients.iter().zip(column("coefficient_errors"));
        for ((_, found), (expected, error)) in terms.iter().zip(expected) {
            assert_interval(*found, *expected, error);
        }
        let expected = column("heights").into_iter().zip(column("height_errors"));
        for (x, (expected, error)) in column("between").into_iter().zip(expected) {
            assert_interval(found.at(x, Confidence::P95), expected, error);
            // Another point adds its own variance.
            let predicted = found.predicted(x, 0.3, Confidence::P95);
            assert_interval(predicted, expected, error.hypot(0.3));
        }
    }
}

#[track_caller]
fn assert_near(found: f64, expected: f64, of: &str) {
    let off = (found - expected).abs();
    assert!(
        off <= SEARCHED * expected.abs(),
        "{of}: {found}, not {expected}"
    );
}

#[test]
fn errors_of_arms_side_by_side() {
    for (row, of) in entries(&values()["side_by_side"]) {
        let arms: Vec<Vec<f64>> = of["values"]
            .as_array()
            .unwrap()
            .iter()
            .map(numbers)
            .collect();
        let side = |units: &Vec<f64>| -> (f64, f64) {
            let found = two_level(&launches_of_one_block(units)).unwrap();
            (found.standard_error, found.degrees_of_freedom)
        };
        let sides: Vec<Side<'_>> = arms
            .iter()
            .map(|units| Side {
                standard_error: side(units).0,
                degrees_of_freedom: side(units).1,
                units,
            })
            .collect();
        let found = side_by_side(&sides).unwrap();
        let own = number(&of["own_variance"]);
        assert_close(found.own.standard_error.powi(2), own, 0.0, &row);
        let freedom = number(&of["own_freedom"]);
        assert_close(found.own.degrees_of_freedom, freedom, 0.0, &row);
        let common = number(&of["common_variance"]);
        assert_close(found.common.standard_error.powi(2), common, own, &row);
    }
}
