//! Frame of the comparative studies: contenders × scenarios × rounds in random order, medians with
//! intervals, goals, and one page.

use std::fs;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use rand::SeedableRng as _;
use rand::seq::SliceRandom as _;
use rand_chacha::ChaCha8Rng;

use super::median::{Median, median};
use super::steal::stolen_s;
use crate::{machine, workspace};

mod goal;
mod page;

pub(super) use goal::{Bound, Goal};

/// The servers' core; the load runs on the next one.
pub(super) const SERVER_CORE: usize = 0;
pub(super) const LOAD_CORE: usize = 1;

/// Seed of every order.
pub(super) const SEED: u64 = 5;

/// Between two runs, so that sockets close and the cores cool.
const PAUSE: Duration = Duration::from_millis(500);

/// The flags of every study.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct Flags {
    /// How often each contender runs in each scenario [default: 15 for load, 7 for sink]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: Option<u32>,
    /// How long each run lasts: whole seconds, such as 5s [default: 5s for load, 2s for sink]
    #[arg(long = "for", value_name = "SECONDS", value_parser = seconds)]
    pub(super) lasts_s: Option<u32>,
    /// Only this scenario; may be given several times
    #[arg(long, value_name = "SCENARIO")]
    only: Vec<String>,
}

/// A quantity read from a run; its title names it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Quantity {
    pub(super) title: &'static str,
    /// The unit of its values; empty if the title has it.
    pub(super) unit: &'static str,
    pub(super) decimals: usize,
}

/// The results of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Reading {
    values: Vec<(Quantity, f64)>,
    /// Reasons to distrust them.
    warnings: Vec<&'static str>,
}

/// One run of one contender. A failed run is a result too.
#[derive(Clone, Debug)]
pub(super) struct Trial {
    pub(super) scenario: &'static str,
    pub(super) contender: &'static str,
    /// Counted from 1.
    pub(super) round: u32,
    pub(super) outcome: Result<Reading, String>,
}

/// The same task for several contenders.
#[derive(Clone, Debug)]
pub(super) struct Scenario {
    pub(super) name: &'static str,
    pub(super) meaning: String,
    pub(super) contenders: Vec<&'static str>,
    /// Whether it takes part only in the first round.
    pub(super) is_once: bool,
}

/// What is compared, in words and tables.
pub(super) struct Plan {
    /// The name of the subcommand and of the page's file.
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    pub(super) method: &'static str,
    pub(super) rounds: u32,
    pub(super) lasts_s: u32,
    /// Flags that repeat the study, in addition to those of every study.
    pub(super) further_flags: String,
    pub(super) scenarios: Vec<Scenario>,
    /// Quantities for which the page shows Windage's value divided by each other contender's.
    pub(super) compared: &'static [Quantity],
    pub(super) goals: &'static [Goal],
}

/// Runs the contenders.
pub(super) trait Runner {
    /// What all contenders of a scenario share in one round.
    type Stage;

    /// Sets up a stage.
    fn stage(&self, scenario: &'static str) -> Result<Self::Stage>;

    /// Runs one contender.
    fn measure(
        &self,
        stage: &Self::Stage,
        scenario: &'static str,
        contender: &'static str,
    ) -> Result<Reading>;

    /// Ends the stage, and adds what only its end reports.
    fn end(&self, _stage: Self::Stage, _trials: &mut [Trial]) {}

    /// The programs with their versions.
    fn versions(&self) -> Result<Vec<String>>;

    /// The command lines of a scenario, without local paths.
    fn commands(&self, scenario: &Scenario) -> Vec<String>;
}

/// A study in progress.
pub(super) struct Study {
    plan: Plan,
    /// Machine, versions and the command that repeats it.
    facts: Vec<String>,
    commands: Vec<String>,
    /// CPU time that the hypervisor took while contenders ran, summed over all cores.
    stolen_s: f64,
    trials: Vec<Trial>,
}

impl Quantity {
    pub(super) const fn new(title: &'static str, unit: &'static str, decimals: usize) -> Quantity {
        Quantity {
            title,
            unit,
            decimals,
        }
    }

    fn number(&self, value: f64) -> String {
        format!("{value:.*}", self.decimals)
    }
}

impl Reading {
    /// Adds the finite values.
    pub(super) fn add(&mut self, values: impl IntoIterator<Item = (Quantity, f64)>) {
        let values = values.into_iter();
        self.values
            .extend(values.filter(|(_, value)| value.is_finite()));
    }

    pub(super) fn of(values: impl IntoIterator<Item = (Quantity, f64)>) -> Reading {
        let mut reading = Reading::default();
        reading.add(values);
        reading
    }

    pub(super) fn warn_if(&mut self, condition: bool, warning: &'static str) {
        self.warnings.extend(condition.then_some(warning));
    }

    pub(super) fn value(&self, quantity: Quantity) -> Option<f64> {
        let mut values = self.values.iter();
        values.find(|(of, _)| *of == quantity).map(|(_, v)| *v)
    }

