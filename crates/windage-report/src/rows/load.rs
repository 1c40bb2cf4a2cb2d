//! The tables about the load itself: one where something went wrong, one of the slowest exchanges.

use windage_analysis::{Analysis, ArmLoad, Coincidence, SlowExchange};
use windage_model::Exchanges;

use super::aspect::{Aspect, aspects_table, counted, nothing, share};
use super::{Align, Cell, Column, Row, Table, Tone, column, lasting, plain, time};
use crate::facts::one_line;
use crate::number;

/// Shares of starts that waited are worth a word beyond this.
const WAITED_SHARE: f64 = 0.01;
/// Every wake-up waits for its core for some microseconds.
const WORTH_A_WORD_NS: u64 = 1_000_000;
/// A rate that is met to this share is met.
const RATE_SHARE: f64 = 0.98;

const ASPECTS: &[Aspect<ArmLoad>] = &[
    Aspect {
        heading: "achieved",
        about: "Requests completed, of the starts intended",
        cell: achieved,
        is_worth_showing: is_rate_missed,
    },
    Aspect {
        heading: "no answer",
        about: "Requests that failed without a whole answer, of those sent",
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
        about: "Answers with a status of 400 and above, of all answers",
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
        about: "Starts that never went out, of those intended",
        cell: |load| counted(load.exchanges.dropped, load.exchanges.intended, None),
        is_worth_showing: |load| load.exchanges.dropped > 0,
    },
    Aspect {
        heading: "waited",
        about: "Starts that found no connection free, of those intended; the wait counts as response time",
        cell: |load| Cell {
            tone: Tone::Plain,
            ..counted(load.exchanges.waited, load.exchanges.intended, None)
        },
        is_worth_showing: |load| {
            share(load.exchanges.waited, load.exchanges.intended) > WAITED_SHARE
        },
    },
];

/// What went wrong with the load; `None` where nothing did.
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

/// The slowest exchanges of the run and what coincided; `None` where none are known.
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
            column("before sending", "Of that, until it was sent"),
            Column {
                align: Align::Left,
                ..column(
                    "coincided with",
                    "What happened to the generator and to the machine in the same window",
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

/// Lateness of the generator at that very moment first, then what the whole window had.
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
