//! The thread that shows a run: a few times per second what has changed.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use windage_model::Event;

use super::course::{Course, Line};
use super::plain::Plain;
use super::render::render;
use super::run_reader::Looking;
use super::screen::{Screen, Size};

/// Four times per second at most.
const FRAME: Duration = Duration::from_millis(250);
/// Within that a signal is seen: a person presses Ctrl-C twice no faster. It is a load of a flag twenty
/// times per second.
const SIGNAL_SEEN_IN: Duration = Duration::from_millis(50);

/// What the display is told.
pub(super) enum Told {
    Event(Event),
    /// The lab is done.
    Analysing,
}

/// All that the display has to do with.
pub(super) struct Display {
    pub(super) told: Receiver<Told>,
    pub(super) looking: Option<Looking>,
    pub(super) interrupted: Arc<AtomicBool>,
    /// Whether that was told.
    pub(super) was_interrupted: bool,
    /// Events for which there was no room.
    pub(super) unseen: Arc<AtomicU64>,
}

/// Where it is shown.
enum Foot<W: Write> {
    /// Drawn in place, in such a state.
    Drawn(Screen<W>, Vec<String>, Size),
    Plain(Plain),
}

impl Display {
    /// Shows what is told until nobody is left to tell, drawn in place or as plain lines.
    pub(super) fn show(mut self, draws: bool) {
        let began = Instant::now();
        let mut course = Course::default();
        let mut foot = if draws {
            Foot::Drawn(
                Screen::new(std::io::stderr()),
                Vec::new(),
                Size::of_stderr(),
            )
        } else {
            Foot::Plain(Plain::default())
        };
        let mut is_open = true;
        while is_open {
            let mut lines = Vec::new();
            is_open = self.collect(began, &mut course, &mut lines);
            if let Some(running) = self.looking.as_ref().and_then(Looking::news) {
                course.running = Some(running);
            }
            if self.is_newly_interrupted() {
                self.was_interrupted = true;
                lines.push(Line::Stays(interrupted(&course).to_owned()));
            }
            let hides = self.was_interrupted || !is_open;
            foot.update(&course, lines, began.elapsed(), hides);
        }
        let unseen = self.unseen.load(Ordering::Relaxed);
        if unseen > 0 {
            anstream::eprintln!(
                "{unseen} messages came while the terminal took none; the report has what matters"
            );
        }
    }

    fn is_newly_interrupted(&self) -> bool {
        !self.was_interrupted && self.interrupted.load(Ordering::Relaxed)
    }

    /// What is told within one frame, or until a signal comes; whether more may come.
    fn collect(&mut self, began: Instant, course: &mut Course, lines: &mut Vec<Line>) -> bool {
        let end = Instant::now() + FRAME;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() || self.is_newly_interrupted() {
                return true;
            }
            match self.told.recv_timeout(left.min(SIGNAL_SEEN_IN)) {
                Ok(Told::Event(event)) => lines.extend(course.take(event, began.elapsed())),
                Ok(Told::Analysing) => {
                    course.analysing();
                    // Two would read the same at the same time.
                    self.looking = None;
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return false,
            }
        }
    }
}

/// What a signal does. Drawing ends with it, so that a second one, which ends everything at once, leaves
/// nothing half drawn.
fn interrupted(course: &Course) -> &'static str {
    if course.is_analysing() {
        "interrupted: nothing runs any more, and what was measured is analysed; once more ends it \
         without, and `windage report` makes up for it"
    } else {
        "interrupted: services are taken down; once more ends it at once"
    }
}

impl<W: Write> Foot<W> {
    /// Shows what is new, and the course unless it is to be hidden.
    fn update(&mut self, course: &Course, lines: Vec<Line>, now: Duration, hides: bool) {
        match self {
            Foot::Plain(plain) => {
                for line in plain.lines(course, lines, now, hides) {
                    anstream::eprintln!("{line}");
                }
            }
            Foot::Drawn(screen, drawn, size) => {
                let stays = |line| match line {
                    Line::Stays(text) => Some(text),
                    Line::Phase(_) => None,
                };
                let stay: Vec<String> = lines.into_iter().filter_map(stays).collect();
                let now_size = Size::of_stderr();
                let foot = if hides {
                    Vec::new()
                } else {
                    render(course, now, now_size.line())
                };
                if !stay.is_empty() || foot != *drawn || now_size != *size {
                    // A terminal that is gone is no reason to end a run.
                    let _ = screen.draw(&stay, &foot, now_size);
                    (*drawn, *size) = (foot, now_size);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{SyncSender, sync_channel};

    fn display() -> (SyncSender<Told>, Display) {
        let (tell, told) = sync_channel(10);
        let display = Display {
            told,
            looking: None,
            interrupted: Arc::default(),
            was_interrupted: false,
            unseen: Arc::default(),
        };
        (tell, display)
    }

    /// Collects one frame: whether more may come, and whether it took a whole frame.
    fn frame(display: &mut Display, course: &mut Course) -> (bool, bool) {
        let began = Instant::now();
        let is_open = display.collect(began, course, &mut Vec::new());
        (is_open, began.elapsed() >= FRAME)
    }

    #[test]
    fn a_frame_ends_with_a_signal_that_was_not_told() {
        // came, was told, a whole frame
        for (came, told, is_whole) in [
            (false, false, true),
            (true, false, false),
            (true, true, true),
        ] {
            let (tell, mut display) = display();
            display.interrupted.store(came, Ordering::Relaxed);
            display.was_interrupted = told;
            let found = frame(&mut display, &mut Course::default());
            assert_eq!(found, (true, is_whole), "{came} {told}");
            drop(tell);
            display.was_interrupted = came;
            let found = frame(&mut display, &mut Course::default());
            assert_eq!(found, (false, false), "nobody is left to tell");
        }
    }

    #[test]
    fn what_a_signal_does_depends_on_whether_anything_runs() {
        let (tell, mut display) = display();
        let mut course = Course::default();
        tell.send(Told::Event(Event::Measuring)).unwrap();
        frame(&mut display, &mut course);
        assert!(interrupted(&course).contains("services are taken down"));
        tell.send(Told::Analysing).unwrap();
        frame(&mut display, &mut course);
        assert!(interrupted(&course).contains("nothing runs any more"));
    }
}
