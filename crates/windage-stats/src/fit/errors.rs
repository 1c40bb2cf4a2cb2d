//! Errors of several estimates that are compared with the same baseline.

use crate::long_run::MeanError;

/// An estimate relative to the baseline, one of several measured side by side.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Side<'a> {
    /// Its standard error.
    pub standard_error: f64,
    /// Degrees of freedom of that.
    pub degrees_of_freedom: f64,
    /// Its value in each launch, or in each stretch of the only launch, in time order: the same
    /// units for all estimates.
    pub units: &'a [f64],
}

/// The error of an estimate, split into its own part and the part that all have in common.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SideBySide {
    /// The error of each estimate alone.
    pub own: MeanError,
    /// The error of the baseline, which moves all estimates alike.
    pub common: MeanError,
}

/// Pools the errors of estimates that are about equally precise. An error from a few launches is
/// itself imprecise, so weights made from each estimate's own error would be luck; they are pooled
/// as in an analysis of variance. The common part shows in units in which all estimates move alike,
/// so this is an analysis by estimate and unit (randomised blocks).
/// is such an analysis by estimate and unit (randomised blocks).
///
/// Where the units don't match, the common part is unknown. Then it is counted twice: in full
/// within each estimate's own error, and as large as if the baseline's error were like the others'.
/// `None` without any error.
#[must_use]
pub fn side_by_side(of: &[Side<'_>]) -> Option<SideBySide> {
    let count = of.len() as f64;
    let freedom: f64 = of.iter().map(|side| side.degrees_of_freedom).sum();
    let squares = of.iter().map(|side| {
        let variance = side.standard_error.powi(2);
        variance * side.degrees_of_freedom
    });
    let variance = squares.sum::<f64>() / freedom;
    if !(variance.is_finite() && variance > 0.0) {
        return None;
    }
    let error = |variance: f64, degrees_of_freedom: f64| MeanError {
        standard_error: variance.sqrt(),
        degrees_of_freedom,
    };
    let Some(split) = mean_squares(of) else {
        let each = freedom / count;
        return Some(SideBySide {
            own: error(variance, each),
            common: error(variance / 2.0, each),
        });
    };
    let (units, rest) = (split.units, split.rest);
    let whole = units + (count - 1.0) * rest;
    let surplus = (units - rest).max(0.0);
    let rest_freedom = (count - 1.0) * split.units_freedom;
    // Satterthwaite, for a difference of mean squares.
    let scatter = units.powi(2) / split.units_freedom + rest.powi(2) / rest_freedom;
    Some(SideBySide {
        own: error(
            variance * count * rest / whole,
            freedom * (count - 1.0) / count,
        ),
        common: error(variance * surplus / whole, surplus.powi(2) / scatter),
    })
}

struct MeanSquares {
    /// Between units.
    units: f64,
    units_freedom: f64,
    /// Residual, explained by neither unit nor estimate.
    rest: f64,
}

/// `None` unless all have the same number of units, at least two, with some scatter.
fn mean_squares(of: &[Side<'_>]) -> Option<MeanSquares> {
    let units = of.first()?.units.len();
    if of.len() < 2 || units < 2 || of.iter().any(|side| side.units.len() != units) {
        return None;
    }
    let count = of.len() as f64;
    let deviations: Vec<Vec<f64>> = of
        .iter()
        .map(|side| {
            let mean = side.units.iter().sum::<f64>() / units as f64;
            side.units.iter().map(|value| value - mean).collect()
        })
        .collect();
    let in_common = |unit: usize| deviations.iter().map(|d| d[unit]).sum::<f64>() / count;
    let (mut of_units, mut of_rest) = (0.0, 0.0);
    for unit in 0..units {
        let common = in_common(unit);
        of_units += count * common.powi(2);
        let rest = deviations.iter().map(|d| (d[unit] - common).powi(2));
        of_rest += rest.sum::<f64>();
    }
    let units_freedom = (units - 1) as f64;
    let found = MeanSquares {
        units: of_units / units_freedom,
        units_freedom,
        rest: of_rest / (units_freedom * (count - 1.0)),
    };
    (found.rest.is_finite() && found.rest > 0.0).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side(units: &[f64]) -> Side<'_> {
        Side {
            standard_error: 0.1,
            degrees_of_freedom: 2.0,
            units,
        }
    }

    #[test]
    fn common_movement_is_the_baselines() {
        // units of two estimates, each with a variance of 0.01; expected own variance, common
        // variance
        let table: [(&[f64], &[f64], f64, f64); 3] = [
            // Opposite: nothing in common, and more than its own error in each.
            (&[0.0, 1.0, 2.0], &[2.0, 1.0, 0.0], 0.02, 0.0),
            // Uncorrelated.
            (&[1.0, -1.0, 1.0, -1.0], &[1.0, 1.0, -1.0, -1.0], 0.01, 0.0),
            // −3, 0, 3 in both; −1, 2, −1 more in one, less in the other.
            (&[-1.0, 5.0, 5.0], &[1.0, 1.0, 7.0], 0.005, 0.005),
        ];
        for (one, other, own, common) in table {
            let found = side_by_side(&[side(one), side(other)]).unwrap();
            let variance = |error: MeanError| error.standard_error.powi(2);
            assert!((variance(found.own) - own).abs() < 1e-12, "{found:?}");
            assert!((variance(found.common) - common).abs() < 1e-12, "{found:?}");
            assert_eq!(found.own.degrees_of_freedom, 2.0);
        }
    }

    #[test]
    fn mismatched_units_make_errors_larger() {
        let matching = [0.0, 1.0, 2.0];
        for others in [&[0.0, 1.0][..], &[], &[0.0]] {
            let found = side_by_side(&[side(&matching), side(others)]).unwrap();
            assert!((found.own.standard_error - 0.1).abs() < 1e-12);
            assert!((found.common.standard_error.powi(2) - 0.005).abs() < 1e-12);
            assert_eq!(found.own.degrees_of_freedom, 2.0);
        }
        assert_eq!(side_by_side(&[]), None);
        let sure = Side {
            standard_error: 0.0,
            ..side(&matching)
        };
        assert_eq!(side_by_side(&[sure, sure]), None, "nothing scatters");
    }
}
