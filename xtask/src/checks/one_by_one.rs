//! Revisions measured one after the other, as gates do that run a benchmark on each commit.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::bench::server::{Running, address_after, free_address};
use crate::command;

/// Runs of each revision.
pub(super) const RUNS: usize = 5;
/// The load of the plan.
const RATE: &str = "2000/s";
const CONNECTIONS: &str = "100";
const SERVER_CORE: usize = 0;
const OTHER_CORE: usize = 1;
/// How long a run measures; before it the server has a second of the same load.
pub(super) const LASTS: &str = "5s";

/// What one run of one revision measured.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Reading {
    pub(super) cpu_us_per_request: f64,
    pub(super) p99_us: f64,
}

/// The part of `windage load --json` that is read.
#[derive(Deserialize)]
struct Load {
    requests: u64,
    response_time_us: Quantiles,
}

#[derive(Deserialize)]
struct Quantiles {
    p99: f64,
}

/// A receiver for what the servers export, and the generator.
pub(super) struct OneByOne {
    windage: PathBuf,
    receives_at: String,
    /// Ends when it is dropped.
    _sink: Running,
}

impl OneByOne {
    pub(super) fn start(windage: &Path) -> Result<OneByOne> {
        let receives_at = free_address()?.to_string();
        let mut sink = Command::new(windage);
        sink.args([
            "sink",
            "--quiet",
            "--count-only",
            "--otlp-http",
            &receives_at,
        ]);
        let mut running = Running::start(&mut sink, &[OTHER_CORE])?;
        let connects = |_: &Running| std::net::TcpStream::connect(&receives_at).ok();
        running.wait_until(connects).context("start the receiver")?;
        Ok(OneByOne {
            windage: windage.to_owned(),
            receives_at,
            _sink: running,
        })
    }

    /// All runs of a server, each launched afresh.
    pub(super) fn runs_of(&self, server: &Path) -> Result<Vec<Reading>> {
        (0..RUNS).map(|_| self.run_of(server)).collect()
    }

    fn run_of(&self, server: &Path) -> Result<Reading> {
        let mut command = Command::new(server);
        command
            .args(["-listen", "127.0.0.1:0", "-telemetry", "otel"])
            .env("OTEL_SERVICE_NAME", "go-http")
            .env(
                "OTEL_EXPORTER_OTLP_ENDPOINT",
                format!("http://{}", self.receives_at),
            )
            .env("OTEL_BSP_SCHEDULE_DELAY", "500");
        let mut running = Running::start(&mut command, &[SERVER_CORE])?;
        let address = running.wait_until(|of| address_after("listening on ", &of.stdout()))?;
        let url = format!("http://{address}/");
        self.load(&url, "1s")?;
        let before = running.cpu()?;
        let load = self.load(&url, LASTS)?;
        let spent = running.cpu()? - before;
        Ok(Reading {
            cpu_us_per_request: spent.as_secs_f64() * 1e6 / load.requests as f64,
            p99_us: load.response_time_us.p99,
        })
    }

    fn load(&self, url: &str, lasts: &str) -> Result<Load> {
        let mut load = Command::new(&self.windage);
        load.args(["load", url, "--quiet", "--json", "--warmup", "0s"])
            .args(["--rate", RATE, "--connections", CONNECTIONS, "--for", lasts])
            .args(["--cpus", &OTHER_CORE.to_string()]);
        let json = command::output(&mut load)?;
        serde_json::from_str(&json).with_context(|| format!("read {}", command::line(&load)))
    }
}
