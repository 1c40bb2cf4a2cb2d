//! The calibration service as a program of its own, for tests and manual measurements. The
//! `windage` binary contains the same service behind a hidden subcommand.

#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut args = std::env::args_os();
    // The program's own name.
    args.next();
    windage_calibration::main_from_args(args)
}
