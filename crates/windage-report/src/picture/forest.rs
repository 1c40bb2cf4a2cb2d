//! A forest plot: one interval per arm around the line of no difference.

use maud::{Markup, html};
use windage_analysis::Analysis;
use windage_model::{Interval, Metric, Verdict};

use super::axis::{self, Axis};
use super::columns::{Columns, ROOMY};
use super::frame::{KeyEntry, Panel};
use super::plane::{BELOW, px};
use crate::number::NOT_AVAILABLE;
use crate::rows::forest::{Forest, ForestRow, Mark};
use crate::rows::headline;

/// Height of a row, in pixels.
const ROW: f64 = 28.0;

/// The title, such as "CPU per request".
pub(super) fn title(metric: Metric) -> String {
    format!("{}, difference from the baseline", headline(metric))
}

/// The metric's differences; `None` if no arm has one.
pub(super) fn panel(analysis: &Analysis, metric: Metric, room: f64) -> Option<Panel> {
    let forest = Forest::of(analysis, metric)?;
    Some(Panel {
        caption: None,
        height: height(&forest) + BELOW,
        drawing: drawn(&forest, room),
        key: key(&forest),
        note: None,
        description: description(&forest),
    })
}

/// Metrics in which any arm has a difference.
pub(super) fn metrics(analysis: &Analysis) -> Vec<Metric> {
    let all = Metric::ALL.iter().copied();
    all.filter(|metric| Forest::of(analysis, *metric).is_some())
        .collect()
}

fn height(forest: &Forest) -> f64 {
    forest.rows.len() as f64 * ROW
}

fn drawn(forest: &Forest, room: f64) -> Markup {
    let told: Vec<(String, String)> = forest
        .rows
        .iter()
        .map(|row| (row.name.clone(), figure(row, room)))
        .collect();
    let names = told.iter().map(|(name, _)| name.as_str());
    let figures = told.iter().map(|(_, figure)| figure.as_str());
    let columns = Columns::fitting(room, names, figures);
    let axis = axis_over(forest, columns.steps());
    let height = height(forest);
    let label = |tick| axis::signed_label(tick, axis.step, forest.scale);
    html! {
        @if let Some(margin) = forest.margin {
            @let [from, to] = [-margin, margin].map(|v| columns.across(&axis, v));
            rect.shade x=(px(from)) y="0" width=(px(to - from)) height=(px(height)) {}
        }
        (columns.ground(&axis, height, label, forest.sides))
        (columns.zero(&axis, height))
        @for (i, (row, (name, figure))) in forest.rows.iter().zip(&told).enumerate() {
            @let y = (i as f64 + 0.5) * ROW;
            (columns.told(y, name, figure, row.difference.is_none()))
            @if let Some((difference, _)) = &row.difference {
                (interval(row.mark, difference, |v| columns.across(&axis, v), y))
            }
        }
    }
}

/// "+22.7 % (+22.2 to +23.2)"; the interval only if there is room.
fn figure(row: &ForestRow, room: f64) -> String {
    match &row.difference {
        None => NOT_AVAILABLE.to_owned(),
        Some((_, shown)) if room < ROOMY => shown.point(),
        Some((_, shown)) => shown.to_string(),
    }
}

/// Only marks that occur.
fn key(forest: &Forest) -> Vec<KeyEntry> {
    let mark = |mark: Mark| KeyEntry {
        mark: point(mark, 0.0, 0.0),
        reach: 7.0,
        meaning: mark.meaning().to_owned(),
    };
    let margin = forest.margin().map(|meaning| KeyEntry {
        mark: html! { rect.shade x="-7" y="-7" width="14" height="14" {} },
        reach: 7.0,
        meaning,
    });
    forest.marks().into_iter().map(mark).chain(margin).collect()
}

/// The picture in words, as alternative text.
fn description(forest: &Forest) -> String {
    let row = |row: &ForestRow| {
        let figure = figure(row, f64::INFINITY);
        format!(" {}: {figure}.", row.name)
    };
    forest.about() + &forest.rows.iter().map(row).collect::<String>()
}

fn interval(mark: Mark, of: &Interval, across: impl Fn(f64) -> f64, y: f64) -> Markup {
    let class = format!("interval {}", mark.as_str());
    html! {
        line class=(class) x1=(px(across(of.low))) x2=(px(across(of.high))) y1=(px(y)) y2=(px(y)) {}
        (point(mark, across(of.estimate), y))
    }
}

/// A diamond for the control, a square for negligible, otherwise a disc, which is hollow if
/// inconclusive.
fn point(mark: Mark, x: f64, y: f64) -> Markup {
    let class = format!("point {}", mark.as_str());
    let at = format!("translate({x:.1} {y:.1})");
    html! {
        @match mark {
            Mark::Control | Mark::ControlDiffers => {
                path class=(class) transform=(at) d="M0-6 6 0 0 6-6 0z" {}
            },
            Mark::Judged(Verdict::Negligible) => {
                path class=(class) transform=(at) d="M-4-4h8v8h-8z" {}
            },
            Mark::Judged(_) | Mark::Unjudged => circle class=(class) transform=(at) r="4.5" {},
        }
    }
}

/// An axis that covers all intervals, zero and the margin.
fn axis_over(forest: &Forest, steps: f64) -> Axis {
    let margin = forest.margin.unwrap_or(0.0);
    let intervals = forest.rows.iter().filter_map(|row| row.difference.as_ref());
    let (low, high) = intervals.fold((-margin, margin), |(low, high), (of, _)| {
        (low.min(of.low), high.max(of.high))
    });
    Axis::holding(low, high, 0.06, steps)
}
