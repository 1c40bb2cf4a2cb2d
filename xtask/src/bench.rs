//! `cargo xtask bench`: the cost of Windage's own parts.

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
pub(crate) mod server;
mod sink;
mod steal;
mod study;

#[derive(Subcommand)]
pub(crate) enum Part {
    /// The cost of reading every counter once, and whether it allocates
    Probe,
    /// The cost of writing, saving, storing and reading a window's record
    Record,
    /// Time to write and open a large run's page, and to list a thousand runs
    Page,
    /// The generator compared with wrk, h2load, oha and a bare loop: cost, accuracy, memory
    Load(study::Flags),
    /// The sink compared with the Collector and minimal receivers: cost, exactness, memory
    Sink(sink::Args),
}

/// A measuring program: an example of the package that it measures.
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
    /// The command that builds it for release and runs it, without its arguments.
    fn command(&self) -> Command {
        let mut cargo = workspace::cargo();
        cargo.args(["run", "--locked", "--quiet", "--release"]);
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

/// Prints what the figures depend on and how to repeat them; without it they can't be judged.
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
    fn each_part_has_its_examples() {
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
    fn subcommands_have_the_names_in_the_preface() {
        let verb = Part::augment_subcommands(clap::Command::new("bench"));
        for name in ["probe", "record", "page"] {
            assert!(verb.find_subcommand(name).is_some(), "{name}");
        }
    }
}
