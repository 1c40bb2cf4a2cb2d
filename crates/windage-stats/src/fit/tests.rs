use super::*;
use crate::Confidence;
use proptest::prelude::*;

const LEVELS: [f64; 7] = [0.0, 2.5, 10.0, 25.0, 50.0, 75.0, 100.0];

fn points(height: impl Fn(f64) -> f64, standard_error: f64) -> Vec<Point> {
    let point = |x| Point {
        x,
        y: height(x),
        standard_error,
    };
    LEVELS.into_iter().map(point).collect()
}

fn errors() -> Errors {
    Errors {
        degrees_of_freedom: 24.0,
        common: Common::default(),
    }
}

fn coefficients(fit: &Fit) -> Vec<f64> {
    let terms = fit.terms(Confidence::P95);
    terms.iter().map(|(_, found)| found.estimate).collect()
}

fn half_width(of: Estimated) -> f64 {
    (of.high - of.low) / 2.0
}

#[test]
fn a_bend_needs_significant_residuals_of_a_line() {
    type Height = fn(f64) -> f64;
    // height, standard error, shape, why
    let table: [(Height, f64, &str, &str); 5] = [
        (|x| 1.0 + 0.05 * x, 0.1, "line", "a line"),
        (
            |x| 1.0 + 0.5 * x.sqrt(),
            5.0,
            "line",
            "too noisy to show the bend",
        ),
        (
            |x| 1.0 + 0.02 * x + 0.5 * x.sqrt(),
            0.1,
            "concave",
            "a root",
        ),
        (
            |x| 1.0 + 6.0 * x / (x + 8.0),
            0.1,
            "saturating",
            "half at 8",
        ),
        // Neither bend has this shape, and the lack of fit shows it.
        (|x| 1.0 + 0.001 * x * x, 0.1, "line", "ever steeper"),
    ];
    for (height, standard_error, shape, why) in table {
        let found = fit(&points(height, standard_error), errors()).unwrap();
        let name = match found.shape() {
            Shape::Line => "line",
            Shape::Concave => "concave",
            Shape::Saturating { .. } => "saturating",
        };
        assert_eq!(name, shape, "{why}: {found:?}");
    }
    // With three points a line leaves too few degrees of freedom for a bend.
    let few: Vec<Point> = points(|x| 1.0 + 0.5 * x.sqrt(), 0.01)
        .into_iter()
        .take(3)
        .collect();
    let found = fit(&few, errors()).unwrap();
    assert_eq!(found.shape(), Shape::Line);
    assert!(found.lack_of_fit().unwrap().p < 0.05);
}

#[test]
fn terms_are_given_back() {
    let concave = fit(&points(|x| 1.0 + 0.02 * x + 0.5 * x.sqrt(), 0.1), errors()).unwrap();
    for (found, truth) in coefficients(&concave).into_iter().zip([1.0, 0.02, 0.5]) {
        assert!((found - truth).abs() < 1e-9, "{found}");
    }
    let saturating = fit(&points(|x| 1.0 + 6.0 * x / (x + 8.0), 0.1), errors()).unwrap();
    let Shape::Saturating { half_at } = saturating.shape() else {
        panic!("{saturating:?}");
    };
    assert!((half_at - 8.0).abs() < 1e-4, "{half_at}");
    assert!((coefficients(&saturating)[1] - 6.0).abs() < 1e-4);
    assert_eq!(saturating.lack_of_fit().unwrap().points_freedom, 4.0);
}

#[test]
fn invalid_points_give_no_curve() {
    let sound = points(|x| x, 1.0);
    let spoilt = |spoil: fn(&mut Point)| {
        let mut points = sound.clone();
        spoil(&mut points[3]);
        fit(&points, errors())
    };
    assert!(fit(&sound, errors()).is_some());
    assert_eq!(fit(&sound[..2], errors()), None, "two points");
    assert_eq!(fit(&[sound[1]; 5], errors()), None, "one x alone");
    assert_eq!(spoilt(|p| p.standard_error = 0.0), None, "no error");
    assert_eq!(spoilt(|p| p.x = f64::NAN), None, "x is not a number");
    assert_eq!(spoilt(|p| p.y = f64::INFINITY), None, "y is not finite");
    // Below zero there is no root, but there may be a line.
    let mut below = points(|x| x * x, 0.1);
    below[0].x = -1.0;
    assert_eq!(fit(&below, errors()).unwrap().shape(), Shape::Line);
}

