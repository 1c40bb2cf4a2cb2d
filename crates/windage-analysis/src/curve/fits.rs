//! Curves through points: coefficients, confidence band, and points held out.

use std::collections::BTreeMap;

use windage_model::{Interval, LoadModel, Method, Metric};
use windage_stats::fit::{Common, Errors, Estimated, Point, Shape, Side, Term};
use windage_stats::{Confidence, Fit, TwoLevel, fit, side_by_side};

use super::{
    Against, BandPoint, CurveFit, CurvePoint, CurveScale, CurveTerm, HeldOut, LackOfFit, TermKind,
};
use crate::ArmAnalysis;
use crate::compare::Scale;
use crate::family::Comparisons;

/// Points of the drawn confidence band.
const RIBBON: u32 = 33;
/// The fewest points of which one can be held out: a line through the others then has one degree of
/// freedom left.
const FEWEST_TO_HOLD_OUT: usize = 4;

/// The metrics with curves, and the standard errors of each arm's estimates of them.
#[derive(Clone, Debug)]
pub(crate) struct Sources {
    pub(super) metrics: Vec<(Metric, CurveScale)>,
    by_arm: Vec<BTreeMap<Metric, (TwoLevel, Scale)>>,
    /// False in a run that may stop early, where no interval of a fixed length holds.
    fits: bool,
}

impl Sources {
    /// The primary metric in its unit; with it throughput in a closed loop, or the median response
    /// time in an open loop.
    pub(crate) fn new(
        compared: &[Comparisons],
        primary: Metric,
        model: LoadModel,
        may_stop_early: bool,
    ) -> Sources {
        let mut metrics = vec![(primary, CurveScale::Unit)];
        let beside = match model {
            LoadModel::Closed => Some((Metric::Throughput, CurveScale::Share)),
            LoadModel::Open => Some((Metric::ResponseTimeP50, CurveScale::Unit)),
            LoadModel::Batch => None,
        };
        metrics.extend(beside.filter(|shown| *shown != metrics[0]));
        let of_arm = |comparisons: &Comparisons| {
            let located = |(metric, scale): &(Metric, CurveScale)| {
                let comparison = comparisons.get(metric)?;
                // Differences in the unit have the baseline's error in them.
                if let (CurveScale::Unit, Some(absolute)) = (scale, &comparison.absolute) {
                    return Some((*metric, (absolute.clone(), Scale::Difference)));
                }
                let location = comparison.location.as_ref().ok()?;
                Some((*metric, (location.clone(), comparison.scale)))
            };
            metrics.iter().filter_map(located).collect()
        };
        Sources {
            by_arm: compared.iter().map(of_arm).collect(),
            metrics,
            fits: !may_stop_early,
        }
    }
}

/// The input of a fit: all points of a curve with their errors.
pub(super) struct Measured<'a> {
    points: &'a [CurvePoint],
    standard_errors: Vec<f64>,
    errors: Errors,
}

