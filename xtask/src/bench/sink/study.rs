//! The comparison: rounds, in which each scenario's receivers take turns in an order that is
//! drawn.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::generator::Load;
use super::provide::Programs;
use super::receiver::Receiver;
use super::receiving::Receiving;
use super::scenario::{self, Scenario};
use super::trial::{Reading, Trial};
use crate::bench::interrupt::Interrupt;
use crate::bench::steal::stolen_s;

/// Few enough for the receiver to be what is waited for, enough for it never to wait itself.
pub(super) const CONNECTIONS: u32 = 8;

/// Load before the measuring: for code that compiles, caches and memory that grow.
pub(super) const WARMUP: Duration = Duration::from_millis(500);

/// For an answer. The slowest receiver takes a fraction of a second for the largest request.
pub(super) const TIMEOUT: Duration = Duration::from_secs(20);

/// Between two runs: for sockets to close and the cores to cool.
const PAUSE: Duration = Duration::from_millis(300);

/// One round of the comparison.
pub(super) struct Round<'a> {
    /// From 1.
    pub(super) round: u32,
    pub(super) lasts: Duration,
    pub(super) programs: &'a Programs,
    pub(super) interrupt: &'a Interrupt,
}

impl Round<'_> {
    /// Runs every receiver in every scenario once.
    pub(super) fn run(
        &self,
        scenarios: &[&'static Scenario],
        mut done: impl FnMut(Trial),
    ) -> Result<()> {
        let folder = tempfile::tempdir().context("make a temporary folder")?;
        for (scenario, receivers) in scenario::order(scenarios, self.round) {
            anstream::eprintln!("==> round {}, {}", self.round, scenario.name);
            let body = Body::write(scenario, folder.path())?;
            for (index, receiver) in receivers.into_iter().enumerate() {
                thread::sleep(PAUSE);
                let outcome = self.measure(scenario, receiver, &body, folder.path());
                self.interrupt.check()?;
                done(Trial {
                    scenario: scenario.name,
                    round: self.round,
                    place: index + 1,
                    receiver,
                    outcome: outcome.map_err(|error| format!("{error:#}")),
                });
            }
        }
        Ok(())
    }

    fn measure(
        &self,
        scenario: &Scenario,
        receiver: Receiver,
        body: &Body,
        folder: &Path,
    ) -> Result<Reading> {
        let receiving = Receiving::launch(receiver, scenario.protocol, self.programs, folder)?;
        let mut load = Load {
            windage: &self.programs.windage,
            scenario,
            body: &body.file,
            connections: CONNECTIONS,
            rate_per_s: None,
            lasts: WARMUP,
            timeout: TIMEOUT,
        };
        let before = load.put_on(receiving.address, folder, self.interrupt)?;
        load.lasts = self.lasts;
        let (stolen_before_s, cpu_before) = (stolen_s()?, receiving.cpu()?);
        let measured = load.put_on(receiving.address, folder, self.interrupt)?;
        let cpu = receiving.cpu()? - cpu_before;
        let steal_s = stolen_s()? - stolen_before_s;
        let rss_peak_bytes = receiving.memory()?.rss_peak_bytes;

        let refused = before.refused + measured.refused;
        if refused > 0 {
            bail!("it refused {refused} requests");
        }
        let spans = scenario.spans as u64;
        let account = receiving.finish()?;
        let counted = account["spans"].as_u64();
        let delivered = (before.requests + measured.requests) * spans;
        if let Some(counted) = counted
            && counted != delivered
        {
            let repeated = account["repeated_spans"].as_u64().unwrap_or_default();
            bail!(
                "it counted {counted} spans and took {repeated} for repetitions, \
                 and {delivered} were delivered"
            );
        }
        Ok(Reading {
            requests: measured.requests,
            spans: measured.requests * spans,
            body_bytes: measured.requests * body.bytes,
            seconds: measured.seconds,
            cpu_s: cpu.as_secs_f64(),
            rss_peak_bytes,
            is_confirmed: counted.is_some(),
            steal_s,
        })
    }
}

/// A scenario's body in a file.
pub(super) struct Body {
    pub(super) file: PathBuf,
    pub(super) bytes: u64,
}

impl Body {
    pub(super) fn write(scenario: &Scenario, folder: &Path) -> Result<Body> {
        let file = folder.join("body");
        let bytes = scenario.body()?;
        fs::write(&file, &bytes).with_context(|| format!("write {}", file.display()))?;
        Ok(Body {
            file,
            bytes: bytes.len() as u64,
        })
    }
}
