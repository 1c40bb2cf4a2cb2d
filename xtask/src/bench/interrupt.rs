//! Ctrl-C and the like: seen between waits, so that what runs is ended on the way out.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result, bail};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

/// Whether someone asked this program to end.
#[derive(Clone, Debug, Default)]
pub(super) struct Interrupt(Arc<AtomicBool>);

impl Interrupt {
    /// From now on the signals that ask for an end are seen here, and no longer end the program.
    pub(super) fn watch() -> Result<Interrupt> {
        let interrupt = Interrupt::default();
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            signal_hook::flag::register(signal, Arc::clone(&interrupt.0))
                .with_context(|| format!("watch for signal {signal}"))?;
        }
        Ok(interrupt)
    }

    /// An error once an end was asked for.
    pub(super) fn check(&self) -> Result<()> {
        if self.is_raised() {
            bail!("interrupted; the rounds before are kept where --record was given");
        }
        Ok(())
    }

    pub(super) fn is_raised(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    #[cfg(test)]
    pub(super) fn raise(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
