//! Delivered telemetry under each load of a run, by rate.

use windage_analysis::{Analysis, FidelityPoint};
use windage_model::{ArmId, Unit};

use super::stages::arm_name;
use super::{Cell, Row, Table, Tone, column, nothing, plain};
use crate::fact::one_line;
use crate::number::{self, Scale};

/// A row for each arm and load, by rate; `None` for a run with a single load or without
/// expectations.
pub(crate) fn by_rate_table(analysis: &Analysis) -> Option<Table> {
    let points = &analysis.fidelity_curve;
    if points.is_empty() {
        return None;
    }
    let rates = points
        .iter()
        .flat_map(|of| [of.rate_per_s, of.achieved_per_s]);
    let scale = Scale::fitting(Unit::PerSecond, rates.flatten());
    let of_arm = |arm: &ArmId| {
        let own = points.iter().filter(|of| of.arm == *arm);
        own.map(|of| row(analysis, of, scale)).collect::<Vec<_>>()
    };
    Some(Table {
        title: "Delivered by rate".to_owned(),
        columns: vec![
            column(
                "rate",
                "Intended starts per second; for a closed loop, its name",
            ),
            column("achieved", "Requests that were completed"),
            column(
                "delivered",
                "Telemetry that arrived, from launch to the end of the last flush",
            ),
            column("lost", "1 − delivered / expected, with its 95 % interval"),
        ],
        rows: arms(analysis).iter().flat_map(|arm| of_arm(arm)).collect(),
        ..Table::default()
    })
}

/// The arms that have points, in the order of the plan.
pub(crate) fn arms(analysis: &Analysis) -> Vec<&ArmId> {
    let has_points = |id: &&ArmId| analysis.fidelity_curve.iter().any(|of| of.arm == **id);
    let ids = analysis.arms.iter().map(|arm| &arm.id);
    ids.filter(has_points).collect()
}

fn row(analysis: &Analysis, of: &FidelityPoint, scale: Scale) -> Row {
    let rate = match of.rate_per_s {
        Some(rate) => scale.with_unit(rate),
        None => one_line(&of.regime),
    };
    let achieved = of
        .achieved_per_s
        .map_or_else(nothing, |rate| Cell::figure(scale.with_unit(rate), rate));
    let (delivered, expected) = (number::count(of.delivered), number::count_f64(of.expected));
    Row {
        arm: arm_name(analysis, &of.arm),
        cells: vec![
            Cell {
                basis: Some(format!("load {}", one_line(&of.regime))),
                value: of.rate_per_s,
                ..plain(rate)
            },
            achieved,
            Cell {
                basis: Some(format!("{expected} expected")),
                ..Cell::figure(delivered, of.delivered as f64)
            },
            lost(of),
        ],
    }
}

fn lost(of: &FidelityPoint) -> Cell {
    let Some(share) = &of.lost_share else {
        return nothing();
    };
    let Some(percent) = number::percent_unsigned(share) else {
        return plain(number::NOT_AVAILABLE);
    };
    Cell {
        tone: if share.low > 0.0 {
            Tone::Alarm
        } else {
            Tone::Plain
        },
        ..Cell::figure(percent.to_string(), share.estimate)
    }
}
