//! The tables of a report and their cells. All renderers draw these, so they can't disagree.

pub(crate) mod agents;
mod aspect;
mod budget;
pub(crate) mod by_rate;
mod by_service;
mod claim;
mod compact;
pub(crate) mod curve;
mod export;
mod family;
mod fidelity;
pub(crate) mod forest;
mod load;
mod planning;
mod precision;
mod primary;
pub(crate) mod profile;
pub(crate) mod script;
mod stages;

use agents::{agent_details, agent_tables};
pub(crate) use aspect::nothing;
pub(crate) use budget::budget_tables;
pub(crate) use by_rate::by_rate_table;
use by_service::by_service_table;
use claim::claim_tables;
pub(crate) use compact::changed_table;
use compact::compact_table;
pub(crate) use compact::{GROUPS, Group, Placed, Shown, marked};
use curve::curve_tables;
use export::{export_details, export_tables};
pub(crate) use family::{ON_ITS_OWN, ON_ITS_OWN_MEANS, overstated};
use fidelity::fidelity_tables;
pub(crate) use fidelity::losses;
use load::{load_table, outliers_table};
use planning::planning_tables;
use precision::firm_table;
use primary::primary_table;
use profile::{profile_details, profile_tables};
use script::script_tables;
use serde::{Serialize, Serializer};
pub(crate) use stages::arm_name;
use stages::stage_tables;
use windage_analysis::{Analysis, ArmAnalysis, Measured, MetricAnalysis};
use windage_model::{ArmId, Difference, LoadModel, Metric, Role, Unit, Verdict};

use crate::fact::{Fact, one_line};
use crate::number::{self, NOT_AVAILABLE, Scale};

/// A table with its arms as rows.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Table {
    pub(crate) title: String,
    /// The columns after the arm's name.
    pub(crate) columns: Vec<Column>,
    pub(crate) rows: Vec<Row>,
    /// Why figures are missing.
    pub(crate) notes: Vec<Note>,
    /// Other facts about its figures.
    pub(crate) facts: Vec<Fact>,
    /// What a row is, for the first column's heading.
    pub(crate) of: RowsOf,
    /// Whether each column can be read without the others, so that a wide table may be split.
    #[serde(skip)]
    pub(crate) separable: bool,
    /// Detail, for renderers that have room.
    pub(crate) detail: bool,
}

/// What the rows of a table are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum RowsOf {
    #[default]
    Arm,
    Level,
    Line,
    Function,
    Program,
    What,
}

/// A column.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Column {
    pub(crate) heading: String,
    /// The meaning, for tooltips; empty where the heading is enough.
    pub(crate) about: &'static str,
    pub(crate) align: Align,
}

/// Alignment of a column's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Align {
    Left,
    Right,
}

/// The arm, or whatever else the row is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Row {
    pub(crate) arm: String,
    pub(crate) cells: Vec<Cell>,
}

/// One figure or word.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Cell {
    pub(crate) text: String,
    pub(crate) tone: Tone,
    /// What the figure is based on, for tooltips.
    pub(crate) basis: Option<String>,
    /// The unrounded figure, for sorting; the estimate of an interval. `None` where the text is not
    /// a figure, or is not comparable with others in its column.
    pub(crate) value: Option<f64>,
}

impl Cell {
    /// A figure as text and as a number.
    pub(crate) fn figure(text: impl Into<String>, value: f64) -> Cell {
        Cell {
            value: Some(value),
            ..plain(text)
        }
    }

    /// Something less important.
    pub(crate) fn faint(text: impl Into<String>) -> Cell {
        Cell {
            tone: Tone::Faint,
            ..plain(text)
        }
    }
}

/// A footnote.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Note {
    /// As shown at the end of a cell.
    pub(crate) mark: String,
    pub(crate) text: String,
}

/// What a cell's text means, for colour. The text always says it too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Tone {
    #[default]
    Plain,
    /// Less important.
    Faint,
    Judged(Verdict),
    /// Something is wrong.
    Alarm,
}

impl Serialize for Tone {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(match self {
            Tone::Plain => "plain",
            Tone::Faint => "faint",
            Tone::Alarm => "alarm",
            Tone::Judged(verdict) => verdict.as_str(),
        })
    }
}

/// The legend below the tables: what the marks mean, and how multiple comparisons are adjusted for;
/// `None` when there is nothing to explain.
pub(crate) fn legend(analysis: &Analysis, tables: &[&Table]) -> Option<String> {
    let (mut all, is_marked) = marks(analysis, tables);
    all.extend(family::legend(analysis, is_marked));
    (!all.is_empty()).then(|| all.join("; "))
}

/// The same without the sizes of the families.
pub(crate) fn legend_in_brief(analysis: &Analysis, tables: &[&Table]) -> Option<String> {
    let (mut all, is_marked) = marks(analysis, tables);
    all.extend(
        is_marked.then(|| format!("{ON_ITS_OWN} does not hold when adjusted for all comparisons")),
    );
    (!all.is_empty()).then(|| all.join("; "))
}

