//! A curve through a few points with errors.
//!
//! Points are estimates that were held against the same baseline: each has an error of its own, and
//! all have the baseline's in common ([`side_by_side`]). The curve is a line by weighted least
//! squares; it gets a bend only where chance does not explain what the line leaves. Sources are in
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

/// A line gets a bend where chance alone leaves as much beside it in fewer than so many cases,
const LEFT_BY_CHANCE: f64 = 0.05;
/// and a bend takes as much away in fewer than so many. Less than the former, since the better of
/// two bends is taken: arms with luck of their own look bent in 2 of 100 simulated sweeps, not in 7.
const TAKEN_BY_CHANCE: f64 = 0.01;
/// Points beyond the terms of a line that there must be for a bend, so that one is left to show
/// whether the bend fits.
pub const BEYOND_A_LINE: usize = 2;
/// The fewest points of a curve: through two a line always goes.
const FEWEST: usize = 3;

/// A measured point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Where.
    pub x: f64,
    /// What was measured there.
    pub y: f64,
    /// Its standard error, without what all points have in common.
    pub standard_error: f64,
}

/// What is known of the points' errors besides their size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Errors {
    /// Degrees of freedom of the points' own errors together.
    pub degrees_of_freedom: f64,
    /// The error that all have in common.
    pub common: Common,
}

/// How far the error that all points have in common moves them: by `shift` + `scale` · y, one
/// standard deviation of it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Common {
    /// All alike, in the unit of y.
    pub shift: f64,
    /// Each by its height: where y is told from a ratio to what errs.
    pub scale: f64,
    /// Degrees of freedom of both.
    pub degrees_of_freedom: f64,
}

/// An F test of what is left between points and curve against the points' own errors.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LackOfFit {
    /// The mean square of what is left, in units of the points' own errors.
    pub f: f64,
    /// Points less what was found from them.
    pub points_freedom: f64,
    /// Degrees of freedom of the points' own errors.
    pub error_freedom: f64,
    /// How often chance alone leaves as much.
    pub p: f64,
}

/// The curve through the points: a line, unless chance leaves so much beside it in less than 5 % of
/// cases, two points more than the line's terms are there, and a bend takes away more than chance
/// would (1 %), held against what it leaves itself: points that merely scatter by more than their
/// errors are not bent. The bend is a root or a saturating term, whichever leaves less.
///
/// `None` for fewer than three points, for one x alone, and for points without an error.
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

/// `None` where neither bend can be told at these points.
fn bent(points: &[Point]) -> Option<(Shape, Solution)> {
    if points.iter().any(|p| p.x < 0.0) {
        return None;
    }
    let concave = best_of(Shape::Concave, points).map(|solution| (Shape::Concave, solution));
    let bends = concave.into_iter().chain(best_saturating(points));
    bends.min_by(|(_, a), (_, b)| a.chi_square.total_cmp(&b.chi_square))
}

/// `None` where nothing is left to test, or nothing to test it with.
fn lack_of_fit(chi_square: f64, points_freedom: f64, error_freedom: f64) -> Option<LackOfFit> {
    let f = chi_square / points_freedom;
    Some(LackOfFit {
        f,
        points_freedom,
        error_freedom,
        p: chance_of(f, points_freedom, error_freedom)?,
    })
}

/// How often a ratio of mean squares that differ by chance alone is as great; `None` where one of
/// them has no degree of freedom.
fn chance_of(f: f64, over: f64, under: f64) -> Option<f64> {
    let distribution = FisherSnedecor::new(over, under).ok()?;
    Some(distribution.sf(f))
}

#[cfg(test)]
mod tests;
