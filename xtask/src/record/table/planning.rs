//! Figures to plan with: how many spans or events a core makes, and how many fit into a time.

use super::analysis::{Interval, Room};
use super::figure;
use super::markdown::{escaped, table};
use super::recorded::Recorded;
use super::rows::Label;

const HEADINGS: [&str; 5] = [
    "what",
    "spans a second a core",
    "spans in that time",
    "events a second a core",
    "events in that time",
];

/// The section; `None` where no arm of the tables has such figures.
pub(super) fn section(recorded: &Recorded) -> Option<String> {
    let figures = |at| recorded.arm(at).planning;
    let all = recorded.rows.iter();
    let spans = all.filter(|row| row.label == Label::All).filter_map(|row| {
        let planning = figures(row.at)?;
        let [a_second, within] = cells(planning.spans?, planning.within_s);
        let name = format!("{}, {}", row.runtime, row.what);
        Some(vec![escaped(&name), a_second, within, none(), none()])
    });
    // What an arm with events says of spans is what a span costs with all its events on it.
    let pairs = recorded.events.iter();
    let events = pairs.filter_map(|pair| {
        let planning = figures(pair.events)?;
        let [a_second, within] = cells(planning.events?, planning.within_s);
        let run = &recorded.measured(pair.events).key.name;
        let name = format!("{run}, events, {}", pair.label);
        Some(vec![escaped(&name), none(), none(), a_second, within])
    });
    let rows: Vec<Vec<String>> = spans.chain(events).collect();
    let introduction = "## Planning figures\n\n\
        The cost of a span or an event turned over, interval and all: how many keep one core busy, and how \
        many fit into the time that is given. The spans that carry events are paid by the events.\n\n";
    (!rows.is_empty()).then(|| format!("{introduction}{}", table(&HEADINGS, 1, &rows)))
}

fn none() -> String {
    "–".to_owned()
}

fn cells(room: Room, within_s: f64) -> [String; 2] {
    // Rounded to µs, so that 10 ms are not 10.000000000000002.
    let ms = (within_s * 1e6).round() / 1e3;
    let within = format!("{} in {ms} ms", number(room.within));
    [number(room.per_core_second), within]
}

/// A number with its ends; one without an upper end is a bound.
fn number(of: Interval) -> String {
    match (of.ranged(), of.low) {
        (Some(ranged), _) => figure::counted(&ranged),
        (None, Some(low)) => format!("at least {}", figure::grouped(low)),
        (None, None) => "n/a".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_upper_end_is_a_bound() {
        let of = |estimate, low, high| Interval {
            estimate,
            low,
            high,
        };
        let table = [
            (
                of(Some(17_543.0), Some(17_241.0), Some(17_857.0)),
                "17,500 (17,200 to 17,900)",
            ),
            (of(Some(400.0), Some(310.0), None), "at least 310"),
            (of(None, Some(310.0), None), "at least 310"),
            (of(None, None, None), "n/a"),
        ];
        for (interval, expected) in table {
            assert_eq!(number(interval), expected);
        }
    }
}
