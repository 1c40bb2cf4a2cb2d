//! What a person sees while a run goes on: on a terminal, lines at its foot that are redrawn in
//! place; elsewhere, plain lines.
//!
//! The lab's thread hands its events over and continues. A separate thread draws, and waits if the
//! terminal is slow or was stopped with Ctrl-S. `course` says how far the run is, `render` lays
//! that out, `screen` draws it, and `run_reader` computes the running estimates on another thread.

mod course;
mod display;
mod estimates;
pub(crate) mod left;
mod plain;
mod render;
mod run_reader;

use std::io::IsTerminal;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;

use windage_model::Event;

use display::{Display, Message};
use run_reader::Looking;

use crate::message;

/// Events that may wait for a blocked terminal; further ones are dropped and counted.
const WAITING: usize = 1000;

/// Shows how far a run is, on standard error, until it is dropped or [`Progress::finish`]ed.
pub(crate) struct Progress {
    /// `None` where nothing is shown.
    shown: Option<Shown>,
}

struct Shown {
    sender: SyncSender<Message>,
    unseen: Arc<AtomicU64>,
    thread: JoinHandle<()>,
}

impl Progress {
    /// Shows the run in a directory, or nothing if `quiet`. `interrupted` is the flag that a signal
    /// sets; once it is set, nothing is drawn in place any more.
    pub(crate) fn start(quiet: bool, directory: &Path, interrupted: Arc<AtomicBool>) -> Progress {
        if quiet {
            return Progress { shown: None };
        }
        let (sender, receiver) = sync_channel(WAITING);
        let unseen = Arc::default();
        let display = Display {
            receiver,
            looking: Looking::at(directory.to_owned()),
            interrupted,
            was_interrupted: false,
            unseen: Arc::clone(&unseen),
        };
        let draws = draws_in_place();
        let thread = std::thread::Builder::new()
            .name("windage-display".to_owned())
            .spawn(move || {
                windage_serve::be_nice();
                display.show(draws);
            });
        // If no thread can be started, the run goes on without a display.
        Progress {
            shown: thread.ok().map(|thread| Shown {
                sender,
                unseen,
                thread,
            }),
        }
    }

    /// Shows one event. Lost data is reported even where nothing else is shown.
    pub(crate) fn show(&self, event: Event) {
        match (&self.shown, &event) {
            (None, Event::RecordDamaged { warnings, copies }) => {
                message::warning(course::record_damaged(warnings, copies));
            }
            _ => self.send(Message::Event(event)),
        }
    }

    /// Shows that the run is over and is being analysed.
    pub(crate) fn analysing(&self) {
        self.send(Message::Analysing);
    }

    /// Removes what is drawn in place, after all events have been shown.
    pub(crate) fn finish(self) {
        drop(self);
    }

    /// The schedule is never blocked.
    fn send(&self, message: Message) {
        if let Some(shown) = &self.shown
            && shown.sender.try_send(message).is_err()
        {
            shown.unseen.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(Shown { sender, thread, .. }) = self.shown.take() {
            drop(sender);
            // If it panicked, the panic has been printed.
            let _ = thread.join();
        }
    }
}

/// Whether standard error can be drawn on: a terminal with a movable cursor.
fn draws_in_place() -> bool {
    let is_dumb = std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
    std::io::stderr().is_terminal() && !is_dumb
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    #[test]
    fn a_blocked_terminal_does_not_delay_the_run() {
        let (sender, receiver) = sync_channel(WAITING);
        let (release, released) = channel::<()>();
        let (count, counted) = channel();
        let thread = std::thread::spawn(move || {
            // Blocks until the test releases it, or fails and drops `release`.
            let _ = released.recv();
            // The receiver is gone only if the test has failed already.
            let _ = count.send(receiver.iter().count());
        });
        let unseen: Arc<AtomicU64> = Arc::default();
        let progress = Progress {
            shown: Some(Shown {
                sender,
                unseen: Arc::clone(&unseen),
                thread,
            }),
        };
        for _ in 0..WAITING + 5 {
            progress.show(Event::TakingDown);
        }
        assert_eq!(unseen.load(Ordering::Relaxed), 5);
        drop(release);
        progress.finish();
        assert_eq!(counted.recv(), Ok(WAITING));
    }
}
