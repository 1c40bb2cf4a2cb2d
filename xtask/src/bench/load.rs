//! `cargo xtask bench load`: Windage's generator beside others, in one interleaved run.

use std::process::ExitCode;
use std::thread;

use anyhow::{Context, Result, bail};

use super::interrupt::Interrupt;
use super::kept::Kept;
use crate::record::machine::{self, Machine};

mod contender;
mod document;
mod goals;
mod origin;
mod page;
mod parse;
mod provide;
mod scenario;
mod study;
mod trial;
mod truth;

use contender::Contender;
use provide::Programs;
use scenario::{SCENARIOS, Scenario};
use study::Study;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// How often each contender runs in each scenario
    #[arg(long, default_value_t = 15, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// How long each run lasts: whole seconds, such as 5s
    #[arg(long = "for", value_name = "SECONDS", default_value = "5s", value_parser = seconds)]
    lasts_s: u32,
    /// Only this scenario; may be given several times
    #[arg(long, value_name = "SCENARIO", value_parser = scenario)]
    only: Vec<&'static Scenario>,
    #[command(flatten)]
    kept: Kept,
}

/// Runs the study. The files are written after each round, so that an interrupted study is kept.
pub(super) fn run(args: &Args) -> Result<ExitCode> {
    let cores = thread::available_parallelism().context("count the cores")?;
    if cores.get() <= study::CORE {
        bail!("needs two cores, one for the origin and one for the generator; here is {cores}");
    }
    let date = machine::today()?;
    let files = args.kept.files(&date, "load")?;
    let programs = Programs::provide()?;
    let mut study = args.study(date, &programs)?;
    let interrupt = Interrupt::watch()?;
    for round in 1..=args.rounds {
        study.round(round, &programs, &interrupt, |trial| {
            anstream::eprintln!("{}", page::progress(trial));
        })?;
        if let Some(files) = &files {
            files.write(&study.json(), &study.markdown())?;
        }
    }
    anstream::println!("{}", study.markdown());
    if let Some(files) = &files {
        anstream::println!("{}\n{}", files.page.display(), files.document.display());
    }
    Ok(ExitCode::SUCCESS)
}

impl Args {
    fn scenarios(&self) -> Vec<&'static Scenario> {
        let is_wanted = |scenario: &&Scenario| {
            self.only.is_empty() || self.only.iter().any(|only| only.name == scenario.name)
        };
        SCENARIOS.iter().filter(is_wanted).collect()
    }

    /// The command that repeats the study.
    fn command(&self) -> String {
        let mut command = format!(
            "cargo xtask bench load --rounds {} --for {}s",
            self.rounds, self.lasts_s
        );
        for scenario in &self.only {
            command += &format!(" --only {}", scenario.name);
        }
        command
    }

    fn study(&self, date: String, programs: &Programs) -> Result<Study> {
        let machine = Machine::read()?;
        let scenarios = self.scenarios();
        let mut versions = Vec::new();
        for contender in Contender::ALL {
            let takes_part = scenarios.iter().any(|s| s.contenders.contains(&contender));
            let name = contender.program();
            if takes_part && versions.iter().all(|(other, _)| *other != name) {
                versions.push((name, programs.version(contender, &machine.commit)?));
            }
        }
        Ok(Study {
            date,
            command: self.command(),
            machine,
            versions,
            commands: study::commands(&scenarios, self.lasts_s),
            scenarios,
            rounds: self.rounds,
            lasts_s: self.lasts_s,
            trials: Vec::new(),
        })
    }
}

/// wrk takes whole seconds only, so the others are given them as well.
pub(super) fn seconds(text: &str) -> Result<u32, String> {
    let number = text.strip_suffix('s').unwrap_or(text);
    match number.parse() {
        Ok(seconds @ 1..=600) => Ok(seconds),
        _ => Err("give whole seconds from 1s to 600s".to_owned()),
    }
}

fn scenario(name: &str) -> Result<&'static Scenario, String> {
    scenario::by_name(name).ok_or_else(|| {
        let names: Vec<&str> = SCENARIOS.iter().map(|scenario| scenario.name).collect();
        format!("the scenarios are {}", names.join(", "))
    })
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
        let words = std::iter::once("load").chain(line.split_whitespace());
        Line::try_parse_from(words).map(|line| line.args)
    }

    #[test]
    fn defaults_are_the_whole_study_unrecorded() {
        let args = args("").unwrap();
        assert_eq!((args.rounds, args.lasts_s), (15, 5));
        assert_eq!(args.scenarios().len(), SCENARIOS.len());
        assert_eq!(args.kept.folder("2026-01-02"), None);
    }

    #[test]
    fn a_study_is_repeated_by_its_command() {
        let args = args("--rounds 3 --for 2 --only stall --only closed --record").unwrap();
        let names: Vec<&str> = args.scenarios().iter().map(|s| s.name).collect();
        assert_eq!(names, ["closed", "stall"]);
        assert_eq!(
            args.command(),
            "cargo xtask bench load --rounds 3 --for 2s --only stall --only closed"
        );
        let folder = args.kept.folder("2026-01-02").unwrap();
        assert!(folder.ends_with("record/2026-01-02"));
    }

    #[test]
    fn wrong_flags_say_what_is_right() {
        let table = [
            ("--for 1.5s", "whole seconds"),
            ("--for 0s", "whole seconds"),
            ("--rounds 0", "0 is not in"),
            ("--only nothing", "the scenarios are closed, open-10000"),
        ];
        for (line, expected) in table {
            let error = args(line).err().unwrap().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
