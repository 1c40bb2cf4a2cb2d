//! Tables about how telemetry arrived: two if there were problems, and details.

use windage_analysis::{Analysis, ArmAnalysis, DeliveredSource, ExportDelay, Fidelity};
use windage_model::{Interval, Unit};

use super::aspect::{Aspect, aspects_table, counted, nothing};
use super::{Cell, Row, Table, Tone, column, lasting};
use crate::fact::one_line;
use crate::number;

/// Services and scopes shown of an arm; `analysis.json` has more.
const SOURCES: usize = 5;

const REQUESTS: &[Aspect<Fidelity>] = &[
    Aspect {
        heading: "refused",
        about: "Share of export requests that the faulty backend refused on purpose",
        cell: |fidelity| {
            let counts = &fidelity.counts;
            let spans = format!("{} spans in them", number::count(counts.refused_spans));
            counted(counts.refused, counts.export_requests, Some(spans))
        },
        is_worth_showing: |fidelity| fidelity.counts.refused > 0,
    },
    Aspect {
        heading: "rejected",
        about: "Share of export requests that the sink could not take or read",
        cell: |fidelity| {
            let (rejected, malformed) = (fidelity.counts.rejected, fidelity.counts.malformed);
            let kinds = format!("{rejected} rejected, {malformed} malformed");
            let requests = rejected.saturating_add(malformed);
            counted(requests, fidelity.counts.export_requests, Some(kinds))
        },
        is_worth_showing: |fidelity| fidelity.counts.rejected > 0 || fidelity.counts.malformed > 0,
    },
    Aspect {
        heading: "retried",
        about: "Share of export requests that repeat an earlier one without success",
        cell: |fidelity| {
            let counts = &fidelity.counts;
            let spans = number::count(counts.repeated_spans);
            let kinds =
                format!("{spans} spans in them were already counted, and are not counted again");
            Cell {
                tone: Tone::Plain,
                ..counted(counts.retried_requests, counts.export_requests, Some(kinds))
            }
        },
        is_worth_showing: |fidelity| fidelity.counts.retried_requests > 0,
    },
    Aspect {
        heading: "duplicates",
        about: "Share of spans that arrived more than once, in a sample of traces",
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
        heading: "complete traces",
        about: "Share of sampled traces that have a root and every parent that their spans name",
        cell: whole_traces,
        is_worth_showing: |fidelity| complete(fidelity).is_some_and(|share| share.estimate < 1.0),
    },
    Aspect {
        heading: "median delay",
        about: "From the end of a span to its arrival, median",
        cell: |fidelity| delay(fidelity, |delay| delay.p50_ns),
        is_worth_showing: Fidelity::is_backend_faulty,
    },
    Aspect {
        heading: "p99 delay",
        about: "From the end of a span to its arrival, 99th percentile",
        cell: |fidelity| delay(fidelity, |delay| delay.p99_ns),
        is_worth_showing: Fidelity::is_backend_faulty,
    },
];

/// Problems with export requests and with arrival; none without problems.
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
            "{} traces sampled, one in {}; {} to {}",
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

/// Detail: when telemetry arrived, by which protocol, from which source.
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
            "median delay",
            "From the end of a span to its arrival, median",
        ),
        (
            "p90 delay",
            "From the end of a span to its arrival, 90th percentile",
        ),
        (
            "p99 delay",
            "From the end of a span to its arrival, 99th percentile",
        ),
        (
            "longest",
            "The longest time from the end of a span to its arrival",
        ),
        (
            "complete traces",
            "Share of sampled traces that have a root and every parent that their spans name",
        ),
        (
            "in windows",
            "Telemetry from measured windows that arrived, and its share of the expected",
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
        ("on wire", "Compressed, as read from the connections"),
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

/// A detail table; `None` without rows.
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
