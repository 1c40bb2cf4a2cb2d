//! The tables of a comparison: arms as rows, and how their overheads changed.

use windage_analysis::{ChangeVerdict, ComparedLoad, ComparedMetric};
use windage_model::Metric;

use super::figures::{NOT_COMPARED, arms, basis, in_unit, mark};
use super::primary::primary_table;
use super::tone;
use crate::fact::one_line;
use crate::number;
use crate::rows::{
    Cell, GROUPS, Group, INCONCLUSIVE, NEGLIGIBLE, NOT_FINITE, Notes, ON_ITS_OWN, ON_ITS_OWN_MEANS,
    Placed, Row, Shown, Table, column, marked,
};
use crate::sentences;

/// Metrics that are detail: parts of another metric and other ways to measure it, figures that exist once per launch, and those
/// that repeat response times in a closed loop.
const ASIDE: &[Metric] = &[
    Metric::CpuOfRequests,
    Metric::CpuPerRequestIsolated,
    Metric::CpuPerIterationIsolated,
    Metric::TypicalCpuPerRequest,
    Metric::CpuInWindow,
    Metric::CpuDeferred,
    Metric::CpuIdle,
    Metric::ServiceTimeP50,
    Metric::ServiceTimeP99,
    Metric::StartupTime,
    Metric::StartupCpu,
    Metric::FlushTime,
    Metric::FlushCpu,
    Metric::MachineCpuPerRequest,
];

/// The primary metric first, then the others by group.
pub(super) fn tables(load: &ComparedLoad) -> Vec<Table> {
    let primary = primary_table(load);
    let others = GROUPS.iter().filter_map(|group| compact_table(load, group));
    primary.into_iter().chain(others).collect()
}

/// Whether there is anything to show: not for figures that are zero in both runs, as errors should
/// be.
fn has_change(load: &ComparedLoad, metric: Metric) -> bool {
    let changes = arms(load).filter_map(|arm| arm.metrics.get(&metric)?.change.as_ref().ok());
    let mut ends = changes.flat_map(|change| [change.absolute.low, change.absolute.high]);
    ends.any(|end| end != 0.0)
}

fn compact_table(load: &ComparedLoad, group: &Group) -> Option<Table> {
    let is_shown = |of: &&Placed| of.metric != load.primary && has_change(load, of.metric);
    let metrics: Vec<&Placed> = group.metrics.iter().filter(is_shown).collect();
    let mut notes = Notes::default();
    let rows = arms(load).map(|arm| {
        let cells = metrics.iter().map(|placed| {
            let of = arm.metrics.get(&placed.metric);
            compact_cell(placed.metric, of, placed.shown, &mut notes)
        });
        Row {
            arm: one_line(&arm.name),
            cells: cells.collect(),
        }
    });
    let rows: Vec<Row> = rows.collect();
    let heading = |of: &&Placed| {
        let unit = match of.shown {
            Shown::Relative => ", Δ points",
            Shown::Absolute => ", Δ",
        };
        column(format!("{}{unit}", of.heading()), of.metric.about())
    };
    (!metrics.is_empty()).then(|| Table {
        title: group.title.to_owned(),
        columns: metrics.iter().map(heading).collect(),
        rows,
        notes: notes.0,
        separable: true,
        detail: group.detail || metrics.iter().all(|of| ASIDE.contains(&of.metric)),
        ..Table::default()
    })
}

fn compact_cell(
    metric: Metric,
    of: Option<&ComparedMetric>,
    shown: Shown,
    notes: &mut Notes,
) -> Cell {
    let Some(of) = of else {
        return Cell::faint(notes.absent(1, NOT_COMPARED).remove(0).text);
    };
    let change = match &of.change {
        Ok(change) => change,
        Err(missing) => return notes.absent(1, &sentences::missing(missing)).remove(0),
    };
    let relative = change
        .relative
        .as_ref()
        .filter(|_| shown == Shown::Relative);
    let interval = relative.unwrap_or(&change.absolute);
    let figure = match relative {
        // The column's heading names the unit.
        Some(relative) => number::percent(relative).map(|shown| shown.bare()),
        None => in_unit(metric, interval).map(|shown| shown.to_string()),
    };
    let Some(figure) = figure else {
        return notes.absent(1, NOT_FINITE).remove(0);
    };
    let verdict = match of.verdict.filter(|_| relative.is_some()) {
        Some(ChangeVerdict::Unchanged) => NEGLIGIBLE,
        Some(ChangeVerdict::Inconclusive) => INCONCLUSIVE,
        // The sign shows it.
        Some(ChangeVerdict::Increased | ChangeVerdict::Decreased) | None => "",
    };
    let of_family = if relative.is_some() {
        mark(of)
    } else {
        String::new()
    };
    Cell {
        text: marked(&format!("{verdict}{of_family}"), &figure),
        tone: tone(of.verdict.filter(|_| relative.is_some())),
        basis: Some(basis(metric, of)),
        value: Some(interval.estimate),
    }
}

/// What the marks mean; `None` without marks.
pub(super) fn legend(load: &ComparedLoad, tables: &[&Table]) -> Option<String> {
    let margin = number::percent_short(load.margin);
    let points = margin.trim_end_matches(" %");
    let cells = || {
        tables
            .iter()
            .flat_map(|t| &t.rows)
            .flat_map(|row| &row.cells)
    };
    let begins = |mark: &str| cells().any(|cell| cell.text.starts_with(mark));
    let meanings = [
        (NEGLIGIBLE, format!("unchanged, within ±{points} points")),
        (INCONCLUSIVE, "inconclusive".to_owned()),
    ];
    let mut told: Vec<String> = meanings
        .into_iter()
        .filter(|(mark, _)| begins(mark))
        .map(|(mark, meaning)| format!("{mark} {meaning}"))
        .collect();
    if cells().any(|cell| cell.text.contains(ON_ITS_OWN)) {
        told.push(format!("{ON_ITS_OWN_MEANS} (Bonferroni)"));
    }
    (!told.is_empty()).then(|| told.join("; "))
}
