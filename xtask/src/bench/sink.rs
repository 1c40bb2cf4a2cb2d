//! `cargo xtask bench sink`: Windage's sink beside other receivers, in one interleaved run, and
//! whether it counts exactly and stays small.

use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::interrupt::Interrupt;
use super::kept::Kept;
use super::server;
use crate::record::machine::{self, Machine};

mod connections;
mod document;
mod exactness;
mod generator;
mod goals;
mod page;
mod payload;
mod provide;
mod receiver;
mod receiving;
mod record;
mod scenario;
mod sender;
mod study;
mod trial;

use connections::{CrowdOf, Turn};
use exactness::MODES;
use generator::Load;
use provide::Programs;
use receiver::Receiver;
use record::{Outcome, Record};
use scenario::{SCENARIOS, Scenario};
use study::Round;

/// The parts besides the scenarios of the comparison.
const EXACTNESS: &str = "exactness";
const CONNECTIONS: &str = "connections";

#[derive(clap::Args)]
pub(crate) struct Args {
    /// How often each receiver runs in each scenario
    #[arg(long, default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// How long each of these runs is measured: whole seconds, such as 2s
    #[arg(long = "for", value_name = "SECONDS", default_value = "2s", value_parser = super::load::seconds)]
    lasts_s: u32,
    /// Only this scenario, or `exactness`, or `connections`; may be given several times
    #[arg(long, value_name = "PART", value_parser = part)]
    only: Vec<String>,
    /// How many spans each mode of `exactness` delivers
    #[arg(long, default_value_t = 100_000_000, value_parser = clap::value_parser!(u64).range(1..))]
    spans: u64,
    /// How many connections are open in `connections`
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(1..))]
    connections: u32,
    #[command(flatten)]
    kept: Kept,
}

/// Runs the study. The files are written after each part of it, so that an interrupted study is
/// kept.
pub(super) fn run(args: &Args) -> Result<ExitCode> {
    let cores = thread::available_parallelism().context("count the cores")?;
    if cores.get() <= receiving::GENERATOR_CORE {
        bail!("needs two cores, one for the receiver and one for the generator; here is {cores}");
    }
    let date = machine::today()?;
    let files = args.kept.files(&date, "sink")?;
    let programs = Programs::provide()?;
    let mut record = args.record(date, &programs)?;
    let interrupt = Interrupt::watch()?;
    let keep = |record: &Record| match &files {
        Some(files) => files.write(&record.json(), &record.markdown()),
        None => Ok(()),
    };
    args.compare(&mut record, &programs, &interrupt, keep)?;
    args.count_exactly(&mut record, &programs, &interrupt, keep)?;
    args.connect(&mut record, &programs, &interrupt, keep)?;
    anstream::println!("{}", record.markdown());
    if let Some(files) = &files {
        anstream::println!("{}\n{}", files.page.display(), files.document.display());
    }
    Ok(ExitCode::SUCCESS)
}

impl Args {
    fn compare(
        &self,
        record: &mut Record,
        programs: &Programs,
        interrupt: &Interrupt,
        keep: impl Fn(&Record) -> Result<()>,
    ) -> Result<()> {
        let scenarios = record.scenarios.clone();
        if scenarios.is_empty() {
            return Ok(());
        }
        for round in 1..=self.rounds {
            let round = Round {
                round,
                lasts: Duration::from_secs(self.lasts_s.into()),
                programs,
                interrupt,
            };
            round.run(&scenarios, |trial| {
                anstream::eprintln!("{}", page::progress(&trial));
                record.trials.push(trial);
            })?;
            keep(record)?;
        }
        Ok(())
    }

    fn count_exactly(
        &self,
        record: &mut Record,
        programs: &Programs,
        interrupt: &Interrupt,
        keep: impl Fn(&Record) -> Result<()>,
    ) -> Result<()> {
        if !self.has(EXACTNESS) {
            return Ok(());
        }
        for mode in MODES {
            anstream::eprintln!("==> exactness: {}", mode.name);
            let outcome = exactness::measure(mode, self.spans, programs, interrupt);
            interrupt.check()?;
            record.exactness.push(Outcome::new(mode.name, outcome));
            keep(record)?;
        }
        Ok(())
    }

    /// With every size of request over either protocol.
    fn connect(
        &self,
        record: &mut Record,
        programs: &Programs,
        interrupt: &Interrupt,
        keep: impl Fn(&Record) -> Result<()>,
    ) -> Result<()> {
        if !self.has(CONNECTIONS) {
            return Ok(());
        }
        for scenario in SCENARIOS {
            for turn in Turn::ALL {
                let name = scenario.name;
                anstream::eprintln!("==> connections: {name} {}", turn.as_str());
                let crowd = CrowdOf {
                    scenario,
                    turn,
                    connections: self.connections,
                };
                let outcome = crowd.measure(programs, interrupt);
                interrupt.check()?;
                record.crowds.push(Outcome::new(name, outcome));
                keep(record)?;
            }
        }
        Ok(())
    }

