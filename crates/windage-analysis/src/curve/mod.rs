//! What a metric does over a swept factor: points with intervals, a fitted curve, and how well it
//! predicts points that it has not seen.

mod fits;
mod groups;
mod telemetry;

use windage_model::{ArmId, Interval, Metric};

use crate::ArmAnalysis;
use fits::Measured;
pub(crate) use fits::Sources;
use groups::{FEWEST_LEVELS, Group};

/// A metric over one factor whose levels are numbers, all else of the arms being equal.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// The factor, as the plan names it.
    pub factor: String,
    /// The arms' name without the factor's level: what is the same in all points.
    pub of: String,
    /// The metric whose overhead is shown.
    pub metric: Metric,
    /// What the overhead is told in.
    pub scale: CurveScale,
    /// One for each arm, by rising level.
    pub points: Vec<CurvePoint>,
    /// What was fitted, against what was attempted and, where it was counted, against what was
    /// delivered; empty where points are too few, and in a run that may stop early.
    pub fits: Vec<CurveFit>,
    /// The tracer's own drop limit, where levels lie on both sides of it.
    pub drop_limit: Option<DropLimit>,
}

/// What an overhead is told in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CurveScale {
    /// In the metric's unit: arm − baseline.
    Unit,
    /// As a share of the baseline, with the metric's own sign: throughput that is lost is negative.
    Share,
}

/// One arm of a curve.
#[derive(Clone, Debug, PartialEq)]
pub struct CurvePoint {
    /// The arm.
    pub arm: ArmId,
    /// The factor's level.
    pub level: f64,
    /// Telemetry asked for, in the unit of the arm's fidelity, a request; `None` without `expect`.
    pub attempted: Option<f64>,
    /// Telemetry that arrived, in the same unit, a request; `None` where none was received.
    pub delivered: Option<f64>,
    /// The overhead, in the curve's scale.
    pub overhead: Interval,
    /// Whether more of its telemetry was lost than sampling explains, and more than 1 %, so that it
    /// lies beyond a drop limit of the tracer. Such a point is shown and not fitted.
    pub is_beyond_drop_limit: bool,
}

/// What the x axis of a fit is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Against {
    /// The factor's level: what was asked for.
    Attempted,
    /// What arrived, a request.
    Delivered,
}

/// A curve through the points that are not beyond the drop limit.
#[derive(Clone, Debug, PartialEq)]
pub struct CurveFit {
    /// Its x axis.
    pub against: Against,
    /// Its terms, in words and with intervals: fixed cost, cost of a unit of x, bend.
    pub terms: Vec<CurveTerm>,
    /// Whether what is left between points and curve is more than their intervals explain; `None`
    /// where there are no more points than terms.
    pub lack_of_fit: Option<LackOfFit>,
    /// The curve itself with the 95 % interval of its height, at rising x, from the first point
    /// that was fitted to the last.
    pub confidence_band: Vec<BandPoint>,
    /// Points left out in turn, each held against what the curve through the others predicts: all
    /// but those at the ends.
    pub held_out: Vec<HeldOut>,
}

/// A term of a fitted curve.
#[derive(Clone, Debug, PartialEq)]
pub struct CurveTerm {
    /// Which one.
    pub kind: TermKind,
    /// Its coefficient, in the curve's scale a unit of what it multiplies.
    pub coefficient: Interval,
}

/// The terms that a curve may have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TermKind {
    /// What it costs at x = 0.
    Fixed,
    /// Times x.
    Proportional,
    /// Times the square root of x: a cost that grows ever more slowly.
    Concave,
    /// Times x / (x + h): a cost that comes to an end, half of it at `h`.
    Saturating {
        /// Where half of it is reached.
        half_at: f64,
    },
}

/// An F test of what is left between points and curve against the points' own error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LackOfFit {
    /// Mean square of what is left, in units of the points' own error.
    pub f: f64,
    /// Degrees of freedom: points less terms.
    pub points_df: f64,
    /// Degrees of freedom of the points' own error.
    pub error_df: f64,
    /// How often chance alone would leave as much; a curve with less than 0.05 does not fit.
    pub p: f64,
}

/// The curve at one x.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BandPoint {
    /// Where.
    pub x: f64,
    /// The curve's height.
    pub y: f64,
    /// The 95 % interval of the height.
    pub low: f64,
    /// Its other end.
    pub high: f64,
}

/// A point against the curve through all others.
#[derive(Clone, Debug, PartialEq)]
pub struct HeldOut {
    /// The arm that was left out.
    pub arm: ArmId,
    /// Its x.
    pub x: f64,
    /// What was measured there.
    pub measured: f64,
    /// What was predicted, with the 95 % interval in which a measurement as noisy as this one
    /// should lie.
    pub predicted: Interval,
}

impl CurveFit {
    /// The curve's height; NaN where one of its coefficients is.
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

/// A tracer's own drop limit, as it shows in a sweep.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DropLimit {
    /// The highest level below the other one, of which nothing was lost.
    pub above: f64,
    /// The lowest level of which more was lost than sampling explains.
    pub below: f64,
    /// What arrived beyond the drop limit, in the unit of fidelity a second of load, at most.
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
