//! Whether the sink's counts equal what it acknowledged, also when batches are retried.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};

use super::receiver::Protocol;
use super::receiver::Receiving;
use super::sender::{Attempts, Sender};
use crate::bench::line::Places;
use crate::bench::study::{Quantity, Reading};

pub(super) const SCENARIO: &str = "exactness";

pub(super) const MEANING: &str = "\
Batches of 8,192 small spans over HTTP, each with unique bytes, retried unchanged until the sink \
accepts them. Its count must equal what it acknowledged";

/// Spans in a batch: many, so that 10^8 are sent soon.
const BATCH_SPANS: u64 = 8192;

/// Connections, each on its own thread.
const SENDERS: u64 = 4;

/// How long the backend behaves as in the mode's first setting, and as in the second. The sink
/// reads its orders ten times per second.
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

/// An obstacle to the delivery of batches.
#[derive(Debug)]
pub(super) struct Mode {
    pub(super) name: &'static str,
    /// As in `windage sink --backend`.
    backend: &'static str,
    /// The behaviour that it is switched to for moments while batches arrive.
    switched: Option<&'static str>,
    /// The share of batches that the sender cuts in the middle and retries.
    cut_share: f64,
}

pub(super) const MODES: &[Mode] = &[
    mode("no obstacle", "ok", None, 0.0),
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

/// Sends at least that many spans, in whole batches, and compares the counts.
pub(super) fn measure(mode: &str, spans: u64, programs: &Places) -> Result<Reading> {
    let mode = MODES
        .iter()
        .find(|of| of.name == mode)
        .context("unknown mode")?;
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

/// Switches the backend back and forth until everything is delivered.
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
    fn only_equal_counts_are_exact() {
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
