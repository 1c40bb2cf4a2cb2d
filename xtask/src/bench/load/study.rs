//! The study: rounds, in which each scenario's contenders take turns.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::Duration;

use ::truth::Account;
use anyhow::{Context, Result};
use nix::sys::signal::Signal;

use super::contender::{Contender, Task};
use super::origin::Server;
use super::parse::{Answer, Printed};
use super::provide::Programs;
use super::scenario::Scenario;
use super::trial::{Reading, Trial};
use super::truth;
use crate::bench::child::{self, Ended};
use crate::bench::interrupt::Interrupt;
use crate::bench::server;
use crate::bench::steal::stolen_s;
use crate::record::machine::Machine;

/// The core of every contender; the origins have the one before.
pub(super) const CORE: usize = server::CORE + 1;

/// Between two runs: for sockets to close and the cores to cool.
const PAUSE: Duration = Duration::from_millis(500);

/// How long a contender may take beyond what it was asked for.
const PATIENCE: Duration = Duration::from_secs(20);

/// Everything that the record is made of.
pub(super) struct Study {
    pub(super) date: String,
    /// The command that repeats it.
    pub(super) command: String,
    pub(super) machine: Machine,
    /// Contenders with the versions that they tell.
    pub(super) versions: Vec<(&'static str, String)>,
    /// Scenario, contender and the command line, the origin's address and files replaced by words.
    pub(super) commands: Vec<(&'static str, &'static str, String)>,
    pub(super) scenarios: Vec<&'static Scenario>,
    /// How many were asked for.
    pub(super) rounds: u32,
    pub(super) lasts_s: u32,
    pub(super) trials: Vec<Trial>,
}

impl Study {
    /// One round of every scenario, from round 1.
    pub(super) fn round(
        &mut self,
        round: u32,
        programs: &Programs,
        interrupt: &Interrupt,
        mut done: impl FnMut(&Trial),
    ) -> Result<()> {
        for scenario in self.scenarios.clone() {
            let rounds = self.rounds;
            anstream::eprintln!("==> round {round} of {rounds}, {}", scenario.name);
            let bout = Bout {
                scenario,
                round,
                lasts_s: scenario.lasts_s(self.lasts_s),
                programs,
                interrupt,
            };
            self.trials.extend(bout.run(&mut done)?);
        }
        Ok(())
    }

    /// The last round of which there is a trial.
    pub(super) fn rounds_done(&self) -> u32 {
        let rounds = self.trials.iter().map(|trial| trial.round);
        rounds.max().unwrap_or_default()
    }
}

/// The command lines as they would be typed, without anything of this machine.
pub(super) fn commands(
    scenarios: &[&'static Scenario],
    lasts_s: u32,
) -> Vec<(&'static str, &'static str, String)> {
    let mut commands = Vec::new();
    for scenario in scenarios {
        for &contender in scenario.contenders {
            let task = Task {
                scenario,
                address: "ADDRESS".to_owned(),
                lasts_s: scenario.lasts_s(lasts_s),
                file: "FILE".to_owned(),
            };
            let program = contender.program();
            let line = contender.arguments(&task).join(" ");
            let line = format!("taskset --cpu-list {CORE} {program} {line}");
            commands.push((scenario.name, contender.as_str(), line));
        }
    }
    commands
}

/// One scenario in one round.
struct Bout<'a> {
    scenario: &'static Scenario,
    round: u32,
    lasts_s: u32,
    programs: &'a Programs,
    interrupt: &'a Interrupt,
}

impl Bout<'_> {
    fn run(&self, mut done: impl FnMut(&Trial)) -> Result<Vec<Trial>> {
        let folder = tempfile::tempdir().context("make a temporary folder")?;
        let scenario = self.scenario;
        let server = scenario.origin.launch(self.programs, folder.path())?;
        let mut trials = Vec::new();
        for (index, contender) in scenario.order(self.round).into_iter().enumerate() {
            thread::sleep(PAUSE);
            let outcome = self.measure(contender, &server, folder.path());
            self.interrupt.check()?;
            let trial = Trial {
                scenario: scenario.name,
                round: self.round,
                place: index + 1,
                contender,
                outcome: outcome.map_err(|error| format!("{error:#}")),
            };
            done(&trial);
            trials.push(trial);
        }
        if let Some(account) = server.finish() {
            add_lateness(&mut trials, &account);
        }
        Ok(trials)
    }