/// The baseline's error is in every point. It moves the curve, not the points' scatter about it.
#[test]
fn the_common_error_counts_for_the_height_alone() {
    let points = points(|x| 1.0 + 0.05 * x, 0.1);
    let alone = fit(&points, errors()).unwrap();
    let shifted = Errors {
        common: Common {
            shift: 0.2,
            scale: 0.0,
            degrees_of_freedom: 24.0,
        },
        ..errors()
    };
    let together = fit(&points, shifted).unwrap();
    let of = |fit: &Fit, term: usize| half_width(fit.terms(Confidence::P95)[term].1);
    assert!(of(&together, 0) > 1.5 * of(&alone, 0), "fixed");
    assert_eq!(of(&together, 1), of(&alone, 1), "proportional");
    let height = |fit: &Fit| half_width(fit.at(50.0, Confidence::P95));
    assert!(height(&together) > 1.5 * height(&alone));
    let predicted = |fit: &Fit| fit.predicted(50.0, 0.1, Confidence::P95);
    assert_eq!(predicted(&together), predicted(&alone));
    assert_eq!(together.lack_of_fit(), alone.lack_of_fit());
    // When computed from a ratio, a higher cost moves by more.
    let scaled = Errors {
        common: Common {
            scale: 0.1,
            ..shifted.common
        },
        ..shifted
    };
    let scaled = fit(&points, scaled).unwrap();
    assert!(of(&scaled, 1) > of(&alone, 1));
}

#[test]
fn points_that_scatter_by_more_than_their_errors_widen_every_interval() {
    // Two up, two down, so that neither level nor slope changes.
    let scattered = |much: f64| {
        let mut points = points(|x| 1.0 + 0.05 * x, 0.1);
        for (point, sign) in points
            .iter_mut()
            .zip([1.0, -1.0, -1.0, 1.0, 0.0, 1.0, -1.0])
        {
            point.y += much * sign;
        }
        fit(&points, errors()).unwrap()
    };
    let (calm, wild) = (scattered(0.05), scattered(0.14));
    assert_eq!(wild.shape(), Shape::Line);
    let f = |fit: &Fit| fit.lack_of_fit().unwrap().f;
    assert!(
        f(&calm) < 1.0 && f(&wild) > 1.0,
        "{} {}",
        f(&calm),
        f(&wild)
    );
    let ratio =
        half_width(wild.at(20.0, Confidence::P95)) / half_width(calm.at(20.0, Confidence::P95));
    // 5 degrees of freedom instead of 24.
    let expected = f(&wild).sqrt() * 2.5706 / 2.0639;
    assert!((ratio - expected).abs() < 1e-3, "{ratio} {expected}");
}

proptest! {
    #[test]
    fn an_exact_line_is_fitted_with_any_weights(
        fixed in -100.0..100.0f64,
        slope in -10.0..10.0f64,
        standard_errors in prop::collection::vec(0.01..10.0f64, 7),
    ) {
        let mut points = points(|x| fixed + slope * x, 1.0);
        for (point, standard_error) in points.iter_mut().zip(standard_errors) {
            point.standard_error = standard_error;
        }
        let found = fit(&points, errors()).unwrap();
        prop_assert_eq!(found.shape(), Shape::Line);
        let [a, b] = coefficients(&found)[..] else { panic!("two terms") };
        prop_assert!((a - fixed).abs() < 1e-8 && (b - slope).abs() < 1e-8, "{} {}", a, b);
        prop_assert!((found.height(33.0) - (fixed + slope * 33.0)).abs() < 1e-8);
    }

    #[test]
    fn a_common_offset_changes_the_fixed_term_alone(
        added in -50.0..50.0f64,
        heights in prop::collection::vec(-1.0..1.0f64, 7),
        standard_error in 0.05..2.0f64,
    ) {
        let mut before = points(|_| 0.0, standard_error);
        for (point, height) in before.iter_mut().zip(heights) {
            point.y = height;
        }
        let mut after = before.clone();
        after.iter_mut().for_each(|point| point.y += added);
        let found = [before, after].map(|points| fit(&points, errors()).unwrap());
        // `half_at` is found to about eight digits.
        let near = |a: f64, b: f64| (a - b).abs() < 1e-4 * (1.0 + a.abs());
        let terms = found.each_ref().map(|fit| fit.terms(Confidence::P95));
        prop_assert_eq!(terms[0].len(), terms[1].len());
        for (index, (one, other)) in terms[0].iter().zip(&terms[1]).enumerate() {
            let moved = if index == 0 { added } else { 0.0 };
            prop_assert!(near(one.1.estimate + moved, other.1.estimate));
            prop_assert!(near(one.1.low + moved, other.1.low));
        }
    }

    #[test]
    fn a_more_precise_point_pulls_the_curve(off in 0.5..5.0f64, surer in 2.0..20.0f64) {
        let with = |standard_error| {
            let mut points = points(|x| 0.1 * x, 10.0);
            points[3].y += off;
            points[3].standard_error = standard_error;
            let found = fit(&points, errors()).unwrap();
            (found.height(points[3].x) - points[3].y).abs()
        };
        prop_assert!(with(10.0 / surer) < with(10.0));
    }
}
