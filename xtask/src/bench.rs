//! `cargo xtask bench`: what Windage's own parts cost.

use std::io::Write;
use std::process::{Command, ExitCode};

use anyhow::Result;
use clap::Subcommand;

use crate::{command, machine, workspace};

mod child;
mod line;
mod load;
pub(crate) mod median;
mod memory;
mod page;
mod server;
mod sink;
mod steal;
mod study;

#[derive(Subcommand)]
pub(crate) enum Part {
    /// What one reading of every counter costs, and whether it allocates
    Probe,
    /// What a window's record costs to write, to save, to keep and to read again
    Record,
    /// How long a large run's page takes to write and to open, and the list of a thousand runs
    Page,
    /// The generator beside wrk, h2load, oha and a bare loop: cost, truth, memory
    Load(study::Flags),
    /// The sink beside the Collector and minimal receivers: cost, exactness, memory
    Sink(sink::Args),
}

/// A program that measures: an example of the package that it is about.
struct Example {
    package: &'static str,
    name: &'static str,
}

const STEADY: Example = Example {
    package: "windage-probe",
    name: "steady",
};

const SPEED: Example = Example {
    package: "windage-record",
    name: "speed",
};

impl Example {
    /// What runs it, built for release; its arguments are yet to be added.
    fn command(&self) -> Command {
        let mut cargo = workspace::cargo();
        cargo.args(["run", "--quiet", "--release"]);
        cargo.args(["--package", self.package, "--example", self.name, "--"]);
        cargo
    }
}

pub(crate) fn run(part: &Part) -> Result<ExitCode> {
    match part {
        Part::Probe => measure("probe", &STEADY),
        Part::Record => measure("record", &SPEED),
        Part::Page => page::run(),
        Part::Load(flags) => load::run(flags),
        Part::Sink(args) => sink::run(args),
    }
}

fn measure(name: &str, example: &Example) -> Result<ExitCode> {
    preface(name)?;
    command::run(&mut example.command())?;
    Ok(ExitCode::SUCCESS)
}

/// What the figures depend on, and how to have them again: without it they can't be judged.
fn preface(name: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "command  cargo xtask bench {name}")?;
    writeln!(out, "machine  {}", machine::in_words()?)?;
    writeln!(out, "versions {}", machine::versions()?)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_has_its_measurements() {
        for Example { package, name } in page::EXAMPLES.iter().chain([&STEADY, &SPEED]) {
            let examples = workspace::root().join(format!("crates/{package}/examples"));
            let sources = [format!("{name}.rs"), format!("{name}/main.rs")];
            assert!(
                sources.iter().any(|source| examples.join(source).is_file()),
                "{package}: {name}"
            );
        }
    }

    #[test]
    fn a_part_is_called_what_the_preface_calls_it() {
        let verb = Part::augment_subcommands(clap::Command::new("bench"));
        for name in ["probe", "record", "page"] {
            assert!(verb.find_subcommand(name).is_some(), "{name}");
        }
    }
}
