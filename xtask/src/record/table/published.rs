//! The public measurement that these experiments began with, beside what was measured here.
//!
//! It ran a script of 10,000 iterations once in each form, on a notebook of 2018 with Python 3.11.6,
//! and drew its conclusions from the seconds that `time` printed. It had no intervals.

use anyhow::{Context, Result};

use super::analysis::Script;
use super::conclusions;
use super::costs::metric;
use super::figure;
use super::markdown::{Notes, escaped, table};
use super::recorded::{Recorded, Repeated};

const ITERATIONS: f64 = 10_000.0;
/// User and system time without any telemetry, in seconds.
const WITHOUT_S: f64 = 1.825;

/// One figure of the document.
#[derive(Debug, PartialEq)]
pub(super) struct Figure {
    /// By what `rows.toml` names it.
    pub(super) name: &'static str,
    /// Elapsed time of the whole script, in seconds.
    real_s: f64,
    /// User and system time of the whole script, in seconds.
    cpu_s: f64,
}

const fn of(name: &'static str, real_s: f64, cpu_s: f64) -> Figure {
    Figure {
        name,
        real_s,
        cpu_s,
    }
}

pub(super) const OTEL_TEXT: &str = "OpenTelemetry, text";
pub(super) const DDTRACE_TEXT: &str = "ddtrace, text";

/// What the document has figures of. An iteration has 23 spans, or a span with 22 events.
pub(super) const FIGURES: [Figure; 12] = [
    of(OTEL_TEXT, 27.088, 27.529),
    of(DDTRACE_TEXT, 25.780, 25.579),
    of("spans, 1.0", 26.599, 26.773),
    of("spans, 0.5", 17.505, 17.605),
    of("spans, 0.1", 9.498, 9.521),
    of("spans, 0.05", 8.366, 8.377),
    of("spans, 0.0", 7.231, 7.230),
    of("events, 1.0", 5.648, 5.676),
    of("events, 0.5", 4.134, 4.150),
    of("events, 0.1", 2.853, 2.854),
    of("events, 0.05", 2.587, 2.587),
    of("events, 0.0", 2.477, 2.477),
];

pub(super) const RATES: [&str; 5] = ["1.0", "0.5", "0.1", "0.05", "0.0"];

impl Figure {
    /// What an iteration costs beyond one without telemetry.
    pub(super) fn us_per_iteration(&self) -> f64 {
        (self.cpu_s - WITHOUT_S) / ITERATIONS * 1e6
    }
}

/// The figure of a name.
pub(super) fn figure(name: &str) -> Result<&'static Figure> {
    FIGURES
        .iter()
        .find(|figure| figure.name == name)
        .with_context(|| {
            let names: Vec<&str> = FIGURES.iter().map(|figure| figure.name).collect();
            format!(
                "the document has no figure `{name}`, only {}",
                names.join("; ")
            )
        })
}

/// The section; `None` where nothing repeats a figure.
pub(super) fn section(recorded: &Recorded) -> Option<String> {
    if recorded.published.is_empty() {
        return None;
    }
    let mut notes = Notes::default();
    let rows: Vec<Vec<String>> = recorded
        .published
        .iter()
        .map(|repeated| cells(recorded, repeated, &mut notes))
        .collect();
    let mut text = "## The public measurement, repeated\n\n\
         A public measurement of 2023 ran a script against sqlite3 10,000 times, once in each form, and \
         took user and system time of the whole process (Python 3.11.6, Core i5-8279U). Its figures are \
         turned into CPU an iteration beyond the script without telemetry; there is no interval \
         around them. Machine, interpreter and versions differ, so what can be compared are orders and \
         sizes.\n\n"
        .to_owned();
    let headings = [
        "figure",
        "arm here",
        "the document, µs",
        "here, µs",
        "whole script, the document, s",
        "here, s",
    ];
    text += &table(&headings, 2, &rows);
    text += &notes.markdown();
    let claims = conclusions::claims(recorded);
    if !claims.is_empty() {
        text += "\nWhat it concluded, held against the intervals here (orders by intervals that lie \
                 apart, sizes within a factor of two):\n\n";
        text += &table(
            &["conclusion", "the document", "here", "does it hold?"],
            4,
            &claims,
        );
    }
    Some(text)
}

fn cells(recorded: &Recorded, repeated: &Repeated, notes: &mut Notes) -> Vec<String> {
    let (measured, arm) = (recorded.measured(repeated.at), recorded.arm(repeated.at));
    vec![
        repeated.figure.name.to_owned(),
        format!("{}: {}", escaped(&measured.key.name), escaped(&arm.name)),
        figure::plain(repeated.figure.us_per_iteration()),
        metric(arm, measured.under.cost_metric(), 1.0, notes),
        figure::plain(repeated.figure.real_s),
        arm.script.as_ref().map_or_else(|| "–".to_owned(), real),
    ]
}

/// Elapsed time of a script of as many iterations as the document's.
fn real(script: &Script) -> String {
    match (script.iterations, script.real_s.ranged()) {
        (Some(10_000), Some(real)) => figure::ranged(&real, 1.0),
        (Some(10_000), None) => script
            .real_s
            .estimate
            .map_or_else(|| "n/a".to_owned(), figure::plain),
        _ => "–".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documents_figures_become_costs() {
        let us = |name| figure(name).unwrap().us_per_iteration();
        // (27.529 − 1.825) s / 10,000, and as the document rounds it: a tenth of a ms a span.
        assert_eq!(us(OTEL_TEXT).round(), 2570.0);
        assert_eq!((us(OTEL_TEXT) / 23.0).round(), 112.0);
        for name in RATES
            .iter()
            .flat_map(|rate| ["spans", "events"].map(|way| format!("{way}, {rate}")))
        {
            assert!(figure(&name).is_ok(), "{name}");
        }
        let unknown = figure("spans, 0.2").unwrap_err().to_string();
        assert!(unknown.contains("spans, 0.05"), "{unknown}");
    }
}
