//! Events against spans: the same moments recorded in the two ways.

use super::costs::metric;
use super::figure;
use super::markdown::{Notes, escaped, table};
use super::recorded::{Pair, Recorded};
use crate::record::summary::Ranged;

const HEADINGS: [&str; 6] = [
    "sampled",
    "as spans, µs",
    "as events, µs",
    "µs a span",
    "µs an event",
    "how they compare",
];

/// The section; `None` without a pair.
pub(super) fn section(recorded: &Recorded) -> Option<String> {
    if recorded.events.is_empty() {
        return None;
    }
    let mut notes = Notes::default();
    let rows: Vec<Vec<String>> = recorded
        .events
        .iter()
        .map(|pair| cells(recorded, pair, &mut notes))
        .collect();
    let mut text = "## Events against spans\n\n\
         The same moments, recorded as spans of their own or as events on one span: CPU a request or \
         iteration over the baseline of each. What is said of a pair holds for any two points of the \
         intervals.\n\n"
        .to_owned();
    text += &table(&HEADINGS, 1, &rows);
    text += &notes.markdown();
    Some(text)
}

fn cells(recorded: &Recorded, pair: &Pair, notes: &mut Notes) -> Vec<String> {
    let cost = |at| {
        let cost_metric = recorded.measured(at).under.cost_metric();
        (recorded.arm(at), cost_metric)
    };
    let ((spans, of_spans), (events, of_events)) = (cost(pair.spans), cost(pair.events));
    let said = match (spans.difference(of_spans), events.difference(of_events)) {
        (Some(spans), Some(events)) => compared(&spans, &events),
        _ => "–".to_owned(),
    };
    vec![
        escaped(&pair.label),
        metric(spans, of_spans, 1.0, notes),
        metric(events, of_events, 1.0, notes),
        metric(spans, "cpu_per_span", 1.0, notes),
        metric(events, "cpu_per_event", 1.0, notes),
        said,
    ]
}

/// In words, and only as far as the intervals go.
fn compared(spans: &Ranged, events: &Ranged) -> String {
    let times = |dear: &Ranged, cheap: &Ranged| {
        // A cheap side that may be nil has no bound: only the order is known.
        let least = dear.low / cheap.high;
        if cheap.high > 0.0 && least > 1.05 {
            format!(" by {} times or more", figure::plain(least))
        } else {
            String::new()
        }
    };
    if events.high < spans.low {
        format!("events are cheaper{}", times(spans, events))
    } else if spans.high < events.low {
        format!("spans are cheaper{}", times(events, spans))
    } else {
        "not to be told apart".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_intervals_apart_are_told_apart() {
        let around = |estimate: f64| Ranged {
            estimate,
            low: estimate - 10.0,
            high: estimate + 10.0,
        };
        let table = [
            (100.0, 50.0, "events are cheaper by 1.50 times or more"),
            (50.0, 100.0, "spans are cheaper by 1.50 times or more"),
            (100.0, 85.0, "not to be told apart"),
            (100.0, 79.5, "events are cheaper"),
            (100.0, -20.0, "events are cheaper"),
        ];
        for (spans, events, expected) in table {
            assert_eq!(compared(&around(spans), &around(events)), expected);
        }
    }
}
