//! The service of calibration as a program of its own, for tests and for measuring it by hand; the
//! `windage` binary carries the same behind a hidden verb.

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut args = std::env::args_os();
    // The program's own name.
    args.next();
    windage_calibration::main_from_args(args)
}
