//! Where the cost of a span arises: chains of arms that each add a stage.

use std::fmt::Write as _;

use super::analysis::{Chain, Cost, Interval};
use super::figure;
use super::markdown::{Notes, escaped, table};
use super::recorded::{Measured, Recorded};

const HEADINGS: [&str; 5] = [
    "stage",
    "adds, µs",
    "share of the sum",
    "µs a span",
    "µs an event",
];

/// The section; `None` where no run has a chain.
pub(super) fn section(recorded: &Recorded) -> Option<String> {
    let mut text = String::new();
    for measured in &recorded.runs {
        for chain in &measured.under.stages {
            text += &of_chain(measured, chain);
        }
    }
    let introduction = "## Stages\n\n\
        What each stage adds to the one above it, in CPU a request or iteration; then what the stages \
        add up to, and the same measured once more in windows and processes of its own. A gap between \
        the two whose interval holds nil speaks for the sum. `?` marks an interval that holds nil.\n";
    (!text.is_empty()).then(|| format!("{introduction}{text}"))
}

fn of_chain(measured: &Measured, chain: &Chain) -> String {
    let mut notes = Notes::default();
    let name = |id: &str| escaped(measured.under.name(id));
    let mut rows = Vec::new();
    for stage in &chain.stages {
        let share = stage.share.map_or_else(|| "–".to_owned(), figure::percent);
        rows.push(cells(name(&stage.arm), &stage.cost, share, &mut notes));
    }
    let none = || "–".to_owned();
    rows.push(cells("**sum**".to_owned(), &chain.sum, none(), &mut notes));
    for whole in &chain.wholes {
        let arm = name(&whole.arm);
        rows.push(cells(
            format!("{arm}, on its own"),
            &whole.cost,
            none(),
            &mut notes,
        ));
        let says = match whole.holds {
            Some(true) => "the sum holds",
            Some(false) => "**the sum does not hold**",
            None => "can't be told",
        };
        rows.push(cells(
            format!("gap: {arm} less the sum"),
            &whole.gap,
            says.to_owned(),
            &mut notes,
        ));
    }
    let mut text = String::new();
    let first = name(&chain.from);
    let run = escaped(&measured.key.name);
    let _ = write!(text, "\n{run} ({}), over {first}", measured.experiment());
    if let Some(us) = chain.from_value {
        let _ = write!(text, " ({} µs)", figure::plain(us));
    }
    text += ":\n\n";
    let columns = if chain.sum.per_event.is_some() {
        HEADINGS.len()
    } else {
        // Most chains have no events.
        rows.iter_mut()
            .for_each(|row| row.truncate(HEADINGS.len() - 1));
        HEADINGS.len() - 1
    };
    text + &table(&HEADINGS[..columns], 1, &rows) + &notes.markdown()
}

fn cells(name: String, cost: &Cost, share: String, notes: &mut Notes) -> Vec<String> {
    let written = |interval: Option<Interval>| {
        let ranged = interval.and_then(Interval::ranged);
        ranged.map(|ranged| figure::ranged(&ranged, 1.0))
    };
    let mark = match cost.exceeds_nil {
        Some(false) => " ?",
        _ => "",
    };
    let adds = match (written(cost.difference), &cost.missing) {
        (Some(adds), _) => format!("{adds}{mark}"),
        (None, Some(missing)) => format!("n/a{}", notes.mark([escaped(&missing.text)])),
        (None, None) => "n/a".to_owned(),
    };
    let each = |of| written(of).unwrap_or_else(|| "–".to_owned());
    vec![name, adds, share, each(cost.per_span), each(cost.per_event)]
}
