//! Agents in the kernel: their BPF programs, and the part of the service's cost that these do not
//! explain.

use windage_analysis::{AgentUse, ArmAnalysis, BpfUse, ProbeAccount, ProgramUse};
use windage_model::{Interval, Unit};

use super::{ends, over_cycles_with_unit};
use crate::fact::{Fact, one_line};
use crate::number::{self, Scale};
use crate::pieces::reversed;
use crate::rows::{Cell, Row, RowsOf, Table, column, nothing, plain};
use crate::sentences;

/// How many programs are listed; the others share one row.
const LISTED: usize = 10;

/// Whether BPF programs came with an arm's agents.
pub(super) fn has_programs(of: &AgentUse) -> bool {
    of.bpf.as_ref().is_some_and(|bpf| !bpf.programs.is_empty())
}

/// Time in all of them per request; zero if unknown.
pub(super) fn ns_per_request(of: &AgentUse) -> f64 {
    let bpf = of.bpf.as_ref();
    let ns = bpf.and_then(|bpf| bpf.ns_per_request.as_ref());
    ns.map_or(0.0, |ns| ns.estimate)
}

/// The programs that came with an arm's agents, by time, and the cost they do not explain; `None`
/// without programs.
pub(super) fn bpf_table(arm: &ArmAnalysis, of_arm: &AgentUse, per_item: &str) -> Option<Table> {
    let of = of_arm.bpf.as_ref().filter(|of| !of.programs.is_empty())?;
    let probes = of_arm.probes.as_ref();
    let listed = if of.programs.len() > LISTED + 1 {
        LISTED
    } else {
        of.programs.len()
    };
    let (listed, others) = of.programs.split_at(listed);
    let mut rows: Vec<Row> = listed.iter().map(program).collect();
    rows.extend((!others.is_empty()).then(|| together(others)));
    rows.extend(totals(of));
    Some(Table {
        title: format!("BPF, {}", one_line(&arm.name)),
        columns: vec![
            column(format!("runs {per_item}"), "How often a program ran"),
            column(
                "ns per run",
                "Time in the program plus about one read of the clock; without entering and \
                 leaving the program",
            ),
            column(format!("ns {per_item}"), "Runs × ns per run"),
        ],
        rows,
        facts: facts(of, probes, per_item),
        of: RowsOf::Program,
        ..Table::default()
    })
}

fn program(of: &ProgramUse) -> Row {
    let name = match one_line(&of.name) {
        name if name.is_empty() => "without a name".to_owned(),
        name => name,
    };
    let times = match of.count {
        0 | 1 => String::new(),
        count => format!(" ×{count}"),
    };
    Row {
        arm: format!("{name} ({}){times}", one_line(&of.kind)),
        cells: [of.runs_per_request, of.ns_per_run, of.ns_per_request]
            .map(figure_cell)
            .to_vec(),
    }
}

/// The row of programs that are not listed one by one.
fn together(of: &[ProgramUse]) -> Row {
    let sum = |item: fn(&ProgramUse) -> Option<f64>| of.iter().map(item).sum::<Option<f64>>();
    let (runs, ns) = (sum(|p| p.runs_per_request), sum(|p| p.ns_per_request));
    let a_run = runs
        .zip(ns)
        .filter(|(runs, _)| *runs > 0.0)
        .map(|(runs, ns)| ns / runs);
    Row {
        arm: format!("{} more", of.len()),
        cells: [runs, a_run, ns].map(figure_cell).to_vec(),
    }
}

fn figure_cell(of: Option<f64>) -> Cell {
    of.map_or_else(nothing, |figure| {
        Cell::figure(Scale::ONE.bare(figure), figure)
    })
}

/// All programs together, and a row with the intervals.
fn totals(of: &BpfUse) -> Vec<Row> {
    let figures = [&of.events_per_request, &of.ns_per_event, &of.ns_per_request];
    if figures.iter().all(|figure| figure.is_none()) {
        return Vec::new();
    }
    let mut rows = vec![Row {
        arm: "all".to_owned(),
        cells: figures
            .map(|figure| figure_cell(figure.as_ref().map(|figure| figure.estimate)))
            .to_vec(),
    }];
    let intervals = figures.map(|figure| figure.as_ref().and_then(ends));
    if intervals.iter().any(Option::is_some) {
        let cell = |ends: Option<[f64; 2]>| {
            ends.map_or_else(nothing, |[low, high]| {
                plain(format!(
                    "{} to {}",
                    Scale::ONE.bare(low),
                    Scale::ONE.bare(high)
                ))
            })
        };
        rows.push(Row {
            arm: "95 % interval".to_owned(),
            cells: intervals.map(cell).to_vec(),
        });
    }
    rows
}

