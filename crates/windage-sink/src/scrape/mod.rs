//! Scraping: reads an agent's `/metrics` at intervals, as Prometheus does.
//!
//! An agent's own counters show what it accepted, exported and dropped; serving them is part of its
//! work. A scrape is parsed on the calling thread, which takes less than a millisecond for a
//! typical answer of 100 kB.

mod exposition;
mod fetch;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::{Instant, MissedTickBehavior};

pub use self::exposition::{Exposition, ExpositionError, ExpositionFormat, parse_exposition};
use self::fetch::{Address, TIMEOUT};
pub use self::fetch::{Reach, Scrape, ScrapeError};

/// The shortest interval; below it the scraping itself would be the load.
const MIN_EVERY: Duration = Duration::from_millis(100);

/// A target to scrape, and the metrics wanted of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScrapeTarget {
    address: Address,
    every: Duration,
    select: Vec<String>,
}

impl ScrapeTarget {
    /// Scrapes `url` every `every`, measured from start to start, and follows the metrics named in
    /// `select`, each summed over its label sets.
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

    /// The URL.
    #[must_use]
    pub fn url(&self) -> &str {
        self.address.url()
    }
}

/// The results of scraping one target so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scrapes {
    /// Answers that could be read.
    pub scrapes: u64,
    /// Failed attempts.
    pub failures: u64,
    /// Why the last one failed.
    pub last_failure: Option<String>,
    /// Bytes of the answers' bodies as sent, which may be compressed.
    pub wire_bytes: u64,
    /// Bytes of their text.
    pub bytes: u64,
    /// Samples in all answers.
    pub points: u64,
    /// The selected metrics, in the order in which they were first seen.
    pub selected: Vec<SelectedMetric>,
}

/// A metric that is followed, summed over its label sets.
#[derive(Clone, Debug, PartialEq)]
pub struct SelectedMetric {
    /// The name of its samples, including `_total`.
    pub name: String,
    /// Its value in the first answer; 0 if it appeared only later, because clients expose a
    /// labelled counter only from its first event on.
    pub first: f64,
    /// Its value in the last answer that had it.
    pub last: f64,
    /// How much a counter grew from the first answer to the last; after a reset it starts from 0.
    pub increase: f64,
    /// How often the value fell, which for a counter means a restart.
    pub resets: u64,
}

impl Scrapes {
    /// Adds an answer.
    pub fn add(&mut self, scrape: &Scrape) {
        for (name, value) in &scrape.exposition.selected {
            self.follow(name, *value);
        }
        self.scrapes += 1;
        self.wire_bytes += scrape.wire_bytes;
        self.bytes += scrape.bytes;
        self.points += scrape.exposition.samples;
    }

    /// Adds a failed attempt.
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

/// Scrapes a target once, and adds the result.
pub async fn scrape_once(target: &ScrapeTarget, scrapes: &Mutex<Scrapes>) {
    scrape_within(TIMEOUT, target, scrapes).await;
}

async fn scrape_within(timeout: Duration, target: &ScrapeTarget, scrapes: &Mutex<Scrapes>) {
    let outcome = fetch::scrape(&target.address, &target.select, timeout).await;
    // The figures are consistent even if another thread panicked.
    let mut scrapes = scrapes.lock().unwrap_or_else(PoisonError::into_inner);
    match outcome {
        Ok(scrape) => scrapes.add(&scrape),
        Err(error) => scrapes.fail(&error),
    }
}

/// A target that is scraped on the sink's thread until this is dropped.
#[derive(Debug)]
pub struct Scraper {
    scrapes: Arc<Mutex<Scrapes>>,
    /// Ends the job when it is dropped.
    _running: oneshot::Sender<()>,
}

impl Scraper {
    /// A scraper, and what the sink's thread is to do for it.
    pub(crate) fn of(target: ScrapeTarget, after: Duration) -> (Scraper, Job) {
        let scrapes = Arc::default();
        let (running, dropped) = oneshot::channel();
        let job = Job {
            target,
            after,
            scrapes: Arc::clone(&scrapes),
            dropped,
        };
        let scraper = Scraper {
            scrapes,
            _running: running,
        };
        (scraper, job)
    }

    /// The results so far.
    #[must_use]
    pub fn so_far(&self) -> Scrapes {
        let scrapes = self.scrapes.lock();
        scrapes.unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// A target to scrape for as long as its scraper is there.
#[derive(Debug)]
pub(crate) struct Job {
    target: ScrapeTarget,
    /// Until the first scrape.
    after: Duration,
    scrapes: Arc<Mutex<Scrapes>>,
    dropped: oneshot::Receiver<()>,
}

impl Job {
    pub(crate) async fn run(self) {
        tokio::select! {
            () = scrape_loop(self.target, self.after, self.scrapes) => {}
            // A message is never sent.
            _ = self.dropped => {}
        }
    }
}

/// Scrapes a target at its interval until the task is dropped. As with Prometheus, an answer that takes
/// longer than the interval is a failure, so that no scrape is left out without a word.
async fn scrape_loop(target: ScrapeTarget, after: Duration, scrapes: Arc<Mutex<Scrapes>>) {
    let mut ticks = tokio::time::interval_at(Instant::now() + after, target.every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let timeout = TIMEOUT.min(target.every);
    loop {
        ticks.tick().await;
        scrape_within(timeout, &target, &scrapes).await;
    }
}

#[cfg(test)]
mod tests;
