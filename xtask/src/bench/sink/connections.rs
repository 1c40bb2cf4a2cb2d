//! What memory the sink takes with many connections, all of which send.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::generator::{Delivered, Load};
use super::provide::Programs;
use super::receiving::Receiving;
use super::scenario::Scenario;
use super::study::Body;
use crate::bench::interrupt::Interrupt;
use crate::bench::memory::Memory;

/// Below this the sink's memory has to stay.
pub(super) const MEMORY_BELOW_BYTES: u64 = 64_000_000;

/// How long every connection has a request under way, when all have at once.
const AT_ONCE: Duration = Duration::from_secs(5);

/// What comes in a second when connections take turns: of requests, and of bytes where requests
/// are large. Less than the sink can take.
const REQUESTS_PER_S: u64 = 2000;
const BYTES_PER_S: u64 = 500_000_000;

/// For an answer: with so many large requests under way each takes its time.
const TIMEOUT: Duration = Duration::from_secs(300);

/// Often enough for the time in which all connections are open, seldom enough for counting
/// thousands of descriptors not to be felt.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// When the connections send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// One after another, evenly: few requests are under way.
    Each,
    /// All of them all the time.
    AtOnce,
}

/// What is to be measured: a scenario's requests over so many connections.
pub(super) struct CrowdOf {
    pub(super) scenario: &'static Scenario,
    pub(super) turn: Turn,
    pub(super) connections: u32,
}

/// What a sink took.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Crowd {
    pub(super) scenario: &'static str,
    pub(super) turn: Turn,
    pub(super) requests: u64,
    /// A request that does not arrive within half a minute is refused.
    pub(super) refused: u64,
    /// Before the first connection.
    pub(super) idle: Memory,
    /// The most that was seen while all connections were open, and the peak since the start.
    pub(super) memory: Memory,
}

impl Turn {
    pub(super) const ALL: [Turn; 2] = [Turn::Each, Turn::AtOnce];

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Turn::Each => "in turn",
            Turn::AtOnce => "at once",
        }
    }
}

impl Crowd {
    pub(super) fn is_small(&self) -> bool {
        self.memory.rss_peak_bytes < MEMORY_BELOW_BYTES
    }
}

impl CrowdOf {
    /// Opens the connections, sends on all of them, and looks.
    pub(super) fn measure(&self, programs: &Programs, interrupt: &Interrupt) -> Result<Crowd> {
        let CrowdOf {
            scenario,
            turn,
            connections,
        } = *self;
        let folder = tempfile::tempdir().context("make a temporary folder")?;
        let body = Body::write(scenario, folder.path())?;
        let sink = Receiving::sink(&[], scenario.protocol, programs, folder.path())?;
        let (idle, own_descriptors) = (sink.memory()?, descriptors(&sink)?);
        let (rate_per_s, lasts) = self.pace(body.bytes);
        let load = Load {
            windage: &programs.windage,
            scenario,
            body: &body.file,
            connections,
            rate_per_s,
            lasts,
            timeout: TIMEOUT,
        };
        let open = own_descriptors + connections as usize;
        let is_over = AtomicBool::new(false);
        let (delivered, rss_bytes) = thread::scope(|scope| {
            let watcher = scope.spawn(|| watch(&sink, open, &is_over));
            let delivered = load.put_on(sink.address, folder.path(), interrupt);
            is_over.store(true, Ordering::Relaxed);
            match watcher.join() {
                Ok(seen) => Ok((delivered?, seen?)),
                Err(_) => bail!("the thread that looks at memory panicked"),
            }
        })?;
        let rss_peak_bytes = sink.memory()?.rss_peak_bytes;
        let counted = sink.finish()?["spans"].as_u64();
        self.check(&delivered, counted)?;
        Ok(Crowd {
            scenario: scenario.name,
            turn,
            requests: delivered.requests,
            refused: delivered.refused,
            idle,
            memory: Memory {
                rss_bytes: rss_bytes.with_context(|| {
                    format!("{connections} connections were never seen open at once")
                })?,
                rss_peak_bytes,
            },
        })
    }

    /// Requests a second, unless the loop is closed, and for how long; so that each connection
    /// has its turn, and a tenth of them a second one.
    fn pace(&self, body_bytes: u64) -> (Option<u32>, Duration) {
        if self.turn == Turn::AtOnce {
            return (None, AT_ONCE);
        }
        let rate_per_s = REQUESTS_PER_S.min(BYTES_PER_S / body_bytes).max(1);
        let lasts_ms = u64::from(self.connections) * 1100 / rate_per_s;
        let rate_per_s = u32::try_from(rate_per_s).unwrap_or(u32::MAX);
        (Some(rate_per_s), Duration::from_millis(lasts_ms.max(1000)))
    }

    /// Each connection has sent, and what the sink counted is what was delivered.
    fn check(&self, delivered: &Delivered, counted: Option<u64>) -> Result<()> {
        let answered = delivered.requests + delivered.refused;
        if answered < self.connections.into() {
            bail!(
                "only {answered} requests over {} connections",
                self.connections
            );
        }
        let spans = delivered.requests * self.scenario.spans as u64;
        if counted != Some(spans) {
            bail!("it counted {counted:?} spans, and {spans} were delivered");
        }
        Ok(())
    }
}

/// The most resident memory while so many descriptors were open; `None` when they never were.
fn watch(sink: &Receiving, open: usize, is_over: &AtomicBool) -> Result<Option<u64>> {
    let mut most = None;
    while !is_over.load(Ordering::Relaxed) {
        if descriptors(sink)? >= open {
            most = most.max(Some(sink.memory()?.rss_bytes));
        }
        thread::sleep(LOOK_EVERY);
    }
    Ok(most)
}

fn descriptors(sink: &Receiving) -> Result<usize> {
    let folder = format!("/proc/{}/fd", sink.pid());
    let entries = fs::read_dir(&folder).with_context(|| format!("read {folder}"))?;
    Ok(entries.count())
}

#[cfg(test)]
mod tests {
    use super::super::scenario::by_name;
    use super::*;

    fn crowd(turn: Turn) -> CrowdOf {
        CrowdOf {
            scenario: by_name("http-10").unwrap(),
            turn,
            connections: 10_000,
        }
    }

    #[test]
    fn every_connection_has_its_turn() {
        let table = [
            (4_000, (Some(2000), Duration::from_millis(5_500))),
            (5_000_000, (Some(100), Duration::from_millis(110_000))),
        ];
        for (body_bytes, expected) in table {
            assert_eq!(crowd(Turn::Each).pace(body_bytes), expected, "{body_bytes}");
        }
        assert_eq!(crowd(Turn::AtOnce).pace(4_000), (None, AT_ONCE));
    }

    #[test]
    fn a_crowd_that_did_not_send_or_was_miscounted_is_an_error() {
        let delivered = |requests, refused| Delivered {
            requests,
            refused,
            seconds: 1.0,
        };
        let table = [
            (delivered(9_990, 10), Some(99_900), None),
            (delivered(9_990, 9), Some(99_900), Some("only 9999")),
            (delivered(10_000, 0), Some(99_999), Some("Some(99999)")),
            (delivered(10_000, 0), None, Some("None")),
        ];
        for (delivered, counted, expected) in table {
            let outcome = crowd(Turn::Each).check(&delivered, counted);
            match expected {
                None => outcome.unwrap(),
                Some(part) => assert!(outcome.unwrap_err().to_string().contains(part)),
            }
        }
    }
}
