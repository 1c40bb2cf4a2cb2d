//! Planning figures: how many spans, events or log records fit into a time.

use windage_analysis::{Analysis, ArmAnalysis, Planning, PlanningFigures, Room};
use windage_model::Unit;

use super::{Cell, Column, Row, Table, column};
use crate::fact::{Fact, one_line};
use crate::number::{self, NOT_AVAILABLE, Scale};

/// From this count on, integers are precise enough.
const WHOLE_FROM: f64 = 100.0;

/// A table for each kind of telemetry, with a row for each arm that has planning figures.
pub(super) fn planning_tables(analysis: &Analysis) -> Vec<Table> {
    let tables = ITEMS.iter().filter_map(|items| items.table(analysis));
    let mut tables: Vec<Table> = tables.collect();
    if let Some(last) = tables.last_mut() {
        last.facts.push(Fact::new(
            "of what",
            "CPU of one core for telemetry alone; the intervals are those of the cost, inverted",
        ));
    }
    tables
}

/// A kind of telemetry.
struct Items {
    name: &'static str,
    of: fn(&Planning) -> Option<&PlanningFigures>,
}

const ITEMS: [Items; 3] = [
    Items {
        name: "spans",
        of: |planning| planning.spans.as_ref(),
    },
    Items {
        name: "events",
        of: |planning| planning.events.as_ref(),
    },
    Items {
        name: "log records",
        of: |planning| planning.records.as_ref(),
    },
];

impl Items {
    fn table<'a>(&self, analysis: &'a Analysis) -> Option<Table> {
        let planned = |arm: &'a ArmAnalysis| {
            let planning = arm.planning.as_ref()?;
            Some((arm, planning.within_s, (self.of)(planning)?))
        };
        let arms: Vec<_> = analysis.arms.iter().filter_map(planned).collect();
        let (_, within_s, _) = *arms.first()?;
        let row = |(arm, _, figures): &(&ArmAnalysis, f64, &PlanningFigures)| Row {
            arm: one_line(&arm.name),
            cells: cells(figures).into(),
        };
        Some(Table {
            title: format!("Planning with {}", self.name),
            columns: columns(within_s).into(),
            rows: arms.iter().map(row).collect(),
            separable: true,
            ..Table::default()
        })
    }
}

fn columns(within_s: f64) -> [Column; 2] {
    [
        column(
            "per second and core",
            "How many use one whole core, with the 95 % interval",
        ),
        column(
            format!("in {}", number::seconds(within_s)),
            "How many use that much CPU, with the 95 % interval",
        ),
    ]
}

fn cells(of: &PlanningFigures) -> [Cell; 2] {
    let scale = Scale::fitting(Unit::PerSecond, [least(&of.per_core_second)]);
    let per_second = |n: f64| scale.bare(n);
    let rate = room(&of.per_core_second, per_second, |text| scale.attach(text));
    [
        Cell::figure(rate, least(&of.per_core_second)),
        Cell::figure(room(&of.within, items, str::to_owned), least(&of.within)),
    ]
}

/// How many fit; if the upper end is unbounded, a lower bound.
fn least(of: &Room) -> f64 {
    of.estimate.unwrap_or(of.low)
}

/// "71.2 k/s (70.1 to 72.3)", or "at least 50.3 k/s" if unbounded.
fn room(of: &Room, write: impl Fn(f64) -> String, attach: impl Fn(&str) -> String) -> String {
    let ends = [Some(of.low), of.high, of.estimate];
    if ends.into_iter().flatten().any(|n| !n.is_finite()) {
        return NOT_AVAILABLE.to_owned();
    }
    match (of.estimate, of.high) {
        (Some(estimate), Some(high)) => {
            let estimate = attach(&write(estimate));
            format!("{estimate} ({} to {})", write(of.low), write(high))
        }
        _ => format!("at least {}", attach(&write(of.low))),
    }
}

/// A count, rounded down.
fn items(n: f64) -> String {
    if n < WHOLE_FROM {
        Scale::ONE.bare(n)
    } else {
        number::count_f64(n.floor())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unbounded_figures_show_a_lower_bound() {
        let within = |estimate, low, high| Room {
            estimate,
            low,
            high,
            confidence: 0.95,
        };
        for (of, expected) in [
            (within(Some(712.6), 701.2, Some(724.9)), "712 (701 to 724)"),
            (within(Some(4.567), 4.123, Some(5.2)), "4.57 (4.12 to 5.20)"),
            (within(Some(12_345.0), 9_876.5, None), "at least 9,876"),
            (within(None, 150.0, None), "at least 150"),
            (within(None, f64::NAN, None), "n/a"),
        ] {
            assert_eq!(room(&of, items, str::to_owned), expected);
        }
    }
}
