//! The demo's service as a program of its own, for tests and for measuring it by hand; the
//! `windage` binary carries the same behind a hidden verb.

use std::process::ExitCode;

fn main() -> ExitCode {
    windage_demo::main_from_args(std::env::args().skip(1))
}
