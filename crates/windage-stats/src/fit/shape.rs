//! Possible shapes of a curve.

use super::Point;
use super::solve::{Solution, dot, solve};

/// How many values of `half_at` are tried before the best one is refined.
const TRIED: u32 = 41;
/// The smallest and the largest value tried, as shares of the farthest point. Below, all points
/// except one at zero are fully saturated; above, the curve is a line.
const LEAST: f64 = 0.01;
const GREATEST: f64 = 10.0;
/// Steps of the refinement; each leaves 0.618 of the bracket.
const STEPS: u32 = 60;

/// The curve's shape. Its coefficients are those of [`Shape::terms`], in that order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shape {
    /// fixed + a · x
    Line,
    /// fixed + a · x + b · √x: a proportional cost plus one that grows ever more slowly.
    Concave,
    /// fixed + a · x / (x + half_at): a cost that levels off.
    Saturating {
        /// Where half of it is reached.
        half_at: f64,
    },
}

/// What a coefficient multiplies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Term {
    /// 1
    Fixed,
    /// x
    Proportional,
    /// √x
    Root,
    /// x / (x + half_at)
    Saturation,
}

impl Shape {
    /// The term of each coefficient.
    #[must_use]
    pub fn terms(self) -> &'static [Term] {
        match self {
            Shape::Line => &[Term::Fixed, Term::Proportional],
            Shape::Concave => &[Term::Fixed, Term::Proportional, Term::Root],
            Shape::Saturating { .. } => &[Term::Fixed, Term::Saturation],
        }
    }

    /// The number of fitted parameters: coefficients, and `half_at` of a saturating curve.
    pub(super) fn parameters(self) -> usize {
        match self {
            Shape::Line => 2,
            Shape::Concave | Shape::Saturating { .. } => 3,
        }
    }

    pub(super) fn height(self, coefficients: &[f64], x: f64) -> f64 {
        dot(&self.row(x), coefficients)
    }

    /// The derivative of the height by each parameter.
    pub(super) fn gradient(self, coefficients: &[f64], x: f64) -> Vec<f64> {
        let mut gradient = self.row(x);
        if let Shape::Saturating { half_at } = self {
            gradient.push(-coefficients[1] * x / (x + half_at).powi(2));
        }
        gradient
    }

    fn row(self, x: f64) -> Vec<f64> {
        match self {
            Shape::Line => vec![1.0, x],
            Shape::Concave => vec![1.0, x, x.sqrt()],
            Shape::Saturating { half_at } => vec![1.0, x / (x + half_at)],
        }
    }
}

/// The best curve of a shape; `None` when its terms can't be separated at these points.
pub(super) fn best_of(shape: Shape, points: &[Point]) -> Option<Solution> {
    let rows: Vec<Vec<f64>> = points.iter().map(|p| shape.row(p.x)).collect();
    least_squares(&rows, points)
}

/// The best saturating curve; `None` when the best one degenerates to a line or a step.
pub(super) fn best_saturating(points: &[Point]) -> Option<(Shape, Solution)> {
    let farthest = points.iter().fold(0.0, |far: f64, p| far.max(p.x));
    let misfit = |log_half_at: f64| {
        let half_at = log_half_at.exp();
        best_of(Shape::Saturating { half_at }, points).map_or(f64::INFINITY, |s| s.chi_square)
    };
    let (low, high) = ((LEAST * farthest).ln(), (GREATEST * farthest).ln());
    let step = (high - low) / f64::from(TRIED - 1);
    let tried = (0..TRIED).map(|i| low + step * f64::from(i));
    let best = tried.min_by(|a, b| misfit(*a).total_cmp(&misfit(*b)))?;
    let is_at_an_end = best - low < step / 2.0 || high - best < step / 2.0;
    if !best.is_finite() || is_at_an_end {
        return None;
    }
    let half_at = least(best - step, best + step, misfit).exp();
    let shape = Shape::Saturating { half_at };
    let mut solution = best_of(shape, points)?;
    // `half_at` is uncertain as well: near the optimum the curve is linear in that parameter too.
    let gradients: Vec<Vec<f64>> = points
        .iter()
        .map(|p| shape.gradient(&solution.coefficients, p.x))
        .collect();
    solution.covariance = least_squares(&gradients, points)?.covariance;
    Some((shape, solution))
}

fn least_squares(rows: &[Vec<f64>], points: &[Point]) -> Option<Solution> {
    let heights: Vec<f64> = points.iter().map(|p| p.y).collect();
    let errors: Vec<f64> = points.iter().map(|p| p.standard_error).collect();
    solve(rows, &heights, &errors)
}

/// The minimum of a function with a single dip, by golden-section search.
fn least(mut low: f64, mut high: f64, of: impl Fn(f64) -> f64) -> f64 {
    let section = (5f64.sqrt() - 1.0) / 2.0;
    let inner = |low: f64, high: f64| {
        let reach = section * (high - low);
        (high - reach, low + reach)
    };
    let (mut one, mut other) = inner(low, high);
    let (mut of_one, mut of_other) = (of(one), of(other));
    for _ in 0..STEPS {
        if of_one <= of_other {
            (high, other, of_other) = (other, one, of_one);
            one = inner(low, high).0;
            of_one = of(one);
        } else {
            (low, one, of_one) = (one, other, of_other);
            other = inner(low, high).1;
            of_other = of(other);
        }
    }
    f64::midpoint(low, high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_golden_section_finds_a_dip() {
        for truth in [-0.9, 0.0, 0.3] {
            let found = least(-1.0, 1.0, |x| (x - truth).powi(2));
            assert!((found - truth).abs() < 1e-7, "{truth}: {found}");
        }
    }

    #[test]
    fn lines_and_steps_do_not_saturate() {
        type Height = fn(f64) -> f64;
        let points = |height: Height| -> Vec<Point> {
            let xs = [0.0, 10.0, 25.0, 50.0, 75.0, 100.0];
            let point = |x| Point {
                x,
                y: height(x),
                standard_error: 0.1,
            };
            xs.into_iter().map(point).collect()
        };
        // height, whether it saturates, why
        let table: [(Height, bool, &str); 4] = [
            (|x| 1.0 + 2.0 * x, false, "a line"),
            (|x| if x > 0.0 { 2.0 } else { 1.0 }, false, "a step"),
            (|x| 1.0 + x * x, false, "ever steeper"),
            (|x| 1.0 + 8.0 * x / (x + 20.0), true, "half of it at 20"),
        ];
        for (height, saturates, why) in table {
            let found = best_saturating(&points(height));
            assert_eq!(found.is_some(), saturates, "{why}: {found:?}");
            if let Some((Shape::Saturating { half_at }, solution)) = found {
                assert!((half_at - 20.0).abs() < 1e-5, "{half_at}");
                assert!((solution.coefficients[1] - 8.0).abs() < 1e-6);
            }
        }
    }
}
