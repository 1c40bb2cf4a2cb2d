//! A run's course as plain lines, where nothing can be drawn in place, and not too many of them.

use std::time::Duration;

use windage_analysis::Running;

use super::course::{Blocks, Course, Line, Stretch};
use super::estimates;

/// The least time between two lines about the course.
const COURSE_EVERY: Duration = Duration::from_secs(10);
/// The least time between two lines of estimates.
const ESTIMATES_EVERY: Duration = Duration::from_secs(30);

/// What was written last, and when.
#[derive(Debug, Default)]
pub(super) struct Plain {
    stretch: Stretch,
    course_at: Duration,
    blocks: Option<Blocks>,
    estimates_at: Duration,
    running: Option<Running>,
}

impl Plain {
    /// The lines to write: those from events and, from time to time, how far the run is.
    pub(super) fn lines(
        &mut self,
        course: &Course,
        events: Vec<Line>,
        now: Duration,
        hides: bool,
    ) -> Vec<String> {
        let mut lines = Vec::new();
        for line in events {
            lines.push(match line {
                Line::Stays(text) => text,
                Line::Phase(text) => self.phase(text, course, now),
            });
        }
        if !hides {
            lines.extend(self.course(course, now));
            lines.extend(self.estimates(course, now));
        }
        lines
    }

    /// A phase line also says how far the run is, so the course is not repeated until there is
    /// progress. The first line of a round says how much time is left, once blocks have shown it.
    fn phase(&mut self, text: String, course: &Course, now: Duration) -> String {
        let is_first = self.stretch != course.stretch;
        self.stretch = course.stretch;
        (self.course_at, self.blocks) = (now, course.blocks);
        match (course.blocks, course.left) {
            (Some(_), Some(left)) if is_first => format!("{text}, {}", left.spoken(now)),
            _ => text,
        }
    }

    fn course(&mut self, course: &Course, now: Duration) -> Option<String> {
        let (blocks, left) = (course.blocks?, course.left?);
        if now < self.course_at + COURSE_EVERY || self.blocks == Some(blocks) {
            return None;
        }
        (self.course_at, self.blocks) = (now, Some(blocks));
        Some(format!("{}, {}", course.heading(), left.spoken(now)))
    }

    fn estimates(&mut self, course: &Course, now: Duration) -> Option<String> {
        let running = course.running.as_ref()?;
        if now < self.estimates_at + ESTIMATES_EVERY || self.running.as_ref() == Some(running) {
            return None;
        }
        (self.estimates_at, self.running) = (now, Some(running.clone()));
        Some(estimates::one(running))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use windage_analysis::{Known, RunningEstimate};
    use windage_model::{Event, Metric, Role};

    const fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn block(done: u32, left_s: u64) -> Event {
        Event::BlockDone {
            done,
            blocks: 60,
            left: s(left_s),
            at_most: false,
        }
    }

    fn round(round: u32) -> Event {
        Event::RoundStarted { round, rounds: 2 }
    }

    #[test]
    fn the_course_comes_every_ten_seconds_and_estimates_every_thirty() {
        let (mut course, mut plain) = (Course::default(), Plain::default());
        let mut written = Vec::new();
        let mut step = |event, at: u64, course: &mut Course| {
            let new = course.take(event, s(at));
            for line in plain.lines(course, new, s(at), false) {
                written.push(format!("{at:2}: {line}"));
            }
        };
        step(round(0), 0, &mut course);
        for at in 1..=60_u32 {
            if at == 15 {
                course.running = Some(Running {
                    regime: None,
                    metric: Metric::CpuPerRequest,
                    asked: None,
                    estimates: vec![RunningEstimate {
                        name: "sdk\u{1b}[31m".to_owned(),
                        role: Role::Treatment,
                        known: Known::Nothing,
                    }],
                });
            }
            let done = block(at.min(45), 60 - u64::from(at));
            step(done, at.into(), &mut course);
        }
        let expected = [
            " 0: round 1 of 2: launching",
            "10: round 1 of 2, block 10 of 60: measuring, about 50 s left",
            "20: round 1 of 2, block 20 of 60: measuring, about 40 s left",
            "30: round 1 of 2, block 30 of 60: measuring, about 30 s left",
            "30: cpu_per_request, so far: sdk [31m n/a",
            "40: round 1 of 2, block 40 of 60: measuring, about 20 s left",
            "50: round 1 of 2, block 45 of 60: measuring, about 10 s left",
        ];
        assert_eq!(written, expected);
        let hidden = plain.lines(&course, Vec::new(), s(100), true);
        assert!(hidden.is_empty(), "{hidden:?}");
    }

    #[test]
    fn a_phase_takes_one_line_however_long_it_lasts() {
        let (mut course, mut plain) = (Course::default(), Plain::default());
        let wait = || Event::Draining { lasts: s(30) };
        let events = [
            (0, round(0)),
            (1, Event::WarmingUp { lasts: s(2) }),
            (3, block(10, 57)),
            (5, block(30, 55)),
            (6, wait()),
            (36, round(1)),
            (37, Event::WarmingUp { lasts: s(2) }),
            (39, block(60, 2)),
            (40, wait()),
        ];
        let mut events = events.into_iter().peekable();
        let mut written = Vec::new();
        for at in 0..80 {
            let mut new = Vec::new();
            while let Some((_, event)) = events.next_if(|(then, _)| *then == at) {
                new.extend(course.take(event, s(at)));
            }
            for line in plain.lines(&course, new, s(at), false) {
                written.push(format!("{at:2}: {line}"));
            }
        }
        let expected = [
            " 0: round 1 of 2: launching",
            " 1: round 1 of 2: warming up for 2s",
            " 6: round 1 of 2: waiting 30.0s for deferred work",
            "36: round 2 of 2: launching, about 24 s left",
            "37: round 2 of 2: warming up for 2s",
            "40: round 2 of 2: waiting 30.0s for deferred work",
        ];
        assert_eq!(written, expected);
    }
}
