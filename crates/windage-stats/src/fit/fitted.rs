//! A fitted curve and its intervals.

use super::shape::{Shape, Term};
use super::solve::{Solution, dot};
use super::{Errors, LackOfFit, chance_of, lack_of_fit};
use crate::confidence::Confidence;
use crate::two_level::student_quantile;

/// A curve through points.
#[derive(Clone, Debug, PartialEq)]
pub struct Fit {
    shape: Shape,
    solution: Solution,
    points: usize,
    errors: Errors,
}

/// A figure with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimated {
    /// The estimate.
    pub estimate: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// A variance and its degrees of freedom.
#[derive(Clone, Copy)]
struct Variance {
    value: f64,
    degrees_of_freedom: f64,
}

impl Fit {
    pub(super) fn new(shape: Shape, solution: Solution, points: usize, errors: Errors) -> Fit {
        Fit {
            shape,
            solution,
            points,
            errors,
        }
    }

    /// Its form.
    #[must_use]
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// The curve's height.
    #[must_use]
    pub fn height(&self, x: f64) -> f64 {
        self.shape.height(&self.solution.coefficients, x)
    }

    /// Each coefficient with its interval.
    #[must_use]
    pub fn terms(&self, confidence: Confidence) -> Vec<(Term, Estimated)> {
        let of_term = |(index, &term): (usize, &Term)| {
            let estimate = self.solution.coefficients[index];
            let mut direction = vec![0.0; self.solution.covariance.len()];
            direction[index] = 1.0;
            let common = match term {
                Term::Fixed => self.moved(estimate),
                _ => self.errors.common.scale * estimate,
            };
            let variances = [self.own(&direction), self.common(common)];
            (term, student_interval(estimate, variances, confidence))
        };
        let terms = self.shape.terms().iter().enumerate();
        terms.map(of_term).collect()
    }

    /// The curve's height with its interval, which holds at this x alone.
    #[must_use]
    pub fn at(&self, x: f64, confidence: Confidence) -> Estimated {
        let height = self.height(x);
        let own = self.own(&self.gradient(x));
        let variances = [own, self.common(self.moved(height))];
        student_interval(height, variances, confidence)
    }

    /// The interval in which another point should lie that is compared with the same baseline and
    /// has this standard error. The common error moves it together with the curve, so it cancels
    /// here.
    #[must_use]
    pub fn predicted(&self, x: f64, standard_error: f64, confidence: Confidence) -> Estimated {
        let mut own = self.own(&self.gradient(x));
        own.value += self.widening() * standard_error.powi(2);
        student_interval(self.height(x), [own, self.common(0.0)], confidence)
    }

    /// The residuals compared with the points' own errors; `None` where there are no more points
    /// than parameters.
    #[must_use]
    pub fn lack_of_fit(&self) -> Option<LackOfFit> {
        lack_of_fit(
            self.solution.chi_square,
            self.points_freedom(),
            self.errors.degrees_of_freedom,
        )
    }

    /// The p-value of this curve's improvement over a line, given its one additional parameter.
    pub(super) fn chance_of_gain_over(&self, line: &Fit) -> f64 {
        let gain = line.solution.chi_square - self.solution.chi_square;
        chance_of(gain / self.widening(), 1.0, self.own_freedom()).unwrap_or(1.0)
    }

    fn points_freedom(&self) -> f64 {
        self.points as f64 - self.shape.parameters() as f64
    }

    /// The factor by which variances exceed the points' own errors, from the scatter of the points
    /// (Birge 1932); at least 1.
    fn widening(&self) -> f64 {
        self.lack_of_fit().map_or(1.0, |lack| lack.f.max(1.0))
    }

    /// Degrees of freedom of the variance from the points' own errors. Where that is estimated from
    /// the scatter of the points, it has the residuals' degrees of freedom.
    fn own_freedom(&self) -> f64 {
        if self.widening() > 1.0 {
            self.points_freedom()
        } else {
            self.errors.degrees_of_freedom
        }
    }

    fn gradient(&self, x: f64) -> Vec<f64> {
        self.shape.gradient(&self.solution.coefficients, x)
    }

    /// The variance along a direction from the points' own errors.
    fn own(&self, direction: &[f64]) -> Variance {
        let rows = self.solution.covariance.iter();
        let spread: Vec<f64> = rows.map(|row| dot(row, direction)).collect();
        Variance {
            value: self.widening() * dot(&spread, direction),
            degrees_of_freedom: self.own_freedom(),
        }
    }

    /// How far the common error moves a point at a height.
    fn moved(&self, height: f64) -> f64 {
        self.errors.common.shift + self.errors.common.scale * height
    }

    fn common(&self, error: f64) -> Variance {
        Variance {
            value: error.powi(2),
            degrees_of_freedom: self.errors.common.degrees_of_freedom,
        }
    }
}

/// The t interval with the sum of two variances, degrees of freedom after Satterthwaite (1946).
fn student_interval(estimate: f64, variances: [Variance; 2], confidence: Confidence) -> Estimated {
    let whole: f64 = variances.iter().map(|v| v.value).sum();
    let parts = variances.iter().filter(|v| v.value > 0.0);
    let scatter: f64 = parts.map(|v| v.value.powi(2) / v.degrees_of_freedom).sum();
    let half = if whole > 0.0 {
        student_quantile(whole.powi(2) / scatter, confidence) * whole.sqrt()
    } else {
        0.0
    };
    Estimated {
        estimate,
        low: estimate - half,
        high: estimate + half,
    }
}
