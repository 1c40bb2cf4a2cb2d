//! `cargo xtask bench load`: Windage's generator compared with others.

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use ::truth::Account;
use anyhow::{Context, Result};

use super::child;
use super::line::{Places, command};
use super::study::{
    Bound, Flags, Goal, LOAD_CORE, Plan, Quantity, Reading, Runner, Scenario, Study, Trial,
};
use crate::{debian, workspace};

mod contender;
mod origin;
mod parse;
mod scenario;
mod truth;

use contender::Contender;
use origin::Server;
use parse::{LAG_P99, P50, P99};
use scenario::SCENARIOS;

/// Debian packages of contenders and the origin.
const PACKAGES: &[&str] = &["nginx-light", "nghttp2-client", "wrk"];

/// Pinned, so that figures of two days differ by the day and not by the tool.
const OHA: &str = "1.16.0";

/// How long a contender may take beyond the requested time.
const PATIENCE: Duration = Duration::from_secs(20);

const THROUGHPUT: Quantity = Quantity::new("requests/s", "", 0);
const OUTSIDE: Quantity = Quantity::new("requests/s, by an outside clock", "", 0);
const CPU: Quantity = Quantity::new("CPU per request", "µs", 2);
const KERNEL: Quantity = Quantity::new("of it in the kernel", "%", 0);
const PREEMPTIONS: Quantity = Quantity::new("preemptions", "", 0);
const MEMORY: Quantity = Quantity::new("peak memory", "MB", 1);
const TRUE_P50: Quantity = Quantity::new("true p50", "µs", 1);
const TRUE_P99: Quantity = Quantity::new("true p99", "µs", 1);
const UNCERTAIN: Quantity = Quantity::new("uncertainty of true p99", "µs", 1);
const P50_RATIO: Quantity = Quantity::new("p50 / truth", "", 3);
const P99_RATIO: Quantity = Quantity::new("p99 / truth", "", 3);

const GOALS: &[Goal] = &[
    ratio("closed", THROUGHPUT, "wrk", Bound::LowEndAtLeast(0.98)),
    ratio("closed", CPU, "wrk", Bound::AtMost(0.90)),
    ratio("closed", CPU, "floor", Bound::AtMost(1.10)),
    ratio("open-10000", CPU, "h2load", Bound::AtMost(1.0)),
    ratio("open-2000", CPU, "h2load", Bound::AtMost(1.0)),
    // With h2load's starts: eight at once.
    bursts("open-10000"),
    bursts("open-2000"),
    alone("constant", P50_RATIO, Bound::Within(0.03)),
    alone("stall", P99_RATIO, Bound::Within(0.01)),
    alone("open-10000", LAG_P99, Bound::AtMost(60.0)),
    alone("memory", MEMORY, Bound::AtMost(12.0)),
    alone("memory-10000", MEMORY, Bound::AtMost(96.0)),
];

const fn alone(scenario: &'static str, quantity: Quantity, bound: Bound) -> Goal {
    Goal::of((scenario, "windage"), quantity, None, bound)
}

const fn ratio(
    scenario: &'static str,
    quantity: Quantity,
    other: &'static str,
    bound: Bound,
) -> Goal {
    let against = Some((scenario, other));
    Goal::of((scenario, "windage"), quantity, against, bound)
}

const fn bursts(scenario: &'static str) -> Goal {
    let (of, against) = ((scenario, "windage-bursts"), (scenario, "h2load"));
    Goal::of(of, CPU, Some(against), Bound::AtMost(1.0))
}

const METHOD: &str = "\
The origin of a scenario is launched afresh in each round, on one core, and the contenders take turns on another. CPU is \
that of the whole process from `wait4`, including its start, divided by the number of completed requests that the contender \
reports. This treats all alike, but overstates the long-run cost of those that start slowly. The kernel splits CPU into its \
own and the program's by where its timer found the process. Requests/s are by the contender's own clock, and separately by \
an outside clock, which includes start and end of the process. Latency is as each contender defines it: Windage and \
`oha-corrected` count from the intended start of a request, the others from when it was sent.";

/// Runs the study.
pub(super) fn run(flags: &Flags) -> Result<ExitCode> {
    let load = Load {
        lasts_s: flags.lasts_s.unwrap_or(5),
        programs: programs()?,
    };
    let scenarios = SCENARIOS.iter().map(|scenario| Scenario {
        name: scenario.name,
        meaning: format!(
            "{}; {} s each",
            scenario.meaning,
            scenario.lasts_s(load.lasts_s)
        ),
        contenders: scenario.contenders.to_vec(),
        is_once: false,
    });
    let plan = Plan {
        name: "load",
        title: "The generator compared with others",
        method: METHOD,
        rounds: 15,
        lasts_s: load.lasts_s,
        further_flags: String::new(),
        scenarios: scenarios.collect(),
        compared: &[THROUGHPUT, CPU],
        goals: GOALS,
    };
    Study::run(plan, flags, &load)
}

struct Load {
    lasts_s: u32,
    programs: Places,
}

impl Runner for Load {
    type Stage = Server;

    fn stage(&self, scenario: &'static str) -> Result<Server> {
        scenario::by_name(scenario).origin.launch(&self.programs)
    }

