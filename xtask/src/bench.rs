//! `cargo xtask bench`: what Windage's own parts cost.

use std::io::Write;
use std::process::{Command, ExitCode};

use anyhow::Result;
use clap::Subcommand;

use crate::{command, workspace};

#[derive(Subcommand)]
pub(crate) enum Part {
    /// What one reading of every counter costs, and whether it allocates
    Probe,
    /// What a window's record costs to write, to save, to keep and to read again
    Record,
}

/// What measures a part: an example of the package that holds it.
struct Measurement {
    name: &'static str,
    package: &'static str,
    example: &'static str,
}

impl Part {
    fn measurement(&self) -> Measurement {
        match self {
            Part::Probe => Measurement {
                name: "probe",
                package: "windage-probe",
                example: "steady",
            },
            Part::Record => Measurement {
                name: "record",
                package: "windage-record",
                example: "speed",
            },
        }
    }
}

pub(crate) fn run(part: &Part) -> Result<ExitCode> {
    let Measurement {
        name,
        package,
        example,
    } = part.measurement();
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
        for part in [Part::Probe, Part::Record] {
            let Measurement {
                package, example, ..
            } = part.measurement();
            let source = format!("crates/{package}/examples/{example}.rs");
            assert!(workspace::root().join(&source).is_file(), "{source}");
        }
    }

    #[test]
    fn a_part_is_called_what_the_preface_calls_it() {
        let verb = Part::augment_subcommands(clap::Command::new("bench"));
        for part in [Part::Probe, Part::Record] {
            let name = part.measurement().name;
            assert!(verb.find_subcommand(name).is_some(), "{name}");
        }
    }
}
