//! The service that `windage demo` measures: small, but with the parts of a real one.
//!
//! `GET /orders/{customer}?limit=N` parses path and query, reads a customer's orders from an
//! embedded SQLite database and answers JSON. It is instrumented by hand with the OpenTelemetry
//! Rust SDK, including batch processor and OTLP exporter, as that SDK's users do it: one server
//! span per request with the children `parse`, `db.query` and `serialise`. With telemetry off, no
//! part of the SDK is set up, and a request passes one branch for each span that it doesn't make.
//!
//! `GET /healthz` answers 200 and is never traced, so that readiness checks don't change the count
//! of expected spans.
//!
//! The SDK is configured by its own environment variables: `OTEL_TRACES_SAMPLER`,
//! `OTEL_TRACES_SAMPLER_ARG`, `OTEL_EXPORTER_OTLP_ENDPOINT`, `OTEL_BSP_*`. The demo sets two
//! defaults: an argument without a sampler means `parentbased_traceidratio`, and the service is
//! named `windage-demo`.

#![forbid(unsafe_code)]

mod args;
mod orders;
mod route;
mod server;
mod service;
mod telemetry;

use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::process::ExitCode;

use thiserror::Error;

pub use server::serve;

/// How to run the service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DemoOptions {
    /// Where to listen; port 0 lets the kernel choose.
    pub listen: SocketAddr,
    /// Whether requests are traced.
    pub telemetry: Telemetry,
}

/// Whether requests are traced, and where spans go.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Telemetry {
    /// The SDK is not even set up.
    #[default]
    Off,
    /// Spans are sent as OTLP over HTTP.
    Otlp {
        /// The receiver's base URL, to which `/v1/traces` is added; `None` leaves it to the SDK,
        /// which reads `OTEL_EXPORTER_OTLP_ENDPOINT`.
        endpoint: Option<String>,
    },
}

/// Why the service did not start or had to stop.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum DemoError {
    /// The flags are wrong.
    #[error("{problem}\nusage: {}", args::USAGE)]
    Usage {
        /// What is wrong with them.
        problem: String,
    },
    /// An environment variable has a value that the SDK would silently replace.
    #[error(
        "{name}={value} is not a share between 0 and 1; the SDK would sample everything instead"
    )]
    SamplerArgument {
        /// The variable.
        name: &'static str,
        /// Its value.
        value: String,
    },
    /// The exporter can't be built.
    #[error(
        "the OTLP exporter can't be set up: {reason}; check --endpoint and OTEL_EXPORTER_OTLP_*"
    )]
    Exporter {
        /// The SDK's error.
        reason: String,
    },
    /// The database can't be filled.
    #[error("the in-memory database can't be set up: {0}; check that there is free memory")]
    Database(#[from] rusqlite::Error),
    /// The address can't be listened on.
    #[error("can't listen on {address}: {source}; choose another with --listen")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The kernel's error.
        source: io::Error,
    },
    /// The event loop or its signals can't be set up.
    #[error("the event loop can't be set up: {0}; raise `ulimit -n`")]
    Runtime(io::Error),
    /// Stdout, which should get the address, is closed.
    #[error("the address can't be written to stdout: {0}; keep stdout open")]
    Announce(io::Error),
}

/// Runs the service with these arguments until SIGTERM or SIGINT. Exit code 0; 2 for wrong flags, 1
/// for any other error. `args` excludes the program's name (and verb).
pub fn main_from_args(args: impl Iterator<Item = String>) -> ExitCode {
    let error = match args::parse(args).and_then(serve) {
        Ok(()) => return ExitCode::SUCCESS,
        Err(error) => error,
    };
    // If stderr is closed, only the exit code reports the error.
    let _ = writeln!(io::stderr(), "windage-demo: {error}");
    match error {
        DemoError::Usage { .. } => ExitCode::from(2),
        _ => ExitCode::FAILURE,
    }
}
