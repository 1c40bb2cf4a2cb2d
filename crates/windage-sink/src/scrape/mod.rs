//! Scraping: the metrics of an agent, read from its `/metrics` at intervals, as Prometheus does.
//!
//! An agent's own counters say what it accepted, exported and dropped, and being asked for them is
//! part of its work. A scrape is read on the thread that calls for it, which a usual one of
//! 100 kB keeps for less than a millisecond.

mod exposition;
mod fetch;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use thiserror::Error;
use tokio::time::MissedTickBehavior;

pub use self::exposition::{Exposition, ExpositionError, ExpositionFormat, parse_exposition};
use self::fetch::{Address, TIMEOUT};

/// The shortest interval; more often, the scraping itself would be the load.
const MIN_EVERY: Duration = Duration::from_millis(100);

/// Who may be scraped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reach {
    /// This machine alone, by its loopback addresses.
    #[default]
    Loopback,
    /// Any address.
    Anywhere,
}

/// Something that exposes metrics, and what is wanted of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScrapeTarget {
    address: Address,
    every: Duration,
    select: Vec<String>,
}

impl ScrapeTarget {
    /// Scrapes `url` with a pause of `every` between beginnings, and follows the metrics that are
    /// called one of `select`, each summed up over its label sets.
    ///
    /// # Errors
    ///
    /// When the URL is not of the form `http://HOST:PORT/PATH`, leads beyond `reach`, or the
    /// interval is shorter than 100 ms.
    pub fn new(
        url: &str,
        every: Duration,
        select: Vec<String>,
        reach: Reach,
    ) -> Result<ScrapeTarget, ScrapeError> {
        if every < MIN_EVERY {
            return Err(ScrapeError::Interval {
                url: url.to_owned(),
                every,
            });
        }
        Ok(ScrapeTarget {
            address: Address::parse(url, reach)?,
            every,
            select,
        })
    }

    /// What is scraped.
    #[must_use]
    pub fn url(&self) -> &str {
        self.address.url()
    }
}

/// Why a target cannot be scraped, or was not.
#[derive(Debug, Error)]
pub enum ScrapeError {
    /// It is no address of the kind.
    #[error("`{url}` cannot be scraped: {reason}; write http://127.0.0.1:PORT/metrics")]
    Url {
        /// As it was given.
        url: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// It is not an address of this machine.
    #[error("`{url}` is not on loopback, and scraping beyond it was not allowed")]
    Beyond {
        /// As it was given.
        url: String,
    },
    /// The interval is too short.
    #[error("`{url}` would be scraped every {every:?}; 100ms is the shortest interval")]
    Interval {
        /// As it was given.
        url: String,
        /// As it was given.
        every: Duration,
    },
    /// Nobody listens there, or the exchange broke off.
    #[error("{url}: {reason}")]
    Exchange {
        /// What was scraped.
        url: String,
        /// What the system or the protocol says.
        reason: String,
    },
    /// The answer is not that of a page of metrics.
    #[error("{url}: answered with status {status}; is this where the metrics are?")]
    Status {
        /// What was scraped.
        url: String,
        /// Of the answer.
        status: u16,
    },
    /// It did not answer in time.
    #[error("{url}: no whole answer within {after:?}")]
    Slow {
        /// What was scraped.
        url: String,
        /// The bound.
        after: Duration,
    },
    /// The answer is too large.
    #[error("{url}: the answer has more than {max_bytes} bytes")]
    TooLarge {
        /// What was scraped.
        url: String,
        /// The bound.
        max_bytes: usize,
    },
    /// The answer is not an exposition.
    #[error("{url}: the answer is not Prometheus or OpenMetrics text: {source}")]
    Exposition {
        /// What was scraped.
        url: String,
        /// What is wrong with it.
        source: ExpositionError,
    },
}

/// One answer of a target.
#[derive(Clone, Debug, PartialEq)]
pub struct Scrape {
    /// When it was whole, by the wall clock.
    pub at: SystemTime,
    /// Bytes of the answer's body.
    pub bytes: u64,
    /// What it held.
    pub exposition: Exposition,
}

/// What came of scraping one target so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scrapes {
    /// Answers that could be read.
    pub scrapes: u64,
    /// Attempts that came to nothing.
    pub failures: u64,
    /// Why the last of those did.
    pub last_failure: Option<String>,
    /// Bytes of the answers' bodies.
    pub bytes: u64,
    /// Samples in the last answer.
    pub samples: u64,
    /// Metric families in the last answer.
    pub families: u64,
    /// When the first answer was whole, by the wall clock.
    pub first_at: Option<SystemTime>,
    /// When the last answer was whole, by the wall clock.
    pub last_at: Option<SystemTime>,
    /// The selected metrics, in the order in which they were first seen.
    pub selected: Vec<SelectedMetric>,
}

