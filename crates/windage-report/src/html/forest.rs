//! A forest plot: one interval for each arm about the line of no difference. Values in, SVG out.

use maud::{Markup, html};
use windage_model::{Interval, Verdict};

use super::axis::{self, Axis};
use crate::number;

/// What is drawn.
pub(crate) struct Forest {
    /// Unique on the page; the picture's title and description are found by it.
    pub(crate) id: String,
    pub(crate) title: String,
    /// What the left and the right of nil mean.
    pub(crate) sides: (&'static str, &'static str),
    /// Relative differences within ± this do not matter.
    pub(crate) interest: f64,
    pub(crate) rows: Vec<ForestRow>,
}

/// One arm.
pub(crate) struct ForestRow {
    pub(crate) label: String,
    pub(crate) relative: Interval,
    pub(crate) mark: Mark,
}

/// How an interval is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    /// A diamond: its truth is known to be nil.
    Control,
    /// A disc, hollow when inconclusive.
    Treatment(Option<Verdict>),
}

/// Height of a row, of which the upper half is its label, in pixels.
const ROW: usize = 46;
const AXIS: usize = 44;

/// The plot, as wide as its place: x is in percent of it and y in pixels, so that text keeps
/// its size on a telephone and on paper. `None` when no row is finite.
pub(crate) fn svg(forest: &Forest) -> Option<Markup> {
    let rows: Vec<_> = forest
        .rows
        .iter()
        .filter(|row| is_finite(&row.relative))
        .collect();
    let axis = axis_over(rows.iter().map(|row| &row.relative), forest.interest)?;
    let plot = rows.len() * ROW;
    let (title_id, desc_id) = (
        format!("{}-title", forest.id),
        format!("{}-desc", forest.id),
    );
    let interest = [
        across(&axis, -forest.interest),
        across(&axis, forest.interest),
    ];
    Some(html! {
        svg class="forest" role="img" aria-labelledby=(format!("{title_id} {desc_id}"))
            height=(plot + AXIS) xmlns="http://www.w3.org/2000/svg" {
            title id=(title_id) { (forest.title) }
            desc id=(desc_id) { (description(forest, &rows)) }
            rect.interest x=(percent(interest[0])) y="0"
                width=(percent(interest[1] - interest[0])) height=(plot) {}
            @for tick in axis.ticks() {
                @let x = percent(across(&axis, tick));
                line.grid x1=(x) x2=(x) y1="0" y2=(plot) {}
                text.soft x=(x) y=(plot + 16) text-anchor="middle" { (tick_label(tick, axis.step)) }
            }
            line.zero x1=(percent(across(&axis, 0.0))) x2=(percent(across(&axis, 0.0))) y1="0" y2=(plot) {}
            text.soft x="0%" y=(plot + 36) { "← " (forest.sides.0) }
            text.soft x="100%" y=(plot + 36) text-anchor="end" { (forest.sides.1) " →" }
            @for (i, row) in rows.iter().enumerate() { (drawn(row, i * ROW, &axis)) }
        }
    })
}

fn drawn(row: &ForestRow, top: usize, axis: &Axis) -> Markup {
    let [low, point, high] = [row.relative.low, row.relative.estimate, row.relative.high]
        .map(|v| percent(across(axis, v)));
    let y = top + 32;
    let class = match row.mark {
        Mark::Control => "control",
        Mark::Treatment(verdict) => verdict.map_or("control", Verdict::as_str),
    };
    let shown = number::percent(&row.relative);
    html! {
        g {
            // The name in full where there is room for it; a style rule shows one of the two.
            text.wide x="0" y=(top + 17) { (shortened(&row.label, 64)) }
            text.narrow x="0" y=(top + 17) { (shortened(&row.label, 28)) }
            @if let Some(shown) = shown {
                text x="100%" y=(top + 17) text-anchor="end" {
                    (shown.estimate) " %"
                    tspan.soft.wide { " (" (shown.range()) ")" }
                }
            }
            line class=(format!("interval {class}")) x1=(low) x2=(high) y1=(y) y2=(y) {}
            @match row.mark {
                // A nested picture takes its x in percent, which a path can't.
                Mark::Control => svg x=(point) y=(y) overflow="visible" {
                    path class="point control" d="M0-6 6 0 0 6-6 0z" {}
                },
                Mark::Treatment(_) => {
                    circle class=(format!("point {class}")) cx=(point) cy=(y) r="5" {}
                }
            }
        }
    }
}