    fn measure(
        &self,
        server: &Server,
        scenario: &'static str,
        contender: &'static str,
    ) -> Result<Reading> {
        let (scenario, contender) = (scenario::by_name(scenario), contender::by_name(contender));
        let lasts_s = scenario.lasts_s(self.lasts_s);
        let file = tempfile::NamedTempFile::new().context("make a temporary file")?;
        fs::write(&file, contender.starts(scenario, lasts_s)).context("write a temporary file")?;
        let mut places = self.programs.clone();
        places.push(("ADDRESS", server.address.to_string()));
        places.push(("FILE", file.path().to_string_lossy().into_owned()));
        let mut command = command(&contender.line(scenario, lasts_s), &places);
        if let Some(stalls) = &server.stalls {
            truth::wait_past_a_stall(stalls)?;
        }
        let started_ns = truth::monotonic_ns()?;
        let patience = Duration::from_secs(lasts_s.into()) + PATIENCE;
        let ended = child::run(&mut command, LOAD_CORE, patience)?;
        let log = fs::read_to_string(&file).context("read a temporary file")?;
        let is_closed = scenario.rate_per_s.is_none();
        let mut reading = reading(contender, &ended, &log, is_closed)?;
        if let Some(truth) = truth::truth(scenario, server.stalls, started_ns, lasts_s)? {
            reading.add([
                (TRUE_P50, truth.p50_us),
                (TRUE_P99, truth.p99_us),
                (UNCERTAIN, truth.p99_us_uncertain_by),
            ]);
        }
        Ok(reading)
    }

    fn end(&self, server: Server, trials: &mut [Trial]) {
        let account = server.finish().unwrap_or_default();
        let readings = trials
            .iter_mut()
            .filter_map(|trial| trial.outcome.as_mut().ok());
        readings.for_each(|reading| compare_with_truth(reading, &account));
    }

    fn versions(&self) -> Result<Vec<String>> {
        let version = |line: &str| -> Result<String> {
            let output = command(line, &Places::new()).output();
            let output = output.with_context(|| format!("could not start {line}"))?;
            // wrk's version has a non-zero exit status, and nginx prints its version as an error.
            let text = [output.stdout, output.stderr].concat();
            version_in(&String::from_utf8_lossy(&text))
                .with_context(|| format!("{line} printed nothing"))
        };
        Ok(vec![
            version("nginx -v")?,
            version("wrk --version")?,
            version("h2load --version")?,
            format!("oha {OHA}"),
        ])
    }

    fn commands(&self, scenario: &Scenario) -> Vec<String> {
        let of = scenario::by_name(scenario.name);
        let lasts_s = of.lasts_s(self.lasts_s);
        let contenders = scenario.contenders.iter();
        let lines = contenders.map(|name| contender::by_name(name).line(of, lasts_s));
        let typed = lines.map(|line| format!("taskset --cpu-list {LOAD_CORE} {line}"));
        typed.collect()
    }
}

/// A contender's output and usage. Its exit code is ignored if the output is complete: Windage's
/// code reports a void run, which is in its output as well.
fn reading(
    contender: &Contender,
    ended: &child::Ended,
    log: &str,
    is_closed: bool,
) -> Result<Reading> {
    let answer = (contender.parse)(&ended.stdout, log).with_context(|| {
        let said = ended.stderr.lines().last().unwrap_or_default();
        format!("{} ended with {}: {said}", contender.name, ended.status)
    })?;
    let (usage, requests) = (&ended.usage, answer.requests as f64);
    let outside = requests / usage.wall_s;
    let mut reading = Reading::of([
        (THROUGHPUT, answer.throughput_per_s),
        (OUTSIDE, outside),
        (CPU, usage.cpu_s() * 1e6 / requests),
        (KERNEL, usage.system_s / usage.cpu_s() * 100.0),
        (PREEMPTIONS, usage.preemptions as f64),
        (MEMORY, usage.rss_peak_bytes as f64 / 1e6),
    ]);
    reading.add(answer.values);
    reading.warn_if(answer.errors > 0, "had errors");
    reading.warn_if(
        answer.is_warned,
        "were suspect or void by its own judgement",
    );
    reading.warn_if(
        is_closed && (answer.throughput_per_s / outside - 1.0).abs() > 0.01,
        "have requests/s by their own clock that differ by more than 1 % from those by the outside \
         clock, which includes start and end",
    );
    Ok(reading)
}

/// If the server was late, its answers are late by as much.
fn compare_with_truth(reading: &mut Reading, account: &Account) {
    let late_us = account.late_ns_p50 as f64 / 1e3;
    for (measured, truth, ratio) in [(P50, TRUE_P50, P50_RATIO), (P99, TRUE_P99, P99_RATIO)] {
        reading.shift(truth, late_us);
        if let (Some(measured), Some(truth)) = (reading.value(measured), reading.value(truth)) {
            reading.add([(ratio, measured / truth)]);
        }
    }
}

/// The first line with a version, without the copyright that wrk adds.
fn version_in(text: &str) -> Option<String> {
    let line = text.lines().find(|line| !line.trim().is_empty())?;
    let version = line.split(" Copyright").next().unwrap_or(line);
    Some(version.trim().to_owned())
}

/// Installs and builds missing programs.
fn programs() -> Result<Places> {
    debian::provide(PACKAGES)?;
    let text = |path: PathBuf| path.to_string_lossy().into_owned();
    Ok(vec![
        ("oha", text(oha()?)),
        (
            "windage",
            text(workspace::build("crates/windage", "windage")?),
        ),
        ("floor", text(workspace::build("subjects/floor", "floor")?)),
        ("truth", text(workspace::build("subjects/truth", "truth")?)),
    ])
}

/// Installs oha into the cache unless it is there; the folder's name has the version.
fn oha() -> Result<PathBuf> {
    let folder = workspace::cache()?.join(format!("oha-{OHA}"));
    let program = folder.join("bin/oha");
    if !program.is_file() {
        anstream::eprintln!("==> installing oha {OHA} into {}", folder.display());
        let mut install = workspace::cargo();
        install.args([
            "install",
            "oha",
            "--version",
            OHA,
            "--locked",
            "--quiet",
            "--root",
        ]);
        crate::command::run(install.arg(&folder))?;
    }
    Ok(program)
}

#[cfg(test)]
mod tests;
