//! CSV of curves: one row per point.

use windage_analysis::{Against, Analysis, Curve, CurveFit, CurvePoint, CurveScale, LackOfFit};
use windage_model::{Interval, Unit};

use super::Column::{self, Ends, Figure, Text};
use super::{regime, table, text, word};
use crate::ReportError;
use crate::rows::curve::fit;

struct Line<'a> {
    analysis: &'a Analysis,
    curve: &'a Curve,
    point: &'a CurvePoint,
}

impl<'a> Line<'a> {
    /// Points beyond a drop limit are not fitted.
    fn fit(&self, against: Against) -> Option<&'a CurveFit> {
        fit(self.curve, against).filter(|_| !self.point.is_beyond_drop_limit)
    }

    fn height(&self, against: Against) -> Option<f64> {
        let x = match against {
            Against::Attempted => Some(self.point.level),
            Against::Delivered => self.point.delivered,
        };
        Some(self.fit(against)?.height(x?))
    }

    fn predicted(&self, against: Against) -> Option<Interval> {
        let mut held_out = self.fit(against)?.held_out.iter();
        Some(held_out.find(|held| held.arm == self.point.arm)?.predicted)
    }

    fn lack(&self, against: Against) -> Option<LackOfFit> {
        self.fit(against)?.lack_of_fit
    }
}

fn columns<'a>() -> Vec<Column<Line<'a>>> {
    vec![
        Text("run", |of| text(&of.analysis.run)),
        Text("plan", |of| text(&of.analysis.plan)),
        Text("regime", |of| regime(of.analysis)),
        Text("factor", |of| text(&of.curve.factor)),
        Text("of", |of| text(&of.curve.of)),
        Text("metric", |of| word(of.curve.metric.as_str())),
        Text("scale", |of| match of.curve.scale {
            CurveScale::Unit => word("unit"),
            CurveScale::Share => word("share"),
        }),
        Text("unit", |of| match of.curve.scale {
            CurveScale::Unit => word(of.curve.metric.unit().as_str()),
            CurveScale::Share => word(Unit::One.as_str()),
        }),
        Text("arm", |of| text(of.point.arm.as_str())),
        Figure("level", |of| Some(of.point.level)),
        Figure("attempted", |of| of.point.attempted),
        Figure("delivered", |of| of.point.delivered),
        Ends("overhead", |of| Some(of.point.overhead)),
        Text("beyond_drop_limit", |of| {
            word(of.point.is_beyond_drop_limit)
        }),
        Figure("attempted_curve", |of| of.height(Against::Attempted)),
        Ends("attempted_predicted", |of| of.predicted(Against::Attempted)),
        Figure("attempted_lack_of_fit_f", |of| {
            Some(of.lack(Against::Attempted)?.f)
        }),
        Figure("attempted_lack_of_fit_p", |of| {
            Some(of.lack(Against::Attempted)?.p)
        }),
        Figure("delivered_curve", |of| of.height(Against::Delivered)),
        Ends("delivered_predicted", |of| of.predicted(Against::Delivered)),
        Figure("delivered_lack_of_fit_f", |of| {
            Some(of.lack(Against::Delivered)?.f)
        }),
        Figure("delivered_lack_of_fit_p", |of| {
            Some(of.lack(Against::Delivered)?.p)
        }),
    ]
}

/// The analyses' curves as one CSV table with a heading row: a row per run, load, curve and level.
///
/// `attempted` and `delivered` are telemetry per request. `overhead` and its ends are in `unit`
/// where `scale` is `unit`, and a share of the baseline (0.01 is 1 %) where it is `share`. Columns
/// that begin with `attempted_` are of the curve fitted against the level, those with `delivered_`
/// of the one fitted against delivered telemetry: its height at this point, the prediction of the
/// curve through all other points (for held-out points), and the lack-of-fit test. They are empty
/// beyond a drop limit, where points are not fitted.
///
/// # Errors
///
/// [`ReportError`] when the CSV writer refuses a row; writing to memory should never fail.
pub fn curves_csv(analyses: &[Analysis]) -> Result<String, ReportError> {
    let loads = analyses.iter().flat_map(Analysis::regimes);
    let curves = loads.flat_map(|analysis| analysis.curves.iter().map(move |of| (analysis, of)));
    let lines = curves.flat_map(|(analysis, curve)| {
        curve.points.iter().map(move |point| Line {
            analysis,
            curve,
            point,
        })
    });
    table(&columns(), lines)
}
