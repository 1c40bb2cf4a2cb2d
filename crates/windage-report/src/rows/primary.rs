//! The table of the metric by which the question is answered, with everything said about it.

use windage_analysis::{Analysis, ArmAnalysis, MetricAnalysis, MissingCode};
use windage_model::{Metric, Verdict};

use super::script::whole_process;
use super::{
    Align, Cell, Column, NO_RATIO, NOT_FINITE, NOT_FOR_ARM, Notes, Row, Table, Tone, basis,
    capitalised, column, family, name, results, value, value_scale,
};
use crate::facts::one_line;
use crate::firmness;
use crate::number::{self, NOT_AVAILABLE, Scale};

/// The value, both differences, the interval and the verdict; `None` when no arm has the metric.
pub(super) fn primary_table(analysis: &Analysis, metric: Metric) -> Option<Table> {
    let results = results(analysis, metric);
    let present = || results.iter().filter_map(|(_, result)| *result);
    present().next()?;
    let differences = || present().filter_map(|result| result.difference.as_ref().ok());
    let value_scale = value_scale(metric, present());
    let change_scale = Scale::fitting(metric.unit(), differences().map(|d| d.absolute.estimate));
    let relative = differences().any(|d| d.relative.is_some());

    let confidence = differences().next().map_or(0.95, |d| d.absolute.confidence);
    let about = metric.about();
    let change_unit = change_scale.unit();
    let mut columns = vec![
        column(value_scale.unit(), about),
        column(
            format!("Δ {change_unit}").trim_end().to_owned(),
            "Arm − baseline",
        ),
    ];
    if relative {
        columns.push(column(
            "Δ %",
            "Arm against baseline, from ratios within blocks",
        ));
    }
    let interval = format!("{} interval", number::percent_short(confidence));
    columns.push(column(
        interval,
        "Where the difference lies, with this confidence",
    ));
    columns.push(Column {
        heading: "verdict".to_owned(),
        about: "What the interval says about differences that matter",
        align: Align::Left,
    });

    let mut notes = Notes::default();
    let rows = results
        .iter()
        .map(|(arm, result)| Row {
            arm: one_line(&arm.name),
            cells: match result {
                Some(r) => {
                    let scales = (value_scale, change_scale);
                    primary_cells((metric, arm, r), scales, relative, &mut notes)
                }
                None => absent_cells(columns.len(), &mut notes),
            },
        })
        .collect();
    let title = name(metric);
    let title = match metric {
        Metric::ResponseTimeP50 => format!("Response time, {title}"),
        _ => capitalised(title),
    };
    let mut facts = firmness::facts(analysis);
    facts.extend(whole_process(analysis, metric));
    Some(Table {
        title,
        columns,
        rows,
        notes: notes.0,
        facts,
        separable: false,
        detail: false,
    })
}

fn primary_cells(
    (metric, arm, result): (Metric, &ArmAnalysis, &MetricAnalysis),
    (value_scale, change_scale): (Scale, Scale),
    relative: bool,
    notes: &mut Notes,
) -> Vec<Cell> {
    let value = value(arm, result).map_or(NOT_AVAILABLE.to_owned(), |v| value_scale.bare(v));
    let mut cells = vec![Cell {
        text: value,
        ..Cell::default()
    }];
    let width = if relative { 3 } else { 2 };
    let difference = match &result.difference {
        Ok(difference) => difference,
        Err(missing) if missing.code == MissingCode::Baseline => {
            cells.extend(std::iter::repeat_n(Cell::default(), width));
            cells.push(Cell {
                text: "baseline".to_owned(),
                tone: Tone::Faint,
                basis: None,
            });
            return cells;
        }
        Err(missing) => {
            cells.extend(notes.absent(width, &missing.text));
            cells.push(Cell {
                text: NOT_AVAILABLE.to_owned(),
                tone: Tone::Faint,
                basis: None,
            });
            return cells;
        }
    };
    let basis = Some(basis(metric, result, difference));
    let absolute = change_scale.signed(&difference.absolute);
    let percent = difference.relative.as_ref().and_then(number::percent);
    let tone = result.verdict.map_or(Tone::Plain, Tone::Judged);
    let plain = |text: String| Cell {
        text,
        tone: Tone::Plain,
        basis: basis.clone(),
    };
    match &absolute {
        Some(shown) => cells.push(plain(shown.estimate.clone())),
        None => cells.extend(notes.absent(1, NOT_FINITE)),
    }
    let interval = if relative {
        match &percent {
            Some(shown) => cells.push(plain(shown.estimate.clone())),
            None => cells.extend(notes.absent(1, NO_RATIO)),
        }
        percent.as_ref()
    } else {
        absolute.as_ref()
    };
    cells.push(plain(
        interval.map_or(NOT_AVAILABLE.to_owned(), number::Shown::range),
    ));
    let verdict = result.verdict.map_or(NOT_AVAILABLE, Verdict::as_str);
    cells.push(Cell {
        text: format!("{verdict}{}", family::mark(result)),
        tone,
        basis,
    });
    cells
}

fn absent_cells(columns: usize, notes: &mut Notes) -> Vec<Cell> {
    let mut cells = notes.absent(1, NOT_FOR_ARM);
    cells.resize(
        columns,
        Cell {
            text: NOT_AVAILABLE.to_owned(),
            tone: Tone::Faint,
            basis: None,
        },
    );
    cells
}
