//! A forest plot: one interval for each arm about the line of no difference.

use maud::{Markup, html};
use windage_analysis::{Analysis, ArmAnalysis};
use windage_model::{Direction, Interval, Metric, Role, Verdict};

use super::axis::{self, Axis};
use super::columns::{Columns, ROOMY};
use super::frame::{KeyEntry, Panel};
use super::plane::{BELOW, px};
use crate::facts::one_line;
use crate::number::{self, NOT_AVAILABLE, Scale};
use crate::rows::headline;

/// Height of a row, in pixels.
const ROW: f64 = 28.0;

/// What is drawn.
struct Forest {
    /// What the left and the right of nil mean.
    sides: (&'static str, &'static str),
    /// Relative differences within ± this do not matter; nil where differences are not relative.
    interest: f64,
    told: Told,
    rows: Vec<Row>,
}

/// One arm.
struct Row {
    name: String,
    difference: Option<Interval>,
    mark: Mark,
}

/// How differences are told.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Told {
    /// As shares of the baseline.
    Share,
    /// In the metric's unit.
    In(Scale),
}

/// How an interval is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mark {
    /// Its truth is known to be nil.
    Control,
    Treatment(Option<Verdict>),
}

/// What is drawn about, such as "CPU a request".
pub(super) fn title(metric: Metric) -> String {
    format!("{}, difference from the baseline", headline(metric))
}

/// The metric's differences; `None` where no arm has one.
pub(super) fn panel(analysis: &Analysis, metric: Metric, room: f64) -> Option<Panel> {
    let forest = Forest::of(analysis, metric)?;
    Some(Panel {
        caption: None,
        height: forest.height() + BELOW,
        drawing: forest.drawn(room),
        key: forest.key(),
        note: None,
        description: forest.description(),
    })
}

/// Metrics of which some arm has a difference.
pub(super) fn metrics(analysis: &Analysis) -> Vec<Metric> {
    let all = Metric::ALL.iter().copied();
    all.filter(|metric| Forest::of(analysis, *metric).is_some())
        .collect()
}

impl Forest {
    fn of(analysis: &Analysis, metric: Metric) -> Option<Forest> {
        let relative = |arm: &ArmAnalysis| {
            let difference = arm.metrics.get(&metric)?.difference.as_ref().ok()?;
            difference.relative.filter(Interval::is_finite)
        };
        let absolute = |arm: &ArmAnalysis| {
            let difference = arm.metrics.get(&metric)?.difference.as_ref().ok()?;
            Some(difference.absolute).filter(Interval::is_finite)
        };
        let told_as = |difference: &dyn Fn(&ArmAnalysis) -> Option<Interval>| {
            let rows: Vec<Row> = shown(analysis)
                .map(|arm| Row::of(arm, metric, difference(arm)))
                .collect();
            rows.iter()
                .any(|row| row.difference.is_some())
                .then_some(rows)
        };
        let (told, rows) = match told_as(&relative) {
            Some(rows) => (Told::Share, rows),
            // Where the baseline has none of it there is no share.
            None => {
                let rows = told_as(&absolute)?;
                let ends = rows.iter().filter_map(|row| row.difference.as_ref());
                let ends = ends.flat_map(|of| [of.low, of.high]);
                (Told::In(Scale::fitting(metric.unit(), ends)), rows)
            }
        };
        let interest = analysis.design.interest;
        Some(Forest {
            sides: match metric.direction() {
                Direction::Lower => ("← saves", "costs →"),
                Direction::Higher => ("← costs", "saves →"),
            },
            interest: match told {
                Told::Share if interest.is_finite() => interest.abs(),
                Told::Share | Told::In(_) => 0.0,
            },
            told,
            rows,
        })
    }

    fn height(&self) -> f64 {
        self.rows.len() as f64 * ROW
    }