    fn has(&self, part: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| only == part)
    }

    fn scenarios(&self) -> Vec<&'static Scenario> {
        SCENARIOS.iter().filter(|s| self.has(s.name)).collect()
    }

    /// The command that repeats the study.
    fn command(&self) -> String {
        let mut command = format!(
            "cargo xtask bench sink --rounds {} --for {}s --spans {} --connections {}",
            self.rounds, self.lasts_s, self.spans, self.connections
        );
        for part in &self.only {
            command += &format!(" --only {part}");
        }
        command
    }

    fn record(&self, date: String, programs: &Programs) -> Result<Record> {
        let machine = Machine::read_without_nginx()?;
        let scenarios = self.scenarios();
        let mut body_bytes = Vec::new();
        for scenario in &scenarios {
            body_bytes.push((scenario.name, scenario.body()?.len() as u64));
        }
        Ok(Record {
            date,
            command: self.command(),
            versions: programs.versions(&machine.commit)?,
            machine,
            commands: commands(&scenarios, self.lasts_s),
            body_bytes,
            scenarios,
            rounds: self.rounds,
            lasts_s: self.lasts_s,
            connections: self.connections,
            trials: Vec::new(),
            exactness: Vec::new(),
            crowds: Vec::new(),
        })
    }
}

/// Receivers and generators as they would be typed, without anything of this machine.
fn commands(scenarios: &[&'static Scenario], lasts_s: u32) -> Vec<String> {
    let mut commands = Vec::new();
    for scenario in scenarios {
        for receiver in Receiver::ALL {
            let command = receiver.line(scenario.protocol, server::CORE);
            if receiver.speaks(scenario.protocol) && !commands.contains(&command) {
                commands.push(command);
            }
        }
    }
    let core = receiving::GENERATOR_CORE;
    for scenario in scenarios {
        let arguments = Load {
            windage: "windage".as_ref(),
            scenario,
            body: "BODY".as_ref(),
            connections: study::CONNECTIONS,
            rate_per_s: None,
            lasts: Duration::from_secs(lasts_s.into()),
            timeout: study::TIMEOUT,
        }
        .arguments("ADDRESS", "BODY");
        let quoted = arguments.iter().map(|word| quoted(word));
        let words: Vec<String> = quoted.collect();
        commands.push(format!(
            "taskset --cpu-list {core} windage {}",
            words.join(" ")
        ));
    }
    commands
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    if word.contains(' ') {
        format!("'{word}'")
    } else {
        word.to_owned()
    }
}

fn part(name: &str) -> Result<String, String> {
    if scenario::by_name(name).is_some() || [EXACTNESS, CONNECTIONS].contains(&name) {
        return Ok(name.to_owned());
    }
    let names: Vec<&str> = SCENARIOS.iter().map(|scenario| scenario.name).collect();
    Err(format!(
        "the parts are {}, {EXACTNESS} and {CONNECTIONS}",
        names.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    fn args(line: &str) -> Result<Args, clap::Error> {
        let words = std::iter::once("sink").chain(line.split_whitespace());
        Line::try_parse_from(words).map(|line| line.args)
    }

    #[test]
    fn defaults_are_the_whole_study_unrecorded() {
        let args = args("").unwrap();
        assert_eq!((args.rounds, args.lasts_s), (7, 2));
        assert_eq!(args.scenarios().len(), SCENARIOS.len());
        assert!(args.has(EXACTNESS) && args.has(CONNECTIONS));
        assert_eq!(args.kept.folder("2026-01-02"), None);
    }

    #[test]
    fn a_study_is_repeated_by_its_command() {
        let args = args("--rounds 3 --only http-512 --only exactness --spans 9 --record").unwrap();
        let names: Vec<&str> = args.scenarios().iter().map(|s| s.name).collect();
        assert_eq!(names, ["http-512"]);
        assert!(args.has(EXACTNESS) && !args.has(CONNECTIONS));
        assert_eq!(
            args.command(),
            "cargo xtask bench sink --rounds 3 --for 2s --spans 9 --connections 1000 \
             --only http-512 --only exactness"
        );
        let folder = args.kept.folder("2026-01-02").unwrap();
        assert!(folder.ends_with("record/2026-01-02"));
    }

    #[test]
    fn wrong_flags_say_what_is_right() {
        let table = [
            ("--for 1.5s", "whole seconds"),
            ("--rounds 0", "0 is not in"),
            ("--spans 0", "0 is not in"),
            ("--only nothing", "the parts are http-10, http-100"),
        ];
        for (line, expected) in table {
            let error = args(line).err().unwrap().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn commands_are_typed_without_this_machine_and_once_each() {
        let all: Vec<&Scenario> = SCENARIOS.iter().collect();
        let commands = commands(&all, 2);
        // Seven receivers over HTTP, six over gRPC.
        assert_eq!(commands.len(), 13 + SCENARIOS.len());
        assert!(commands.contains(&"taskset --cpu-list 0 discard 127.0.0.1:0".to_owned()));
        let load = "taskset --cpu-list 1 windage load http://ADDRESS/v1/traces --data-file BODY \
                    --header 'Content-Type: application/x-protobuf' --connections 8 --for 2000ms \
                    --timeout 20000ms --warmup 0s --json";
        assert!(commands.contains(&load.to_owned()), "{commands:#?}");
    }
}
