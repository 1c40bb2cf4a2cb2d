//! What a person sees during a load: a live line on a terminal, nothing elsewhere.

use std::time::{Duration, Instant};

use windage_model::Unit::Microseconds;
use windage_report::number::{counted, rate, short};

use super::attack::{Phase, Seen};
use super::design::Design;
use crate::screen::LiveLine;

/// The live line.
pub(super) struct Live {
    line: Option<LiveLine>,
    lasts: Duration,
    began: Option<Instant>,
}

impl Live {
    /// A line on standard error if that is a terminal, otherwise nothing.
    pub(super) fn new(design: &Design, quiet: bool) -> Live {
        Live {
            line: LiveLine::on_stderr().filter(|_| !quiet),
            lasts: design.lasts,
            began: None,
        }
    }

    /// Shows the progress.
    pub(super) fn look(&mut self, phase: Phase) {
        let Some(shown) = &mut self.line else {
            return;
        };
        shown.show(match phase {
            Phase::Preparing => "connecting and warming up".to_owned(),
            Phase::Measuring(seen) => {
                let elapsed = self.began.get_or_insert_with(Instant::now).elapsed();
                line(elapsed, self.lasts, seen)
            }
        });
    }

    /// Removes the line.
    pub(super) fn finish(&mut self) {
        if let Some(line) = &mut self.line {
            line.clear();
        }
    }
}

fn line(elapsed: Duration, lasts: Duration, seen: Seen) -> String {
    let seconds = elapsed.as_secs_f64();
    let per_s = if seconds > 0.0 {
        seen.completed as f64 / seconds
    } else {
        0.0
    };
    let times = match seen.p50_ns {
        0 => String::new(),
        _ => format!(
            " · p50 {} · p99 {}",
            short(Microseconds, seen.p50_ns as f64 / 1e3),
            short(Microseconds, seen.p99_ns as f64 / 1e3)
        ),
    };
    let errors = match seen.failed {
        0 => String::new(),
        failed => format!(" · {}", counted(failed, "error")),
    };
    // Starts with what must not be cut off on a narrow terminal.
    format!(
        "{seconds:.1} of {} s · {}{errors}{times}",
        lasts.as_secs_f64(),
        rate(per_s),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_shows_the_counts_so_far() {
        let (elapsed, lasts) = (Duration::from_millis(2500), Duration::from_secs(10));
        let seen = Seen {
            completed: 5000,
            failed: 1,
            p50_ns: 230_400,
            p99_ns: 1_920_000,
        };
        let table = [
            (
                elapsed,
                seen,
                "2.5 of 10 s · 2,000/s · 1 error · p50 230 µs · p99 1.92 ms",
            ),
            (Duration::ZERO, Seen::default(), "0.0 of 10 s · 0/s"),
        ];
        for (elapsed, seen, text) in table {
            assert_eq!(line(elapsed, lasts, seen), text);
        }
    }
}
