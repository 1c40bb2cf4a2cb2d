//! Whether the sink counts exactly what it said it had accepted, also when batches are sent again.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};

use super::receiver::Receiving;
use super::scenario::Protocol;
use super::sender::{Attempts, Sender};
use crate::bench::line::Places;
use crate::bench::study::{Quantity, Reading};

pub(super) const SCENARIO: &str = "exactness";

pub(super) const MEANING: &str = "\
Batches of 8,192 small spans over HTTP, each with bytes of its own, sent again as they are until the sink says that it has \
accepted them. What it counted has to be what it acknowledged";

/// In a batch: many, so that 10^8 are soon sent.
const BATCH_SPANS: u64 = 8192;

/// Connections, each on a thread of its own.
const SENDERS: u64 = 4;

/// How long a backend is what the mode has, and how long what that is switched to. The sink looks
/// at its orders ten times per second.
const WELL: Duration = Duration::from_millis(500);
const FAULTY: Duration = Duration::from_millis(200);

const BATCHES: Quantity = Quantity::new("acknowledged batches", "", 0);
const SPANS: Quantity = Quantity::new("their spans", "", 0);
const COUNTED: Quantity = Quantity::new("counted spans", "", 0);
pub(super) const OFF_BY: Quantity = Quantity::new("off by", "", 0);
const REFUSED: Quantity = Quantity::new("refused", "", 0);
const BROKEN: Quantity = Quantity::new("broken", "", 0);
const CUT: Quantity = Quantity::new("cut", "", 0);
const SECONDS: Quantity = Quantity::new("took", "s", 1);

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
    mode("nothing in the way", "ok", None, 0.0),
    mode("a fifth refused with 503", "reject 503 20%", None, 0.0),
    mode(
        "a fifth reset by the sender in the middle of a body",
        "ok",
        None,
        0.2,
    ),
    mode(
        "every connection reset, on and off",
        "ok",
        Some("reset"),
        0.0,
    ),
    mode("nothing listens, on and off", "ok", Some("down"), 0.0),
];

const fn mode(
    name: &'static str,
    backend: &'static str,
    switched: Option<&'static str>,
    cut_share: f64,
) -> Mode {
    Mode {
        name,
        backend,
        switched,
        cut_share,
    }
}

/// Sends no fewer spans than asked for, in whole batches, and compares.
pub(super) fn measure(mode: &str, spans: u64, programs: &Places) -> Result<Reading> {
    let mode = MODES
        .iter()
        .find(|of| of.name == mode)
        .context("no such mode")?;
    let sink = Receiving::sink(Protocol::Http, &["--backend", mode.backend], programs)?;
    let began = Instant::now();
    let attempts = deliver(mode, &sink, spans.div_ceil(BATCH_SPANS))?;
    let seconds = began.elapsed().as_secs_f64();
    let counted = sink.finish()?["spans"]
        .as_u64()
        .context("it counted no spans")?;
    Ok(reading(&attempts, counted, seconds))
}

fn reading(attempts: &Attempts, counted: u64, seconds: f64) -> Reading {
    let acknowledged = attempts.acknowledged * BATCH_SPANS;
    Reading::of([
        (BATCHES, attempts.acknowledged as f64),
        (SPANS, acknowledged as f64),
        (COUNTED, counted as f64),
        (OFF_BY, counted.abs_diff(acknowledged) as f64),
        (REFUSED, attempts.refused as f64),
        (BROKEN, attempts.broken as f64),
        (CUT, attempts.cut as f64),
        (SECONDS, seconds),
    ])
}

/// Delivers batches over several connections at once.
fn deliver(mode: &Mode, sink: &Receiving, batches: u64) -> Result<Attempts> {
    let next = AtomicU64::new(0);
    let send = |index| -> Result<Attempts> {
        let spans = usize::try_from(BATCH_SPANS)?;
        let mut sender = Sender::new(sink.address, spans, mode.cut_share, index)?;
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
    let Some(faulty) = mode.switched else {
        return Ok(());
    };
    while !is_over.load(Ordering::Relaxed) {
        thread::sleep(WELL);
        sink.order(faulty)?;
        thread::sleep(FAULTY);
        sink.order(mode.backend)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_is_equal_and_nothing_else() {
        let attempts = Attempts {
            acknowledged: 2,
            refused: 5,
            ..Attempts::default()
        };
        let spans = 2 * BATCH_SPANS;
        for (counted, off_by) in [(spans, 0.0), (spans + 1, 1.0), (spans - 1, 1.0)] {
            let reading = reading(&attempts, counted, 1.0);
            assert_eq!(reading.value(OFF_BY), Some(off_by), "{counted}");
        }
    }
}