fn facts(of: &BpfUse, probes: Option<&ProbeAccount>, per_item: &str) -> Vec<Fact> {
    let account = |probes| account(probes, per_item);
    let mut facts = probes.map(account).unwrap_or_default();
    facts.push(Fact::new("statistics", statistics(of, per_item)));
    let links = number::counted(of.links.into(), "link");
    let memory = number::short(Unit::Bytes, of.memory_bytes as f64);
    let held = format!("{links}, {memory} of memory for programs and maps");
    facts.push(Fact::new("in the kernel", held));
    facts
}

/// The service's extra CPU, and which part of it BPF statistics cover.
fn account(of: &ProbeAccount, per_item: &str) -> Vec<Fact> {
    let service = pays(&of.service_us_per_request, per_item);
    let inside = format!(
        "{} in BPF programs, included in that where they run in the service's context",
        over_cycles_with_unit(&of.bpf_us_per_request, Unit::Microseconds)
    );
    let a_run = match &of.service_ns_per_event {
        Ok(interval) => {
            let scale = Scale::fitting(Unit::Nanoseconds, [interval.estimate]);
            format!(
                "{} of the service's CPU per run of a program",
                scale.interval(interval)
            )
        }
        Err(missing) => format!(
            "no figure ({})",
            one_line(&sentences::missing(missing)).trim_end_matches('.')
        ),
    };
    vec![
        Fact::new("service", service),
        Fact::new("seen", inside),
        Fact::new("not seen", not_seen(of)),
        Fact::new("per run", a_run),
    ]
}

/// "uses 13.9 µs (13.5 to 14.3) more CPU per request"
fn pays(of: &Interval, per_item: &str) -> String {
    if !of.excludes_zero() {
        return format!("its CPU {per_item} changes by {}", in_us(of));
    }
    let (size, than) = if of.estimate < 0.0 {
        (reversed(of), "less")
    } else {
        (*of, "more")
    };
    let size = in_us(&size).replace('+', "");
    format!("uses {size} {than} CPU {per_item}")
}

/// What BPF statistics do not explain. They time each run between two clock reads and so include
/// about one clock read: for short programs they exceed the true time, and the remainder can be
/// negative.
fn not_seen(of: &ProbeAccount) -> String {
    let outside = &of.outside_bpf_us_per_request;
    let at_most = of.outside_bpf_at_most_us_per_request.as_ref();
    let at_most = at_most.filter(|of| of.high.is_finite()).map(|of| {
        let bound = number::short(Unit::Microseconds, of.high.max(0.0));
        format!(", at most {bound}")
    });
    let at_most = at_most.unwrap_or_default();
    if outside.low > 0.0 {
        return format!(
            "{} outside them{at_most}: traps, entry and exit of probes, colder caches, scheduling; \
             more if programs ran elsewhere",
            in_us(outside)
        );
    }
    format!("nothing measurable outside them{at_most}: statistics include a clock read per run")
}

/// "+12.3 µs (+11.0 to +13.6)"
fn in_us(interval: &Interval) -> String {
    Scale::fitting(Unit::Microseconds, [interval.estimate]).interval(interval)
}

fn statistics(of: &BpfUse, per_item: &str) -> String {
    if of.ns_per_request.is_none() {
        return "none were collected, so what programs ran is unknown".to_owned();
    }
    let apart = "collected under load in separate stretches, so no other figure includes it; each \
                 run includes about one read of the clock";
    let cost = of.statistics_cost_us_per_request.as_ref();
    match cost.filter(|cost| cost.estimate.is_finite()) {
        Some(cost) => {
            let scale = Scale::fitting(Unit::Microseconds, [cost.estimate]);
            let cost = match &cost.interval {
                Some(interval) => scale.interval(interval),
                None => scale.attach(&scale.signed_point(cost.estimate)),
            };
            format!("cost the service {cost} {per_item} themselves; {apart}")
        }
        None => apart.to_owned(),
    }
}
