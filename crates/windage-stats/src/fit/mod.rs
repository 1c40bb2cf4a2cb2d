//! A curve through a few points with errors.
//!
//! Points are estimates compared with the same baseline: each has an error of its own, and all
//! share the baseline's ([`side_by_side`]). The curve is a line by weighted least squares; it gets
//! a bend only where chance does not explain the line's residuals. Sources are in
//! `docs/METHODOLOGY.md`.

mod errors;
mod fitted;
mod shape;
mod solve;

use statrs::distribution::{ContinuousCDF, FisherSnedecor};

pub use errors::{Side, SideBySide, side_by_side};
pub use fitted::{Estimated, Fit};
pub use shape::{Shape, Term};

use shape::{best_of, best_saturating};
use solve::Solution;

/// A line gets a bend only if its residuals have a lower p-value than this …
const LEFT_BY_CHANCE: f64 = 0.05;
/// … and the bend's improvement has a lower p-value than this. It is stricter because the better of
/// two bends is taken: in simulation, arms with luck of their own look bent in 2 of 100 sweeps
/// instead of 7.
const TAKEN_BY_CHANCE: f64 = 0.01;
/// How many points a bend needs beyond the terms of a line, so that one is left to test whether the
/// bend fits.
pub const BEYOND_A_LINE: usize = 2;
/// The fewest points of a curve: a line always fits two.
const FEWEST: usize = 3;

/// A measured point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// The x value.
    pub x: f64,
    /// The value measured there.
    pub y: f64,
    /// Its standard error, without the error common to all points.
    pub standard_error: f64,
}

/// What is known of the points' errors in addition to their size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Errors {
    /// Pooled degrees of freedom of the points' own errors.
    pub degrees_of_freedom: f64,
    /// The error common to all points.
    pub common: Common,
}

/// How far the error common to all points moves them: by `shift` + `scale` · y per standard
/// deviation.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Common {
    /// The same for all points, in the unit of y.
    pub shift: f64,
    /// In proportion to the height: where y is computed from a ratio to the erring baseline.
    pub scale: f64,
    /// Degrees of freedom of both.
    pub degrees_of_freedom: f64,
}

/// An F test of the residuals against the points' own errors.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LackOfFit {
    /// The mean square of the residuals, in units of the points' own errors.
    pub f: f64,
    /// Points less fitted parameters.
    pub points_freedom: f64,
    /// Degrees of freedom of the points' own errors.
    pub error_freedom: f64,
    /// The probability of residuals at least as large by chance.
    pub p: f64,
}

/// The curve through the points: a line, or a bent curve if three conditions hold. The line's
/// residuals have p < 5 %; there are at least two points more than the line has terms; and the
/// bend's improvement is significant at 1 %, relative to the bend's own residuals, because points
/// that merely scatter by more than their errors are not bent. The bend is a square root or a
/// saturating term, whichever leaves the smaller residuals.
///
/// `None` for fewer than three points, for a single x, and for points without an error.
#[must_use]
pub fn fit(points: &[Point], errors: Errors) -> Option<Fit> {
    let is_sound = |p: &Point| p.x.is_finite() && p.y.is_finite() && p.standard_error > 0.0;
    if points.len() < FEWEST || !points.iter().all(is_sound) {
        return None;
    }
    let fitted =
        |(shape, solution): (Shape, Solution)| Fit::new(shape, solution, points.len(), errors);
    let line = fitted((Shape::Line, best_of(Shape::Line, points)?));
    let is_straight = line
        .lack_of_fit()
        .is_none_or(|lack| lack.p >= LEFT_BY_CHANCE);
    if is_straight || points.len() < Shape::Line.parameters() + BEYOND_A_LINE {
        return Some(line);
    }
    let bent = bent(points).map(fitted);
    let bent = bent.filter(|bent| bent.chance_of_gain_over(&line) < TAKEN_BY_CHANCE);
    Some(bent.unwrap_or(line))
}

/// `None` where neither bend can be fitted to these points.
fn bent(points: &[Point]) -> Option<(Shape, Solution)> {
    if points.iter().any(|p| p.x < 0.0) {
        return None;
    }
    let concave = best_of(Shape::Concave, points).map(|solution| (Shape::Concave, solution));
    let bends = concave.into_iter().chain(best_saturating(points));
    bends.min_by(|(_, a), (_, b)| a.chi_square.total_cmp(&b.chi_square))
}

/// `None` where there are no residuals to test, or no error to compare them with.
fn lack_of_fit(chi_square: f64, points_freedom: f64, error_freedom: f64) -> Option<LackOfFit> {
    let f = chi_square / points_freedom;
    Some(LackOfFit {
        f,
        points_freedom,
        error_freedom,
        p: chance_of(f, points_freedom, error_freedom)?,
    })
}

/// The p-value of a ratio of mean squares; `None` where one of them has no degrees of freedom.
fn chance_of(f: f64, over: f64, under: f64) -> Option<f64> {
    let distribution = FisherSnedecor::new(over, under).ok()?;
    Some(distribution.sf(f))
}

#[cfg(test)]
mod tests;
