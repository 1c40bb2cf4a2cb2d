//! Tables that have only the columns worth showing for any arm.

use windage_analysis::{Analysis, ArmAnalysis};

use super::{Cell, Row, Table, Tone, column};
use crate::fact::one_line;
use crate::number;

/// One column: an arm's cell, and whether that is worth showing.
pub(super) struct Aspect<T: 'static> {
    pub(super) heading: &'static str,
    pub(super) about: &'static str,
    pub(super) cell: fn(&T) -> Cell,
    pub(super) is_worth_showing: fn(&T) -> bool,
}

/// The columns worth showing for any arm; `None` without any.
pub(super) fn aspects_table<T>(
    analysis: &Analysis,
    title: &str,
    aspects: &[Aspect<T>],
    of: fn(&ArmAnalysis) -> Option<&T>,
) -> Option<Table> {
    let all = || analysis.arms.iter().filter_map(of);
    let shown: Vec<&Aspect<T>> = aspects
        .iter()
        .filter(|aspect| all().any(aspect.is_worth_showing))
        .collect();
    if shown.is_empty() {
        return None;
    }
    let rows = analysis.arms.iter().map(|arm| Row {
        arm: one_line(&arm.name),
        cells: shown
            .iter()
            .map(|aspect| of(arm).map_or_else(nothing, aspect.cell))
            .collect(),
    });
    Some(Table {
        title: title.to_owned(),
        columns: shown
            .iter()
            .map(|aspect| column(aspect.heading, aspect.about))
            .collect(),
        rows: rows.collect(),
        separable: true,
        ..Table::default()
    })
}

/// A share of requests; the tooltip has the count and its kinds.
pub(super) fn counted(count: u64, of: u64, kinds: Option<String>) -> Cell {
    if count == 0 {
        return Cell::figure("0", 0.0);
    }
    let counts = format!("{} of {}", number::count(count), number::count(of));
    let share = share(count, of);
    Cell {
        tone: Tone::Alarm,
        basis: Some(kinds.map_or(counts.clone(), |kinds| format!("{counts}: {kinds}"))),
        ..Cell::figure(number::percent_short(share), share)
    }
}

/// A cell without a value.
pub(crate) fn nothing() -> Cell {
    Cell::faint("–")
}

pub(super) fn share(part: u64, whole: u64) -> f64 {
    part as f64 / whole.max(1) as f64
}