    /// Changes an existing value.
    pub(super) fn shift(&mut self, quantity: Quantity, by: f64) {
        for (of, value) in &mut self.values {
            if *of == quantity {
                *value += by;
            }
        }
    }
}

impl Flags {
    /// Applies the flags; where a flag is missing, the plan's value stays.
    pub(super) fn apply(&self, plan: &mut Plan) -> Result<()> {
        plan.rounds = self.rounds.unwrap_or(plan.rounds);
        let all: Vec<&str> = plan.scenarios.iter().map(|s| s.name).collect();
        if let Some(unknown) = self.only.iter().find(|name| !all.contains(&name.as_str())) {
            bail!("--only {unknown}: the scenarios are {}", all.join(", "));
        }
        if !self.only.is_empty() {
            let is_asked = |s: &Scenario| self.only.iter().any(|name| name == s.name);
            plan.scenarios.retain(is_asked);
        }
        Ok(())
    }
}

impl Study {
    /// Runs the plan and prints its page. `target/bench/NAME.md` is written after every scenario,
    /// so that an interrupted study is kept.
    pub(super) fn run(mut plan: Plan, flags: &Flags, runner: &impl Runner) -> Result<ExitCode> {
        let cores = thread::available_parallelism().context("count the cores")?;
        if cores.get() <= LOAD_CORE {
            bail!("needs two cores, for the server and for the load; this machine has {cores}");
        }
        flags.apply(&mut plan)?;
        let folder = workspace::root().join("target/bench");
        fs::create_dir_all(&folder).with_context(|| format!("make {}", folder.display()))?;
        // Leftovers of an interruption stay in that folder.
        let _ = tempfile::env::override_temp_dir(&folder);
        let page = folder.join(format!("{}.md", plan.name));
        let mut commands = Vec::new();
        for command in plan.scenarios.iter().flat_map(|s| runner.commands(s)) {
            if !commands.contains(&command) {
                commands.push(command);
            }
        }
        let mut study = Study {
            facts: facts(&plan, flags, &runner.versions()?)?,
            commands,
            plan,
            stolen_s: 0.0,
            trials: Vec::new(),
        };
        for round in 1..=study.plan.rounds {
            for scenario in order(&study.plan.scenarios, round) {
                anstream::eprintln!("==> round {round}, {}", scenario.name);
                study.run_scenario(&scenario, round, runner)?;
                fs::write(&page, study.page())
                    .with_context(|| format!("write {}", page.display()))?;
            }
        }
        anstream::println!("{}\n{}", study.page(), page.display());
        Ok(ExitCode::SUCCESS)
    }

    fn run_scenario<R: Runner>(
        &mut self,
        scenario: &Scenario,
        round: u32,
        runner: &R,
    ) -> Result<()> {
        let stage = runner.stage(scenario.name)?;
        let mut trials = Vec::new();
        for &contender in &scenario.contenders {
            thread::sleep(PAUSE);
            let stolen_before_s = stolen_s()?;
            let outcome = runner.measure(&stage, scenario.name, contender);
            self.stolen_s += stolen_s()? - stolen_before_s;
            let trial = Trial {
                scenario: scenario.name,
                contender,
                round,
                outcome: outcome.map_err(|error| format!("{error:#}")),
            };
            anstream::eprintln!("{}", page::progress(&trial));
            trials.push(trial);
        }
        runner.end(stage, &mut trials);
        self.trials.extend(trials);
        Ok(())
    }
}

/// A scenario and a contender.
pub(super) type Run = (&'static str, &'static str);

/// The median over rounds of a run's quantity, divided by that of another run in the same round.
fn figure(trials: &[Trial], of: Run, quantity: Quantity, against: Option<Run>) -> Option<Median> {
    let value = |run: Run, round: u32| {
        let is_it = |t: &&Trial| (t.scenario, t.contender) == run && t.round == round;
        let trial = trials.iter().find(is_it)?;
        trial.outcome.as_ref().ok()?.value(quantity)
    };
    let rounds = 1..=trials.iter().map(|trial| trial.round).max()?;
    median(rounds.filter_map(|round| {
        let divisor = against.map_or(Some(1.0), |against| value(against, round))?;
        Some(value(of, round)? / divisor)
    }))
}

/// The scenarios of a round with their contenders, in a new random order each round.
fn order(scenarios: &[Scenario], round: u32) -> Vec<Scenario> {
    let mut random = ChaCha8Rng::seed_from_u64(SEED);
    random.set_stream(round.into());
    let takes_part = |s: &&Scenario| round == 1 || !s.is_once;
    let mut order: Vec<Scenario> = scenarios.iter().filter(takes_part).cloned().collect();
    order.shuffle(&mut random);
    for scenario in &mut order {
        scenario.contenders.shuffle(&mut random);
    }
    order
}

fn facts(plan: &Plan, flags: &Flags, versions: &[String]) -> Result<Vec<String>> {
    let mut command = format!(
        "cargo xtask bench {} --rounds {} --for {}s{}",
        plan.name, plan.rounds, plan.lasts_s, plan.further_flags
    );
    for scenario in &flags.only {
        command += &format!(" --only {scenario}");
    }
    Ok(vec![
        format!("Date: {}", machine::today()?),
        format!("Command: `{command}`"),
        format!("Machine: {}", machine::in_words()?),
        format!(
            "Versions: {}; {}",
            machine::versions()?,
            versions.join("; ")
        ),
    ])
}

/// Some programs accept only whole seconds, so all get them.
fn seconds(text: &str) -> Result<u32, String> {
    match text.strip_suffix('s').unwrap_or(text).parse() {
        Ok(seconds @ 1..=600) => Ok(seconds),
        _ => Err("give whole seconds from 1s to 600s".to_owned()),
    }
}

#[cfg(test)]
#[path = "study/tests.rs"]
mod tests;
