//! `cargo xtask bench`: what Windage's own parts cost.

use std::io::Write;
use std::process::{Command, ExitCode};

use anyhow::Result;
use clap::Subcommand;

use crate::{command, workspace};

mod build;
mod child;
mod interrupt;
mod kept;
mod load;
mod median;
mod memory;
mod server;
mod sink;
mod steal;

#[derive(Subcommand)]
pub(crate) enum Part {
    /// What one reading of every counter costs, and whether it allocates
    Probe,
    /// What a window's record costs to write, to save, to keep and to read again
    Record,
    /// The generator beside wrk, h2load, oha and a bare loop: cost, truth, memory
    Load(load::Args),
    /// The sink beside the Collector and minimal receivers: cost, exactness, memory
    Sink(sink::Args),
}

/// What measures a part: an example of the package that holds it.
struct Measurement {
    name: &'static str,
    package: &'static str,
    example: &'static str,
}

const PROBE: Measurement = Measurement {
    name: "probe",
    package: "windage-probe",
    example: "steady",
};

const RECORD: Measurement = Measurement {
    name: "record",
    package: "windage-record",
    example: "speed",
};

pub(crate) fn run(part: &Part) -> Result<ExitCode> {
    match part {
        Part::Probe => measure(&PROBE),
        Part::Record => measure(&RECORD),
        Part::Load(args) => load::run(args),
        Part::Sink(args) => sink::run(args),
    }
}

fn measure(measurement: &Measurement) -> Result<ExitCode> {
    let Measurement {
        name,
        package,
        example,
    } = measurement;
    preface(name)?;
    let mut cargo = workspace::cargo();
    cargo.args(["run", "--quiet", "--release"]);
    cargo.args(["--package", package, "--example", example]);
    command::run(&mut cargo)?;
    Ok(ExitCode::SUCCESS)
}

/// What the figures depend on, and how to have them again: without it they can't be judged.
fn preface(name: &str) -> Result<()> {
    let mut git = Command::new("git");
    git.args(["describe", "--always", "--dirty", "--exclude=*"])
        .current_dir(workspace::root());
    let windage = command::output(&mut git)?;
    let rustc = command::output(Command::new("rustc").arg("--version"))?;
    let kernel = command::output(Command::new("uname").arg("-srm"))?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "command  cargo xtask bench {name}")?;
    for (what, version) in [("windage", windage), ("rustc", rustc), ("kernel", kernel)] {
        writeln!(out, "{what:<8} {}", version.trim())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_has_its_measurement() {
        for Measurement {
            package, example, ..
        } in [PROBE, RECORD]
        {
            let source = format!("crates/{package}/examples/{example}.rs");
            assert!(workspace::root().join(&source).is_file(), "{source}");
        }
    }

    #[test]
    fn a_part_is_called_what_the_preface_calls_it() {
        let verb = Part::augment_subcommands(clap::Command::new("bench"));
        for Measurement { name, .. } in [PROBE, RECORD] {
            assert!(verb.find_subcommand(name).is_some(), "{name}");
        }
    }
}
