//! A ladder of agents: what each rung uses itself, and the difference to the rung below.

use windage_analysis::{Analysis, ArmAnalysis, Stages};
use windage_model::{ArmId, Unit};

use super::in_unit;
use crate::fact::{Fact, one_line};
use crate::number::Scale;
use crate::rows::stages::arm_name;
use crate::rows::{Cell, Row, Table, column, nothing};

/// One table per chain of arms with agents.
pub(super) fn rung_tables(analysis: &Analysis) -> Vec<Table> {
    let chains = analysis.stages.iter();
    chains.filter_map(|of| rung_table(analysis, of)).collect()
}

/// What a rung's agents use, one figure of each kind; zero for a rung without agents.
#[derive(Clone, Copy)]
struct Use([Option<f64>; 3]);

impl Use {
    fn of(arm: &ArmAnalysis) -> Use {
        let Some(of) = &arm.agent else {
            return Use([Some(0.0); 3]);
        };
        let up = of.up.as_ref();
        Use([
            up.and_then(|up| Some(up.cpu_cores.as_ref()?.estimate)),
            up.and_then(|up| Some(up.rss_steady_bytes.as_ref()?.estimate)),
            up.and_then(|up| Some(up.rss_peak_bytes?.median)),
        ])
    }
}

fn rung_table(analysis: &Analysis, of: &Stages) -> Option<Table> {
    let arm = |id: &ArmId| analysis.arms.iter().find(|arm| arm.id == *id);
    let has_agents = |id: &ArmId| arm(id).is_some_and(|arm| arm.agent.is_some());
    of.stages.iter().find(|stage| has_agents(&stage.arm))?;
    let of_arm = |id: &ArmId| arm(id).map(Use::of);
    let ids = std::iter::once(&of.from).chain(of.stages.iter().map(|stage| &stage.arm));
    let uses = ids.filter_map(of_arm);
    let mut highest = [0.0_f64; 3];
    for Use(figures) in uses {
        for (highest, figure) in highest.iter_mut().zip(figures) {
            *highest = highest.max(figure.unwrap_or(0.0));
        }
    }
    let [cores, steady, peak] = highest;
    let bytes = Scale::fitting(Unit::Bytes, [steady, peak]);
    let scales = [Scale::fitting(Unit::Cores, [cores]), bytes, bytes];
    let rows = of.stages.iter().map(|stage| {
        let (own, below) = (of_arm(&stage.arm), of_arm(&stage.adds_to));
        Row {
            arm: format!("+ {}", arm_name(analysis, &stage.arm)),
            cells: cells(own, below, scales),
        }
    });
    let from = arm(&of.from).map_or_else(|| of.from.as_str().to_owned(), |arm| one_line(&arm.name));
    Some(Table {
        title: "Rungs: agents' own use".to_owned(),
        columns: vec![
            column(
                in_unit("CPU", scales[0]),
                "Of the agents in the arm's own windows; in parentheses the difference to the rung \
                 below",
            ),
            column(
                in_unit("RSS", bytes),
                "Resident memory just before detaching",
            ),
            column(
                in_unit("peak", bytes),
                "The highest resident memory: the median of attachments",
            ),
        ],
        rows: rows.collect(),
        facts: vec![
            Fact::new(
                "in parentheses",
                format!("the difference to the rung below, from {from} up"),
            ),
            Fact::new(
                "intervals",
                "none for these differences: each rung was attached separately; the table of \
                 attached agents has the interval of each rung",
            ),
        ],
        separable: true,
        ..Table::default()
    })
}

fn cells(own: Option<Use>, below: Option<Use>, scales: [Scale; 3]) -> Vec<Cell> {
    let (Some(Use(own)), Some(Use(below))) = (own, below) else {
        return vec![nothing(); scales.len()];
    };
    let figures = own.into_iter().zip(below).zip(scales);
    let cell = |((own, below), scale): ((Option<f64>, Option<f64>), Scale)| match (own, below) {
        (Some(own), Some(below)) => {
            let difference = scale.signed_point(own - below);
            Cell::figure(format!("{} ({difference})", scale.bare(own)), own)
        }
        (Some(own), None) => Cell::figure(scale.bare(own), own),
        (None, _) => nothing(),
    };
    figures.map(cell).collect()
}
