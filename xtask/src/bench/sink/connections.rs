//! The sink's memory with many connections that all send.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::generator::{Delivered, Load};
use super::receiver::Receiving;
use super::scenario::Scenario;
use crate::bench::line::Places;
use crate::bench::study::{Quantity, Reading};

pub(super) const MEMORY: Quantity = Quantity::new("peak memory", "MB", 1);

/// How long every connection has a request in progress, when all send at once.
const AT_ONCE: Duration = Duration::from_secs(5);

/// The load when connections take turns: requests per second, and bytes per second where requests
/// are large. Less than the sink can take.
const REQUESTS_PER_S: u64 = 2000;
const BYTES_PER_S: u64 = 500_000_000;

/// Timeout of an answer: with so many large requests in progress each takes long.
const TIMEOUT: Duration = Duration::from_secs(300);

/// Often enough for the time in which all connections are open, seldom enough that counting
/// thousands of descriptors does not disturb.
const LOOK_EVERY: Duration = Duration::from_millis(250);

const ACCEPTED: Quantity = Quantity::new("accepted", "", 0);
const REFUSED: Quantity = Quantity::new("refused", "", 0);
const IDLE: Quantity = Quantity::new("idle", "MB", 1);
const ALL_OPEN: Quantity = Quantity::new("maximum with all open", "MB", 1);

/// When the connections send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// One after another, evenly: few requests are in progress.
    Each,
    /// All of them, all the time.
    AtOnce,
}

impl Turn {
    pub(super) const ALL: [Turn; 2] = [Turn::Each, Turn::AtOnce];

    /// The scenario's name.
    pub(super) const fn scenario(self) -> &'static str {
        match self {
            Turn::Each => "in-turn",
            Turn::AtOnce => "at-once",
        }
    }

    pub(super) fn meaning(self) -> &'static str {
        match self {
            Turn::Each => "an open loop, so that each sends and few requests are in progress",
            Turn::AtOnce => {
                "each with a request in progress all the time; requests that take more than half a minute to \
                 arrive are refused"
            }
        }
    }

    /// Opens that many connections, sends the scenario's requests on all of them, and reads the
    /// sink's memory.
    pub(super) fn measure(
        self,
        scenario: &'static Scenario,
        connections: u32,
        programs: &Places,
    ) -> Result<Reading> {
        let body = scenario.write_body()?;
        let body_bytes = fs::metadata(&body)
            .context("read the size of the body")?
            .len();
        let sink = Receiving::sink(scenario.protocol, &[], programs)?;
        let (idle, own_descriptors) = (sink.memory()?, descriptors(&sink)?);
        let (rate_per_s, lasts) = self.pace(connections, body_bytes);
        let load = Load {
            scenario,
            connections,
            rate_per_s,
            lasts,
            timeout: TIMEOUT,
        };
        let open = own_descriptors + connections as usize;
        let is_over = AtomicBool::new(false);
        let (delivered, rss_bytes) = thread::scope(|scope| {
            let watcher = scope.spawn(|| watch(&sink, open, &is_over));
            let delivered = load.put_on(sink.address, body.path(), programs);
            is_over.store(true, Ordering::Relaxed);
            match watcher.join() {
                Ok(seen) => Ok((delivered?, seen?)),
                Err(_) => bail!("the thread that reads memory panicked"),
            }
        })?;
        let rss_bytes = rss_bytes
            .with_context(|| format!("{connections} connections were never seen open at once"))?;
        let peak = sink.memory()?;
        check(
            scenario,
            connections,
            &delivered,
            sink.finish()?["spans"].as_u64(),
        )?;
        Ok(Reading::of([
            (ACCEPTED, delivered.requests as f64),
            (REFUSED, delivered.refused as f64),
            (IDLE, idle.rss_bytes as f64 / 1e6),
            (ALL_OPEN, rss_bytes as f64 / 1e6),
            (MEMORY, peak.rss_peak_bytes as f64 / 1e6),
        ]))
    }

    /// Requests per second, unless the loop is closed, and for how long: each connection has its
    /// turn, and a tenth of them a second one.
    fn pace(self, connections: u32, body_bytes: u64) -> (Option<u32>, Duration) {
        if self == Turn::AtOnce {
            return (None, AT_ONCE);
        }
        let rate_per_s = REQUESTS_PER_S.min(BYTES_PER_S / body_bytes).max(1);
        let lasts_ms = u64::from(connections) * 1100 / rate_per_s;
        let rate_per_s = u32::try_from(rate_per_s).unwrap_or(u32::MAX);
        (Some(rate_per_s), Duration::from_millis(lasts_ms.max(1000)))
    }
}

/// Checks that each connection sent, and that the sink counted what was delivered.
fn check(
    scenario: &Scenario,
    connections: u32,
    delivered: &Delivered,
    counted: Option<u64>,
) -> Result<()> {
    let answered = delivered.requests + delivered.refused;
    if answered < connections.into() {
        bail!("only {answered} requests over {connections} connections");
    }
    let spans = delivered.requests * scenario.spans as u64;
    if counted != Some(spans) {
        bail!("it counted {counted:?} spans, and {spans} were delivered");
    }
    Ok(())
}

/// The largest resident memory while that many descriptors were open; `None` if they never were.
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

    #[test]
    fn every_connection_has_its_turn() {
        let table = [
            (4_000, (Some(2000), Duration::from_millis(5_500))),
            (5_000_000, (Some(100), Duration::from_millis(110_000))),
        ];
        for (body_bytes, expected) in table {
            assert_eq!(
                Turn::Each.pace(10_000, body_bytes),
                expected,
                "{body_bytes}"
            );
        }
        assert_eq!(Turn::AtOnce.pace(10_000, 4_000), (None, AT_ONCE));
    }

    #[test]
    fn missing_or_miscounted_requests_are_an_error() {
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
            let outcome = check(by_name("http-10"), 10_000, &delivered, counted);
            match expected {
                None => outcome.unwrap(),
                Some(part) => assert!(outcome.unwrap_err().to_string().contains(part)),
            }
        }
    }
}
