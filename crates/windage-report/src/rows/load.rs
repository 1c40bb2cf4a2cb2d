//! Tables about the load: one of problems, one of the slowest exchanges.

use windage_analysis::{Analysis, ArmLoad, Coincidence, SlowExchange};
use windage_model::{Exchanges, RATE_SHARE};

use super::aspect::{Aspect, aspects_table, counted, nothing, share};
use super::{Align, Cell, Column, Row, Table, Tone, column, lasting, plain, time};
use crate::fact::one_line;
use crate::number;

/// Shares of starts that waited are shown above this.
const WAITED_SHARE: f64 = 0.01;
/// Every wake-up waits some microseconds for its core, so shorter waits are not shown.
const WORTH_A_WORD_NS: u64 = 1_000_000;

const ASPECTS: &[Aspect<ArmLoad>] = &[
    Aspect {
        heading: "achieved",
        about: "Share of intended starts that completed",
        cell: achieved,
        is_worth_showing: is_rate_missed,
    },
    Aspect {
        heading: "no answer",
        about: "Share of sent requests that failed without a whole answer",
        cell: |load| {
            counted(
                load.exchanges.errors.total(),
                load.exchanges.sent,
                errors(load),
            )
        },
        is_worth_showing: |load| load.exchanges.errors.total() > 0,
    },
    Aspect {
        heading: "4xx, 5xx",
        about: "Share of answers with a status of 400 or above",
        cell: |load| {
            let [.., client, server] = load.exchanges.status.0;
            let basis = Some(format!("4xx {client}, 5xx {server}"));
            counted(
                load.exchanges.status.errors(),
                load.exchanges.completed,
                basis,
            )
        },
        is_worth_showing: |load| load.exchanges.status.errors() > 0,
    },
    Aspect {
        heading: "dropped",
        about: "Share of intended starts that were never sent",
        cell: |load| counted(load.exchanges.dropped, load.exchanges.intended, None),
        is_worth_showing: |load| load.exchanges.dropped > 0,
    },
    Aspect {
        heading: "waited",
        about: "Share of intended starts that found no free connection; the wait counts as \
                response time",
        cell: |load| Cell {
            tone: Tone::Plain,
            ..counted(load.exchanges.waited, load.exchanges.intended, None)
        },
        is_worth_showing: |load| {
            share(load.exchanges.waited, load.exchanges.intended) > WAITED_SHARE
        },
    },
];

/// Problems with the load; `None` without any.
pub(super) fn load_table(analysis: &Analysis) -> Option<Table> {
    aspects_table(analysis, "Load", ASPECTS, |arm| arm.load.as_ref())
}

fn is_rate_missed(load: &ArmLoad) -> bool {
    let Exchanges {
        intended,
        completed,
        ..
    } = load.exchanges;
    load.intended_per_s.is_some() && share(completed, intended) < RATE_SHARE
}

fn achieved(load: &ArmLoad) -> Cell {
    let rates = [
        ("completed", load.achieved_per_s),
        ("sent", load.offered_per_s),
        ("intended", load.intended_per_s),
    ];
    let basis: Vec<String> = rates
        .into_iter()
        .filter_map(|(what, rate)| Some(format!("{what} {}/s", number::plain(rate?))))
        .collect();
    let share = share(load.exchanges.completed, load.exchanges.intended);
    Cell {
        tone: if is_rate_missed(load) {
            Tone::Alarm
        } else {
            Tone::Plain
        },
        basis: Some(basis.join(", ")),
        ..Cell::figure(number::percent_short(share), share)
    }
}

fn errors(load: &ArmLoad) -> Option<String> {
    let errors = &load.exchanges.errors;
    Some(format!(
        "connect {}, timeout {}, closed {}, protocol {}",
        errors.connect, errors.timeout, errors.closed, errors.protocol
    ))
}

/// The slowest exchanges of the run, and what happened at the same time; `None` if none are known.
pub(super) fn outliers_table(analysis: &Analysis) -> Option<Table> {
    let rows: Vec<Row> = analysis
        .outliers
        .iter()
        .map(|slow| outlier_row(slow, analysis))
        .collect();
    (!rows.is_empty()).then(|| Table {
        title: "Slowest exchanges".to_owned(),
        columns: vec![
            column("at", "Intended start, since the run began"),
            column("response time", "From the intended start"),
            column(
                "before sending",
                "Part of the response time before the request was sent",
            ),
            Column {
                align: Align::Left,
                ..column(
                    "coincided with",
                    "What happened to the generator and the machine in the same window",
                )
            },
        ],
        rows,
        detail: true,
        ..Table::default()
    })
}

fn outlier_row(slow: &SlowExchange, analysis: &Analysis) -> Row {
    let arm = analysis.arms.get(slow.place.arm.get());
    let at_s = slow.at.intended_ns as f64 / 1e9;
    Row {
        arm: arm.map_or_else(String::new, |arm| one_line(&arm.name)),
        cells: vec![
            Cell::figure(format!("{at_s:.3} s"), at_s),
            lasting(slow.at.response_time_ns()),
            lasting(slow.at.waited_ns()),
            coincided(&slow.coincided),
        ],
    }
}

/// A generator stall at that moment first, then events of the whole window.
fn coincided(with: &Coincidence) -> Cell {
    let stall = with
        .stall_ns
        .map(|ns| format!("the generator stalled for {}", time(ns)));
    let steal = (with.steal_ns > 0).then(|| format!("steal, {}", time(with.steal_ns)));
    let waited = with
        .generator_run_queue_ns
        .filter(|ns| *ns >= WORTH_A_WORD_NS);
    let waited = waited.map(|ns| format!("the generator waited {} for a core", time(ns)));
    let preempted = with.generator_preemptions.filter(|count| *count > 0);
    let preempted = preempted.map(|count| format!("its core was taken {count} times"));
    let found: Vec<String> = [stall, steal, waited, preempted]
        .into_iter()
        .flatten()
        .collect();
    if found.is_empty() {
        return nothing();
    }
    plain(found.join("; "))
}
