//! The service by which Windage is calibrated: a cost of known size is injected into every
//! request, and the service keeps account of what was really injected.
//!
//! `GET /` does a fixed amount of work, then the injected part, and answers a fixed body of
//! 1 KiB. Both parts lie between reads of the thread's CPU clock, the injected one also between
//! reads of the monotonic clock. These reads are made whether or not anything is injected, so
//! that they cost the same in every arm. At SIGTERM the account is printed to stdout as one line
//! of JSON, see [`Account`].
//!
//! `GET /healthz` answers 200 without work and is not counted.

mod account;
mod flags;
mod injection;
mod server;
mod service;

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::process::ExitCode;

use clap::Parser as _;
use thiserror::Error;

pub use account::Account;
pub use injection::{BASE_ITERATIONS, Injection};
pub use server::serve;

/// How to run the service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CalibrationOptions {
    /// Where to listen; port 0 lets the kernel choose.
    pub listen: SocketAddr,
    /// Iterations of the loop in every request, injected ones not counted.
    pub iterations: u64,
    /// What is injected into every request.
    pub injection: Injection,
}

/// Why the service did not start or had to stop.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CalibrationError {
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
    /// Nobody reads where the service listens or what it accounts for.
    #[error("stdout can't be written to: {0}; keep it open, the account goes there")]
    Stdout(io::Error),
}

/// Runs the service as its command line says and returns when it was asked to end by SIGTERM or
/// SIGINT: exit code 0, or 2 for wrong flags and 1 for anything else. `args` are those after the
/// program's name (and verb).
pub fn main_from_args(args: impl Iterator<Item = OsString>) -> ExitCode {
    let name = OsString::from("windage-calibration");
    let flags = match flags::Flags::try_parse_from(std::iter::once(name).chain(args)) {
        Ok(flags) => flags,
        Err(error) => {
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    match serve(&flags.options()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // When stderr is gone as well, the exit code has to do.
            let _ = writeln!(io::stderr(), "windage-calibration: {error}");
            ExitCode::FAILURE
        }
    }
}
