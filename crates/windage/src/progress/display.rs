//! The thread that shows a run: a few times per second it draws what changed.

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
use crate::screen::{Screen, Size};

/// At most four times per second.
const FRAME: Duration = Duration::from_millis(250);
/// How soon a signal is noticed. A person presses Ctrl-C twice no faster; it costs twenty loads of
/// a flag per second.
const SIGNAL_SEEN_IN: Duration = Duration::from_millis(50);

/// A message to the display.
pub(super) enum Message {
    Event(Event),
    /// The lab is done.
    Analysing,
}

/// Everything the display needs.
pub(super) struct Display {
    pub(super) receiver: Receiver<Message>,
    pub(super) looking: Option<Looking>,
    pub(super) interrupted: Arc<AtomicBool>,
    /// Whether the interruption was shown.
    pub(super) was_interrupted: bool,
    /// Events that were dropped because the queue was full.
    pub(super) unseen: Arc<AtomicU64>,
}

/// Where the run is shown.
enum Foot<W: Write> {
    /// Drawn in place: the screen, the lines on it, its size.
    Drawn(Screen<W>, Vec<String>, Size),
    Plain(Plain),
}

impl Display {
    /// Shows events until all senders are dropped, drawn in place or as plain lines.
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
                "{unseen} messages were dropped while the terminal was blocked; the report has what matters"
            );
        }
    }

    fn is_newly_interrupted(&self) -> bool {
        !self.was_interrupted && self.interrupted.load(Ordering::Relaxed)
    }

    /// Collects events for one frame or until a signal comes; returns whether more may come.
    fn collect(&mut self, began: Instant, course: &mut Course, lines: &mut Vec<Line>) -> bool {
        let end = Instant::now() + FRAME;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() || self.is_newly_interrupted() {
                return true;
            }
            match self.receiver.recv_timeout(left.min(SIGNAL_SEEN_IN)) {
                Ok(Message::Event(event)) => lines.extend(course.take(event, began.elapsed())),
                Ok(Message::Analysing) => {
                    course.analysing();
                    // The final analysis reads the same data at the same time.
                    self.looking = None;
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return false,
            }
        }
    }
}

/// What a signal does. Drawing ends with the first signal, so that a second one, which ends
/// everything at once, leaves nothing half drawn.
fn interrupted(course: &Course) -> &'static str {
    if course.is_analysing() {
        "interrupted: measuring is over, what was measured is being analysed; press Ctrl-C again \
         to skip that (`windage report` can do it later)"
    } else {
        "interrupted: taking services down; press Ctrl-C again to end at once"
    }
}

impl<W: Write> Foot<W> {
    /// Shows new lines, and the course unless it is to be hidden.
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
                    // A closed terminal is no reason to end a run.
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

    fn display() -> (SyncSender<Message>, Display) {
        let (sender, receiver) = sync_channel(10);
        let display = Display {
            receiver,
            looking: None,
            interrupted: Arc::default(),
            was_interrupted: false,
            unseen: Arc::default(),
        };
        (sender, display)
    }

    /// Collects one frame: whether more may come, and whether it took the whole frame.
    fn frame(display: &mut Display, course: &mut Course) -> (bool, bool) {
        let began = Instant::now();
        let is_open = display.collect(began, course, &mut Vec::new());
        (is_open, began.elapsed() >= FRAME)
    }

    #[test]
    fn a_new_signal_ends_the_frame() {
        // came, already shown, takes a whole frame
        for (came, is_shown, is_whole) in [
            (false, false, true),
            (true, false, false),
            (true, true, true),
        ] {
            let (sender, mut display) = display();
            display.interrupted.store(came, Ordering::Relaxed);
            display.was_interrupted = is_shown;
            let found = frame(&mut display, &mut Course::default());
            assert_eq!(found, (true, is_whole), "{came} {is_shown}");
            drop(sender);
            display.was_interrupted = came;
            let found = frame(&mut display, &mut Course::default());
            assert_eq!(found, (false, false), "no sender is left");
        }
    }

    #[test]
    fn a_signal_acts_by_whether_anything_still_runs() {
        let (sender, mut display) = display();
        let mut course = Course::default();
        sender.send(Message::Event(Event::Measuring)).unwrap();
        frame(&mut display, &mut course);
        assert!(interrupted(&course).contains("taking services down"));
        sender.send(Message::Analysing).unwrap();
        frame(&mut display, &mut course);
        assert!(interrupted(&course).contains("measuring is over"));
    }
}
