//! One row for each point of each curve.

use windage_analysis::{Against, Analysis, Curve, CurveFit, CurvePoint, CurveScale};
use windage_model::Unit;

use super::{ends, figure, finished, guarded, regime};
use crate::ReportError;
use crate::rows::curve::fit;

const COLUMNS: &[&str] = &[
    "run",
    "plan",
    "regime",
    "factor",
    "of",
    "metric",
    "scale",
    "unit",
    "arm",
    "level",
    "attempted",
    "delivered",
    "overhead",
    "overhead_low",
    "overhead_high",
    "beyond_cap",
    "attempted_curve",
    "attempted_predicted",
    "attempted_predicted_low",
    "attempted_predicted_high",
    "attempted_lack_of_fit_f",
    "attempted_lack_of_fit_p",
    "delivered_curve",
    "delivered_predicted",
    "delivered_predicted_low",
    "delivered_predicted_high",
    "delivered_lack_of_fit_f",
    "delivered_lack_of_fit_p",
];

/// The analyses' curves as one CSV table with a heading row: a row for each run, load, curve and
/// level.
///
/// `attempted` and `delivered` are telemetry a request. `overhead` and its ends are in `unit` where
/// `scale` is `unit`, and a share of the baseline (0.01 is 1 %) where it is `share`. Columns that
/// begin with `attempted_` are of the curve fitted against the level, those with `delivered_` of the one against
/// what arrived: its height at this point, what the curve through all other points predicts here
/// (of points that were held out), and the test of its fit. Beyond a cap they are empty, as such
/// points are not fitted.
///
/// # Errors
///
/// [`ReportError`] when the CSV writer refuses a row; writing to memory, it has no reason to.
pub fn curves_csv(analyses: &[Analysis]) -> Result<String, ReportError> {
    let mut writer = ::csv::Writer::from_writer(Vec::new());
    writer.write_record(COLUMNS)?;
    for analysis in analyses.iter().flat_map(Analysis::regimes) {
        for curve in &analysis.curves {
            for point in &curve.points {
                writer.write_record(record(analysis, curve, point))?;
            }
        }
    }
    finished(writer)
}

fn record(analysis: &Analysis, curve: &Curve, point: &CurvePoint) -> Vec<String> {
    let (scale, unit) = match curve.scale {
        CurveScale::Unit => ("unit", curve.metric.unit().as_str()),
        CurveScale::Share => ("share", Unit::One.as_str()),
    };
    let mut fields = vec![
        guarded(&analysis.run),
        guarded(&analysis.plan),
        regime(analysis),
        guarded(&curve.factor),
        guarded(&curve.of),
        curve.metric.as_str().to_owned(),
        scale.to_owned(),
        unit.to_owned(),
        guarded(point.arm.as_str()),
        figure(Some(point.level)),
        figure(point.attempted),
        figure(point.delivered),
    ];
    fields.extend(ends(Some(&point.overhead)));
    fields.push(point.is_beyond_cap.to_string());
    let axes = [
        (Against::Attempted, Some(point.level)),
        (Against::Delivered, point.delivered),
    ];
    for (against, x) in axes {
        let fitted = fit(curve, against).filter(|_| !point.is_beyond_cap);
        fields.extend(of_fit(fitted, point, x));
    }
    fields
}

fn of_fit(fit: Option<&CurveFit>, point: &CurvePoint, x: Option<f64>) -> [String; 6] {
    let Some(fit) = fit else {
        return Default::default();
    };
    let held_out = fit.held_out.iter().find(|held| held.arm == point.arm);
    let [estimate, low, high] = ends(held_out.map(|held| &held.predicted));
    [
        figure(x.map(|x| fit.height(x))),
        estimate,
        low,
        high,
        figure(fit.lack_of_fit.map(|lack| lack.f)),
        figure(fit.lack_of_fit.map(|lack| lack.p)),
    ]
}
