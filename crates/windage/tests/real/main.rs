//! The real binary on real services, such as nginx and a Go server with OpenTelemetry, which `cargo
//! xtask test` installs and builds.

// clippy.toml allows it in functions marked `#[test]`, but not in those that they share.
#![allow(clippy::unwrap_used)]

mod agents;
mod attached;
mod ebpf;
mod in_kernel;
mod keepers;
#[path = "../quick/leftovers.rs"]
mod leftovers;
mod measurements;
mod mechanisms;
mod otel_agent;
mod outlived;
#[path = "../quick/plans.rs"]
#[expect(
    dead_code,
    reason = "shared with the quick tests, which use more of it"
)]
mod plans;
mod profiles;
mod prometheus;
mod proxies;
mod recompute;
#[path = "../quick/scrape.rs"]
#[expect(
    dead_code,
    reason = "shared with the quick tests, which use more of it"
)]
mod scrape;
mod sdks;
#[path = "../quick/skip.rs"]
mod skip;
mod web;
#[path = "../quick/workshop.rs"]
#[expect(
    dead_code,
    reason = "shared with the quick tests, which use more of it"
)]
mod workshop;

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Two cores can run only one measurement at a time.
fn alone() -> MutexGuard<'static, ()> {
    static MACHINE: Mutex<()> = Mutex::new(());
    MACHINE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The folder of a public experiment.
fn experiment(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "../../experiments", name]
        .iter()
        .collect()
}
