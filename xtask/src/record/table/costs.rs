//! What tracing costs: the table across SDKs, and that of less sampling.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::analysis::{Arm, Fidelity, Metric, Reason};
use super::figure;
use super::markdown::{Notes, escaped, table};
use super::recorded::{Recorded, Row};
use super::rows::Label;

/// The legend below each table.
const LEGEND: &str = "\
Of a batch program a request is an iteration. In brackets the 95 % interval; `?` marks a figure that is *inconclusive*, `†` one that is *suspect*, \
with its reason below (of a row: all its figures), and – what there is none of.";

const HEADINGS: [&str; 11] = [
    "runtime",
    "what",
    "load",
    "sampled",
    "spans a request",
    "µs a request",
    "µs a span delivered",
    "bytes a span, wire",
    "memory, MB",
    "start-up, ms",
    "lost",
];

/// Every request traced.
pub(super) fn sampled(recorded: &Recorded) -> String {
    costs(recorded, |label| label == Label::All)
}

/// Fewer of them, or none.
pub(super) fn less_sampled(recorded: &Recorded) -> String {
    costs(recorded, |label| label != Label::All)
}

fn costs(recorded: &Recorded, belongs: impl Fn(Label) -> bool) -> String {
    let mut notes = Notes::default();
    let rows: Vec<Vec<String>> = recorded
        .rows
        .iter()
        .filter(|row| belongs(row.label))
        .map(|row| cells(recorded, row, &mut notes))
        .collect();
    if rows.is_empty() {
        return "Nothing is recorded yet.\n".to_owned();
    }
    let table = table(&HEADINGS, 4, &rows);
    format!("{table}\n{LEGEND}\n{}", notes.markdown())
}

fn cells(recorded: &Recorded, row: &Row, notes: &mut Notes) -> Vec<String> {
    let (measured, arm) = (recorded.measured(row.at), recorded.arm(row.at));
    let doubts = suspicion(measured.doubts(arm), notes);
    let what = format!(
        "[{}]({}/README.md)",
        escaped(&row.what),
        measured.key.experiment
    );
    let what = match &measured.key.page {
        Some(page) => format!("{what} ([report](../{}/{page}))", recorded.folder),
        None => what,
    };
    let mut metric = |name: &str, divisor| metric(arm, name, divisor, notes);
    let (memory, memory_is) = match arm.metrics.contains_key("rss_steady") {
        true => ("rss_steady", ""),
        false => ("pss", " (PSS)"),
    };
    let cost = metric(measured.under.cost_metric(), 1.0);
    let of_span = metric("cpu_per_span", 1.0);
    let memory = format!("{}{memory_is}", metric(memory, 1e6));
    let startup = metric("startup_time", 1e-3);
    let fidelity = arm.fidelity.as_ref();
    let plain = |figure: Option<f64>| figure.map_or_else(none, figure::plain);
    vec![
        escaped(&row.runtime),
        format!("{what}{doubts}"),
        measured.load(),
        row.label.as_str().to_owned(),
        plain(fidelity.and_then(Fidelity::spans_per_request)),
        cost,
        of_span,
        plain(fidelity.and_then(|found| found.wire_bytes_per_span)),
        memory,
        startup,
        fidelity.map_or_else(none, loss),
    ]
}

fn none() -> String {
    "–".to_owned()
}

/// A metric's difference to the baseline, in its column's unit.
pub(super) fn metric(arm: &Arm, name: &str, divisor: f64, notes: &mut Notes) -> String {
    let Some(metric) = arm.metrics.get(name) else {
        return none();
    };
    let Some(difference) = arm.difference(name) else {
        return missing(metric, notes);
    };
    let inconclusive = if is_inconclusive(metric) { " ?" } else { "" };
    let doubts = suspicion(metric.validity.reasons.iter(), notes);
    format!(
        "{}{inconclusive}{doubts}",
        figure::ranged(&difference, divisor)
    )
}