/// The picture in words, for those who can't see it.
fn description(forest: &Forest, rows: &[&ForestRow]) -> String {
    let interest = number::percent_short(forest.interest);
    let mut text = format!("Differences from the baseline with intervals; ±{interest} is shaded.");
    for row in rows {
        if let Some(shown) = number::percent(&row.relative) {
            text.push_str(&format!(
                " {}: {} % ({}).",
                row.label,
                shown.estimate,
                shown.range()
            ));
        }
    }
    text
}

pub(super) fn is_finite(interval: &Interval) -> bool {
    [interval.estimate, interval.low, interval.high]
        .iter()
        .all(|v| v.is_finite())
}

/// Holds all intervals, nil and the interest; `None` without an interval.
fn axis_over<'a>(intervals: impl Iterator<Item = &'a Interval>, interest: f64) -> Option<Axis> {
    let mut found = false;
    let margin = if interest.is_finite() {
        interest.abs()
    } else {
        0.0
    };
    let (mut low, mut high) = (-margin, margin);
    for interval in intervals {
        found = true;
        low = low.min(interval.low);
        high = high.max(interval.high);
    }
    found.then(|| Axis::holding(low, high, 0.06))
}

/// In percent of the width; a margin is left for the ends of labels.
fn across(axis: &Axis, v: f64) -> f64 {
    2.0 + 96.0 * axis.place(v)
}

fn tick_label(tick: f64, step: f64) -> String {
    let places = axis::places(step * 100.0);
    if tick.abs() < step / 2.0 {
        return "0".to_owned();
    }
    let sign = if tick < 0.0 { "−" } else { "+" };
    format!("{sign}{:.places$} %", (tick * 100.0).abs())
}

pub(super) fn percent(x: f64) -> String {
    format!("{x:.2}%")
}

fn shortened(label: &str, characters: usize) -> String {
    if label.chars().count() <= characters {
        return label.to_owned();
    }
    let mut cut: String = label.chars().take(characters - 1).collect();
    cut.push('…');
    cut
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(low: f64, estimate: f64, high: f64) -> Interval {
        Interval {
            estimate,
            low,
            high,
            confidence: 0.95,
            method: "test".into(),
        }
    }

    #[test]
    fn the_axis_holds_everything() {
        let intervals = [interval(-0.004, 0.001, 0.006), interval(0.22, 0.227, 0.23)];
        let axis = axis_over(intervals.iter(), 0.005).unwrap();
        for v in [-0.005, -0.004, 0.0, 0.005, 0.23] {
            assert!((2.0..=98.0).contains(&across(&axis, v)), "{v}");
        }
        let labels: Vec<_> = axis
            .ticks()
            .iter()
            .map(|t| tick_label(*t, axis.step))
            .collect();
        assert_eq!(labels, ["0", "+10 %", "+20 %"]);
        assert!(axis_over([].iter(), 0.005).is_none());
    }

    #[test]
    fn an_axis_without_extent_still_has_a_scale() {
        let axis = axis_over([interval(0.0, 0.0, 0.0)].iter(), 0.0).unwrap();
        assert!(across(&axis, 0.0).is_finite());
        assert!(axis.ticks().len() <= 6);
    }

    #[test]
    fn tick_labels_have_the_decimals_of_their_step() {
        let table = [
            (0.1, 0.1, "+10 %"),
            (-0.005, 0.005, "−0.5 %"),
            (0.0, 0.1, "0"),
            (0.02, 0.02, "+2 %"),
        ];
        for (tick, step, expected) in table {
            assert_eq!(tick_label(tick, step), expected);
        }
    }

    #[test]
    fn rows_that_are_not_finite_are_left_out() {
        let row = |relative| ForestRow {
            label: "<b>".into(),
            relative,
            mark: Mark::Treatment(Some(Verdict::Costs)),
        };
        let forest = |rows| Forest {
            id: "f".into(),
            title: "t".into(),
            sides: ("saves", "costs"),
            interest: 0.005,
            rows,
        };
        assert!(svg(&forest(vec![row(interval(f64::NAN, 0.1, 0.2))])).is_none());
        let drawn = svg(&forest(vec![
            row(interval(0.0, f64::INFINITY, 0.2)),
            row(interval(0.0, 0.1, 0.2)),
        ]));
        let text = drawn.unwrap().into_string();
        assert_eq!(text.matches("<circle").count(), 1);
        assert!(text.contains("&lt;b&gt;") && !text.contains("<b>"));
    }
}