impl<'a> Measured<'a> {
    /// `None` where an error is unknown, and in a run that may stop early.
    pub(super) fn new(
        sources: &Sources,
        metric: Metric,
        scale: CurveScale,
        points: &'a [CurvePoint],
        arms: &[(usize, &ArmAnalysis)],
    ) -> Option<Measured<'a>> {
        if !sources.fits {
            return None;
        }
        let of_arm = |(index, _): &(usize, &ArmAnalysis)| sources.by_arm.get(*index)?.get(&metric);
        let located: Vec<&(TwoLevel, Scale)> = arms.iter().map(of_arm).collect::<Option<_>>()?;
        let sides: Vec<Side<'_>> = located.iter().map(|(location, _)| side(location)).collect();
        let found = side_by_side(&sides)?;
        let (own, common) = (found.own.standard_error, found.common.standard_error);
        let (_, first) = arms.first()?;
        let baseline = match scale {
            CurveScale::Unit => first.metrics.get(&metric)?.baseline?,
            CurveScale::Share => 1.0,
        };
        let of_first = located.first()?.1;
        // An arm of a single launch has no scatter of differences, as the others have.
        if located.iter().any(|(_, of)| *of != of_first) {
            return None;
        }
        let is_ratio = of_first == Scale::LogRatio;
        let standard_error = |point: &CurvePoint| {
            if is_ratio {
                own * (baseline + point.overhead.estimate)
            } else {
                own
            }
        };
        Some(Measured {
            points,
            standard_errors: points.iter().map(standard_error).collect(),
            errors: Errors {
                degrees_of_freedom: found.own.degrees_of_freedom,
                common: Common {
                    shift: if is_ratio { common * baseline } else { common },
                    scale: if is_ratio { common } else { 0.0 },
                    degrees_of_freedom: found.common.degrees_of_freedom,
                },
            },
        })
    }

    /// A curve against each x axis that is known.
    pub(super) fn fits(&self) -> Vec<CurveFit> {
        let both = [Against::Attempted, Against::Delivered];
        both.into_iter().filter_map(|x| self.against(x)).collect()
    }

    fn against(&self, against: Against) -> Option<CurveFit> {
        let mut below: Vec<(&CurvePoint, Point)> = Vec::new();
        let points = self.points.iter().zip(&self.standard_errors);
        for (point, &standard_error) in points.filter(|(point, _)| !point.is_beyond_drop_limit) {
            let x = match against {
                Against::Attempted => point.level,
                Against::Delivered => point.delivered?,
            };
            let y = point.overhead.estimate;
            let at = Point {
                x,
                y,
                standard_error,
            };
            below.push((point, at));
        }
        below.sort_by(|(_, a), (_, b)| a.x.total_cmp(&b.x));
        let points: Vec<Point> = below.iter().map(|(_, at)| *at).collect();
        let curve = fit(&points, self.errors)?;
        Some(CurveFit {
            against,
            terms: terms(&curve),
            lack_of_fit: curve.lack_of_fit().map(|lack| LackOfFit {
                f: lack.f,
                points_df: lack.points_freedom,
                error_df: lack.error_freedom,
                p: lack.p,
            }),
            confidence_band: confidence_band(&curve, &points),
            held_out: self.held_out(&below),
        })
    }

    /// Every point except the two ends, where the prediction would be an extrapolation.
    fn held_out(&self, below: &[(&CurvePoint, Point)]) -> Vec<HeldOut> {
        if below.len() < FEWEST_TO_HOLD_OUT {
            return Vec::new();
        }
        let hold_out = |index: usize| {
            let (point, out) = below[index];
            let others = below.iter().enumerate().filter(|(i, _)| *i != index);
            let others: Vec<Point> = others.map(|(_, (_, at))| *at).collect();
            let curve = fit(&others, self.errors)?;
            let predicted = curve.predicted(out.x, out.standard_error, Confidence::P95);
            Some(HeldOut {
                arm: point.arm.clone(),
                x: out.x,
                measured: out.y,
                predicted: interval(predicted, Method::Prediction),
            })
        };
        (1..below.len() - 1).filter_map(hold_out).collect()
    }
}

fn side(location: &TwoLevel) -> Side<'_> {
    Side {
        standard_error: location.standard_error,
        degrees_of_freedom: location.degrees_of_freedom,
        units: &location.units.values,
    }
}

fn terms(curve: &Fit) -> Vec<CurveTerm> {
    let kind = |term: Term| match (term, curve.shape()) {
        (Term::Fixed, _) => TermKind::Fixed,
        (Term::Saturation, Shape::Saturating { half_at }) => TermKind::Saturating { half_at },
        (Term::Root, _) => TermKind::Concave,
        (Term::Proportional | Term::Saturation, _) => TermKind::Proportional,
    };
    let terms = curve.terms(Confidence::P95).into_iter();
    terms
        .map(|(term, found)| CurveTerm {
            kind: kind(term),
            coefficient: interval(found, Method::LeastSquares),
        })
        .collect()
}

/// Evenly spaced over the points, which are in order.
fn confidence_band(curve: &Fit, points: &[Point]) -> Vec<BandPoint> {
    let (Some(first), Some(last)) = (points.first(), points.last()) else {
        return Vec::new();
    };
    let step = (last.x - first.x) / f64::from(RIBBON - 1);
    let at = |number: u32| {
        let x = if number == RIBBON - 1 {
            last.x
        } else {
            first.x + step * f64::from(number)
        };
        let found = curve.at(x, Confidence::P95);
        BandPoint {
            x,
            y: found.estimate,
            low: found.low,
            high: found.high,
        }
    };
    (0..RIBBON).map(at).collect()
}

fn interval(of: Estimated, method: Method) -> Interval {
    Interval {
        estimate: of.estimate,
        low: of.low,
        high: of.high,
        confidence: Confidence::P95.get(),
        method,
    }
}
