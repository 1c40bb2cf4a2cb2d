//! Orders on standard input, a line each, while the sink runs.

use std::io::{BufRead as _, IsTerminal as _};
use std::sync::mpsc::{self, Receiver};

use nix::unistd::{getpgrp, tcgetpgrp};

/// Orders that wait; who types faster waits as well.
const WAITING: usize = 16;

/// What was said so far and not heard.
pub(super) struct Orders(Receiver<String>);

impl Orders {
    /// Listens on a thread of its own, which ends with standard input or with Windage. In the
    /// background of a terminal nobody can speak, and reading would stop the whole process.
    pub(super) fn listen() -> Orders {
        let (said, heard) = mpsc::sync_channel(WAITING);
        let stdin = std::io::stdin();
        if stdin.is_terminal() && tcgetpgrp(&stdin) != Ok(getpgrp()) {
            return Orders(heard);
        }
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
