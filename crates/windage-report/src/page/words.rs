//! What is said beside and within pictures, so that the page words nothing itself.

use serde::Serialize;
use windage_analysis::{
    Against, Analysis, Curve, CurveFit, CurveScale, FidelityUnit, MetricAnalysis,
};

use crate::firmness::advice_in_words;
use crate::number;
use crate::rows::agents::bill::{Entry, in_order};
use crate::rows::{capitalised, curve};

/// The words of one load's pictures.
#[derive(Serialize)]
pub(super) struct WordsWire {
    /// In the order of the load's curves.
    curves: Vec<CurveWords>,
    /// The lines that bills add up from, in their order.
    bill: Vec<LineName>,
    /// What a longer run should have more of for the primary metric, by arm.
    advice: Vec<Advice>,
}

impl WordsWire {
    pub(super) fn of(load: &Analysis) -> WordsWire {
        WordsWire {
            curves: load
                .curves
                .iter()
                .map(|curve| CurveWords::of(load, curve))
                .collect(),
            bill: line_names(load),
            advice: advice(load),
        }
    }
}

#[derive(Serialize)]
struct CurveWords {
    title: String,
    /// What stands on the axis where it is drawn against what arrived.
    delivered: String,
    fits: Vec<FitWords>,
    /// What holds whichever fit is shown.
    sentences: Vec<String>,
}

#[derive(Serialize)]
struct FitWords {
    against: &'static str,
    /// Whether more is left than the points' own error explains.
    is_rejected: bool,
    sentences: Vec<String>,
}

impl CurveWords {
    fn of(load: &Analysis, curve: &Curve) -> CurveWords {
        let unit = curve::counted_in(load, curve);
        let of = curve::of_which(load, curve).map_or(String::new(), |of| format!(", {of}"));
        // A metric may be shown in both scales.
        let scale = match curve.scale {
            CurveScale::Unit => "",
            CurveScale::Share => ", as a share of the baseline",
        };
        let unfitted = curve
            .fits
            .is_empty()
            .then(|| curve::why_not_fitted(load, curve));
        let cap = curve
            .cap
            .as_ref()
            .map(|cap| format!("cap: {}", curve::cap_in_words(cap, &curve.factor, unit)));
        CurveWords {
            title: format!("{}{of}{scale}", curve::title(curve)),
            delivered: format!("{} delivered a request", unit.as_str()),
            fits: curve
                .fits
                .iter()
                .map(|fit| FitWords::of(curve, fit, unit))
                .collect(),
            sentences: unfitted.into_iter().chain(cap).map(sentence).collect(),
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

/// How exact predictions of points are: where they are hardly so, nearly every point lies within
/// them.
fn exactness(curve: &Curve, fit: &CurveFit) -> Option<String> {
    let half_widths = fit.held_out.iter().map(|held| held.predicted.half_width());
    let mut half_widths: Vec<f64> = half_widths.filter(|half| half.is_finite()).collect();
    half_widths.sort_by(f64::total_cmp);
    let middle = *half_widths.get(half_widths.len().checked_sub(1)? / 2)?;
    let written = match curve.scale {
        CurveScale::Share => number::percent_two(middle),
        CurveScale::Unit => curve::scale(curve).with_unit(middle),
    };
    Some(format!("predictions are mostly good to ± {written}"))
}

fn sentence(clause: String) -> String {
    capitalised(&clause) + "."
}

#[derive(Serialize)]
struct LineName {
    item: &'static str,
    name: &'static str,
}

fn line_names(load: &Analysis) -> Vec<LineName> {
    let bills = load.arms.iter().filter_map(|arm| arm.bill.as_ref());
    let entries = in_order(bills.flat_map(Entry::of).map(|(entry, _)| entry));
    entries
        .into_iter()
        .filter(|entry| !matches!(entry, Entry::Machine | Entry::InAll))
        .map(|entry| LineName {
            item: entry.word(),
            name: entry.name(),
        })
        .collect()
}

#[derive(Serialize)]
struct Advice {
    arm: String,
    text: String,
}

fn advice(load: &Analysis) -> Vec<Advice> {
    let of = |result: &MetricAnalysis| result.inference.scatter.as_ref()?.advice;
    load.arms
        .iter()
        .filter_map(|arm| {
            let advice = of(arm.metrics.get(&load.primary)?)?;
            Some(Advice {
                arm: arm.id.to_string(),
                text: advice_in_words(advice),
            })
        })
        .collect()
}
