//! The table of the primary metric, with all its facts.

use windage_analysis::{Analysis, ArmAnalysis, MetricAnalysis, Missing};
use windage_model::{Difference, Interval, Metric, Verdict};

use super::script::whole_process;
use super::{
    Align, Cell, Column, NO_RATIO, NOT_FINITE, NOT_FOR_ARM, Notes, Row, Table, Tone, basis, column,
    cpu_metric, family, headline, plain, results, value, value_scale,
};
use crate::fact::one_line;
use crate::number::{self, NOT_AVAILABLE, Scale, Shown};
use crate::precision;
use crate::sentences;
use crate::turns;

/// Value, both differences, interval and verdict; `None` if no arm has the metric.
pub(super) fn primary_table(analysis: &Analysis, metric: Metric) -> Option<Table> {
    let results = results(analysis, metric);
    let told = Told::of(metric, &results)?;
    let columns = told.columns();
    let mut notes = Notes::default();
    let rows = results.iter().map(|(arm, result)| Row {
        arm: one_line(&arm.name),
        cells: match result {
            Some(result) => told.cells(analysis, arm, result, &mut notes),
            None => absent_cells(columns.len(), &mut notes),
        },
    });
    let rows = rows.collect();
    let mut facts = precision::facts(analysis);
    facts.extend(whole_process(analysis, metric));
    if metric == cpu_metric(analysis) {
        facts.extend(turns::disagreement(analysis));
    }
    Some(Table {
        title: headline(metric),
        columns,
        rows,
        notes: notes.0,
        facts,
        ..Table::default()
    })
}

/// How the metric is written for all arms.
#[derive(Clone, Copy)]
struct Told {
    metric: Metric,
    /// The unit of the arms' own figures.
    values: Scale,
    /// The unit of differences.
    changes: Scale,
    /// Whether any difference has a relative form.
    relative: bool,
    confidence: f64,
}

impl Told {
    /// `None` if no arm has the metric.
    fn of(metric: Metric, results: &[(&ArmAnalysis, Option<&MetricAnalysis>)]) -> Option<Told> {
        let present = || results.iter().filter_map(|(_, result)| *result);
        present().next()?;
        let differences = || present().filter_map(|result| result.difference.as_ref().ok());
        let estimates = differences().map(|difference| difference.absolute.estimate);
        Some(Told {
            metric,
            values: value_scale(metric, present()),
            changes: Scale::fitting(metric.unit(), estimates),
            relative: differences().any(|difference| difference.relative.is_some()),
            confidence: differences().next().map_or(0.95, |d| d.absolute.confidence),
        })
    }

    fn columns(self) -> Vec<Column> {
        let change = format!("Δ {}", self.changes.unit());
        let relative = column("Δ %", "Relative difference from the baseline");
        let mut columns = vec![
            column(self.values.unit(), self.metric.about()),
            column(change.trim_end(), "Arm − baseline"),
        ];
        columns.extend(self.relative.then_some(relative));
        columns.push(column(
            format!("{} CI", number::percent_short(self.confidence)),
            "Confidence interval of the difference",
        ));
        columns.push(Column {
            heading: "verdict".to_owned(),
            about: "Verdict by the interval and the equivalence margin",
            align: Align::Left,
        });
        columns
    }

    fn cells(
        self,
        analysis: &Analysis,
        arm: &ArmAnalysis,
        result: &MetricAnalysis,
        notes: &mut Notes,
    ) -> Vec<Cell> {
        let value = value(arm, result);
        let mut cells = vec![Cell {
            value,
            ..plain(value.map_or(NOT_AVAILABLE.to_owned(), |v| self.values.bare(v)))
        }];
        let width = if self.relative { 3 } else { 2 };
        match &result.difference {
            Ok(difference) => {
                let basis = basis(analysis, self.metric, result, difference);
                cells.extend(self.judged(basis, result, difference, notes));
            }
            Err(Missing::Baseline) => {
                cells.extend(std::iter::repeat_n(Cell::default(), width));
                cells.push(Cell::faint("baseline"));
            }
            Err(missing) => {
                cells.extend(notes.absent(width, &sentences::missing(missing)));
                cells.push(Cell::faint(NOT_AVAILABLE));
            }
        }
        cells
    }

    /// The difference in its unit and as a share, its interval and the verdict.
    fn judged(
        self,
        basis: String,
        result: &MetricAnalysis,
        difference: &Difference,
        notes: &mut Notes,
    ) -> Vec<Cell> {
        let figure = |text: String, value: f64| Cell {
            basis: Some(basis.clone()),
            ..Cell::figure(text, value)
        };
        let written = |of: &Interval, shown: Option<Shown>| Some((of.estimate, shown?));
        let absolute = &difference.absolute;
        let absolute = written(absolute, self.changes.signed(absolute));
        let relative = difference.relative.as_ref();
        let relative = relative.and_then(|of| written(of, number::percent(of)));
        let mut estimates = vec![(&absolute, NOT_FINITE)];
        estimates.extend(self.relative.then_some((&relative, NO_RATIO)));
        let mut cells = Vec::new();
        for (told, without) in &estimates {
            match told {
                Some((estimate, shown)) => cells.push(figure(shown.estimate.clone(), *estimate)),
                None => cells.extend(notes.absent(1, without)),
            }
        }
        let interval = estimates.last().and_then(|(told, _)| told.as_ref());
        cells.push(match interval {
            Some((estimate, shown)) => figure(shown.range(), *estimate),
            None => plain(NOT_AVAILABLE),
        });
        let verdict = result.verdict.map_or(NOT_AVAILABLE, Verdict::as_str);
        cells.push(Cell {
            tone: result.verdict.map_or(Tone::Plain, Tone::Judged),
            basis: Some(basis),
            ..plain(format!("{verdict}{}", family::mark(result)))
        });
        cells
    }
}

fn absent_cells(columns: usize, notes: &mut Notes) -> Vec<Cell> {
    let mut cells = notes.absent(1, NOT_FOR_ARM);
    cells.resize(columns, Cell::faint(NOT_AVAILABLE));
    cells
}
