//! The kernel's side of agents: their BPF programs, and what these leave unexplained of what the
//! service pays.

use windage_analysis::{AgentUse, ArmAnalysis, BpfUse, ProbeAccount, ProgramUse};
use windage_model::{Interval, Unit};

use super::{ends, over_cycles_with_unit};
use crate::facts::{Fact, one_line};
use crate::number::{self, Scale};
use crate::rows::{Cell, Row, RowsOf, Table, column, nothing, plain};
use crate::summary::reversed;

/// How many programs are listed; the others are told together.
const LISTED: usize = 10;

/// Whether BPF programs came with an arm's agents.
pub(super) fn has_programs(of: &AgentUse) -> bool {
    of.bpf.as_ref().is_some_and(|bpf| !bpf.programs.is_empty())
}

/// Time in all of them for a request; zero where it is not known.
pub(super) fn ns_per_request(of: &AgentUse) -> f64 {
    let bpf = of.bpf.as_ref();
    let ns = bpf.and_then(|bpf| bpf.ns_per_request.as_ref());
    ns.map_or(0.0, |ns| ns.estimate)
}

/// The programs that came with an arm's agents, by what they take, and what that leaves
/// unexplained; `None` when none came.
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
                "Time in the program and for about one read of the clock; entering and leaving it \
                 is not in it",
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

/// Programs that are not listed one by one.
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

/// All programs, and below each figure its interval.
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

/// What the service pays, and which part of it the statistics see.
fn account(of: &ProbeAccount, per_item: &str) -> Vec<Fact> {
    let service = pays(&of.service_us_per_request, per_item);
    let inside = format!(
        "{} of BPF programs, which is inside it where they run in its context",
        over_cycles_with_unit(&of.bpf_us_per_request, Unit::Microseconds)
    );
    let a_run = match &of.service_ns_per_event {
        Ok(interval) => {
            let scale = Scale::fitting(Unit::Nanoseconds, [interval.estimate]);
            format!(
                "{} of the service's CPU for a run of a program",
                scale.interval(interval)
            )
        }
        Err(missing) => format!(
            "no figure ({})",
            one_line(&missing.text).trim_end_matches('.')
        ),
    };
    vec![
        Fact::new("service", service),
        Fact::new("seen", inside),
        Fact::new("not seen", not_seen(of)),
        Fact::new("a run", a_run),
    ]
}

/// "pays 13.9 µs (13.5 to 14.3) more CPU per request"
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
    format!("pays {size} {than} CPU {per_item}")
}

/// What the statistics leave unexplained. They time per run between two reads of the clock, of which
/// about one lies within: of a short program they count more than it takes, and what is left may
/// look like less than nothing.
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
            "{} beyond them{at_most}: traps, entries and exits of probes, colder caches, \
             scheduling; more than that where programs ran elsewhere",
            in_us(outside)
        );
    }
    format!(
        "nothing beyond them that could be told{at_most}: statistics count a clock read with each \
         run"
    )
}

/// "+12.3 µs (+11.0 to +13.6)"
fn in_us(interval: &Interval) -> String {
    Scale::fitting(Unit::Microseconds, [interval.estimate]).interval(interval)
}

fn statistics(of: &BpfUse, per_item: &str) -> String {
    if of.ns_per_request.is_none() {
        return "none were taken, so that what programs ran is not known".to_owned();
    }
    let apart = "taken under load in stretches of their own, so that no other figure has it; \
                 about one read of the clock is counted with each run";
    let cost = of.statistics_cost_us_per_request.as_ref();
    match cost.filter(|cost| cost.estimate.is_finite()) {
        Some(cost) => {
            let scale = Scale::fitting(Unit::Microseconds, [cost.estimate]);
            let cost = match &cost.interval {
                Some(interval) => scale.interval(interval),
                None => scale.attach(&scale.signed_point(cost.estimate)),
            };
            format!("themselves cost the service {cost} {per_item}; {apart}")
        }
        None => apart.to_owned(),
    }
}
