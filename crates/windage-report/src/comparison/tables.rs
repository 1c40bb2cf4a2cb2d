//! The tables of a comparison: arms as rows, and how their overheads changed.

use windage_analysis::{ChangeVerdict, ComparedArm, ComparedLoad, ComparedMetric, Side};
use windage_model::{Interval, Metric, Role};

use super::primary::primary_table;
use super::tone;
use crate::fact::{Fact, one_line};
use crate::number::{self, Scale};
use crate::rows::{
    Cell, GROUPS, Group, INCONCLUSIVE, NEGLIGIBLE, NOT_FINITE, Notes, ON_ITS_OWN, ON_ITS_OWN_MEANS,
    Placed, Row, Shown, Table, column, marked,
};
use crate::sentences;

pub(super) const NOT_COMPARED: &str = "neither run has it for this arm";

/// Metrics that are detail: parts of another metric, figures that exist once per launch, and those
/// that repeat response times in a closed loop.
const ASIDE: &[Metric] = &[
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

/// All arms except the baseline.
pub(super) fn arms(load: &ComparedLoad) -> impl Iterator<Item = &ComparedArm> + Clone {
    let is_compared = |arm: &&ComparedArm| arm.role != Role::Baseline;
    load.arms.iter().filter(is_compared)
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

fn in_unit(metric: Metric, interval: &Interval) -> Option<number::Shown> {
    Scale::of(metric.unit(), interval).signed(interval)
}

/// Marks findings that do not hold when adjusted for their family.
pub(super) fn mark(of: &ComparedMetric) -> String {
    match of.holds_in_family() {
        Some(false) => ON_ITS_OWN.to_string(),
        Some(true) | None => String::new(),
    }
}

/// Both overheads, for the tooltip.
pub(super) fn basis(metric: Metric, of: &ComparedMetric) -> String {
    let side = |name: &str, side: &Side| {
        let shown = match &side.relative {
            Some(relative) => number::percent(relative)?,
            None => in_unit(metric, side.difference.as_ref()?)?,
        };
        Some(format!("{name}: {shown}"))
    };
    let sides = [side("A", &of.a), side("B", &of.b)];
    let method = of.change.as_ref().ok();
    let method = method.map(|change| change.absolute.method.about().to_owned());
    let parts: Vec<String> = sides.into_iter().flatten().chain(method).collect();
    parts.join("; ")
}

/// The baseline's own figures, which show how the service and the machine changed.
pub(super) fn baseline(load: &ComparedLoad) -> Option<Fact> {
    let (a, b) = baseline_figures(load)?;
    let scale = Scale::fitting(load.primary.unit(), [a, b]);
    let share = Scale::PERCENT.signed_point_to(b / a - 1.0, 1);
    let text = format!(
        "{} in A, {} in B ({share} %)",
        scale.with_unit(a),
        scale.with_unit(b)
    );
    Some(Fact::new("baseline", text))
}

/// The baseline's figure of the primary metric in A and B, if both are above zero.
pub(super) fn baseline_figures(load: &ComparedLoad) -> Option<(f64, f64)> {
    let of = load.arm_of(Role::Baseline)?.metrics.get(&load.primary)?;
    let own = |side: &Side| {
        side.arm
            .or(side.baseline)
            .filter(|v| v.is_finite() && *v > 0.0)
    };
    own(&of.a).zip(own(&of.b))
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