/// The meanings of the marks that are used, and whether a finding is marked as one that does not
/// hold in its family.
fn marks(analysis: &Analysis, tables: &[&Table]) -> (Vec<String>, bool) {
    let margin = number::percent_short(analysis.design.margin);
    let meanings = [
        (NEGLIGIBLE, format!("negligible, within ±{margin}")),
        (INCONCLUSIVE, "inconclusive".to_owned()),
        (BEYOND_SAMPLING, "more than sampling explains".to_owned()),
        (
            AS_EXPECTED,
            "within the chance of sampling (95 %)".to_owned(),
        ),
    ];
    let texts = || {
        tables
            .iter()
            .flat_map(|t| &t.rows)
            .flat_map(|row| &row.cells)
            .map(|c| &c.text)
    };
    let is_used = |mark: &str| texts().any(|text| text.starts_with(mark));
    let used = meanings
        .into_iter()
        .filter(|(mark, _)| is_used(mark))
        .map(|(mark, meaning)| format!("{mark} {meaning}"));
    let is_marked = texts().any(|text| text.contains(family::ON_ITS_OWN));
    (used.collect(), is_marked)
}

// Marks precede figures, so that right-aligned figures stay aligned.
pub(crate) const NEGLIGIBLE: &str = "=";
pub(crate) const INCONCLUSIVE: &str = "~";
const BEYOND_SAMPLING: &str = "!";
/// Instead of a loss that is none. It is its own mark.
pub(crate) const AS_EXPECTED: &str = "as expected";

/// A metric as a heading: "CPU per request".
pub(crate) fn headline(metric: Metric) -> String {
    capitalised(metric.label())
}

/// All tables: the primary metric and curves first, then other metrics, problems with the load,
/// fidelity and details.
pub(crate) fn tables(analysis: &Analysis) -> Vec<Table> {
    let primary = analysis.primary;
    let mut tables: Vec<Table> = primary_table(analysis, primary).into_iter().collect();
    tables.extend(budget_tables(analysis));
    tables.extend(claim_tables(analysis));
    tables.extend(script_tables(analysis));
    tables.extend(curve_tables(analysis));
    tables.extend(stage_tables(analysis));
    tables.extend(by_service_table(analysis));
    tables.extend(agent_tables(analysis));
    let compact = GROUPS
        .iter()
        .filter(|group| !group.is_of_agents)
        .filter_map(|group| compact_table(analysis, group, primary));
    tables.extend(compact);
    let whole = load_table(analysis)
        .into_iter()
        .chain(planning_tables(analysis))
        .chain(fidelity_tables(analysis))
        .chain(export_tables(analysis))
        .chain(profile_tables(analysis));
    let before_details = tables.iter().position(|t| t.detail).unwrap_or(tables.len());
    tables.splice(before_details..before_details, whole);
    tables.extend(agent_details(analysis));
    tables.extend(export_details(analysis));
    tables.extend(profile_details(analysis));
    tables.extend(firm_table(analysis));
    tables.extend(outliers_table(analysis));
    tables
}

/// The tables of a report that fits a screen: the primary metric, stages if there are any, and
/// what was expected, delivered and lost, without empty rows.
pub(crate) fn headline_tables(analysis: &Analysis) -> [Vec<Table>; 2] {
    let primary = primary_table(analysis, analysis.primary);
    let stages = stage_tables(analysis)
        .into_iter()
        .filter(|table| !table.detail);
    let mut delivered = fidelity_tables(analysis);
    let has_figures = |row: &Row| row.cells.iter().any(|cell| *cell != nothing());
    for table in &mut delivered {
        table.rows.retain(has_figures);
        // Sizes are left to the full report: names need the room.
        table.columns.truncate(3);
        table.rows.iter_mut().for_each(|row| row.cells.truncate(3));
    }
    let mut judged = budget_tables(analysis);
    judged.extend(claim_tables(analysis));
    let mut answer: Vec<Table> = primary.into_iter().chain(judged).chain(stages).collect();
    for table in &mut answer {
        table
            .facts
            .retain(|fact| fact.label != crate::precision::SCATTER);
    }
    if let Some(primary) = answer.first_mut() {
        primary.facts.extend(curve::fitted(analysis));
    }
    [answer, delivered]
}

pub(crate) const NOT_FINITE: &str = "the computation gave no finite figure";
pub(crate) const NO_RATIO: &str = "there is no ratio to the baseline";
const NOT_FOR_ARM: &str = "not measured for this arm";

/// Shown where there is no table.
pub(crate) const NOTHING_MEASURED: &str = "Nothing was measured.";

/// The unit that figures are divided by.
pub(crate) fn divided_by(analysis: &Analysis) -> &'static str {
    match analysis.design.load {
        LoadModel::Open | LoadModel::Closed => "per request",
        LoadModel::Batch => "per iteration",
    }
}

/// The CPU metric under this load.
pub(crate) fn cpu_metric(analysis: &Analysis) -> Metric {
    match analysis.design.load {
        LoadModel::Batch => Metric::CpuPerIteration,
        LoadModel::Open | LoadModel::Closed => Metric::CpuPerRequest,
    }
}

