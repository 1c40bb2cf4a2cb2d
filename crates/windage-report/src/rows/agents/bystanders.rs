//! What agents cost a service that they do not watch.

use windage_analysis::{Analysis, ArmAnalysis, Bystander, MetricAnalysis};
use windage_model::Verdict;

use crate::fact::{Fact, one_line};
use crate::number::{self, NOT_AVAILABLE, Scale};
use crate::rows::stages::arm_name;
use crate::rows::{Align, Cell, Column, Notes, Row, Table, Tone, column, plain};
use crate::sentences;

/// Bystanders compared with themselves without agents, and with the watched service; `None` without
/// bystanders.
pub(super) fn bystander_table(analysis: &Analysis) -> Option<Table> {
    let arms = analysis.arms.iter();
    let bystanders: Vec<(&ArmAnalysis, &Bystander)> = arms
        .filter_map(|arm| Some((arm, arm.bystander.as_ref()?)))
        .collect();
    if bystanders.is_empty() {
        return None;
    }
    let mut notes = Notes::default();
    let row = |(arm, of): &(&ArmAnalysis, &Bystander)| Row {
        arm: one_line(&arm.name),
        cells: vec![
            against(&of.against_control, &mut notes),
            verdict(&of.against_control),
            against(&of.against_watched, &mut notes),
        ],
    };
    let rows = bystanders.iter().map(row).collect();
    let facts = bystanders
        .iter()
        .map(|(arm, of)| description(analysis, arm, of));
    Some(Table {
        title: "Bystanders".to_owned(),
        columns: vec![
            column(
                "CPU, attached − detached",
                "What agents cost a service that they do not watch: CPU with the agents attached \
                 compared with the same processes without",
            ),
            Column {
                align: Align::Left,
                ..column(
                    "verdict",
                    "Verdict by the interval and the equivalence margin",
                )
            },
            column(
                "unwatched − watched",
                "CPU compared with that of the service that the agents watch",
            ),
        ],
        rows,
        notes: notes.0,
        facts: facts.collect(),
        separable: true,
        ..Table::default()
    })
}

fn description(analysis: &Analysis, arm: &ArmAnalysis, of: &Bystander) -> Fact {
    let text = format!(
        "{} uses the processes of {}, under load while the agents of {} are attached to others",
        one_line(&arm.name),
        arm_name(analysis, &of.control),
        arm_name(analysis, &of.bystander_of),
    );
    Fact::new("unwatched", text)
}

/// "+0.3 % (−0.4 to +1.1)", in µs if there is no ratio.
fn against(of: &MetricAnalysis, notes: &mut Notes) -> Cell {
    let difference = match &of.difference {
        Ok(difference) => difference,
        Err(missing) => return notes.absent(1, &sentences::missing(missing)).remove(0),
    };
    let us = Scale::fitting(
        windage_model::Unit::Microseconds,
        [difference.absolute.estimate],
    );
    let absolute = us.interval(&difference.absolute);
    let relative = difference.relative.as_ref().and_then(number::percent);
    match relative {
        Some(percent) => Cell {
            basis: Some(absolute),
            value: difference.relative.as_ref().map(|of| of.estimate),
            ..plain(percent.to_string())
        },
        None => plain(absolute),
    }
}

fn verdict(of: &MetricAnalysis) -> Cell {
    Cell {
        tone: of.verdict.map_or(Tone::Faint, Tone::Judged),
        ..plain(of.verdict.map_or(NOT_AVAILABLE, Verdict::as_str))
    }
}