fn missing(metric: &Metric, notes: &mut Notes) -> String {
    match &metric.missing {
        // An arm that sends nothing has no cost of a span, and nobody asked it to.
        Some(missing) if missing.code == "nothing_delivered" => none(),
        Some(missing) => format!("n/a{}", notes.mark([escaped(&missing.text)])),
        None => "n/a".to_owned(),
    }
}

/// Inconclusive by its verdict; a figure without one, if its interval holds nil.
fn is_inconclusive(metric: &Metric) -> bool {
    match metric.verdict.as_deref() {
        Some(verdict) => verdict == "inconclusive",
        None => metric.exceeds_nil == Some(false),
    }
}

fn suspicion<'a>(reasons: impl Iterator<Item = &'a Reason>, notes: &mut Notes) -> String {
    let reasons = reasons.map(|reason| format!("`{}`: {}", reason.code, escaped(&reason.text)));
    match notes.mark(reasons) {
        mark if mark.is_empty() => mark,
        mark => format!(" †{mark}"),
    }
}

/// The share that never arrived, of the whole run; where most of a loss was outside measured
/// windows, the one within them beside it.
fn loss(found: &Fidelity) -> String {
    let (Some(expected), Some(lost)) = (found.expected, found.lost) else {
        return none();
    };
    // The bounds are those by which the analysis calls a loss more than sampling explains.
    if lost < -(3.0 * found.sampling_sd.unwrap_or(0.0) + 0.5) {
        return format!("{} more than expected", figure::grouped(-lost));
    }
    if !found.is_lossy() {
        return "none".to_owned();
    }
    let all = figure::percent(lost / expected);
    let within = found.in_windows.as_ref();
    let within = within.and_then(|within| Some(within.lost? / within.expected?));
    match within.filter(|share| share.is_finite()) {
        Some(share) => format!("{all}, in windows {}", figure::percent(share)),
        None => all,
    }
}

/// What stood behind the rows: those of one set of versions together.
pub(super) fn versions(recorded: &Recorded) -> String {
    let mut sets: Vec<(Vec<String>, &BTreeMap<String, String>)> = Vec::new();
    for row in &recorded.rows {
        let name = format!("{}, {}", row.runtime, row.what);
        let versions = &recorded.arm(row.at).versions;
        let known = sets.iter_mut().find(|(_, set)| *set == versions);
        match known {
            Some((names, _)) if names.contains(&name) => (),
            Some((names, _)) => names.push(name),
            None => sets.push((vec![name], versions)),
        }
    }
    let mut text = String::new();
    for (names, versions) in sets {
        let versions: Vec<String> = versions
            .iter()
            .map(|(name, version)| format!("{} {}", escaped(name), escaped(version)))
            .collect();
        let versions = match versions.is_empty() {
            true => "not recorded".to_owned(),
            false => versions.join(", "),
        };
        let names = escaped(&names.join("; "));
        let _ = writeln!(text, "- **{names}**: {versions}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_are_those_beyond_sampling() {
        let found = |expected, sampling_sd, lost, beyond_sampling| Fidelity {
            expected,
            sampling_sd: Some(sampling_sd),
            lost,
            beyond_sampling,
            wire_bytes_per_span: None,
            in_windows: None,
            completed_requests: Some(0),
            spans: 0,
        };
        let table = [
            (found(None, 0.0, None, None), "–", "nothing was expected"),
            (
                found(Some(100.0), 0.0, Some(0.0), Some(false)),
                "none",
                "all came",
            ),
            (
                found(Some(100.0), 9.0, Some(20.0), Some(false)),
                "none",
                "by chance",
            ),
            (
                found(Some(100.0), 9.0, Some(-20.0), Some(false)),
                "none",
                "by chance",
            ),
            (
                found(Some(100.0), 0.0, Some(7.0), Some(true)),
                "7.0 %",
                "lost",
            ),
            (
                found(Some(100.0), 0.0, Some(-7.0), Some(false)),
                "7 more than expected",
                "the plan expects too little",
            ),
        ];
        for (found, expected, why) in table {
            assert_eq!(loss(&found), expected, "{why}");
        }
        assert_eq!(found(None, 0.0, None, None).spans_per_request(), None);
    }
}
