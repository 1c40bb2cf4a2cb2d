//! Times by percentile, on HdrHistogram's axis: each step to the right leaves a tenth of the requests.

use maud::{Markup, html};
use windage_analysis::{Analysis, ArmLatency, Latency, Timing};
use windage_model::Unit;

use super::axis::LogAxis;
use super::frame::Panel;
use super::plane::{BELOW, Plane, Tick};
use super::series;
use crate::facts::one_line;
use crate::number::{self, Scale};

pub(super) const TITLE: &str = "Times by percentile";

/// Height of a plot, in pixels.
const PLOT: f64 = 300.0;
/// Percentiles that are labelled, and at which lines have their shapes.
const MARKED: [(f64, &str); 7] = [
    (0.0, "p0"),
    (0.5, "p50"),
    (0.9, "p90"),
    (0.99, "p99"),
    (0.999, "p99.9"),
    (0.9999, "p99.99"),
    (0.99999, "p99.999"),
];

/// One arm.
struct Series {
    name: String,
    /// Quantiles below 1, which has no place on the axis, and times in microseconds.
    steps: Vec<(f64, f64)>,
}

/// Response times where they were recorded, else service times.
pub(super) fn panel(analysis: &Analysis, of: &[Latency], room: f64) -> Option<Panel> {
    of.iter()
        .find_map(|latency| panel_of(analysis, latency, room))
}

fn panel_of(analysis: &Analysis, latency: &Latency, room: f64) -> Option<Panel> {
    let arms = latency.arms.iter();
    let mut series: Vec<Series> = arms.map(|arm| Series::of(analysis, arm)).collect();
    series.retain(|of| !of.steps.is_empty());
    let times = || series.iter().flat_map(|of| &of.steps).map(|(_, us)| *us);
    let y = LogAxis::holding(times().reduce(f64::min)?, times().reduce(f64::max)?);
    let key = series.iter().enumerate();
    Some(Panel {
        caption: Some(
            match latency.timing {
                Timing::ResponseTime => "Response time, from the intended start",
                Timing::ServiceTime => "Service time, from the actual send",
            }
            .to_owned(),
        ),
        height: PLOT + BELOW + 8.0,
        drawing: drawn(&series, &y, room),
        key: key.map(|(i, of)| series::entry(i, &of.name)).collect(),
        note: None,
        description: description(&series),
    })
}

impl Series {
    fn of(analysis: &Analysis, arm: &ArmLatency) -> Series {
        let known = analysis.arms.get(usize::from(arm.arm.0));
        let is_drawable = |(quantile, us): &(f64, f64)| {
            (0.0..1.0).contains(quantile) && us.is_finite() && *us > 0.0
        };
        Series {
            name: known.map_or(String::new(), |arm| one_line(&arm.name)),
            steps: arm.steps.iter().copied().filter(is_drawable).collect(),
        }
    }

    /// The time at the first quantile that reaches this one.
    fn at(&self, quantile: f64) -> Option<f64> {
        // Quantiles are sums of shares, which may miss a round figure by a rounding error.
        let reaches = |(of, _): &&(f64, f64)| *of >= quantile - 1e-9;
        self.steps.iter().find(reaches).map(|(_, us)| *us)
    }
}

/// How many nines a quantile has.
fn nines(quantile: f64) -> f64 {
    -(1.0 - quantile).log10()
}

fn drawn(series: &[Series], y: &LogAxis, room: f64) -> Markup {
    let last = series.iter().filter_map(|of| of.steps.last());
    let most = last
        .map(|(quantile, _)| nines(*quantile))
        .fold(1.0, f64::max);
    let along = |quantile: f64| 0.01 + 0.98 * nines(quantile) / most;
    let up = |us: &f64| Tick {
        at: y.place(*us),
        label: time(*us),
    };
    let heights: Vec<Tick> = y.ticks().iter().map(up).collect();
    let marked = MARKED
        .iter()
        .filter(|(quantile, _)| nines(*quantile) <= most + 1e-9);
    let marked = marked.map(|(quantile, label)| Tick {
        at: along(*quantile),
        label: (*label).to_owned(),
    });
    let plane = Plane::beside(&heights, room, 8.0, PLOT);
    html! {
        (plane.heights(&heights))
        (plane.places(&marked.collect::<Vec<_>>(), "percentile"))
        @for (i, of) in series.iter().enumerate() {
            g class=(series::class(i)) {
                path.line d=(plane.path(of.steps.iter().map(|(q, us)| (along(*q), y.place(*us)))))
                    stroke-dasharray=[series::dashes(i)] {}
                @for (quantile, _) in MARKED {
                    @if let Some(us) = of.at(quantile) {
                        @let at = plane.point((along(quantile), y.place(us)));
                        path transform=(format!("translate({at})")) d=(series::shape(i)) {}
                    }
                }
            }
        }
    }
}

/// A round time, without the zeros that three digits would give it.
fn time(us: f64) -> String {
    let scale = Scale::fitting(Unit::Microseconds, [us]);
    scale.attach(&number::plain(round(scale.scaled(us))))
}

/// What is left of powers of ten beyond twelve digits is no part of the figure.
fn round(figure: f64) -> f64 {
    (figure * 1e6).round() / 1e6
}

/// The picture in words, for those who can't see it.
fn description(series: &[Series]) -> String {
    let mut text = String::new();
    for of in series {
        let known = MARKED.iter().filter_map(|(quantile, label)| {
            let us = of.at(*quantile)?;
            let scale = Scale::fitting(Unit::Microseconds, [us]);
            Some(format!("{label} {}", scale.with_unit(us)))
        });
        let known = known.collect::<Vec<_>>().join(", ");
        text.push_str(&format!("{}: {known}. ", of.name));
    }
    text.trim_end().to_owned()
}
