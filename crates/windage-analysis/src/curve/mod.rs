//! A metric over a swept factor: points with intervals, a fitted curve, and how well it predicts
//! points held out of the fit.

mod fits;
mod groups;
mod telemetry;

use windage_model::{ArmId, Interval, Metric};

use crate::ArmAnalysis;
use fits::Measured;
pub(crate) use fits::Sources;
use groups::{FEWEST_LEVELS, Group};

/// A metric over one numeric factor, everything else about the arms being equal.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// The factor, as the plan names it.
    pub factor: String,
    /// The arms' name without the factor's level: the part that all points share.
    pub of: String,
    /// The metric whose overhead is shown.
    pub metric: Metric,
    /// The scale of the overhead.
    pub scale: CurveScale,
    /// One per arm, ascending by level.
    pub points: Vec<CurvePoint>,
    /// Fits against what was attempted and, where counted, against what was delivered; empty with
    /// too few points, and in a run that may stop early.
    pub fits: Vec<CurveFit>,
    /// The tracer's drop limit, where levels lie on both sides of it.
    pub drop_limit: Option<DropLimit>,
}

/// The scale of an overhead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CurveScale {
    /// In the metric's unit: arm − baseline.
    Unit,
    /// As a share of the baseline, with the metric's own sign: lost throughput is negative.
    Share,
}

/// One arm of a curve.
#[derive(Clone, Debug, PartialEq)]
pub struct CurvePoint {
    /// The arm.
    pub arm: ArmId,
    /// The factor's level.
    pub level: f64,
    /// Telemetry attempted per request, in the unit of the arm's fidelity; `None` without `expect`.
    pub attempted: Option<f64>,
    /// Telemetry delivered per request, in the same unit; `None` where none was received.
    pub delivered: Option<f64>,
    /// The overhead, in the curve's scale.
    pub overhead: Interval,
    /// Whether more of its telemetry was lost than sampling explains, and more than 1 %, so that it
    /// lies beyond the tracer's drop limit. Such a point is shown but not fitted.
    pub is_beyond_drop_limit: bool,
}

/// The x axis of a fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Against {
    /// The factor's level.
    Attempted,
    /// Telemetry delivered per request.
    Delivered,
}

/// A curve through the points within the drop limit.
#[derive(Clone, Debug, PartialEq)]
pub struct CurveFit {
    /// Its x axis.
    pub against: Against,
    /// Its terms with intervals: fixed cost, cost per unit of x, bend.
    pub terms: Vec<CurveTerm>,
    /// Whether the residuals are larger than the points' intervals explain; `None` with no more
    /// points than terms.
    pub lack_of_fit: Option<LackOfFit>,
    /// The curve with the 95 % interval of its height, at ascending x, from the first fitted point
    /// to the last.
    pub confidence_band: Vec<BandPoint>,
    /// Every point except the ends, left out in turn and compared with the prediction of the curve
    /// through the others.
    pub held_out: Vec<HeldOut>,
}

/// A term of a fitted curve.
#[derive(Clone, Debug, PartialEq)]
pub struct CurveTerm {
    /// Which one.
    pub kind: TermKind,
    /// Its coefficient, in the curve's scale per unit of what it multiplies.
    pub coefficient: Interval,
}

/// The terms that a curve may have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TermKind {
    /// The cost at x = 0.
    Fixed,
    /// Times x.
    Proportional,
    /// Times the square root of x: a cost that grows ever more slowly.
    Concave,
    /// Times x / (x + h): a cost that levels off, half of it reached at `h`.
    Saturating {
        /// Where half of it is reached.
        half_at: f64,
    },
}

/// An F test of the residuals against the points' own error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LackOfFit {
    /// Mean square of the residuals, in units of the points' own error.
    pub f: f64,
    /// Degrees of freedom: points less terms.
    pub points_df: f64,
    /// Degrees of freedom of the points' own error.
    pub error_df: f64,
    /// The probability of residuals at least as large by chance; below 0.05 the curve does not fit.
    pub p: f64,
}

