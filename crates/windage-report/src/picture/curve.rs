//! A metric over a swept factor: points with intervals, the fitted curve and its confidence band;
//! one plot by attempted level, and one below it by delivered telemetry.

use maud::{Markup, html};
use windage_analysis::{Against, Analysis, BandPoint, Curve, CurveFit, CurvePoint, FidelityUnit};
use windage_model::Metric;

use super::axis::{self, Axis};
use super::frame::{KeyEntry, Panel};
use super::plane::{BELOW, Plane, Tick, px};
use crate::fact::one_line;
use crate::number::Scale;
use crate::rows::{self, curve};

/// Heights of a plot and of the gap between two, in pixels.
const PLOT: f64 = 240.0;
const APART: f64 = 14.0;

/// One of a curve's two plots: its points and their positions.
struct Plot<'a> {
    label: String,
    points: Vec<(f64, &'a CurvePoint)>,
    fit: Option<&'a CurveFit>,
}

/// "CPU per request by rate, difference from the baseline".
pub(super) fn title(analysis: &Analysis, metric: Metric) -> String {
    let metric_name = rows::headline(metric);
    let curves = analysis.regimes().flat_map(|of| &of.curves);
    let curves = curves.filter(|curve| curve.metric == metric);
    let factors = each_once(curves.map(|curve| one_line(&curve.factor))).join(" and by ");
    format!("{metric_name} by {factors}, difference from the baseline")
}

/// Each once, in order of first occurrence.
fn each_once(names: impl Iterator<Item = String>) -> Vec<String> {
    let mut once = Vec::new();
    for name in names {
        if !once.contains(&name) {
            once.push(name);
        }
    }
    once
}

/// Metrics that have a drawable curve.
pub(super) fn metrics(analysis: &Analysis) -> Vec<Metric> {
    let curves = analysis.curves.iter();
    let drawable = curves.filter(|curve| !plots(curve, FidelityUnit::default()).is_empty());
    drawable.map(|curve| curve.metric).collect()
}

/// One panel per curve of the metric.
pub(super) fn panels(analysis: &Analysis, metric: Metric, room: f64) -> Vec<Panel> {
    let curves = analysis.curves.iter();
    curves
        .filter(|curve| curve.metric == metric)
        .filter_map(|curve| panel(analysis, curve, room))
        .collect()
}

fn panel(analysis: &Analysis, of: &Curve, room: f64) -> Option<Panel> {
    let unit = curve::counted_in(analysis, of);
    let plots = plots(of, unit);
    let heights = heights(&plots)?;
    let scale = curve::scale(of);
    let step = PLOT + BELOW + APART;
    let drawn = html! {
        @for (i, plot) in plots.iter().enumerate() {
            (plot.drawn(room, i as f64 * step + 8.0, &heights, scale))
        }
    };
    let mut curves = analysis.curves.iter();
    let is_alone = curves.all(|other| other.metric != of.metric || std::ptr::eq(other, of));
    let which = curve::of_which(analysis, of).map_or(String::new(), |which| format!(", {which}"));
    Some(Panel {
        caption: (!is_alone).then(|| curve::title(of) + &which),
        height: plots.len() as f64 * step + 8.0,
        drawing: drawn,
        key: key(of),
        note: Some(found(analysis, of, unit)),
        description: description(of),
    })
}

fn plots(of: &Curve, unit: FidelityUnit) -> Vec<Plot<'_>> {
    let plot = |label: String, against, x: fn(&CurvePoint) -> Option<f64>| {
        let points = of.points.iter().filter(|p| p.overhead.is_finite());
        let points = points.filter_map(|point| Some((x(point)?, point)));
        Plot {
            label,
            points: points.filter(|(x, _)| x.is_finite()).collect(),
            fit: curve::fit(of, against),
        }
    };
    let attempted = plot(
        format!("{}, attempted", one_line(&of.factor)),
        Against::Attempted,
        |point| Some(point.level),
    );
    let delivered = plot(
        format!("{} delivered per request", unit.as_str()),
        Against::Delivered,
        |point| point.delivered,
    );
    let mut plots = vec![attempted, delivered];
    plots.retain(|plot| plot.points.len() > 1);
    plots
}

/// One vertical scale for both plots; it includes zero.
fn heights(plots: &[Plot]) -> Option<Axis> {
    let points = plots.iter().flat_map(|plot| &plot.points);
    let mut ends: Vec<f64> = points
        .flat_map(|(_, point)| [point.overhead.low, point.overhead.high])
        .collect();
    let confidence_bands = plots.iter().flat_map(Plot::confidence_band);
    ends.extend(confidence_bands.flat_map(|point| [point.low, point.high]));
    let low = ends.iter().copied().reduce(f64::min)?.min(0.0);
    let high = ends.iter().copied().reduce(f64::max)?.max(0.0);
    Some(Axis::holding(low, high, 0.06, axis::STEPS))
}

