//! The share of telemetry that arrived against the rate, a line for each arm.

use maud::{Markup, html};
use windage_analysis::{Analysis, FidelityPoint};
use windage_model::{ArmId, Interval, Unit};

use super::axis::{self, Axis};
use super::frame::{KeyEntry, Panel};
use super::plane::{BELOW, Plane, Tick, px};
use super::series;
use crate::number::{self, Scale};
use crate::rows::{arm_name, by_rate};

pub(super) const TITLE: &str = "Delivered of what was expected, against the rate";

/// Height of the plot, in pixels.
const PLOT: f64 = 280.0;

/// One arm.
struct Series {
    name: String,
    points: Vec<Point>,
}

/// One load.
struct Point {
    rate: f64,
    share: Interval,
    is_closed: bool,
}

/// The lines of a run's arms over its loads.
struct ByRate {
    series: Vec<Series>,
    scale: Scale,
}

/// `None` where fewer than two loads are known of every arm.
pub(super) fn panel(analysis: &Analysis, room: f64) -> Option<Panel> {
    let of = ByRate::of(analysis)?;
    let hollow = "Hollow: a closed loop, at the rate that it achieved.".to_owned();
    Some(Panel {
        caption: None,
        height: PLOT + BELOW + 8.0,
        drawing: of.drawn(room),
        key: of.key(),
        note: of.points().any(|point| point.is_closed).then_some(hollow),
        description: of.description(),
    })
}

/// A closed loop has no rate but what it achieved.
fn point(of: &FidelityPoint) -> Option<Point> {
    let lost = of.lost_share.as_ref()?;
    let share = Interval {
        estimate: 1.0 - lost.estimate,
        // An interval of what was lost may reach beyond all there was.
        low: (1.0 - lost.high).max(0.0),
        high: 1.0 - lost.low,
        ..lost.clone()
    };
    let rate = of.rate_per_s.or(of.achieved_per_s)?;
    (rate.is_finite() && share.is_finite()).then_some(Point {
        rate,
        share,
        is_closed: of.rate_per_s.is_none(),
    })
}

impl ByRate {
    fn of(analysis: &Analysis) -> Option<ByRate> {
        let of_arm = |id: &ArmId| {
            let own = analysis.fidelity_curve.iter().filter(|of| of.arm == *id);
            Series {
                name: arm_name(analysis, id),
                points: own.filter_map(point).collect(),
            }
        };
        let ids = by_rate::arms(analysis);
        let mut series: Vec<Series> = ids.into_iter().map(of_arm).collect();
        series.retain(|of| of.points.len() > 1);
        let rates = series.iter().flat_map(|of| &of.points).map(|of| of.rate);
        let scale = Scale::fitting(Unit::PerSecond, rates);
        (!series.is_empty()).then_some(ByRate { series, scale })
    }

    fn points(&self) -> impl Iterator<Item = &Point> {
        self.series.iter().flat_map(|of| &of.points)
    }

    fn drawn(&self, room: f64) -> Markup {
        let highest = self.points().map(|of| of.rate).fold(0.0, f64::max);
        let x = Axis::holding(0.0, highest, 0.03, axis::STEPS);
        let lowest = self.points().map(|of| of.share.low).fold(1.0, f64::min);
        let top = self.points().map(|of| of.share.high).fold(1.0, f64::max);
        let y = Axis::holding(lowest, top, 0.05, axis::STEPS);
        let up = |tick: &f64| Tick {
            at: y.place(*tick),
            label: share_label(*tick, y.step),
        };
        let heights: Vec<Tick> = y.ticks().iter().map(up).collect();
        let along = |tick: &f64| Tick {
            at: x.place(*tick),
            label: self.rate_label(*tick, x.step),
        };
        let places: Vec<Tick> = x.ticks().iter().map(along).collect();
        let plane = Plane::beside(&heights, room, 8.0, PLOT);
        html! {
            (plane.heights(&heights))
            (plane.places(&places, "requests a second"))
            @for (i, of) in self.series.iter().enumerate() { (drawn(of, i, &plane, &x, &y)) }
        }
    }

    fn rate_label(&self, rate: f64, step: f64) -> String {
        if rate < step / 2.0 {
            return "0".to_owned();
        }
        let places = axis::places(self.scale.scaled(step));
        let rate = self.scale.scaled(rate);
        self.scale.attach(&format!("{rate:.places$}"))
    }

    fn key(&self) -> Vec<KeyEntry> {
        let series = self.series.iter().enumerate();
        series.map(|(i, of)| series::entry(i, &of.name)).collect()
    }

    /// The picture in words, for those who can't see it.
    fn description(&self) -> String {
        let mut text = "Shares that arrived, by rising rate:".to_owned();
        for of in &self.series {
            let points = of.points.iter().map(|of| {
                let rate = self.scale.with_unit(of.rate);
                format!("{} at {rate}", number::percent_short(of.share.estimate))
            });
            let points = points.collect::<Vec<_>>().join(", ");
            text.push_str(&format!(" {}: {points}.", of.name));
        }
        text
    }
}

/// A line through what was asked for; closed loops stand apart.
fn drawn(of: &Series, i: usize, plane: &Plane, x: &Axis, y: &Axis) -> Markup {
    let open: Vec<&Point> = of.points.iter().filter(|point| !point.is_closed).collect();
    let place = |point: &Point| (x.place(point.rate), y.place(point.share.estimate));
    let down = |share: f64| px(plane.down(y.place(share)));
    html! {
        g class=(series::class(i)) {
            @if open.len() > 1 {
                path.line d=(plane.path(open.iter().map(|point| place(point))))
                    stroke-dasharray=[series::dashes(i)] {}
            }
            @for point in &of.points {
                @let class = point.is_closed.then_some("hollow");
                @let at = px(plane.across(x.place(point.rate)));
                line.interval x1=(at) x2=(at) y1=(down(point.share.low)) y2=(down(point.share.high)) {}
                path class=[class] transform=(format!("translate({})", plane.point(place(point))))
                    d=(series::shape(i)) {}
            }
        }
    }
}

fn share_label(share: f64, step: f64) -> String {
    let places = axis::places(step * 100.0);
    format!("{:.places$} %", share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_arrived_is_not_below_nothing() {
        for (lost, expected) in [
            ((0.2, 0.1, 0.3), (0.8, 0.7, 0.9)),
            ((0.9, 0.7, 1.1), (0.1, 0.0, 0.3)),
            ((0.0, -0.1, 0.1), (1.0, 0.9, 1.1)),
        ] {
            let (estimate, low, high) = lost;
            let of = FidelityPoint {
                arm: ArmId::from_text("a").unwrap(),
                regime: "r".to_owned(),
                rate_per_s: Some(100.0),
                offered_per_s: None,
                achieved_per_s: None,
                expected: 100.0,
                delivered: 80,
                lost_share: Some(Interval {
                    estimate,
                    low,
                    high,
                    confidence: 0.95,
                    method: "t".to_owned(),
                }),
            };
            let share = point(&of).unwrap().share;
            let drawn = [share.estimate, share.low, share.high];
            let (estimate, low, high) = expected;
            for (drawn, expected) in drawn.into_iter().zip([estimate, low, high]) {
                assert!((drawn - expected).abs() < 1e-9, "{lost:?}: {drawn}");
            }
        }
    }
}
