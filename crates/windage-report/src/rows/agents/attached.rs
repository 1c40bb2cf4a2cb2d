//! What agents use while attached, and for attaching and detaching.

use windage_analysis::{AgentUse, Analysis, ArmAnalysis, AttachUse, OverCycles, Range, UpUse};
use windage_model::Unit;

use super::{in_unit, over_cycles_cell, range_cell, with_agents};
use crate::fact::{Fact, one_line};
use crate::number::{self, Scale};
use crate::rows::{Cell, Row, Table, Tone, column, divided_by};

/// How many of an arm's failures, or of the things left behind, are listed; the rest are counted.
const TOLD: usize = 2;

/// CPU and memory of attached agents; `None` without agents.
pub(super) fn attached_table(analysis: &Analysis) -> Option<Table> {
    let all: Vec<_> = with_agents(analysis).collect();
    if all.is_empty() {
        return None;
    }
    let ups = || all.iter().filter_map(|(_, of)| of.up.as_ref());
    let figures = |item: fn(&UpUse) -> Option<&OverCycles>| {
        let estimates = ups().filter_map(|up| Some(item(up)?.estimate));
        estimates.collect::<Vec<_>>()
    };
    let cores = Scale::fitting(Unit::Cores, figures(|up| up.cpu_cores.as_ref()));
    let a_request = figures(|up| up.cpu_us_per_request.as_ref());
    let a_request = Scale::fitting(Unit::Microseconds, a_request);
    let bytes = ups().filter_map(|up| Some(up.rss_peak_bytes?.max));
    let bytes = Scale::fitting(Unit::Bytes, bytes);
    let row = |(arm, of): &(&ArmAnalysis, &AgentUse)| {
        let up = of.up.as_ref();
        let attaching = of.attach.and_then(|attach| attach.rss_peak_bytes);
        Row {
            arm: one_line(&arm.name),
            cells: vec![
                over_cycles_cell(up.and_then(|up| up.cpu_cores.as_ref()), cores),
                over_cycles_cell(up.and_then(|up| up.cpu_us_per_request.as_ref()), a_request),
                over_cycles_cell(up.and_then(|up| up.rss_steady_bytes.as_ref()), bytes),
                range_cell(up.and_then(|up| up.rss_peak_bytes.as_ref()), bytes),
                range_cell(attaching.as_ref(), bytes),
            ],
        }
    };
    let columns = vec![
        column(
            in_unit("CPU", cores),
            "In the arm's own windows, under its load; with the 95 % interval",
        ),
        column(
            format!("{} {}", a_request.unit(), divided_by(analysis)),
            "While attached, without attaching, detaching and bystanders' windows, per request of \
             the arm",
        ),
        column(
            in_unit("RSS", bytes),
            "Resident memory just before detaching",
        ),
        column(
            in_unit("peak", bytes),
            "The highest resident memory from start to end: the median of attachments, and the \
             highest of all",
        ),
        column(
            "until ready",
            "Highest resident memory until the agents were ready",
        ),
    ];
    Some(Table {
        title: "Agents, attached".to_owned(),
        columns,
        rows: all.iter().map(row).collect(),
        facts: together(analysis),
        separable: true,
        ..Table::default()
    })
}

/// An arm's figures are of all its agents together.
fn together(analysis: &Analysis) -> Vec<Fact> {
    let several = with_agents(analysis).filter(|(_, of)| of.names.len() > 1);
    let said = several.map(|(arm, of)| {
        let names: Vec<String> = of.names.iter().map(|name| one_line(name)).collect();
        let (arm, names) = (one_line(&arm.name), names.join(", "));
        Fact::new("together", format!("{arm}: {names}"))
    });
    said.collect()
}

/// The time and CPU of attaching and detaching, and how often it was done; `None` without agents.
pub(super) fn attaching_table(analysis: &Analysis) -> Option<Table> {
    let all: Vec<_> = with_agents(analysis).collect();
    if all.is_empty() {
        return None;
    }
    let highest = |item: fn(&AgentUse) -> Option<Range>| {
        let highest = all.iter().filter_map(|(_, of)| Some(item(of)?.max));
        highest.collect::<Vec<_>>()
    };
    let time = Scale::fitting(Unit::Seconds, highest(|of| Some(of.attach?.time_s)));
    let cpu = Scale::fitting(Unit::Seconds, highest(|of| of.attach?.cpu_s));
    let detach = Scale::fitting(Unit::Seconds, highest(|of| of.detach_time_s));
    let detach_cpu = Scale::fitting(Unit::Seconds, highest(|of| of.detach_cpu_s));
    let rows = all.iter().map(|(arm, of)| {
        let attach: Option<&AttachUse> = of.attach.as_ref();
        Row {
            arm: one_line(&arm.name),
            cells: vec![
                times(of),
                range_cell(attach.map(|attach| &attach.time_s), time),
                range_cell(attach.and_then(|attach| attach.cpu_s.as_ref()), cpu),
                range_cell(of.detach_time_s.as_ref(), detach),
                range_cell(of.detach_cpu_s.as_ref(), detach_cpu),
            ],
        }
    });
    Some(Table {
        title: "Attaching agents".to_owned(),
        columns: vec![
            column("times", "How often they were attached"),
            column(
                in_unit("ready after", time),
                "From their start: the median of attachments, and the longest",
            ),
            column(in_unit("CPU", cpu), "Of the agents, until they were ready"),
            column(
                in_unit("detached after", detach),
                "From the request to end until the processes and their BPF programs were detached",
            ),
            column(
                in_unit("CPU until detached", detach_cpu),
                "Of the agents, in that time",
            ),
        ],
        rows: rows.collect(),
        facts: mishaps(analysis),
        separable: true,
        ..Table::default()
    })
}

fn times(of: &AgentUse) -> Cell {
    let all = of.cycles.len();
    match of.failed().count() {
        0 => Cell::figure(all.to_string(), all as f64),
        failed => Cell {
            tone: Tone::Alarm,
            ..Cell::figure(format!("{all}, {failed} failed"), all as f64)
        },
    }
}

/// How agents failed, and what they left in the kernel.
fn mishaps(analysis: &Analysis) -> Vec<Fact> {
    let told = |label: &'static str, of_arm: fn(&AgentUse) -> Vec<String>| {
        let of_arms = with_agents(analysis).map(move |(arm, of)| (arm, of_arm(of)));
        let told = of_arms.filter(|(_, all)| !all.is_empty());
        told.map(move |(arm, all)| {
            let text = format!("{}: {}", one_line(&arm.name), first_few(&all));
            Fact::new(label, text)
        })
    };
    told("failed", failures)
        .chain(told("left behind", left_behind))
        .collect()
}

fn failures(of: &AgentUse) -> Vec<String> {
    let said = of.failed().filter_map(|cycle| {
        let text = one_line(cycle.failed.as_ref()?);
        let (text, launch) = (text.trim_end_matches('.'), cycle.launch + 1);
        Some(format!(
            "in launch {launch}, block {}: {text}",
            cycle.block + 1
        ))
    });
    said.collect()
}

fn left_behind(of: &AgentUse) -> Vec<String> {
    let all = of.cycles.iter().flat_map(|cycle| &cycle.left_behind);
    all.map(|left| one_line(left)).collect()
}

fn first_few(all: &[String]) -> String {
    let mut text = all
        .iter()
        .take(TOLD)
        .cloned()
        .collect::<Vec<_>>()
        .join("; ");
    if let Some(more) = all.len().checked_sub(TOLD).filter(|more| *more > 0) {
        text.push_str(&format!("; {} more", number::count(more as u64)));
    }
    text
}