    fn drawn(&self, room: f64) -> Markup {
        let figures: Vec<String> = self.rows.iter().map(|row| self.figure(row, room)).collect();
        let names = self.rows.iter().map(|row| row.name.as_str());
        let columns = Columns::fitting(room, names, figures.iter().map(String::as_str));
        let axis = axis_over(&self.rows, self.interest, columns.steps());
        let [from, to] = [-self.interest, self.interest].map(|v| columns.across(&axis, v));
        let label = |tick| axis::signed_label(tick, axis.step, self.told.scale());
        html! {
            @if self.interest > 0.0 {
                rect.shade x=(px(from)) y="0" width=(px(to - from)) height=(px(self.height())) {}
            }
            (columns.ground(&axis, self.height(), label, self.sides))
            (columns.nil(&axis, self.height()))
            @for (i, (row, figure)) in self.rows.iter().zip(&figures).enumerate() {
                @let y = (i as f64 + 0.5) * ROW;
                (columns.told(y, &row.name, figure, row.difference.is_none()))
                @if let Some(difference) = &row.difference {
                    (row.mark.interval(difference, |v| columns.across(&axis, v), y))
                }
            }
        }
    }

    /// "+22.7 % (+22.2 to +23.2)"; the interval only where there is room for it.
    fn figure(&self, row: &Row, room: f64) -> String {
        let Some(difference) = &row.difference else {
            return NOT_AVAILABLE.to_owned();
        };
        let (estimate, range) = self.told.written(difference);
        if room < ROOMY {
            return estimate;
        }
        format!("{estimate} ({range})")
    }

    /// Only marks that occur.
    fn key(&self) -> Vec<KeyEntry> {
        let is_drawn = |mark: &Mark| {
            let mut drawn = self.rows.iter().filter(|row| row.difference.is_some());
            drawn.any(|row| row.mark == *mark)
        };
        let mut marks = vec![Mark::Control];
        marks.extend(VERDICTS.map(|verdict| Mark::Treatment(Some(verdict))));
        marks.push(Mark::Treatment(None));
        marks.retain(is_drawn);
        let entry = |mark: Mark| KeyEntry {
            mark: html! { (mark.point(0.0, 0.0)) },
            reach: 7.0,
            meaning: mark.meaning(),
        };
        let mut key: Vec<KeyEntry> = marks.into_iter().map(entry).collect();
        if self.interest > 0.0 {
            key.push(KeyEntry {
                mark: html! { rect.shade x="-7" y="-7" width="14" height="14" {} },
                reach: 7.0,
                meaning: format!("within ±{}", number::percent_short(self.interest)),
            });
        }
        key
    }

    /// The picture in words, for those who can't see it.
    fn description(&self) -> String {
        let mut text = "Differences from the baseline with intervals.".to_owned();
        if self.interest > 0.0 {
            let interest = number::percent_short(self.interest);
            text.push_str(&format!(" ±{interest} is shaded."));
        }
        for row in &self.rows {
            let figure = self.figure(row, f64::INFINITY);
            text.push_str(&format!(" {}: {figure}.", row.name));
        }
        text
    }
}

/// The control first: it shows how far nil is from nil on this machine.
fn shown(analysis: &Analysis) -> impl Iterator<Item = &ArmAnalysis> {
    let arms = analysis.arms.iter();
    let treatments = arms.filter(|arm| arm.role == Role::Treatment);
    analysis.control().into_iter().chain(treatments)
}

impl Row {
    fn of(arm: &ArmAnalysis, metric: Metric, difference: Option<Interval>) -> Row {
        let verdict = arm.metrics.get(&metric).and_then(|result| result.verdict);
        Row {
            name: one_line(&arm.name),
            difference,
            mark: match arm.role {
                Role::Control => Mark::Control,
                Role::Baseline | Role::Treatment => Mark::Treatment(verdict),
            },
        }
    }
}

impl Told {
    fn scale(self) -> Scale {
        match self {
            Told::Share => Scale::PERCENT,
            Told::In(scale) => scale,
        }
    }

