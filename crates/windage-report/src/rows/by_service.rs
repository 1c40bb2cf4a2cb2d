//! CPU per request by service: a column for each.

use windage_analysis::{Analysis, ArmAnalysis};

use super::compact::{Shown, compact_cells};
use super::{Notes, Row, Table, column, cpu_metric};
use crate::fact::{Fact, one_line};

const UNADJUSTED: &str = "95 %, not adjusted for the number of services; no verdicts";

/// `None` where arms don't have several services.
pub(super) fn by_service_table(analysis: &Analysis) -> Option<Table> {
    let mut with_services = analysis.arms.iter().filter(|arm| !arm.services.is_empty());
    let services = &with_services.next()?.services;
    let metric = cpu_metric(analysis);
    let mut notes = Notes::default();
    let arms = analysis.arms.iter();
    let mut rows: Vec<Row> = arms
        .map(|arm| Row {
            arm: one_line(&arm.name),
            cells: Vec::new(),
        })
        .collect();
    for service in services {
        let of_arm = |arm: &ArmAnalysis| {
            let mut services = arm.services.iter();
            services.position(|of| of.service == service.service)
        };
        let result = |arm| (arm, of_arm(arm).map(|at| &arm.services[at].cpu));
        let results: Vec<_> = analysis.arms.iter().map(result).collect();
        let cells = compact_cells(analysis, (metric, Shown::Absolute), &results, &mut notes);
        for (row, cell) in rows.iter_mut().zip(cells) {
            row.cells.push(cell);
        }
    }
    let heading = |name: &str| {
        column(
            one_line(name),
            "What the arm's CPU spends in this service; the services of an arm add up to it",
        )
    };
    Some(Table {
        title: "CPU by service".to_owned(),
        columns: services.iter().map(|of| heading(&of.service)).collect(),
        rows,
        notes: notes.0,
        facts: vec![Fact::new("intervals", UNADJUSTED)],
        separable: true,
        ..Table::default()
    })
}
