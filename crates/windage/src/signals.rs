//! Signals that end a run.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGINT, SIGTERM};

use crate::exit::Exit;
use crate::message;

/// Ctrl-C and SIGTERM: the first one ends the run in order, the second one at once.
pub(crate) struct Signals(Arc<AtomicBool>);

impl Signals {
    pub(crate) fn install() -> Option<Signals> {
        let flag = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            let second = signal_hook::flag::register_conditional_shutdown(
                signal,
                Exit::Interrupted as i32,
                Arc::clone(&flag),
            );
            let first = signal_hook::flag::register(signal, Arc::clone(&flag));
            if let Err(error) = second.and(first) {
                message::error(format_args!("can't listen for signals: {error}"));
                return None;
            }
        }
        Some(Signals(flag))
    }

    /// The flag that a signal sets.
    pub(crate) fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.0)
    }

    /// Whether a signal came.
    pub(crate) fn came(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
