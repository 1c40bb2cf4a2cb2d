//! The tables about how telemetry came: two where something was amiss, and details.

use windage_analysis::{Analysis, ArmAnalysis, DeliveredSource, ExportDelay, Fidelity};
use windage_model::{Interval, Unit};

use super::aspect::{Aspect, aspects_table, counted, nothing};
use super::{Cell, Row, Table, Tone, column, lasting};
use crate::facts::one_line;
use crate::number;

/// Services and scopes shown of an arm; `analysis.json` has more.
const SOURCES: usize = 5;

const REQUESTS: &[Aspect<Fidelity>] = &[
    Aspect {
        heading: "refused",
        about: "Export requests that the backend refused, as it was told to, of all",
        cell: |fidelity| {
            let counts = &fidelity.counts;
            let spans = format!("{} spans in them", number::count(counts.refused_spans));
            counted(counts.refused, counts.export_requests, Some(spans))
        },
        is_worth_showing: |fidelity| fidelity.counts.refused > 0,
    },
    Aspect {
        heading: "not taken",
        about: "Export requests that the sink could not take or read, of all",
        cell: |fidelity| {
            let (rejected, malformed) = (fidelity.counts.rejected, fidelity.counts.malformed);
            let kinds = format!("{rejected} not taken, {malformed} not readable");
            let requests = rejected.saturating_add(malformed);
            counted(requests, fidelity.counts.export_requests, Some(kinds))
        },
        is_worth_showing: |fidelity| fidelity.counts.rejected > 0 || fidelity.counts.malformed > 0,
    },
    Aspect {
        heading: "sent again",
        about: "Export requests that came again after they had no success, of all",
        cell: |fidelity| {
            let counts = &fidelity.counts;
            let spans = number::count(counts.repeated_spans);
            let kinds = format!("{spans} spans in them were counted already, and once only");
            Cell {
                tone: Tone::Plain,
                ..counted(counts.retried_requests, counts.export_requests, Some(kinds))
            }
        },
        is_worth_showing: |fidelity| fidelity.counts.retried_requests > 0,
    },
    Aspect {
        heading: "twice",
        about: "Spans that came more than once, of those in a sample of traces",
        cell: |fidelity| {
            fidelity.traces.as_ref().map_or_else(nothing, |traces| {
                counted(traces.duplicates, traces.spans, None)
            })
        },
        is_worth_showing: |fidelity| {
            let traces = fidelity.traces.as_ref();
            traces.is_some_and(|traces| traces.duplicates > 0)
        },
    },
];

const ARRIVAL: &[Aspect<Fidelity>] = &[
    Aspect {
        heading: "whole traces",
        about: "Traces with a root and every parent that a span names, of those in a sample",
        cell: whole_traces,
        is_worth_showing: |fidelity| complete(fidelity).is_some_and(|share| share.estimate < 1.0),
    },
    Aspect {
        heading: "half after",
        about: "From the end of a span to its arrival, the median",
        cell: |fidelity| delay(fidelity, |delay| delay.p50_ns),
        is_worth_showing: Fidelity::is_backend_ill,
    },
    Aspect {
        heading: "99 % after",
        about: "From the end of a span to its arrival, the 99th percentile",
        cell: |fidelity| delay(fidelity, |delay| delay.p99_ns),
        is_worth_showing: Fidelity::is_backend_ill,
    },
];

/// What was amiss with export requests, and with what came of them; none where nothing was.
pub(super) fn export_tables(analysis: &Analysis) -> Vec<Table> {
    [("Export", REQUESTS), ("Arrival", ARRIVAL)]
        .into_iter()
        .filter_map(|(title, aspects)| {
            aspects_table(analysis, title, aspects, |arm| arm.fidelity.as_ref())
        })
        .collect()
}

fn complete(fidelity: &Fidelity) -> Option<&Interval> {
    fidelity.traces.as_ref()?.complete.as_ref()
}

fn whole_traces(fidelity: &Fidelity) -> Cell {
    let (Some(traces), Some(share)) = (&fidelity.traces, complete(fidelity)) else {
        return nothing();
    };
    let ends = [share.low, share.high].map(number::percent_short);
    Cell {
        tone: if share.estimate < 1.0 {
            Tone::Alarm
        } else {
            Tone::Plain
        },
        basis: Some(format!(
            "{} traces looked at, one in {}; {} to {}",
            number::count(traces.sampled),
            number::count(traces.one_in),
            ends[0],
            ends[1],
        )),
        ..Cell::figure(number::percent_short(share.estimate), share.estimate)
    }
}

fn delay(fidelity: &Fidelity, of: fn(&ExportDelay) -> u64) -> Cell {
    fidelity.export_delay.map_or_else(nothing, |delay| Cell {
        basis: Some(format!("{} spans", number::count(delay.spans))),
        ..lasting(of(&delay))
    })
}

/// Further detail: when and how it came, by which protocol, from where.
pub(super) fn export_details(analysis: &Analysis) -> Vec<Table> {
    [arrival(analysis), protocols(analysis), sources(analysis)]
        .into_iter()
        .flatten()
        .collect()
}

