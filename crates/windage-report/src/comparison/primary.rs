//! The table of the primary metric: both overheads and their change.

use windage_analysis::{Change, ChangeVerdict, ComparedLoad, ComparedMetric, Side};
use windage_model::{Interval, Metric};

use super::figures::{NOT_COMPARED, arms, baseline, basis, mark};
use super::tone;
use crate::fact::one_line;
use crate::number::{self, NOT_AVAILABLE, Scale};
use crate::rows::{Align, Cell, Column, NO_RATIO, NOT_FINITE, Notes, Row, Table, column, headline};
use crate::sentences;

/// `None` if neither run has the metric for any arm.
pub(super) fn primary_table(load: &ComparedLoad) -> Option<Table> {
    let metric = load.primary;
    if !arms(load).any(|arm| arm.metrics.contains_key(&metric)) {
        return None;
    }
    let told = Told::of(load);
    let columns = told.columns();
    let mut notes = Notes::default();
    let rows = arms(load).map(|arm| Row {
        arm: one_line(&arm.name),
        cells: match arm.metrics.get(&metric) {
            Some(of) => told.cells(of, &mut notes),
            None => notes.absent(columns.len(), NOT_COMPARED),
        },
    });
    let rows = rows.collect();
    Some(Table {
        title: headline(metric),
        columns,
        rows,
        notes: notes.0,
        facts: baseline(load).into_iter().collect(),
        ..Table::default()
    })
}

/// How overheads and their changes are written under a load.
#[derive(Clone, Copy)]
struct Told {
    metric: Metric,
    form: Form,
}

#[derive(Clone, Copy)]
enum Form {
    /// As shares of the baseline, and the change also in this unit.
    Shares(Scale),
    /// In this unit with this many decimals, for metrics without a ratio to the baseline.
    Unit(Scale, usize),
}

/// Whether overheads in the primary metric are shares of the baseline. Metrics whose baseline may
/// be zero have differences only.
pub(super) fn is_in_shares(load: &ComparedLoad) -> bool {
    let of_primary = |of: fn(&Side) -> bool| {
        let metrics = arms(load).filter_map(|arm| arm.metrics.get(&load.primary));
        metrics.flat_map(|of| [&of.a, &of.b]).any(of)
    };
    of_primary(|side| side.relative.is_some()) || !of_primary(|side| side.difference.is_some())
}

impl Told {
    fn of(load: &ComparedLoad) -> Told {
        let metrics = || arms(load).filter_map(|arm| arm.metrics.get(&load.primary));
        let changes = || metrics().filter_map(|of| of.change.as_ref().ok());
        let form = if is_in_shares(load) {
            let changes = changes().map(|change| change.absolute.estimate);
            Form::Shares(Scale::fitting(load.primary.unit(), changes))
        } else {
            let sides = metrics().flat_map(|of| [&of.a, &of.b]);
            let all = sides.filter_map(|side| side.difference.as_ref());
            let all = all.chain(changes().map(|change| &change.absolute));
            let ends: Vec<f64> = all.flat_map(|of| [of.estimate, of.low, of.high]).collect();
            let scale = Scale::fitting(load.primary.unit(), ends.iter().copied());
            Form::Unit(scale, scale.places(ends))
        };
        Told {
            metric: load.primary,
            form,
        }
    }

    fn columns(self) -> Vec<Column> {
        let interval = column("95 % interval", "Confidence interval of the change");
        let verdict = Column {
            heading: "verdict".to_owned(),
            about: "Verdict by the interval and the equivalence margin",
            align: Align::Left,
        };
        let in_unit = |what: &str, scale: Scale, about| {
            let heading = format!("{what} {}", scale.unit());
            column(heading.trim_end().to_owned(), about)
        };
        match self.form {
            Form::Shares(beside) => vec![
                column("A %", "Overhead in run A"),
                column("B %", "Overhead in run B"),
                column(
                    "Δ points",
                    "B − A, in percentage points; the verdict is about this",
                ),
                interval,
                in_unit("Δ", beside, "Overhead in B − overhead in A"),
                verdict,
            ],
            Form::Unit(scale, _) => vec![
                in_unit("A", scale, "Arm − baseline in run A"),
                in_unit("B", scale, "Arm − baseline in run B"),
                in_unit("Δ", scale, "B − A"),
                interval,
                verdict,
            ],
        }
    }

    fn cells(self, of: &ComparedMetric, notes: &mut Notes) -> Vec<Cell> {
        let mut cells = vec![self.overhead(&of.a), self.overhead(&of.b)];
        match &of.change {
            Ok(change) => {
                let basis = basis(self.metric, of);
                cells.extend(self.change(change, &basis, notes));
                cells.push(verdict(of, basis));
            }
            Err(missing) => {
                let left = self.columns().len() - cells.len();
                cells.extend(notes.absent(left, &sentences::missing(missing)));
            }
        }
        cells
    }

    /// An arm's overhead in one of the runs.
    fn overhead(self, side: &Side) -> Cell {
        let interval = match self.form {
            Form::Shares(_) => side.relative.as_ref(),
            Form::Unit(..) => side.difference.as_ref(),
        };
        let shown = interval.and_then(|of| Some((of.estimate, self.written(of)?)));
        match shown {
            Some((estimate, shown)) => Cell {
                basis: Some(shown.range_with_unit()),
                ..Cell::figure(shown.estimate, estimate)
            },
            None => Cell::faint(NOT_AVAILABLE),
        }
    }

    fn written(self, of: &Interval) -> Option<number::Shown> {
        match self.form {
            Form::Shares(_) => number::percent(of),
            Form::Unit(scale, places) => scale.signed_to(of, places),
        }
    }

    /// The change with its interval; for shares also in the metric's unit.
    fn change(self, change: &Change, basis: &str, notes: &mut Notes) -> Vec<Cell> {
        let (interval, without) = match self.form {
            Form::Shares(_) => (change.relative.as_ref(), NO_RATIO),
            Form::Unit(..) => (Some(&change.absolute), NOT_FINITE),
        };
        let figure = |text: String, value: f64| Cell {
            basis: Some(basis.to_owned()),
            ..Cell::figure(text, value)
        };
        let shown = interval.and_then(|of| Some((of.estimate, self.written(of)?)));
        let mut cells = match shown {
            Some((estimate, shown)) => {
                let range = shown.range();
                vec![figure(shown.estimate, estimate), figure(range, estimate)]
            }
            None => notes.absent(2, without),
        };
        if let Form::Shares(beside) = self.form {
            let absolute = change.absolute.estimate;
            cells.push(Cell::figure(beside.signed_point_to(absolute, 2), absolute));
        }
        cells
    }
}

/// "–" if there is nothing to judge.
fn verdict(of: &ComparedMetric, basis: String) -> Cell {
    let without = if of.is_withheld() { "withheld" } else { "–" };
    let verdict = of.verdict.map_or(without, ChangeVerdict::as_str);
    Cell {
        text: format!("{verdict}{}", mark(of)),
        tone: tone(of.verdict),
        basis: Some(basis),
        value: None,
    }
}
