//! `cargo xtask calibrate`: a known cost of 1 % is injected into a real service, many times, and
//! each time it is asked what Windage finds of it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::record::aa;
use crate::record::files::Files;
use crate::record::machine::{self, Machine};
use crate::record::trial::Order;
use crate::{command, workspace};

mod account;
mod document;
mod experiment;
mod page;
mod summary;

use document::{Record, Study};
use experiment::Experiment;

/// What a folder of runs says of itself, beside them.
const STUDY: &str = "study.json";

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Runs of each order; every one launches the service anew
    #[arg(long, default_value_t = 40, value_parser = clap::value_parser!(u32).range(1..))]
    experiments: u32,
    /// Measuring time of a run
    #[arg(long = "for", value_name = "DURATION", default_value = "60s")]
    length: String,
    /// Of the first so many runs, one of the same length in sequential order after each
    #[arg(long, value_name = "RUNS", default_value_t = 0)]
    sequential: u32,
    /// Folder for the result [default: record/<today>]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Measure nothing: evaluate the runs that are in this folder
    #[arg(long, value_name = "DIR", conflicts_with_all = ["experiments", "length", "sequential"])]
    from: Option<PathBuf>,
}

/// Runs the study, or evaluates one. The files are written after each run, so that an interrupted
/// study is kept.
pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let date = machine::today()?;
    let folder = match &args.out {
        Some(folder) => folder.clone(),
        None => workspace::root().join("record").join(&date),
    };
    let files = Files::claim(&folder, "calibration")?;
    let windage = aa::build()?;
    let machine = Machine::read()?;
    let record = match &args.from {
        Some(runs) => evaluate_all(runs, &windage, machine, &files)?,
        None => measure_all(args, date, &windage, machine, &files)?,
    };
    anstream::println!(
        "{}",
        page::summary(&summary::summarise(&record.experiments))
    );
    anstream::println!("{}\n{}", files.page.display(), files.document.display());
    Ok(ExitCode::SUCCESS)
}

fn measure_all(
    args: &Args,
    date: String,
    windage: &Path,
    machine: Machine,
    files: &Files,
) -> Result<Record> {
    let (experiments, length) = (args.experiments, &args.length);
    let in_sequence = args.sequential.min(experiments);
    let sequential = match in_sequence {
        0 => String::new(),
        runs => format!(" --sequential {runs}"),
    };
    let study = Study {
        command: format!(
            "cargo xtask calibrate --experiments {experiments} --for {length}{sequential}"
        ),
        measured: date,
        measured_by: machine.commit.clone(),
        asked: (experiments + in_sequence) as usize,
    };
    let runs = workspace::root().join("windage-runs").join(format!(
        "calibration-{}-{}",
        study.measured,
        std::process::id()
    ));
    fs::create_dir_all(&runs).with_context(|| format!("make {}", runs.display()))?;
    let about = format!("{:#}\n", study.json());
    fs::write(runs.join(STUDY), about).with_context(|| format!("write {STUDY}"))?;
    anstream::eprintln!("==> runs go to {}", runs.display());

    let mut record = Record::of(study, machine);
    for number in 1..=experiments {
        let orders = match number {
            1.. if number <= in_sequence => &Order::BOTH[..],
            _ => &[Order::Mirrored][..],
        };
        for &order in orders {
            anstream::eprintln!("==> run {number} of {experiments}, {}", order.as_str());
            let run = runs.join(format!("{number:03}-{}", order.as_str()));
            // Each run draws its order anew: what one draw happens to favour is then chance.
            measure(Command::new(windage), &run, order, length, number)?;
            record.push(evaluate(windage, &run, order, number));
            files.write(&record.json(), &record.markdown())?;
        }
    }
    Ok(record)
}

