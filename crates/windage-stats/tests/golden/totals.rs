//! Totals by launch, and several runs.

use windage_stats::{PairedTotals, RunEstimate, between_runs, pooled_bias, totals};

use crate::{assert_close, entries, number, numbers, scale, values};

#[test]
fn totals_by_launch() {
    for (row, of) in entries(&values()["totals"]) {
        let (baseline, arm) = (numbers(&of["baseline"]), numbers(&of["arm"]));
        let launches: Vec<PairedTotals> = baseline
            .iter()
            .zip(&arm)
            .map(|(&baseline, &arm)| PairedTotals { baseline, arm })
            .collect();
        let us = totals::difference(&launches).unwrap();
        let scale = scale(&arm);
        assert_close(us.estimate, number(&of["difference"]), scale, &row);
        assert_close(
            us.standard_error,
            number(&of["difference_error"]),
            scale,
            &row,
        );
        assert_close(us.skewness, number(&of["skewness"]), 1.0, &row);
        // Only the side of the tail is wider than Student's.
        let (low, high) = us.ends(windage_stats::Confidence::P95);
        let student = numbers(&of["student_interval_95"]);
        let (inner, outer) = if us.skewness > 0.0 {
            ((low, student[0]), high - student[1])
        } else {
            ((high, student[1]), student[0] - low)
        };
        assert_close(inner.0, inner.1, scale, &row);
        assert!(outer >= -1e-9 * scale, "{row}: {outer}");
        let relative = totals::relative(&launches).unwrap();
        assert_close(relative.estimate, number(&of["relative"]), 1.0, &row);
        assert_close(
            relative.standard_error,
            number(&of["relative_error"]),
            1.0,
            &row,
        );
    }
}

#[test]
fn several_runs() {
    for (row, of) in entries(&values()["between_runs"]) {
        let runs: Vec<RunEstimate> = numbers(&of["estimates"])
            .into_iter()
            .zip(numbers(&of["errors"]))
            .map(|(estimate, standard_error)| RunEstimate {
                estimate,
                standard_error,
            })
            .collect();
        let found = between_runs(&runs).unwrap().standard_deviation.powi(2);
        // Where the iteration of statsmodels and the bisection here stop.
        let near = |found: f64, expected: f64| (found - expected).abs() < 1e-7;
        assert!(near(found, number(&of["variance"])), "{row}: {found}");
        let bias = pooled_bias(&runs).unwrap();
        assert!(near(bias.mean, number(&of["mean"])), "{row}: {bias:?}");
        assert!(
            near(bias.standard_error, number(&of["mean_error"])),
            "{row}: {bias:?}"
        );
        assert!(near(bias.p_value, number(&of["p"])), "{row}: {bias:?}");
    }
}