    /// The estimate with its unit, and both ends of the interval.
    fn written(self, difference: &Interval) -> (String, String) {
        let shown = match self {
            Told::Share => number::percent(difference),
            Told::In(scale) => scale.signed(difference),
        };
        shown.map_or((NOT_AVAILABLE.to_owned(), String::new()), |shown| {
            (self.scale().attach(&shown.estimate), shown.range())
        })
    }
}

const VERDICTS: [Verdict; 4] = [
    Verdict::Costs,
    Verdict::Saves,
    Verdict::Negligible,
    Verdict::Inconclusive,
];

impl Mark {
    fn class(self) -> &'static str {
        match self {
            Mark::Control => "control",
            Mark::Treatment(verdict) => verdict.map_or("unjudged", Verdict::as_str),
        }
    }

    fn meaning(self) -> String {
        match self {
            Mark::Control => "control, a second baseline".to_owned(),
            Mark::Treatment(Some(Verdict::Inconclusive)) => "can't tell yet".to_owned(),
            Mark::Treatment(verdict) => verdict.map_or("not judged", Verdict::as_str).to_owned(),
        }
    }

    fn interval(self, of: &Interval, across: impl Fn(f64) -> f64, y: f64) -> Markup {
        let class = format!("interval {}", self.class());
        html! {
            line class=(class) x1=(px(across(of.low))) x2=(px(across(of.high))) y1=(px(y)) y2=(px(y)) {}
            (self.point(across(of.estimate), y))
        }
    }

    /// A diamond for the control, a square for what is negligible, else a disc, which is hollow
    /// when nothing can be told.
    fn point(self, x: f64, y: f64) -> Markup {
        let class = format!("point {}", self.class());
        let at = format!("translate({x:.1} {y:.1})");
        html! {
            @match self {
                Mark::Control => path class=(class) transform=(at) d="M0-6 6 0 0 6-6 0z" {},
                Mark::Treatment(Some(Verdict::Negligible)) => {
                    path class=(class) transform=(at) d="M-4-4h8v8h-8z" {}
                },
                Mark::Treatment(_) => circle class=(class) transform=(at) r="4.5" {},
            }
        }
    }
}

/// Holds all intervals, nil and the interest.
fn axis_over(rows: &[Row], interest: f64, steps: f64) -> Axis {
    let intervals = rows.iter().filter_map(|row| row.difference.as_ref());
    let (low, high) = intervals.fold((-interest, interest), |(low, high), of| {
        (low.min(of.low), high.max(of.high))
    });
    Axis::holding(low, high, 0.06, steps)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(low: f64, estimate: f64, high: f64) -> Row {
        Row {
            name: "otel".to_owned(),
            difference: Some(Interval {
                estimate,
                low,
                high,
                confidence: 0.95,
                method: windage_model::Method::MeanByLaunch,
            }),
            mark: Mark::Treatment(Some(Verdict::Costs)),
        }
    }

    #[test]
    fn the_axis_holds_everything() {
        let rows = [row(-0.004, 0.001, 0.006), row(0.22, 0.227, 0.23)];
        let axis = axis_over(&rows, 0.005, 4.0);
        for v in [-0.005, -0.004, 0.0, 0.005, 0.23] {
            assert!((0.0..=1.0).contains(&axis.place(v)), "{v}");
        }
        let ticks = axis.ticks();
        let labels = ticks
            .iter()
            .map(|t| axis::signed_label(*t, axis.step, Scale::PERCENT));
        assert_eq!(labels.collect::<Vec<_>>(), ["0", "+10 %", "+20 %"]);
    }

    #[test]
    fn an_axis_without_extent_still_has_a_scale() {
        let axis = axis_over(&[row(0.0, 0.0, 0.0)], 0.0, axis::STEPS);
        assert!(axis.place(0.0).is_finite());
        assert!(axis.ticks().len() <= 7);
    }
}
