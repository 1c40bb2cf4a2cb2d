//! Times by percentile in the document, and the arms' differences.

use serde::Serialize;
use windage_analysis::{
    Analysis, ArmLatency, Latency, QuantileDifference, QuantileDifferences, Timing,
};
use windage_model::{Interval, Unit};

use super::figures::{BandWire, id, rounded};
use crate::number::{self, NOT_AVAILABLE, Scale, Shown};
use crate::rows::capitalised;

#[derive(Serialize)]
pub(super) struct LatencyWire {
    timing: &'static str,
    label: String,
    title: String,
    difference_title: String,
    scale: Scale,
    arms: Vec<ArmLatencyWire>,
    differences: Vec<DifferencesWire>,
}

#[derive(Serialize)]
struct ArmLatencyWire {
    arm: String,
    count: u64,
    quantiles: Vec<f64>,
    us: Vec<f64>,
    text: String,
}

#[derive(Serialize)]
struct DifferencesWire {
    arm: String,
    scale: Scale,
    points: Vec<PointWire>,
    /// As shares and as times.
    relative_text: String,
    us_text: String,
}

#[derive(Serialize)]
struct PointWire {
    quantile: f64,
    relative: BandWire,
    us: Option<BandWire>,
}

impl LatencyWire {
    pub(super) fn of(load: &Analysis, latency: &Latency) -> LatencyWire {
        let (timing, name, since) = match latency.timing {
            Timing::ResponseTime => ("response_time", "response time", "the intended start"),
            Timing::ServiceTime => ("service_time", "service time", "the actual send"),
        };
        let of_most = latency.arms.iter().filter_map(|arm| at(arm, 0.9));
        LatencyWire {
            timing,
            label: format!("{name}s, from {since}"),
            title: format!("{} by percentile", capitalised(name)),
            difference_title: format!("Difference from the baseline by percentile, {name}"),
            scale: Scale::fitting(Unit::Microseconds, of_most),
            arms: latency
                .arms
                .iter()
                .map(|of| ArmLatencyWire::of(load, of))
                .collect(),
            differences: latency
                .differences
                .iter()
                .map(|of| DifferencesWire::of(load, of))
                .collect(),
        }
    }
}

/// The first time at or above a quantile.
fn at(arm: &ArmLatency, quantile: f64) -> Option<f64> {
    let mut steps = arm.steps.iter();
    let (_, us) = steps.find(|(q, us)| *q >= quantile - NEAR && *us > 0.0)?;
    Some(*us)
}

/// Quantiles are quotients: two this close are equal.
const NEAR: f64 = 1e-6;

impl ArmLatencyWire {
    fn of(load: &Analysis, of: &ArmLatency) -> ArmLatencyWire {
        // Quantiles are not rounded: the axis shows their distance from 1.
        let (quantiles, us) = of.steps.iter().map(|(q, us)| (*q, rounded(*us))).unzip();
        let time = |us: Option<f64>| {
            us.map_or(NOT_AVAILABLE.to_owned(), |us| {
                number::short(Unit::Microseconds, us)
            })
        };
        ArmLatencyWire {
            arm: id(load, of.arm),
            count: of.count,
            quantiles,
            us,
            text: format!(
                "median {}, 99th percentile {}, the longest {}",
                time(at(of, 0.5)),
                time(at(of, 0.99)),
                time(of.steps.last().map(|(_, us)| *us)),
            ),
        }
    }
}

impl DifferencesWire {
    fn of(load: &Analysis, of: &QuantileDifferences) -> DifferencesWire {
        let estimates = of.points.iter().filter_map(|point| point.us.as_ref());
        let scale = Scale::fitting(Unit::Microseconds, estimates.map(|us| us.estimate));
        let us = |us: &Interval| scale.signed(us);
        // The median and the 99th percentile are labelled; if one is missing, the last known point.
        let is_at = |quantile: f64, of: &QuantileDifference| (of.quantile - quantile).abs() < NEAR;
        let highest = of.points.iter().position(|point| is_at(0.99, point));
        let highest = highest.or(of.points.len().checked_sub(1));
        let points = of.points.iter().enumerate().filter_map(|(i, point)| {
            let is_labelled = is_at(0.5, point) || Some(i) == highest;
            let label = |shown: Option<Shown>| shown.filter(|_| is_labelled).map(|of| of.point());
            let of_us = point.us.as_ref();
            Some(PointWire {
                quantile: point.quantile,
                relative: BandWire::of(&point.relative)?
                    .labelled(label(number::percent(&point.relative))),
                us: of_us.and_then(|of| Some(BandWire::of(of)?.labelled(label(us(of))))),
            })
        });
        let text = |written: &dyn Fn(&QuantileDifference) -> Option<Shown>| {
            let places = [(0.5, "median"), (0.99, "99th percentile")];
            let labels = places.into_iter().filter_map(|(quantile, name)| {
                let point = of.points.iter().find(|point| is_at(quantile, point))?;
                Some(format!("{} at the {name}", written(point)?))
            });
            labels.collect::<Vec<_>>().join(", ")
        };
        DifferencesWire {
            arm: id(load, of.arm),
            scale,
            points: points.collect(),
            relative_text: text(&|point| number::percent(&point.relative)),
            us_text: text(&|point| us(point.us.as_ref()?)),
        }
    }
}