    fn measure(&self, contender: Contender, server: &Server, folder: &Path) -> Result<Reading> {
        let file = folder.join("requests");
        let task = Task {
            scenario: self.scenario,
            address: server.address.to_string(),
            lasts_s: self.lasts_s,
            file: file.display().to_string(),
        };
        if let Some(starts) = contender.starts(&task) {
            fs::write(&file, starts).with_context(|| format!("write {}", file.display()))?;
        }
        let mut command = std::process::Command::new(self.programs.of(contender));
        command.args(contender.arguments(&task));
        child::confine(&mut command, &[CORE], Signal::SIGKILL)?;
        if let Some(stalls) = &server.stalls {
            truth::wait_past_a_stall(stalls, self.interrupt)?;
        }
        let stolen_before_s = stolen_s()?;
        let started_ns = truth::monotonic_ns()?;
        let patience = Duration::from_secs(self.lasts_s.into()) + PATIENCE;
        let ended = child::run(&mut command, folder, patience, self.interrupt)?;
        let steal_s = stolen_s()? - stolen_before_s;
        let log = fs::read_to_string(&file).unwrap_or_default();
        // The next contender's log must not be taken for this one's.
        let _ = fs::remove_file(&file);
        Ok(Reading {
            answer: answer(contender, &ended, log)?,
            usage: ended.usage,
            truth: truth::truth(self.scenario, server.stalls, started_ns, self.lasts_s)?,
            steal_s,
        })
    }
}

/// What a contender said. Its exit code is not asked where it said enough: Windage's tells that
/// its run is void, which is in its answer as well.
fn answer(contender: Contender, ended: &Ended, log: String) -> Result<Answer> {
    let printed = Printed {
        stdout: ended.stdout.clone(),
        log,
    };
    contender.parse(&printed).with_context(|| {
        let said = ended.stderr.lines().last().unwrap_or_default();
        format!("{} ended with {}: {said}", contender.as_str(), ended.status)
    })
}

/// What the server was late by, the answers had to be late by.
fn add_lateness(trials: &mut [Trial], account: &Account) {
    let late_us = account.late_ns_p50 as f64 / 1e3;
    for trial in trials {
        if let Ok(Reading {
            truth: Some(truth), ..
        }) = &mut trial.outcome
        {
            truth.p50_us += late_us;
            truth.p99_us += late_us;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::scenario::SCENARIOS;
    use super::super::truth::Truth;
    use super::*;
    use crate::bench::child::Usage;
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;

    #[test]
    fn commands_are_typed_without_this_machine() {
        let scenarios: Vec<&Scenario> = SCENARIOS.iter().collect();
        let commands = commands(&scenarios, 5);
        let lines: Vec<&str> = commands.iter().map(|(_, _, line)| line.as_str()).collect();
        for expected in [
            "taskset --cpu-list 1 wrk -t1 -c8 -d5s --latency http://ADDRESS/",
            "taskset --cpu-list 1 floor ADDRESS --connections 8 --for 5s",
            "taskset --cpu-list 1 h2load --h1 -t1 -c8 -D10s --rps=125 --log-file=FILE http://ADDRESS/",
        ] {
            assert!(lines.contains(&expected), "{expected}\n{lines:#?}");
        }
    }

    #[test]
    fn what_was_said_is_kept_and_what_was_not_is_explained() {
        let ended = |stdout: &str, status: i32| Ended {
            status: ExitStatus::from_raw(status << 8),
            stdout: stdout.into(),
            stderr: "first\nconnection refused\n".into(),
            usage: Usage::default(),
        };
        let floor = ended("{\"requests\":10,\"seconds\":2}", 4);
        let said = answer(Contender::Floor, &floor, String::new()).unwrap();
        assert_eq!((said.requests, said.throughput_per_s), (10, 5.0));
        let error = answer(Contender::Wrk, &ended("", 1), String::new()).unwrap_err();
        let error = format!("{error:#}");
        for part in ["wrk", "exit status: 1", "connection refused", "requests in"] {
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn a_late_server_makes_late_answers() {
        let truth = Truth {
            p50_us: 1000.0,
            p99_us: 2000.0,
            p99_us_uncertain_by: 1.0,
        };
        let mut trials = [Trial {
            scenario: "constant",
            round: 1,
            place: 1,
            contender: Contender::Oha,
            outcome: Ok(Reading {
                truth: Some(truth),
                ..Reading::default()
            }),
        }];
        let account = Account {
            late_ns_p50: 15_000,
            ..Account::default()
        };
        add_lateness(&mut trials, &account);
        let truth = trials[0].outcome.as_ref().unwrap().truth.unwrap();
        assert_eq!((truth.p50_us, truth.p99_us), (1015.0, 2015.0));
    }
}
