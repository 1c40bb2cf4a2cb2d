//! The service that calibrates Windage: it injects a cost of known size into every request, into
//! every n-th, or beside all requests by a timer, and measures what it really injected.
//!
//! `GET /` does a fixed amount of work, then the injected part, and answers with a fixed body of 1
//! KiB. Both parts lie between reads of the thread's CPU clock, the injected part also between
//! reads of the monotonic clock. These reads happen even when nothing is injected, so that they
//! cost the same in every arm. On SIGTERM the service prints the account to stdout as one line of
//! JSON, see [`Account`].
//!
//! `GET /healthz` answers 200 without work and is not counted.

#![forbid(unsafe_code)]

mod account;
mod flags;
mod injection;
mod server;
mod service;
mod timer;

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
    /// Iterations of the loop in every request, without the injected ones.
    pub iterations: u64,
    /// What is injected, and where.
    pub injection: Injection,
}

/// Why the service did not start or had to stop.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CalibrationError {
    /// The service can't listen on the address.
    #[error("can't listen on {address}: {source}; choose another with --listen")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The kernel's error.
        source: io::Error,
    },
    /// The event loop or its signal handlers can't be set up.
    #[error("the event loop can't be set up: {0}; raise `ulimit -n`")]
    Runtime(io::Error),
    /// The reader of stdout, which gets the address and the account, has closed it.
    #[error("can't write to stdout: {0}; keep it open, the account is printed there")]
    Stdout(io::Error),
}

/// Runs the service with command-line arguments and returns when SIGTERM or SIGINT ends it: exit
/// code 0, or 2 for wrong flags and 1 for any other error. `args` are those after the program's
/// name (and subcommand).
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
            // If stderr is closed too, the exit code must suffice.
            let _ = writeln!(io::stderr(), "windage-calibration: {error}");
            ExitCode::FAILURE
        }
    }
}
