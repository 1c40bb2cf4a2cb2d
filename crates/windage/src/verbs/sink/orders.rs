//! Orders on standard input, a line each, while the sink runs.

use std::io::BufRead as _;
use std::sync::mpsc::{self, Receiver};

/// Orders that wait; who types faster waits as well.
const WAITING: usize = 16;

/// What was said so far and not heard.
pub(super) struct Orders(Receiver<String>);

impl Orders {
    /// Listens on a thread of its own, which ends with standard input or with Windage.
    pub(super) fn listen() -> Orders {
        let (said, heard) = mpsc::sync_channel(WAITING);
        std::thread::spawn(move || {
            for line in std::io::stdin().lock().lines() {
                let Ok(line) = line else { return };
                if !line.trim().is_empty() && said.send(line).is_err() {
                    return;
                }
            }
        });
        Orders(heard)
    }

    /// The orders since the last look.
    pub(super) fn given(&self) -> impl Iterator<Item = String> + '_ {
        self.0.try_iter()
    }
}