/// One run; that it failed is found when it is evaluated.
fn measure(mut windage: Command, run: &Path, order: Order, length: &str, seed: u32) -> Result<()> {
    windage
        .args(["run", plan(order), "--quiet", "--for", length])
        .args(["--seed", &seed.to_string(), "--out"])
        .arg(run)
        .current_dir(workspace::root())
        .stdout(Stdio::null());
    let status = windage
        .status()
        .with_context(|| format!("could not start {}", command::line(&windage)))?;
    if status.code() == Some(130) {
        bail!("interrupted; the runs before are kept");
    }
    Ok(())
}

fn plan(order: Order) -> &'static str {
    match order {
        Order::Mirrored => "crates/windage/calibration/one-percent.toml",
        Order::Sequential => "crates/windage/calibration/one-percent-sequential.toml",
    }
}

fn evaluate_all(runs: &Path, windage: &Path, machine: Machine, files: &Files) -> Result<Record> {
    let study = match fs::read_to_string(runs.join(STUDY)) {
        Ok(text) => Study::read(&text).with_context(|| format!("{STUDY} in {}", runs.display()))?,
        Err(error) => bail!(
            "{} can't be read in {}: {error}; is that the folder of a calibration's runs?",
            STUDY,
            runs.display()
        ),
    };
    let mut record = Record::of(study, machine);
    for (number, order, run) in runs_in(runs)? {
        record.push(evaluate(windage, &run, order, number));
    }
    files.write(&record.json(), &record.markdown())?;
    Ok(record)
}

/// The runs in a folder, by number and order.
fn runs_in(folder: &Path) -> Result<Vec<(u32, Order, PathBuf)>> {
    let mut runs = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("read {}", folder.display()))? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let Some((number, order)) = name.split_once('-') else {
            continue;
        };
        let order = Order::BOTH.into_iter().find(|o| o.as_str() == order);
        if let (Ok(number), Some(order)) = (number.parse(), order) {
            runs.push((number, order, path.clone()));
        }
    }
    runs.sort_by_key(|(number, order, _)| (*number, *order == Order::Sequential));
    Ok(runs)
}

/// Asks windage again what the run says: the analysis may be better than when it was measured.
fn evaluate(windage: &Path, run: &Path, order: Order, number: u32) -> Experiment {
    let outcome = analysis(windage, run)
        .and_then(|analysis| experiment::Outcome::read(&analysis, &run.join("logs")))
        .map_err(|error| format!("{} gave no result: {error:#}", plan(order)));
    if let Err(why) = &outcome {
        anstream::eprintln!("run {number}, {}: {why}", order.as_str());
    }
    Experiment {
        number,
        order,
        outcome,
    }
}

fn analysis(windage: &Path, run: &Path) -> Result<Value> {
    let mut report = Command::new(windage);
    report.args(["report", "--json"]).arg(run);
    serde_json::from_str(&command::output(&mut report)?).context("the analysis is not JSON")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_found_in_the_order_in_which_they_were_made() {
        let folder = tempfile::tempdir().unwrap();
        for name in [
            "002-mirrored",
            "010-mirrored",
            "002-sequential",
            "x-mirrored",
            "study.json",
            "3-upside-down",
        ] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        let runs = runs_in(folder.path()).unwrap();
        let found: Vec<_> = runs.iter().map(|(n, order, _)| (*n, *order)).collect();
        assert_eq!(
            found,
            [
                (2, Order::Mirrored),
                (2, Order::Sequential),
                (10, Order::Mirrored)
            ]
        );
    }

    #[test]
    fn an_interrupted_run_ends_the_study_and_a_failed_one_does_not() {
        let shell = |script: &str| {
            let mut shell = Command::new("sh");
            shell.args(["-c", script]);
            shell
        };
        let measured = |script| measure(shell(script), Path::new("out"), Order::Mirrored, "1s", 1);
        assert!(measured("exit 130").is_err());
        assert!(measured("exit 5").is_ok());
    }

    #[test]
    fn the_plans_are_there() {
        for order in Order::BOTH {
            assert!(workspace::root().join(plan(order)).is_file(), "{order:?}");
        }
    }
}
