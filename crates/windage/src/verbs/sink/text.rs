//! The final report of `windage sink`.

use std::fmt::Write as _;

use comfy_table::{CellAlignment, Table, TableStyle};
use windage_model::Unit::{Bytes, Microseconds};
use windage_report::number::{count, counted, seconds, short};
use windage_report::one_line;
use windage_sink::{Counts, Delivery};

use super::received::Received;

/// Sources that are named; further ones are counted.
const SOURCES_SHOWN: usize = 10;

/// A table by protocol, and a line for each other fact that deserves one.
pub(super) fn text(received: &Received) -> String {
    let Delivery {
        by_protocol,
        sources,
        delay,
        traces,
        ..
    } = &received.delivery;
    let all = received.delivery.total();
    let mut text = format!(
        "{} in {}, {} of CPU\n",
        counted(all.requests, "request"),
        seconds(received.lasted.as_secs_f64()),
        short(Microseconds, received.cpu_ns as f64 / 1e3),
    );
    if all.requests == 0 && all.wire_bytes == 0 && all.refused_connections == 0 {
        return text + "nothing arrived; is the service's exporter configured to send here?\n";
    }
    let mut table = table(&[
        "", "requests", "spans", "points", "records", "wire", "bodies",
    ]);
    for (protocol, of) in by_protocol {
        table.add_row([
            protocol.to_string(),
            count(of.requests),
            count(of.spans),
            count(of.metric_points),
            count(of.log_records),
            short(Bytes, of.wire_bytes as f64),
            short(Bytes, of.body_bytes as f64),
        ]);
    }
    // Writing to a string can't fail.
    let _ = writeln!(text, "\n{table}");
    if all.spans > 0 {
        let _ = writeln!(
            text,
            "\nper span: {} in the body, {} on the wire",
            short(Bytes, all.body_bytes as f64 / all.spans as f64),
            short(Bytes, all.wire_bytes as f64 / all.spans as f64),
        );
    }
    if all.spans > 0 && received.is_detailed {
        let _ = writeln!(
            text,
            "per span: {:.1} attributes, {:.2} events, {:.2} links",
            all.attributes as f64 / all.spans as f64,
            all.span_events as f64 / all.spans as f64,
            all.links as f64 / all.spans as f64,
        );
    }
    if let Some(delay) = delay {
        let us = |ns: u64| short(Microseconds, ns as f64 / 1e3);
        let _ = writeln!(
            text,
            "from a span's end to its arrival: p50 {} · p90 {} · p99 {} · longest {}",
            us(delay.p50_ns),
            us(delay.p90_ns),
            us(delay.p99_ns),
            us(delay.max_ns),
        );
    }
    if traces.traces > 0 {
        let _ = writeln!(
            text,
            "traces: {} of {} sampled (one in {}) are complete, {}",
            count(traces.complete),
            count(traces.traces),
            count(traces.one_in),
            counted(traces.duplicates, "duplicate span"),
        );
    }
    for line in troubles(&all) {
        let _ = writeln!(text, "{line}");
    }
    for source in sources.iter().take(SOURCES_SHOWN) {
        let _ = writeln!(
            text,
            "from {}: {}, {}, {}",
            named(&source.service, &source.scope),
            counted(source.items.spans, "span"),
            counted(source.items.metric_points, "point"),
            counted(source.items.log_records, "record"),
        );
    }
    if sources.len() > SOURCES_SHOWN {
        let _ = writeln!(text, "and from {} more", sources.len() - SOURCES_SHOWN);
    }
    text
}

fn table(columns: &[&str]) -> Table {
    let mut table = Table::new();
    table
        .load_style(TableStyle::new())
        .set_header(columns.iter());
    for index in 1..columns.len() {
        if let Some(column) = table.column_mut(index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

/// A sender's name on one line, without control characters.
fn named(service: &str, scope: &str) -> String {
    match (one_line(service).as_str(), one_line(scope).as_str()) {
        ("", "") => "an unnamed service".to_owned(),
        ("", scope) => format!("an unnamed service ({scope})"),
        (service, "") => service.to_owned(),
        (service, scope) => format!("{service} ({scope})"),
    }
}

/// Requests and connections that did not count, with the reason.
fn troubles(all: &Counts) -> impl Iterator<Item = String> {
    let lines = [
        (all.malformed, "could not be decoded"),
        (all.rejected, "were rejected (path, type, size, or cut off)"),
        (all.refused, "were refused by the simulated backend"),
        (all.retried_requests, "were retries"),
        (
            all.side_requests,
            "carried no telemetry of the service itself",
        ),
    ];
    let line =
        |(n, what): (u64, &str)| (n > 0).then(|| format!("{} {what}", counted(n, "request")));
    let turned_away = (all.refused_connections > 0).then(|| {
        let many = counted(all.refused_connections, "connection");
        format!("{many} beyond --max-connections were closed at once")
    });
    lines.into_iter().filter_map(line).chain(turned_away)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn senders_are_named_on_one_line_without_control_characters() {
        let table = [
            ("", "", "an unnamed service"),
            ("shop", "", "shop"),
            ("", "http", "an unnamed service (http)"),
            ("shop", "http", "shop (http)"),
            (
                "shop\u{1b}[2J",
                "ht\u{202e}tp\nfrom bank: 9 spans",
                "shop [2J (ht tp from bank: 9 spans)",
            ),
            ("\u{7}\n", "\u{200b}", "an unnamed service"),
        ];
        for (service, scope, expected) in table {
            assert_eq!(named(service, scope), expected, "{service:?}, {scope:?}");
        }
    }
}