/// A metric that is followed, summed up over its label sets.
#[derive(Clone, Debug, PartialEq)]
pub struct SelectedMetric {
    /// Of its samples, `_total` included.
    pub name: String,
    /// Its value in the first answer. One that a later answer brought is 0 there: clients expose
    /// a counter with labels only from its first event on.
    pub first: f64,
    /// Its value in the last answer that had it.
    pub last: f64,
    /// How much a counter grew from the first answer to the last; after a reset it began at 0.
    pub increase: f64,
    /// How often the value was less than before, as a counter's only is after a restart.
    pub resets: u64,
}

impl Scrapes {
    /// Takes an answer in.
    pub fn add(&mut self, scrape: &Scrape) {
        for (name, value) in &scrape.exposition.selected {
            self.follow(name, *value);
        }
        self.scrapes += 1;
        self.bytes += scrape.bytes;
        self.samples = scrape.exposition.samples;
        self.families = scrape.exposition.families;
        self.first_at.get_or_insert(scrape.at);
        self.last_at = Some(scrape.at);
    }

    /// Takes an attempt in that came to nothing.
    pub fn fail(&mut self, error: &ScrapeError) {
        self.failures += 1;
        self.last_failure = Some(error.to_string());
    }

    fn follow(&mut self, name: &str, value: f64) {
        let known = self.selected.iter_mut().find(|metric| metric.name == name);
        match known {
            Some(metric) => metric.follow(value),
            None => {
                let first = if self.scrapes == 0 { value } else { 0.0 };
                let mut metric = SelectedMetric {
                    name: name.to_owned(),
                    first,
                    last: first,
                    increase: 0.0,
                    resets: 0,
                };
                metric.follow(value);
                self.selected.push(metric);
            }
        }
    }
}

impl SelectedMetric {
    fn follow(&mut self, value: f64) {
        if value < self.last {
            self.resets += 1;
            self.increase += value;
        } else {
            self.increase += value - self.last;
        }
        self.last = value;
    }
}

/// Scrapes a target once, and adds what came of it.
pub async fn scrape_once(target: &ScrapeTarget, scrapes: &Mutex<Scrapes>) {
    let outcome = fetch::scrape(&target.address, &target.select, TIMEOUT).await;
    // Whatever panicked elsewhere, the figures are whole.
    let mut scrapes = scrapes.lock().unwrap_or_else(PoisonError::into_inner);
    match outcome {
        Ok(scrape) => scrapes.add(&scrape),
        Err(error) => scrapes.fail(&error),
    }
}

/// Scrapes a target at its intervals, from now on until the task is given up. An answer that
/// takes longer than the interval costs the scrapes that it is late for.
pub async fn scrape_loop(target: ScrapeTarget, scrapes: Arc<Mutex<Scrapes>>) {
    let mut ticks = tokio::time::interval(target.every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    loop {
        ticks.tick().await;
        scrape_once(&target, &scrapes).await;
    }
}

#[cfg(test)]
mod tests;
