//! The service that `windage demo` measures: small, but with the parts of a real one.
//!
//! `GET /orders/{customer}?limit=N` reads path and query, asks an embedded SQLite database for a
//! customer's orders and answers JSON. It is instrumented by hand with the OpenTelemetry Rust
//! SDK, batch processor and OTLP exporter included, as that SDK's users do it: one server span a
//! request with the children `parse`, `db.query` and `serialise`. With telemetry off, no part of
//! the SDK is set up, and a request passes one branch for each span that it doesn't make.
//!
//! `GET /healthz` answers 200 and is never traced, so that probing for readiness leaves the
//! count of expected spans alone.
//!
//! The SDK is set up through its own environment variables: `OTEL_TRACES_SAMPLER`,
//! `OTEL_TRACES_SAMPLER_ARG`, `OTEL_EXPORTER_OTLP_ENDPOINT`, `OTEL_BSP_*`. Two defaults are the
//! demo's: an argument without a sampler means `parentbased_traceidratio`, and the service is
//! called `windage-demo`.

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
    /// Spans go out by OTLP over HTTP.
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
    /// The flags don't make sense.
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
        /// What the SDK said.
        reason: String,
    },
    /// The database can't be filled.
    #[error("the in-memory database can't be set up: {0}; is there memory left?")]
    Database(#[from] rusqlite::Error),
    /// The address can't be listened on.
    #[error("can't listen on {address}: {source}; choose another with --listen")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the kernel said.
        source: io::Error,
    },
    /// The event loop or its signals can't be set up.
    #[error("the event loop can't be set up: {0}; raise `ulimit -n`")]
    Runtime(io::Error),
    /// Nobody reads the line that says where the service listens.
    #[error("the address can't be written to stdout: {0}; keep stdout open")]
    Announce(io::Error),
}

/// Runs the service as its command line says and returns when it was asked to end by SIGTERM or
/// SIGINT: exit code 0, or 2 for wrong flags and 1 for anything else. `args` are those after the
/// program's name (and verb).
pub fn main_from_args(args: impl Iterator<Item = String>) -> ExitCode {
    let error = match args::parse(args).and_then(serve) {
        Ok(()) => return ExitCode::SUCCESS,
        Err(error) => error,
    };
    // When stderr is gone as well, the exit code has to do.
    let _ = writeln!(io::stderr(), "windage-demo: {error}");
    match error {
        DemoError::Usage { .. } => ExitCode::from(2),
        _ => ExitCode::FAILURE,
    }
}