/// The curve at one x.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BandPoint {
    /// The x value.
    pub x: f64,
    /// The curve's height.
    pub y: f64,
    /// The lower end of the height's 95 % interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// A point compared with the curve through all others.
#[derive(Clone, Debug, PartialEq)]
pub struct HeldOut {
    /// The arm that was left out.
    pub arm: ArmId,
    /// Its x.
    pub x: f64,
    /// The value measured there.
    pub measured: f64,
    /// The prediction, with the 95 % interval in which a measurement as noisy as this one should
    /// lie.
    pub predicted: Interval,
}

impl CurveFit {
    /// The curve's height; NaN where one of its coefficients is NaN.
    #[must_use]
    pub fn height(&self, x: f64) -> f64 {
        let term = |term: &CurveTerm| {
            term.coefficient.estimate
                * match term.kind {
                    TermKind::Fixed => 1.0,
                    TermKind::Proportional => x,
                    TermKind::Concave => x.max(0.0).sqrt(),
                    TermKind::Saturating { half_at } => x / (x + half_at),
                }
        };
        self.terms.iter().map(term).sum()
    }
}

impl HeldOut {
    /// Whether the measurement lies in the prediction interval.
    #[must_use]
    pub fn is_inside(&self) -> bool {
        (self.predicted.low..=self.predicted.high).contains(&self.measured)
    }
}

/// A tracer's drop limit, as a sweep shows it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DropLimit {
    /// The highest level below `below` at which nothing was lost.
    pub above: f64,
    /// The lowest level at which more was lost than sampling explains.
    pub below: f64,
    /// The most telemetry delivered per second beyond the drop limit, in the unit of fidelity.
    pub delivered_per_s: Option<f64>,
}

/// The curves of a run, by factor and metric.
pub(crate) fn curves(sources: &Sources, arms: &[ArmAnalysis]) -> Vec<Curve> {
    let groups = groups::groups(arms);
    let of_group = |group: &Group<'_>| -> Vec<Curve> {
        let metrics = sources.metrics.iter();
        metrics
            .filter_map(|&(metric, scale)| curve(sources, group, metric, scale, arms))
            .collect()
    };
    groups.iter().flat_map(of_group).collect()
}

/// `None` where too few arms have an interval in the metric.
fn curve(
    sources: &Sources,
    group: &Group<'_>,
    metric: Metric,
    scale: CurveScale,
    arms: &[ArmAnalysis],
) -> Option<Curve> {
    let mut points = Vec::new();
    let mut of_points = Vec::new();
    for &(index, level) in &group.arms {
        let arm = &arms[index];
        let Some(overhead) = overhead(arm, metric, scale) else {
            continue;
        };
        let telemetry = telemetry::of_arm(arm);
        points.push(CurvePoint {
            arm: arm.id.clone(),
            level,
            attempted: telemetry.attempted,
            delivered: telemetry.delivered,
            overhead,
            is_beyond_drop_limit: telemetry.is_beyond_drop_limit,
        });
        of_points.push((index, arm));
    }
    if points.len() < FEWEST_LEVELS {
        return None;
    }
    let measured = Measured::new(sources, metric, scale, &points, &of_points);
    Some(Curve {
        factor: group.factor.to_owned(),
        of: group.of.clone(),
        metric,
        scale,
        fits: measured.map_or(Vec::new(), |measured| measured.fits()),
        drop_limit: telemetry::drop_limit(&points, &of_points),
        points,
    })
}

fn overhead(arm: &ArmAnalysis, metric: Metric, scale: CurveScale) -> Option<Interval> {
    let difference = arm.metrics.get(&metric)?.difference.as_ref().ok()?;
    match scale {
        CurveScale::Unit => Some(difference.absolute),
        CurveScale::Share => difference.relative,
    }
}

#[cfg(test)]
mod tests;
