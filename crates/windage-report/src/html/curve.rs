//! A metric over a swept factor: points with intervals, the fitted curve and its ribbon, against
//! what was asked for and below that against what arrived. Values in, SVG out.

use maud::{Markup, html};
use windage_analysis::{Against, Curve, CurveFit, CurvePoint, FidelityUnit, RibbonPoint};

use super::axis::{self, Axis};
use super::forest::{is_finite, percent};
use crate::facts::one_line;
use crate::number::Scale;
use crate::rows::curve;

/// What is drawn.
pub(super) struct Plot<'a> {
    /// Unique on the page; the picture's title and description are found by it.
    pub(super) id: String,
    pub(super) title: String,
    pub(super) curve: &'a Curve,
    /// What its telemetry is counted in.
    pub(super) unit: FidelityUnit,
}

/// Height of a panel and of what stands below it, in pixels.
const PANEL: usize = 210;
const BELOW: usize = 52;
/// Where a panel's plot begins and how wide it is, in percent of the width; labels of the
/// heights stand before it.
const LEFT: f64 = 16.0;
const WIDTH: f64 = 80.0;
/// Lines and bands are drawn on a canvas of this size, which is stretched to its place: paths
/// take no percent.
const CANVAS: f64 = 1000.0;

/// A panel: an axis, and where the points stand on it.
struct Panel<'a> {
    label: String,
    points: Vec<(f64, &'a CurvePoint)>,
    fit: Option<&'a CurveFit>,
}

/// The plot, as wide as its place; `None` when no point is finite.
pub(super) fn svg(plot: &Plot) -> Option<Markup> {
    let panels = panels(plot);
    let y = heights(&panels)?;
    let (title_id, desc_id) = (format!("{}-title", plot.id), format!("{}-desc", plot.id));
    let scale = curve::scale(plot.curve);
    Some(html! {
        svg class="forest curve" role="img" aria-labelledby=(format!("{title_id} {desc_id}"))
            height=(panels.len() * (PANEL + BELOW)) xmlns="http://www.w3.org/2000/svg" {
            title id=(title_id) { (plot.title) }
            desc id=(desc_id) { (description(plot)) }
            @for (i, panel) in panels.iter().enumerate() {
                (drawn(panel, i * (PANEL + BELOW), &y, scale))
            }
        }
    })
}

fn panels<'a>(plot: &'a Plot) -> Vec<Panel<'a>> {
    let of = plot.curve;
    let panel = |label: String, against, x: fn(&CurvePoint) -> Option<f64>| {
        let points = of.points.iter().filter(|p| is_finite(&p.overhead));
        let points = points.filter_map(|point| Some((x(point)?, point)));
        Panel {
            label,
            points: points.filter(|(x, _)| x.is_finite()).collect(),
            fit: curve::fit(of, against),
        }
    };
    let attempted = panel(
        format!("{}, as asked for", one_line(&of.factor)),
        Against::Attempted,
        |point| Some(point.level),
    );
    let delivered = panel(
        format!("{} that arrived, a request", plot.unit.as_str()),
        Against::Delivered,
        |point| point.delivered,
    );
    let mut panels = vec![attempted, delivered];
    panels.retain(|panel| panel.points.len() > 1);
    panels
}

/// One scale of heights for all panels; it holds nil.
fn heights(panels: &[Panel]) -> Option<Axis> {
    let points = panels.iter().flat_map(|panel| &panel.points);
    let mut ends: Vec<f64> = points
        .flat_map(|(_, point)| [point.overhead.low, point.overhead.high])
        .collect();
    let ribbons = panels.iter().flat_map(ribbon);
    ends.extend(ribbons.flat_map(|point| [point.low, point.high]));
    let low = ends.iter().copied().reduce(f64::min)?.min(0.0);
    let high = ends.iter().copied().reduce(f64::max)?.max(0.0);
    Some(Axis::holding(low, high, 0.06))
}

fn ribbon<'a>(panel: &Panel<'a>) -> Vec<&'a RibbonPoint> {
    let is_drawable = |p: &&RibbonPoint| [p.x, p.y, p.low, p.high].iter().all(|v| v.is_finite());
    let ribbon = panel.fit.map_or(&[][..], |fit| &fit.ribbon);
    ribbon.iter().filter(is_drawable).collect()
}

