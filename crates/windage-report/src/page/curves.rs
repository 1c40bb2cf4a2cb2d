//! Texts beside and within the pictures of a load's curves.

use serde::Serialize;
use windage_analysis::{Against, Analysis, Curve, CurveFit, CurveScale, FidelityUnit};

use crate::fact::one_line;
use crate::number::{self, Scale};
use crate::rows::{capitalised, curve};

/// In the order of the load's curves.
#[derive(Serialize)]
pub(super) struct CurveWords {
    title: String,
    scale: Scale,
    /// The axis labels: attempted and delivered.
    attempted: String,
    delivered: String,
    /// A text per point, as alternative text.
    points: Vec<String>,
    fits: Vec<FitWords>,
    /// Texts that apply to both fits.
    sentences: Vec<String>,
}

#[derive(Serialize)]
struct FitWords {
    against: &'static str,
    /// Whether the lack of fit is significant.
    is_rejected: bool,
    sentences: Vec<String>,
}

impl CurveWords {
    pub(super) fn of(load: &Analysis, curve: &Curve) -> CurveWords {
        let unit = curve::counted_in(load, curve);
        let of = curve::of_which(load, curve).map_or(String::new(), |of| format!(", {of}"));
        // A metric may have curves in both scales.
        let share = match curve.scale {
            CurveScale::Unit => "",
            CurveScale::Share => ", as a share of the baseline",
        };
        let unfitted = curve
            .fits
            .is_empty()
            .then(|| curve::why_not_fitted(load, curve));
        let drop_limit = curve.drop_limit.as_ref().map(|drop_limit| {
            format!(
                "drop limit: {}",
                curve::drop_limit_in_words(drop_limit, &curve.factor, unit)
            )
        });
        CurveWords {
            title: format!("{}{of}{share}", curve::title(curve)),
            scale: curve::scale(curve),
            attempted: one_line(&curve.factor),
            points: curve::points_in_words(curve),
            delivered: format!("{} delivered per request", unit.as_str()),
            fits: curve
                .fits
                .iter()
                .map(|fit| FitWords::of(curve, fit, unit))
                .collect(),
            sentences: unfitted
                .into_iter()
                .chain(drop_limit)
                .map(sentence)
                .collect(),
        }
    }
}

impl FitWords {
    fn of(curve: &Curve, fit: &CurveFit, unit: FidelityUnit) -> FitWords {
        let mut clauses = curve::clauses(curve, fit, unit);
        if let Some(formula) = clauses.first_mut() {
            formula.insert_str(0, "curve: ");
        }
        clauses.extend(exactness(curve, fit));
        FitWords {
            against: match fit.against {
                Against::Attempted => "attempted",
                Against::Delivered => "delivered",
            },
            is_rejected: fit.lack_of_fit.as_ref().is_some_and(curve::is_rejected),
            sentences: clauses.into_iter().map(sentence).collect(),
        }
    }
}

/// How precise predictions are: nearly all points lie within imprecise ones.
fn exactness(curve: &Curve, fit: &CurveFit) -> Option<String> {
    let half_widths = fit.held_out.iter().map(|held| held.predicted.half_width());
    let mut half_widths: Vec<f64> = half_widths.filter(|half| half.is_finite()).collect();
    half_widths.sort_by(f64::total_cmp);
    let middle = *half_widths.get(half_widths.len().checked_sub(1)? / 2)?;
    let written = match curve.scale {
        CurveScale::Share => number::percent_two(middle),
        CurveScale::Unit => curve::scale(curve).with_unit(middle),
    };
    Some(format!("predictions are mostly precise to ± {written}"))
}

fn sentence(clause: String) -> String {
    capitalised(&clause) + "."
}
