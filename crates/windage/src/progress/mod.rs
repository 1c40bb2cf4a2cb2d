//! What a person sees while a run goes on: lines at the foot of a terminal that are drawn anew in
//! place, and plain lines elsewhere.
//!
//! The lab's thread hands its events over and goes on: a thread of its own draws, and waits for a
//! terminal that is slow or was stopped with Ctrl-S. `course` says how far the run is, `render` what
//! that looks like, `screen` draws it; `looking` finds out what is known so far, on another thread.

mod course;
mod display;
mod estimates;
mod fit;
mod left;
mod plain;
mod render;
mod run_reader;
mod screen;

use std::io::IsTerminal;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;

use windage_model::Event;

use display::{Display, Told};
use run_reader::Looking;

/// Events that may wait for a terminal that takes nothing; what comes then is counted.
const WAITING: usize = 1000;

/// Shows how far a run is, on standard error; until it is dropped or [`Progress::finish`]ed.
pub(crate) struct Progress {
    /// `None` where nothing is shown.
    shown: Option<Shown>,
}

struct Shown {
    tell: SyncSender<Told>,
    unseen: Arc<AtomicU64>,
    thread: JoinHandle<()>,
}

impl Progress {
    /// Shows the run that is made in a directory, or nothing where it is to be `quiet`. The flag is
    /// the one that a signal sets: from then on nothing is drawn in place any more.
    pub(crate) fn start(quiet: bool, directory: &Path, interrupted: Arc<AtomicBool>) -> Progress {
        if quiet {
            return Progress { shown: None };
        }
        let (tell, told) = sync_channel(WAITING);
        let unseen = Arc::default();
        let display = Display {
            told,
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
        // Without a thread to be had the run is worth more than its display.
        Progress {
            shown: thread.ok().map(|thread| Shown {
                tell,
                unseen,
                thread,
            }),
        }
    }

    /// Shows one event.
    pub(crate) fn show(&self, event: Event) {
        self.tell(Told::Event(event));
    }

    /// Shows that the run is over and is being analysed.
    pub(crate) fn analysing(&self) {
        self.tell(Told::Analysing);
    }

    /// Takes away what is drawn in place, when all that was told has been shown.
    pub(crate) fn finish(self) {
        drop(self);
    }

    /// The schedule is never blocked.
    fn tell(&self, told: Told) {
        if let Some(shown) = &self.shown
            && shown.tell.try_send(told).is_err()
        {
            shown.unseen.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(Shown { tell, thread, .. }) = self.shown.take() {
            drop(tell);
            // If it panicked, it has said so.
            let _ = thread.join();
        }
    }
}

/// Whether standard error can be drawn on: a terminal that knows where its cursor is.
fn draws_in_place() -> bool {
    let is_dumb = std::env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb");
    std::io::stderr().is_terminal() && !is_dumb
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    #[test]
    fn a_terminal_that_takes_nothing_holds_nobody_up() {
        let (tell, told) = sync_channel(WAITING);
        let (release, released) = channel::<()>();
        let (count, counted) = channel();
        let thread = std::thread::spawn(move || {
            // Ends with what would release it.
            let _ = released.recv();
            // Nobody listens only where the test has failed already.
            let _ = count.send(told.iter().count());
        });
        let unseen: Arc<AtomicU64> = Arc::default();
        let progress = Progress {
            shown: Some(Shown {
                tell,
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