fn arrival(analysis: &Analysis) -> Option<Table> {
    let columns = &[
        ("requests", "Export requests"),
        (
            "50 % after",
            "From the end of a span to its arrival, the median",
        ),
        ("90 % after", "The same, 90th percentile"),
        ("99 % after", "The same, 99th percentile"),
        (
            "longest",
            "The longest time from the end of a span to its arrival",
        ),
        (
            "whole traces",
            "Traces with a root and every parent that a span names, of those in a sample",
        ),
        (
            "in windows",
            "What ended in measured windows and arrived, and its share of the expected",
        ),
    ];
    let is_known = |fidelity: &Fidelity| {
        let (delay, traces) = (&fidelity.export_delay, &fidelity.traces);
        delay.is_some() || traces.is_some() || fidelity.in_windows.is_some()
    };
    let known = arms(analysis).filter(|(_, fidelity)| is_known(fidelity));
    let rows = known.map(|(arm, fidelity)| Row {
        arm: one_line(&arm.name),
        cells: vec![
            many(fidelity.counts.export_requests),
            delay(fidelity, |delay| delay.p50_ns),
            delay(fidelity, |delay| delay.p90_ns),
            delay(fidelity, |delay| delay.p99_ns),
            delay(fidelity, |delay| delay.max_ns),
            whole_traces(fidelity),
            in_windows(fidelity),
        ],
    });
    detail("Arrival, more", columns, rows.collect())
}

fn in_windows(fidelity: &Fidelity) -> Cell {
    let Some(of) = fidelity.in_windows else {
        return nothing();
    };
    let count = number::count(of.delivered);
    let share = of.expected.filter(|expected| *expected > 0.0);
    let share = share.map(|expected| number::percent_short(of.delivered as f64 / expected));
    let text = share.map_or(count.clone(), |share| format!("{count} ({share})"));
    Cell::figure(text, of.delivered as f64)
}

fn protocols(analysis: &Analysis) -> Option<Table> {
    let columns = &[
        ("requests", "Export requests"),
        ("spans", ""),
        ("metric points", ""),
        ("log records", ""),
        ("on wire", "As it was read from the connections"),
        ("bodies", "Uncompressed"),
    ];
    let of_arm = |(arm, fidelity): (&ArmAnalysis, &Fidelity)| {
        let rows = fidelity.by_protocol.iter().map(|of| Row {
            arm: format!("{}, {}", one_line(&arm.name), one_line(&of.protocol)),
            cells: vec![
                many(of.export_requests),
                many(of.spans),
                many(of.metric_points),
                many(of.log_records),
                bytes(of.wire_bytes),
                bytes(of.body_bytes),
            ],
        });
        rows.collect::<Vec<_>>()
    };
    let rows = arms(analysis).flat_map(of_arm).collect();
    detail("By protocol", columns, rows)
}

fn sources(analysis: &Analysis) -> Option<Table> {
    let columns = &[
        ("spans", ""),
        ("span events", ""),
        ("metric points", ""),
        ("log records", ""),
    ];
    let of_arm = |(arm, fidelity): (&ArmAnalysis, &Fidelity)| {
        let rows = fidelity.by_source.iter().take(SOURCES).map(|source| Row {
            arm: format!("{}, {}", one_line(&arm.name), source_name(source)),
            cells: vec![
                many(source.spans),
                many(source.span_events),
                many(source.metric_points),
                many(source.log_records),
            ],
        });
        rows.collect::<Vec<_>>()
    };
    let rows = arms(analysis).flat_map(of_arm).collect();
    detail("By service and scope", columns, rows)
}

fn source_name(source: &DeliveredSource) -> String {
    let names = [&source.service, &source.scope].map(|name| one_line(name));
    let named: Vec<&str> = names
        .iter()
        .map(String::as_str)
        .filter(|n| !n.is_empty())
        .collect();
    if named.is_empty() {
        return "without a name".to_owned();
    }
    named.join(" / ")
}

fn arms(analysis: &Analysis) -> impl Iterator<Item = (&ArmAnalysis, &Fidelity)> {
    let arms = analysis.arms.iter();
    arms.filter_map(|arm| Some((arm, arm.fidelity.as_ref()?)))
}

fn many(n: u64) -> Cell {
    Cell::figure(number::count(n), n as f64)
}

fn bytes(n: u64) -> Cell {
    let n = n as f64;
    Cell::figure(number::short(Unit::Bytes, n), n)
}

/// A table of detail; `None` without a row.
fn detail(title: &str, columns: &[(&str, &'static str)], rows: Vec<Row>) -> Option<Table> {
    let columns = columns.iter();
    (!rows.is_empty()).then(|| Table {
        title: title.to_owned(),
        columns: columns
            .map(|&(heading, about)| column(heading, about))
            .collect(),
        rows,
        detail: true,
        ..Table::default()
    })
}