impl<'a> Plot<'a> {
    fn confidence_band(&self) -> Vec<&'a BandPoint> {
        let is_drawable = |p: &&BandPoint| [p.x, p.y, p.low, p.high].iter().all(|v| v.is_finite());
        let confidence_band = self.fit.map_or(&[][..], |fit| &fit.confidence_band);
        confidence_band.iter().filter(is_drawable).collect()
    }

    fn drawn(&self, room: f64, top: f64, y: &Axis, scale: Scale) -> Markup {
        let confidence_band = self.confidence_band();
        let x = self.axis(&confidence_band);
        let up = |tick: &f64| Tick {
            at: y.place(*tick),
            label: axis::signed_label(*tick, y.step, scale),
        };
        let heights: Vec<Tick> = y.ticks().iter().map(up).collect();
        let along = |tick: &f64| Tick {
            at: x.place(*tick),
            label: format!("{tick:.0$}", axis::places(x.step)),
        };
        let places: Vec<Tick> = x.ticks().iter().map(along).collect();
        let plane = Plane::beside(&heights, room, top, PLOT);
        let zero = px(plane.down(y.place(0.0)));
        html! {
            (plane.heights(&heights))
            (plane.places(&places, &self.label))
            line.zero x1=(px(plane.across(0.0))) x2=(px(plane.across(1.0))) y1=(zero) y2=(zero) {}
            @if !confidence_band.is_empty() {
                path.shade d=(band(&confidence_band, &plane, &x, y)) {}
                path.fitted d=(plane.path(confidence_band.iter().map(|p| (x.place(p.x), y.place(p.y))))) {}
            }
            @for (at, point) in &self.points {
                (measured(point, plane.across(x.place(*at)), |v| plane.down(y.place(v))))
            }
        }
    }

    /// From zero, or the first point if that is lower, to the last point.
    fn axis(&self, confidence_band: &[&BandPoint]) -> Axis {
        let points = self.points.iter().map(|(x, _)| *x);
        let xs: Vec<f64> = points
            .chain(confidence_band.iter().map(|point| point.x))
            .collect();
        let low = xs.iter().copied().fold(0.0, f64::min);
        let high = xs.iter().copied().fold(low, f64::max);
        Axis::holding(low, high, 0.02, axis::STEPS)
    }
}

fn measured(point: &CurvePoint, x: f64, down: impl Fn(f64) -> f64) -> Markup {
    let class = if point.is_beyond_drop_limit {
        "beyond"
    } else {
        "measured"
    };
    html! {
        line class=(format!("interval {class}")) x1=(px(x)) x2=(px(x))
            y1=(px(down(point.overhead.low))) y2=(px(down(point.overhead.high))) {}
        circle class=(format!("point {class}")) cx=(px(x)) cy=(px(down(point.overhead.estimate))) r="4" {}
    }
}

/// The confidence band: along the upper ends and back along the lower ones.
fn band(confidence_band: &[&BandPoint], plane: &Plane, x: &Axis, y: &Axis) -> String {
    let upper = confidence_band
        .iter()
        .map(|p| (x.place(p.x), y.place(p.high)));
    let lower = confidence_band
        .iter()
        .rev()
        .map(|p| (x.place(p.x), y.place(p.low)));
    plane.path(upper.chain(lower)) + "z"
}

fn key(of: &Curve) -> Vec<KeyEntry> {
    let point = |class: &str, meaning: &str| KeyEntry {
        mark: html! {
            line class=(format!("interval {class}")) x1="0" x2="0" y1="-7" y2="7" {}
            circle class=(format!("point {class}")) r="4" {}
        },
        reach: 5.0,
        meaning: meaning.to_owned(),
    };
    let mut key = vec![point("measured", "a level, with its 95 % interval")];
    if of.fits.iter().any(|fit| !fit.confidence_band.is_empty()) {
        key.push(KeyEntry {
            mark: html! {
                rect.shade x="-9" y="-6" width="18" height="12" {}
                line.fitted x1="-9" x2="9" y1="0" y2="0" {}
            },
            reach: 9.0,
            meaning: "the fitted curve, with the 95 % confidence band".to_owned(),
        });
    }
    if of.points.iter().any(|point| point.is_beyond_drop_limit) {
        key.push(point("beyond", "beyond the drop limit, not fitted"));
    }
    key
}

/// The fit in words, or why there is no fit.
fn found(analysis: &Analysis, of: &Curve, unit: FidelityUnit) -> String {
    match curve::fit(of, Against::Attempted) {
        Some(fit) => rows::capitalised(&curve::formula(of, fit, unit)) + ".",
        None => rows::capitalised(&curve::why_not_fitted(analysis, of)) + ".",
    }
}

/// The plots in words, as alternative text.
fn description(of: &Curve) -> String {
    let points = curve::points_in_words(of).join(" ");
    format!("Overheads with their 95 % intervals, by rising level: {points}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_factor_is_named_once() {
        for (factors, expected) in [
            (&["rate"][..], &["rate"][..]),
            (&["rate", "rate"], &["rate"]),
            (&["rate", "size", "rate", "size"], &["rate", "size"]),
            (&["size", "rate", "rate", "size"], &["size", "rate"]),
        ] {
            let named = factors.iter().map(|name| (*name).to_owned());
            assert_eq!(each_once(named), expected, "{factors:?}");
        }
    }
}
