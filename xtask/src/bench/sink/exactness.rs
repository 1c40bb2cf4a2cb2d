//! Whether the sink counts exactly what it said it had accepted, also when batches are sent again.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use serde_json::Value;

use super::provide::Programs;
use super::receiving::Receiving;
use super::scenario::Protocol;
use super::sender::{Attempts, Sender};
use crate::bench::interrupt::Interrupt;

/// In a batch: many, so that 10^8 are soon sent.
pub(super) const BATCH_SPANS: u64 = 8192;

/// Connections, each on a thread of its own.
const SENDERS: u64 = 4;

/// How long a backend is what the mode has, and how long what that is switched to. The sink looks
/// at its orders ten times a second.
const WELL: Duration = Duration::from_millis(500);
const ILL: Duration = Duration::from_millis(200);

/// What stands in the way of a batch.
#[derive(Debug)]
pub(super) struct Mode {
    pub(super) name: &'static str,
    /// As `windage sink --backend` has it.
    backend: &'static str,
    /// What that is switched to for a moment, again and again, while batches come.
    switched: Option<&'static str>,
    /// Of batches, the share that the sender cuts in the middle and sends again.
    cut_share: f64,
}

pub(super) const MODES: &[Mode] = &[
    Mode {
        name: "nothing",
        backend: "ok",
        switched: None,
        cut_share: 0.0,
    },
    Mode {
        name: "a fifth refused with 503",
        backend: "reject 503 20%",
        switched: None,
        cut_share: 0.0,
    },
    Mode {
        name: "a fifth reset by the sender in the middle of a body",
        backend: "ok",
        switched: None,
        cut_share: 0.2,
    },
    Mode {
        name: "every connection reset, on and off",
        backend: "ok",
        switched: Some("reset"),
        cut_share: 0.0,
    },
    Mode {
        name: "nothing listens, on and off",
        backend: "ok",
        switched: Some("down"),
        cut_share: 0.0,
    },
];

/// What a mode gave.
#[derive(Clone, Debug)]
pub(super) struct Exactness {
    pub(super) mode: &'static str,
    pub(super) backend: String,
    pub(super) attempts: Attempts,
    /// Everything that the sink said at its end.
    pub(super) account: Value,
    pub(super) seconds: f64,
}

impl Mode {
    /// How the backend behaves.
    fn words(&self) -> String {
        let (well, ill) = (self.backend, self.switched);
        ill.map_or_else(
            || well.to_owned(),
            |ill| format!("{well} and {ill} in turn"),
        )
    }
}

impl Exactness {
    /// Spans in batches that the sink said it had accepted.
    pub(super) fn acknowledged_spans(&self) -> u64 {
        self.attempts.acknowledged * BATCH_SPANS
    }

    pub(super) fn counted_spans(&self) -> Option<u64> {
        self.account["spans"].as_u64()
    }

    pub(super) fn is_exact(&self) -> bool {
        self.counted_spans() == Some(self.acknowledged_spans())
    }
}

/// Sends no fewer spans than asked for, in whole batches, and compares.
pub(super) fn measure(
    mode: &Mode,
    spans: u64,
    programs: &Programs,
    interrupt: &Interrupt,
) -> Result<Exactness> {
    let folder = tempfile::tempdir().context("make a temporary folder")?;
    let arguments = ["--backend", mode.backend];
    let sink = Receiving::sink(&arguments, Protocol::Http, programs, folder.path())?;
    let began = Instant::now();
    let attempts = deliver(mode, &sink, spans.div_ceil(BATCH_SPANS), interrupt)?;
    let seconds = began.elapsed().as_secs_f64();
    Ok(Exactness {
        mode: mode.name,
        backend: mode.words(),
        attempts,
        account: sink.finish()?,
        seconds,
    })
}

/// Delivers batches over several connections at once.
fn deliver(mode: &Mode, sink: &Receiving, batches: u64, interrupt: &Interrupt) -> Result<Attempts> {
    let next = AtomicU64::new(0);
    let send = |index| -> Result<Attempts> {
        let spans = usize::try_from(BATCH_SPANS)?;
        let mut sender = Sender::new(sink.address, spans, mode.cut_share, index, interrupt)?;
        loop {
            let batch = next.fetch_add(1, Ordering::Relaxed);
            if batch >= batches {
                return Ok(sender.attempts);
            }
            sender.deliver(batch)?;
        }
    };
    let mut all = Attempts::default();
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let switch = scope.spawn(|| switch(mode, sink, &is_over));
        let senders: Vec<_> = (0..SENDERS)
            .map(|index| scope.spawn(move || send(index)))
            .collect();
        let outcomes: Vec<_> = senders.into_iter().map(ScopedJoinHandle::join).collect();
        is_over.store(true, Ordering::Relaxed);
        switch
            .join()
            .map_err(|_| anyhow!("the switch panicked"))??;
        for outcome in outcomes {
            all += outcome.map_err(|_| anyhow!("a sender panicked"))??;
        }
        Ok(all)
    })
}

/// Switches the backend to and fro until all is delivered.
fn switch(mode: &Mode, sink: &Receiving, is_over: &AtomicBool) -> Result<()> {
    let Some(ill) = mode.switched else {
        return Ok(());
    };
    while !is_over.load(Ordering::Relaxed) {
        thread::sleep(WELL);
        sink.order(ill)?;
        thread::sleep(ILL);
        sink.order(mode.backend)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_is_equal_and_nothing_else() {
        let exactness = |spans: u64| Exactness {
            mode: "nothing",
            backend: "ok".into(),
            attempts: Attempts {
                acknowledged: 2,
                refused: 5,
                ..Attempts::default()
            },
            account: serde_json::json!({ "spans": spans }),
            seconds: 1.0,
        };
        let table = [
            (exactness(2 * BATCH_SPANS), true),
            (exactness(2 * BATCH_SPANS + 1), false),
            (exactness(2 * BATCH_SPANS - 1), false),
        ];
        for (exactness, expected) in table {
            assert_eq!(exactness.is_exact(), expected, "{:?}", exactness.account);
        }
    }
}
