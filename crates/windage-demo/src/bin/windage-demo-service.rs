//! The demo's service as a separate program, for tests and for measuring it by hand. The `windage`
//! binary contains the same service behind a hidden verb.

#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    windage_demo::main_from_args(std::env::args().skip(1))
}