fn drawn(panel: &Panel, top: usize, y: &Axis, scale: Scale) -> Markup {
    let ribbon = ribbon(panel);
    let xs = || panel.points.iter().map(|(x, _)| *x);
    let xs = || xs().chain(ribbon.iter().map(|point| point.x));
    let low = xs().fold(0.0, f64::min);
    let x = Axis::holding(low, xs().fold(low, f64::max), 0.02);
    let across = |v: f64| percent(LEFT + WIDTH * x.place(v));
    let down = |v: f64| format!("{:.1}", top as f64 + PANEL as f64 * (1.0 - y.place(v)));
    html! {
        g {
            @for tick in y.ticks() {
                line.grid x1="0%" x2="100%" y1=(down(tick)) y2=(down(tick)) {}
                text.soft x="0%" y=(down(tick)) dy="-4" { (height_label(tick, y.step, scale)) }
            }
            line.zero x1="0%" x2="100%" y1=(down(0.0)) y2=(down(0.0)) {}
            @for tick in x.ticks() {
                text.soft x=(across(tick)) y=(top + PANEL + 18) text-anchor="middle" {
                    (format!("{tick:.0$}", axis::places(x.step)))
                }
            }
            text.soft x="100%" y=(top + PANEL + 36) text-anchor="end" { (panel.label) " →" }
            @if !ribbon.is_empty() {
                svg x=(percent(LEFT)) y=(top) width=(percent(WIDTH)) height=(PANEL)
                    viewBox=(format!("0 0 {CANVAS} {CANVAS}")) preserveAspectRatio="none" {
                    path.ribbon d=(band(&ribbon, &x, y)) {}
                    path.fitted d=(line(&ribbon, &x, y)) {}
                }
            }
            @for (at, point) in &panel.points {
                @let class = if point.is_beyond_cap { "beyond" } else { "measured" };
                line class=(format!("interval {class}")) x1=(across(*at)) x2=(across(*at))
                    y1=(down(point.overhead.low)) y2=(down(point.overhead.high)) {}
                circle class=(format!("point {class}")) cx=(across(*at))
                    cy=(down(point.overhead.estimate)) r="4.5" {}
            }
        }
    }
}

fn height_label(v: f64, step: f64, scale: Scale) -> String {
    if v.abs() < step / 2.0 {
        return "0".to_owned();
    }
    let sign = if v < 0.0 { "−" } else { "+" };
    let places = axis::places(scale.scaled(step));
    scale.attach(&format!("{sign}{:.places$}", scale.scaled(v).abs()))
}

fn on_canvas(x: f64, y: f64, (across, up): (&Axis, &Axis)) -> String {
    let (x, y) = (across.place(x), 1.0 - up.place(y));
    format!("{:.1} {:.1}", CANVAS * x, CANVAS * y)
}

/// The fitted curve as a path.
fn line(ribbon: &[&RibbonPoint], x: &Axis, y: &Axis) -> String {
    path(ribbon.iter().map(|p| on_canvas(p.x, p.y, (x, y))))
}

/// Its interval: along the upper ends and back along the lower ones.
fn band(ribbon: &[&RibbonPoint], x: &Axis, y: &Axis) -> String {
    let upper = ribbon.iter().map(|p| on_canvas(p.x, p.high, (x, y)));
    let lower = ribbon.iter().rev().map(|p| on_canvas(p.x, p.low, (x, y)));
    path(upper.chain(lower)) + "z"
}

fn path(corners: impl Iterator<Item = String>) -> String {
    format!("M{}", corners.collect::<Vec<_>>().join("L"))
}

/// The picture in words, for those who can't see it.
fn description(plot: &Plot) -> String {
    let scale = curve::scale(plot.curve);
    let mut text = "Overheads with their 95 % intervals, by rising level:".to_owned();
    let finite = plot.curve.points.iter().filter(|p| is_finite(&p.overhead));
    for point in finite {
        let note = if point.is_beyond_cap {
            ", beyond the cap and not fitted"
        } else {
            ""
        };
        let overhead = curve::overhead(&point.overhead, scale);
        text.push_str(&format!(
            " {}: {overhead}{note}.",
            curve::level(point.level)
        ));
    }
    if let Some(fit) = curve::fit(plot.curve, Against::Attempted) {
        let formula = curve::formula(plot.curve, fit, plot.unit);
        text.push_str(&format!(" The curve: {formula}."));
    }
    text
}

/// What the marks of the picture mean, for its caption.
pub(super) fn caption(curve: &Curve) -> String {
    let mut text = "Disc and line: a level and its 95 % interval".to_owned();
    if curve.fits.iter().any(|fit| !fit.ribbon.is_empty()) {
        text.push_str("; curve and band: what was fitted, with the 95 % interval of its height");
    }
    if curve.points.iter().any(|point| point.is_beyond_cap) {
        text.push_str("; hollow: beyond the cap, so not fitted");
    }
    text + "."
}
