//! Delivered telemetry, for the page document: by arm, and by rate.

use serde::Serialize;
use windage_analysis::{Analysis, ArmAnalysis, Fidelity, FidelityPoint};
use windage_model::Unit;

use crate::number::{self, Scale};
use crate::rows::{by_rate, losses};

#[derive(Serialize)]
pub(super) struct DeliveryWire {
    /// Its id.
    arm: String,
    /// Delivered / expected; `None` if nothing was expected.
    share: Option<f64>,
    /// "14,778 of 14,922 traces, 99 %", and a short form that fits beside a name.
    figures: String,
    short: String,
    /// The text below its bar.
    note: String,
    /// The reasons of losses; empty if unknown.
    losses: String,
}

/// Empty if no arm expects anything.
pub(super) fn deliveries(load: &Analysis) -> Vec<DeliveryWire> {
    let arms = load.arms.iter();
    let all: Vec<DeliveryWire> = arms
        .filter_map(|arm| Some(delivery(arm, arm.fidelity.as_ref()?)))
        .collect();
    let is_expected = all.iter().any(|of| of.share.is_some());
    if is_expected { all } else { Vec::new() }
}

fn delivery(arm: &ArmAnalysis, of: &Fidelity) -> DeliveryWire {
    let what = of.of.as_str();
    let delivered = number::count(of.delivered);
    // Whole numbers, as displayed.
    let expected = of
        .expected
        .map(f64::round)
        .filter(|expected| *expected > 0.0);
    let share = expected.map(|expected| of.delivered as f64 / expected);
    let (figures, short) = match expected.zip(share) {
        Some((expected, share)) => {
            let (expected, percent) = (number::count_f64(expected), number::percent_short(share));
            let figures = format!("{delivered} of {expected} {what}, {percent}");
            (figures, percent)
        }
        None => (
            format!("{delivered} {what}, none expected"),
            format!("{delivered} {what}"),
        ),
    };
    let bytes =
        |of: Option<f64>, how: &str| Some(format!("{} {how}", number::short(Unit::Bytes, of?)));
    let is_lossy = of.beyond_sampling == Some(true);
    let judged = match (is_lossy, of.is_within_chance()) {
        (true, _) => Some("lost more than sampling explains".to_owned()),
        (false, true) => Some("as expected within the chance of sampling".to_owned()),
        (false, false) => None,
    };
    let of_span = [
        bytes(of.bytes_per_span, "per span"),
        bytes(of.wire_bytes_per_span, "on the wire"),
    ];
    let of_span: Vec<String> = of_span.into_iter().flatten().collect();
    let of_span = (!of_span.is_empty()).then(|| of_span.join(", "));
    let note: Vec<String> = judged.into_iter().chain(of_span).collect();
    DeliveryWire {
        arm: arm.id.to_string(),
        share,
        figures,
        short,
        note: note.join("; "),
        losses: losses(of).map_or(String::new(), |of| format!("lost: {of}")),
    }
}

/// Texts about delivered shares by rate.
#[derive(Serialize)]
pub(super) struct ByRateWire {
    scale: Scale,
    arms: Vec<RatesWire>,
}

#[derive(Serialize)]
struct RatesWire {
    /// Its id.
    arm: String,
    text: String,
}

pub(super) fn by_rate(run: &Analysis) -> ByRateWire {
    let points = &run.fidelity_curve;
    // A closed loop has only an achieved rate.
    let rate = |of: &FidelityPoint| of.rate_per_s.or(of.achieved_per_s);
    let scale = Scale::fitting(Unit::PerSecond, points.iter().filter_map(rate));
    let described = |of: &FidelityPoint| {
        let share = number::percent_short(1.0 - of.lost_share.as_ref()?.estimate);
        Some(format!("{share} at {}", scale.with_unit(rate(of)?)))
    };
    let arms = by_rate::arms(run).into_iter().map(|id| {
        let own = points.iter().filter(|of| of.arm == *id);
        RatesWire {
            arm: id.to_string(),
            text: own.filter_map(described).collect::<Vec<_>>().join(", "),
        }
    });
    ByRateWire {
        scale,
        arms: arms.collect(),
    }
}
