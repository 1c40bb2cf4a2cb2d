//! What a person sees while telemetry arrives: a line that follows the counts.

use std::time::{Duration, Instant};

use windage_model::Unit;
use windage_report::number::{count, counted, rate, short};
use windage_sink::Counts;

use crate::screen::LiveLine;

/// Interval of plain lines.
const PLAIN_EVERY: Duration = Duration::from_secs(1);
/// Rates are averages over about this long.
const RATE_OVER: Duration = Duration::from_secs(1);

/// The live line.
pub(super) struct Live {
    shown: Shown,
    /// Earlier counts, from which the rate is computed.
    earlier: (Instant, Counts),
    spans_per_s: f64,
    last_line: Instant,
}

enum Shown {
    Nothing,
    Lines,
    Line(LiveLine),
}

impl Live {
    /// A redrawn line on a terminal; elsewhere plain lines, if requested.
    pub(super) fn new(quiet: bool, plain: bool) -> Live {
        let shown = if quiet {
            Shown::Nothing
        } else if let Some(line) = LiveLine::on_stderr() {
            Shown::Line(line)
        } else if plain {
            Shown::Lines
        } else {
            Shown::Nothing
        };
        Live {
            shown,
            earlier: (Instant::now(), Counts::default()),
            spans_per_s: 0.0,
            last_line: Instant::now(),
        }
    }

    /// Shows the counts.
    pub(super) fn look(&mut self, counts: &Counts) {
        let (since, earlier) = self.earlier;
        if since.elapsed() >= RATE_OVER {
            let spans = counts.since(&earlier).spans;
            self.spans_per_s = spans as f64 / since.elapsed().as_secs_f64();
            self.earlier = (Instant::now(), *counts);
        }
        match &mut self.shown {
            Shown::Nothing => {}
            Shown::Line(shown) => shown.show(line(counts, self.spans_per_s)),
            Shown::Lines if self.last_line.elapsed() >= PLAIN_EVERY => {
                self.last_line = Instant::now();
                anstream::eprintln!("{}", line(counts, self.spans_per_s));
            }
            Shown::Lines => {}
        }
    }

    /// Prints a message above the line.
    pub(super) fn say(&mut self, text: &str) {
        match &mut self.shown {
            Shown::Line(line) => line.say(text),
            // The answer to an order is always printed.
            Shown::Nothing | Shown::Lines => anstream::eprintln!("{text}"),
        }
    }

    /// Runs something that prints, with the line out of the way.
    pub(super) fn suspend(&mut self, prints: impl FnOnce()) {
        match &mut self.shown {
            Shown::Line(line) => line.suspend(prints),
            _ => prints(),
        }
    }

    /// Removes the line.
    pub(super) fn finish(&mut self) {
        if let Shown::Line(line) = &mut self.shown {
            line.clear();
        }
    }
}

/// Starts with what must not be cut off on a narrow terminal.
fn line(counts: &Counts, spans_per_s: f64) -> String {
    let mut parts = vec![counted(counts.spans, "span"), rate(spans_per_s)];
    let others = [
        (counts.metric_points, counted(counts.metric_points, "point")),
        (counts.log_records, counted(counts.log_records, "record")),
        (counts.profiles, counted(counts.profiles, "profile")),
        (counts.refused, format!("{} refused", count(counts.refused))),
        (
            counts.rejected,
            format!("{} rejected", count(counts.rejected)),
        ),
        (
            counts.malformed,
            format!("{} malformed", count(counts.malformed)),
        ),
    ];
    let others = others.into_iter().filter(|(n, _)| *n > 0);
    parts.extend(others.map(|(_, text)| text));
    parts.push(counted(counts.requests, "request"));
    parts.push(short(Unit::Bytes, counts.wire_bytes as f64));
    parts.join(" · ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_shows_counts_and_failures() {
        let quiet = line(&Counts::default(), 0.0);
        assert_eq!(quiet, "0 spans · 0/s · 0 requests · 0 B");
        let counts = Counts {
            spans: 12_800,
            log_records: 1,
            refused: 3,
            requests: 28,
            wire_bytes: 6_400_000,
            ..Counts::default()
        };
        assert_eq!(
            line(&counts, 1280.0),
            "12,800 spans · 1,280/s · 1 record · 3 refused · 28 requests · 6.40 MB"
        );
    }
}
