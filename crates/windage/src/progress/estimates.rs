//! The running estimates, as lines.

use windage_analysis::{Known, NoInterval, Running, RunningEstimate};
use windage_model::{Direction, Interval, Metric, Role};
use windage_report::number::{NOT_AVAILABLE, percent, percent_short};
use windage_report::one_line;

use crate::text_width::{pad, pad_left, shorten, width};

/// Treatments that are shown; further ones are counted.
const SHOWN: usize = 6;
/// Names are not cut shorter than this.
const SHORTEST_NAME: usize = 8;
const INDENT: &str = "  ";

/// An arm's figures in words.
struct Row {
    name: String,
    estimate: String,
    range: String,
}

/// The lines of the foot. Names are shortened to make each fit into the columns.
pub(super) fn lines(running: &Running, columns: usize) -> Vec<String> {
    let (treatments, left_out) = shown(running);
    let rows: Vec<Row> = treatments.into_iter().map(Row::of).collect();
    let control: Vec<Row> = of_role(running, Role::Control).map(Row::of).collect();
    let layout = Layout::of(rows.iter().chain(&control), columns);
    let mut lines = vec![title(running)];
    lines.extend(rows.iter().map(|row| layout.line(row)));
    if left_out > 0 {
        lines.push(format!("{INDENT}and {left_out} more"));
    }
    lines.extend(control.iter().map(|row| layout.line(row)));
    lines
}

/// The same, in one line.
pub(super) fn one(running: &Running) -> String {
    let (treatments, left_out) = shown(running);
    let control = of_role(running, Role::Control);
    let written = |of: &RunningEstimate| {
        let Row {
            name,
            estimate,
            range,
        } = Row::of(of);
        format!("{name} {estimate} {range}").trim_end().to_owned()
    };
    let mut parts: Vec<String> = treatments.into_iter().map(written).collect();
    if left_out > 0 {
        parts.push(format!("{left_out} more"));
    }
    parts.extend(control.map(written));
    format!("{} {}", title(running), parts.join("; "))
}

fn title(running: &Running) -> String {
    let regime = match &running.regime {
        Some(regime) => format!(" under {}", one_line(regime)),
        None => String::new(),
    };
    let metric = running.metric.as_str();
    match running.asked {
        Some(asked) => format!("{metric}{regime}, measuring to ±{}:", percent_short(asked)),
        // An interval of a run of fixed length holds only at its end: docs/METHODOLOGY.md.
        None => format!("{metric}{regime}, so far:"),
    }
}

fn of_role(running: &Running, role: Role) -> impl Iterator<Item = &RunningEstimate> {
    running.estimates.iter().filter(move |of| of.role == role)
}

/// The treatments that are shown, and how many are not. If there are too many, those that a run
/// with a stop waits for are shown, or else those that cost most.
fn shown(running: &Running) -> (Vec<&RunningEstimate>, usize) {
    let mut treatments: Vec<_> = of_role(running, Role::Treatment).collect();
    let left_out = treatments.len().saturating_sub(SHOWN);
    if left_out > 0 {
        // Ties keep the plan's order.
        let rank = |of: &&RunningEstimate| match running.asked {
            Some(_) => half_width(of),
            None => cost(of, running.metric),
        };
        treatments.sort_by(|a, b| rank(b).total_cmp(&rank(a)));
        treatments.truncate(SHOWN);
    }
    (treatments, left_out)
}

/// Unknown figures come first: the run waits for them.
fn half_width(of: &RunningEstimate) -> f64 {
    match &of.known {
        Known::Interval(interval) => interval.half_width(),
        Known::Estimate { .. } | Known::Nothing => f64::INFINITY,
    }
}

/// Unknown figures come last.
fn cost(of: &RunningEstimate, metric: Metric) -> f64 {
    let relative = match &of.known {
        Known::Interval(interval) => interval.estimate,
        Known::Estimate { relative, .. } => *relative,
        Known::Nothing => return f64::NEG_INFINITY,
    };
    match metric.direction() {
        Direction::Lower => relative,
        Direction::Higher => -relative,
    }
}

impl Row {
    fn of(of: &RunningEstimate) -> Row {
        let (estimate, range) = match &of.known {
            Known::Interval(interval) => written(interval),
            Known::Estimate { relative, why } => {
                let (estimate, _) = written(&point(*relative));
                let why = match why {
                    NoInterval::OneRound => "no interval before the second round",
                    NoInterval::TooFew => "no interval yet",
                };
                (estimate, why.to_owned())
            }
            Known::Nothing => ("n/a".to_owned(), String::new()),
        };
        Row {
            name: one_line(&of.name),
            estimate,
            range,
        }
    }
}

/// The figure alone, rounded as if it were known to one percent.
fn point(relative: f64) -> Interval {
    Interval {
        estimate: relative,
        low: relative - 0.01,
        high: relative + 0.01,
        confidence: 0.0,
        method: windage_model::Method::MeanByLaunch,
    }
}

fn written(interval: &Interval) -> (String, String) {
    match percent(interval) {
        Some(shown) => (shown.point(), format!("({})", shown.range())),
        None => (NOT_AVAILABLE.to_owned(), String::new()),
    }
}

/// The columns of all rows.
struct Layout {
    name: usize,
    estimate: usize,
}

impl Layout {
    fn of<'a>(rows: impl Iterator<Item = &'a Row> + Clone, columns: usize) -> Layout {
        let widest = |of: fn(&Row) -> &str| rows.clone().map(|row| width(of(row))).max();
        let estimate = widest(|row| &row.estimate).unwrap_or(0);
        // Reasons may be cut off; the ends of intervals may not.
        let ranges = rows.clone().filter(|row| row.range.starts_with('('));
        let range = ranges.map(|row| width(&row.range)).max().unwrap_or(0);
        let room = columns.saturating_sub(INDENT.len() + 2 + estimate + 2 + range);
        let name = widest(|row| &row.name).unwrap_or(0);
        Layout {
            name: name.min(room.max(SHORTEST_NAME)),
            estimate,
        }
    }

    fn line(&self, row: &Row) -> String {
        let name = pad(&shorten(&row.name, self.name), self.name);
        let estimate = pad_left(&row.estimate, self.estimate);
        format!("{INDENT}{name}  {estimate}  {}", row.range)
            .trim_end()
            .to_owned()
    }
}