fn results(analysis: &Analysis, metric: Metric) -> Vec<(&ArmAnalysis, Option<&MetricAnalysis>)> {
    analysis
        .arms
        .iter()
        .map(|arm| (arm, arm.metrics.get(&metric)))
        .collect()
}

fn has_figures(analysis: &Analysis, metric: Metric) -> bool {
    results(analysis, metric)
        .iter()
        .filter_map(|(_, result)| *result)
        .any(|r| r.arm.is_some() || r.baseline.is_some() || r.difference.is_ok())
}

/// The arm's own figure; the baseline's is in either field.
pub(crate) fn value(arm: &ArmAnalysis, result: &MetricAnalysis) -> Option<f64> {
    match arm.role {
        Role::Baseline => result.arm.or(result.baseline),
        Role::Control | Role::Treatment => result.arm,
    }
    .filter(|v| v.is_finite())
}

fn value_scale<'a>(metric: Metric, results: impl Iterator<Item = &'a MetricAnalysis>) -> Scale {
    Scale::fitting(metric.unit(), results.filter_map(|r| r.arm.or(r.baseline)))
}

/// What a figure is based on.
fn basis(
    analysis: &Analysis,
    metric: Metric,
    result: &MetricAnalysis,
    difference: &Difference,
) -> String {
    let stretches = match analysis.measured(metric) {
        Some(Measured::Interleaved) => "blocks of turns",
        Some(Measured::Isolated) | None => "windows",
    };
    let mut text = format!("{} {stretches}, {} launches", result.windows, result.rounds);
    if let Some(smallest) = difference
        .minimum_detectable_effect
        .filter(|s| s.is_finite())
    {
        text.push_str(&format!(
            "; minimum detectable effect {}",
            number::percent_bound(smallest)
        ));
    }
    text.push_str("; ");
    text.push_str(difference.absolute.method.about());
    if let (Some(of), Some(interval)) = (
        &result.inference.in_family,
        family::interval(metric, result),
    ) {
        text.push_str(&format!(
            "; {interval} adjusted for all {} comparisons of its family",
            of.comparisons
        ));
    }
    text
}

pub(crate) fn column(heading: impl Into<String>, about: &'static str) -> Column {
    Column {
        heading: heading.into(),
        about,
        align: Align::Right,
    }
}

/// A plain cell.
pub(crate) fn plain(text: impl Into<String>) -> Cell {
    Cell {
        text: text.into(),
        ..Cell::default()
    }
}

/// A time in nanoseconds.
fn lasting(ns: u64) -> Cell {
    Cell::figure(time(ns), ns as f64)
}

/// A time in nanoseconds, in the unit that makes it shortest.
fn time(ns: u64) -> String {
    number::short(Unit::Microseconds, ns as f64 / 1e3)
}

/// Arms' names, one line each; equal names get their ids.
pub(crate) fn unique_names<'a>(
    arms: impl Iterator<Item = (&'a ArmId, &'a str)> + Clone,
) -> Vec<String> {
    let name = |(id, name): (&ArmId, &str)| {
        let is_shared = arms.clone().filter(|(_, other)| *other == name).count() > 1;
        if is_shared {
            one_line(&format!("{name} ({id})"))
        } else {
            one_line(name)
        }
    };
    arms.clone().map(name).collect()
}

pub(crate) fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or(String::new(), |first| {
        first.to_uppercase().chain(chars).collect()
    })
}

/// Footnotes, numbered in order of appearance; each text occurs once.
#[derive(Default)]
pub(crate) struct Notes(pub(crate) Vec<Note>);

impl Notes {
    /// The mark of this text.
    pub(crate) fn mark(&mut self, text: &str) -> String {
        let text = one_line(text);
        if let Some(note) = self.0.iter().find(|note| note.text == text) {
            return note.mark.clone();
        }
        let mark = superscript(self.0.len() + 1);
        self.0.push(Note {
            mark: mark.clone(),
            text,
        });
        mark
    }

    /// Cells without a figure; the first has the mark.
    pub(crate) fn absent(&mut self, cells: usize, text: &str) -> Vec<Cell> {
        let mut absent = vec![Cell::faint(NOT_AVAILABLE); cells];
        if let Some(first) = absent.first_mut() {
            first.text.push_str(&self.mark(text));
        }
        absent
    }
}

/// The number of a footnote as superscript.
fn superscript(n: usize) -> String {
    const DIGITS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    let digit = |c: char| c.to_digit(10).and_then(|d| DIGITS.get(d as usize)).copied();
    n.to_string().chars().filter_map(digit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_footnote_has_one_number() {
        let mut notes = Notes::default();
        let marks: Vec<_> = ["a", "b", "a"]
            .iter()
            .map(|text| notes.mark(text))
            .collect();
        assert_eq!(marks, ["¹", "²", "¹"]);
        assert_eq!(superscript(10), "¹⁰");
    }
}
