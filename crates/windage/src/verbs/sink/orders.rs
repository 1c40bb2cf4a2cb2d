//! Orders on standard input, one per line, while the sink runs.

use std::io::{BufRead as _, IsTerminal as _};
use std::sync::mpsc::{self, Receiver};

use nix::unistd::{getpgrp, tcgetpgrp};

/// Orders that may wait; typing faster blocks the reader.
const WAITING: usize = 16;

/// Orders that were read and not yet executed.
pub(super) struct Orders(Receiver<String>);

impl Orders {
    /// Reads on a separate thread, which ends with standard input or with Windage. A background job
    /// must not read from its terminal, because that would stop the whole process.
    pub(super) fn listen() -> Orders {
        let (send, heard) = mpsc::sync_channel(WAITING);
        let stdin = std::io::stdin();
        if stdin.is_terminal() && tcgetpgrp(&stdin) != Ok(getpgrp()) {
            return Orders(heard);
        }
        std::thread::spawn(move || {
            for line in std::io::stdin().lock().lines() {
                let Ok(line) = line else { return };
                if !line.trim().is_empty() && send.send(line).is_err() {
                    return;
                }
            }
        });
        Orders(heard)
    }

    /// The orders since the last call.
    pub(super) fn given(&self) -> impl Iterator<Item = String> + '_ {
        self.0.try_iter()
    }
}
